//! Benchmarks that run on generated data.

pub mod attack;
pub mod speed;
