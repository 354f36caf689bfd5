//! The size of each attribution.

use thickset_engine::Tensor;

use super::{Reduction, signs};
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "absolute",
    label: "absolute",
    family: Family::Reduction,
    summary: "Size of each attribution, for tables",
    formula: "I_i = |a_i|",
    source: "R2ET, section 3",
    direction: None,
    cost: "none",
    defaults: &[],
};

/// The rule.
#[derive(Debug)]
pub struct Absolute;

impl Reduction for Absolute {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn keeps_lengths(&self) -> bool {
        true
    }

    fn reduce(&self, raw: Tensor<2>, _channels: usize) -> Tensor<2> {
        raw.abs()
    }

    /// `|a| = sign(a) a`, and the sign is a constant: one recorded product instead of three.
    fn weighted(&self, raw: Tensor<2>, weights: Tensor<2>, _channels: usize) -> Tensor<2> {
        let signs = signs(&raw);
        raw * (signs * weights)
    }

    fn tangent(&self, raw: Tensor<2>, change: Tensor<2>, _channels: usize) -> Tensor<2> {
        signs(&raw) * change
    }

    fn pull_back(&self, raw: Tensor<2>, gradient: Tensor<2>, _channels: usize) -> Tensor<2> {
        signs(&raw) * gradient
    }
}
