//! Terms of losses: each is one number of a batch, a tensor that one `backward` differentiates.

pub mod flips;
pub mod gap;
pub mod hessian_norm;
pub mod inner_attack;
pub mod largest_eigenvector;
pub(super) mod logit_rows;
mod order;
pub mod overlap;
pub(super) mod path_pairs;
pub mod ranking;
pub mod reading;
pub mod similarity;
