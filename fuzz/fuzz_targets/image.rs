#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::data::{OpenOptions, open};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let class = folder.path().join("class");
    std::fs::create_dir(&class).expect("a folder");
    std::fs::write(class.join("fuzz.png"), bytes).expect("a file");
    let options = OpenOptions {
        image_size: Some((8, 8)),
        ..OpenOptions::default()
    };
    let _ = open(&folder.path().display().to_string(), &options);
});
