#![no_main]

use libfuzzer_sys::fuzz_target;
use thickset::onnx::{OnnxOptions, parse};

fuzz_target!(|bytes: &[u8]| {
    let _ = parse(bytes, "fuzz.onnx", &OnnxOptions::default());
});
