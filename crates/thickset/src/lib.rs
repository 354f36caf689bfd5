//! The domain of thickset: data, models, explanations, attacks, metrics and training.

mod error;

pub use error::{Error, Result};
