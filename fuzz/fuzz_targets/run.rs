#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::config::RunConfig;

fuzz_target!(|text: &str| {
    if let Ok(run) = RunConfig::parse(text, "fuzz.toml") {
        let _ = run.check();
    }
});
