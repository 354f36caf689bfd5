#![no_main]

#[expect(dead_code, reason = "one of the readers a target")]
#[path = "../readers.rs"]
mod readers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| readers::partial(bytes));
