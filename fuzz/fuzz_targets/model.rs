#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::model::Model;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fuzz.safetensors");
    std::fs::write(&path, bytes).expect("a file");
    let _ = Model::load(&path);
});
