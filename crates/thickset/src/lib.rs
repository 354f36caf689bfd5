//! The domain of thickset: data, models, explanations, attacks, metrics and training.

mod check;
mod error;

pub mod attack;
pub mod metric;
pub mod registry;
pub mod statistics;

pub use error::{Error, Result};
