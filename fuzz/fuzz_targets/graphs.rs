#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::data::{OpenOptions, open};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let (list, matrix) = bytes.split_at(bytes.len() / 2);
    std::fs::write(folder.path().join("labels.csv"), list).expect("a file");
    std::fs::write(folder.path().join("a.csv"), matrix).expect("a file");
    let _ = open(&folder.path().display().to_string(), &OpenOptions::default());
});
