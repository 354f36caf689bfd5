//! The domain of thickset: data, models, explanations, attacks, metrics and training.

pub mod data;
mod error;
mod seed;

pub use error::{Error, Result};
pub use seed::{Seed, Stream};
