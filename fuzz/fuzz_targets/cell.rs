#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| thickset_papers::fuzzing::cell(bytes));
