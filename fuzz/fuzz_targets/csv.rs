#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::data::{ReadRule, Wanted, read_csv_from};

fuzz_target!(|bytes: &[u8]| {
    let _ = read_csv_from(bytes, "fuzz.csv", &ReadRule::default(), &Wanted::default());
});
