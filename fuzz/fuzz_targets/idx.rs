#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::data::{OpenOptions, open};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let images = folder.path().join("fuzz-images-idx3-ubyte");
    let (left, right) = bytes.split_at(bytes.len() / 2);
    std::fs::write(&images, left).expect("a file");
    std::fs::write(folder.path().join("fuzz-labels-idx1-ubyte"), right).expect("a file");
    let _ = open(&images.display().to_string(), &OpenOptions::default());
});
