//! The domain of thickset: data, models, explanations, attacks, metrics and training.

pub mod data;
mod check;
mod error;
mod seed;

pub mod attack;
pub mod metric;
pub mod registry;
pub mod statistics;

pub use error::{Error, Result};
pub use seed::{Seed, Stream};
