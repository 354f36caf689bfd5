//! Classifiers whose explanations stay put: train them, explain them, attack their explanations, and say how far they hold.
//!
//! Neural networks explain a decision by their most salient features, the top-k, and a change nobody can see moves them. This
//! crate trains networks whose top-k sets hold (R2ET, IGR and their rivals), searches for the small change that breaks a set,
//! and audits whole tables. Four words carry it:
//!
//! - a [`Dataset`] holds rows, labels, names and a split; [`Rows`] are some of them, borrowed;
//! - [`train`] makes a [`Trained`] model of a checked [`RunConfig`](config::RunConfig);
//! - a [`Model`] answers: [`predict`](Model::predict), [`explain`](Model::explain), [`attack`](Model::attack),
//!   [`audit`](Model::audit), each with options whose defaults fit the model and its data;
//! - an [`Audit`](audit::Audit) is what the last of these comes to, and `thickset-report` makes a page of it.
//!
//! # A first program
//!
//! ```
//! use thickset::config::RunConfig;
//! use thickset::model::{AttackOptions, AuditOptions, ExplainOptions};
//! use thickset::{Dataset, train};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // 300 rows of six numbers in 0..1; the class depends on the first three.
//!     let values: Vec<f32> = (0..1800_u32).map(|i| (i * 7919 % 1000) as f32 / 1000.0).collect();
//!     let labels = values.chunks(6).map(|x| usize::from(x[0] + x[1] * x[2] > 0.75)).collect();
//!     let names = ["income", "age", "debt", "rooms", "cars", "pets"];
//!     let data = Dataset::from_rows(values, labels, &names)?.with_classes(["no", "yes"])?;
//!
//!     let mut run = RunConfig::default(); // R2ET on a network of 64 and 32 hidden units
//!     run.train.epochs = 5;
//!     let model = train(&run.check()?, &data)?.model;
//!
//!     let test = data.test();
//!     let explained = model.explain(&test, &ExplainOptions::default())?;
//!     println!("row 1 is `{}`: {:?}", model.classes()[explained.rows[0].class], explained.top(0, 3)?);
//!     let attacks = model.attack(&test, &AttackOptions::default())?;
//!     println!("{:.2} of the top {} reasons survive", attacks.precision_at_k()?.value, attacks.k);
//!     let audit = model.audit(&test, &AuditOptions::default())?;
//!     let page = thickset_report::audit(&[audit])?;
//!     assert!(page.contains("<html"));
//!     Ok(())
//! }
//! ```
//!
//! # To go further
//!
//! Every method (architecture, explanation, objective, attack, metric) is a file of its own with its formula and source, listed
//! in the [`registry`]. `examples/` shows how to train on rows in memory, audit a model file, and write a new attack, a new
//! objective and a new layer.

pub mod attack;
pub mod audit;
pub mod bench;
pub mod certify;
pub mod config;
pub mod data;
pub mod decision;
pub mod defaults;
pub mod explain;
pub mod file;
#[doc(hidden)]
pub mod fuzzing;
pub mod host;
pub mod metric;
pub mod model;
pub mod objective;
pub mod onnx;
pub mod reasons;
pub mod registry;
pub mod row_writer;
pub mod statistics;
pub mod theory;
pub mod train;
pub mod workers;

mod check;
mod error;
mod inline;
mod kinds;
mod name_or_table;
mod rows;
mod seed;
#[cfg(test)]
mod toy;

pub use data::{Dataset, Schema};
pub use error::{Error, Result};
pub use model::Model;
pub use rows::Rows;
pub use seed::{Seed, Stream};
pub use thickset_engine::DeviceKind;
pub use train::{Trained, train};
