#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::data::{ReadRule, Wanted, read_parquet};

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fuzz.parquet");
    std::fs::write(&path, bytes).expect("a file");
    let _ = read_parquet(&path, &ReadRule::default(), &Wanted::default());
});
