//! Certificates: what no small move of a row can do to its explanation, proved.
//!
//! Between its kinks a `ReLU` network is linear, so its gradient, and with it the ranking of the features, depends on which gates
//! are open alone. [`certified_radius`] finds the smallest move that changes the top-k set, [`certified_worst_case`] the lowest P@k
//! within a radius, both exactly, by branch and bound over the gates; where a search takes too long, a bracket is given between
//! what is proved and what was found.
//!
//! What is proved holds for the model as deployed: every kink is widened and every gap narrowed by a bound on the rounding of the
//! model's own arithmetic in any order of sums, and the search takes its own rounding off every bound (`rounding`). What was
//! found is a point that the deployed model was run at.
//!
//! Of contributions, which are no gradients but means of them along a way, a lower bound of the radius is proved (`contributions`).
//!
//! A [segmented model](segmented) has borders in place of gates, few and known, and its certificate is an enumeration.
//!
//! Softplus networks and probabilities of many classes have nothing to split, and are certified by [bounds] alone.
//!
//! How a row is searched: `case` holds the row, `node` a part of the search, `projection` its distance, `layers` bounds of
//! its pre-activations, `pairs` and `swaps` what these say of the ranking, `search` the order of it all. Limits are counted
//! in parts of the search, never in time, so results repeat.

pub mod certified_radius;
pub mod certified_worst_case;
pub mod check;
pub mod proof;
pub mod segmented;
pub mod smoothed_top_k;

mod ball;
mod bounds;
mod case;
mod config;
mod contributions;
mod deployed;
mod explained;
mod gate;
mod half_space;
mod layers;
mod nearest_in_box;
mod network;
mod node;
mod open_forms;
mod order;
mod pairs;
mod projection;
mod result;
mod rounding;
mod search;
mod stepped;
mod swaps;
mod tolerance;
pub(crate) mod vector;

#[cfg(test)]
mod tests;

pub use ball::MoveNorm;
pub use config::{CertifyConfig, CheckedCertify};
pub(crate) use contributions::pieces::Pieces;
pub use explained::Ranked;
pub use network::{DenseLayer, DenseNetwork};
pub use result::{CertifiedRadius, CertifiedWorstCase, Counterexample, Status};
pub use rounding::Arithmetic;
pub use tolerance::Tolerance;
