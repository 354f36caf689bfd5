//! Benchmarks that run on generated data.

pub mod attack;
pub mod result;
pub mod speed;
