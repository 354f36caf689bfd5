//! Benchmarks that run on generated data.

pub mod speed;
