//! The domain of thickset: data, models, explanations, attacks, metrics and training.

mod error;

pub mod metric;
pub mod registry;
pub mod statistics;

pub use error::{Error, Result};
