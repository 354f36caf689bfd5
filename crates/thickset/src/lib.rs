//! The domain of thickset: data, models, explanations, attacks, metrics and training.

pub mod attack;
pub mod audit;
pub mod bench;
pub mod config;
pub mod data;
pub mod demo;
pub mod explain;
pub mod metric;
pub mod model;
pub mod objective;
pub mod registry;
pub mod statistics;
pub mod train;

mod check;
mod error;
mod file;
mod host;
mod inline;
mod kinds;
mod seed;
#[cfg(test)]
mod toy;
mod workers;

pub use error::{Error, Result};
pub use seed::{Seed, Stream};
