//! The domain of thickset: data, models, explanations, attacks, metrics and training.

pub mod attack;
pub mod audit;
pub mod bench;
pub mod certify;
pub mod config;
pub mod data;
pub mod explain;
pub mod file;
pub mod host;
pub mod metric;
pub mod model;
pub mod objective;
pub mod registry;
pub mod statistics;
pub mod train;
pub mod workers;

mod check;
mod error;
mod inline;
mod seed;

pub use error::{Error, Result};
pub use seed::{Seed, Stream};
