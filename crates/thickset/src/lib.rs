//! The domain of thickset: data, models, explanations, attacks, metrics and training.

mod check;
pub mod data;
mod error;
mod seed;

pub mod attack;
pub mod metric;
pub mod registry;
pub mod statistics;

pub use error::{Error, Result};
pub use seed::{Seed, Stream};
