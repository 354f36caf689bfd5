//! Raw attributions as they are: a feature that speaks against the class comes last.

use thickset_engine::Tensor;

use super::Reduction;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "signed",
    label: "signed",
    family: Family::Reduction,
    summary: "Attributions as they are: what speaks against the class comes last",
    formula: "I_i = a_i",
    source: "R2ET, section 3",
    direction: None,
    cost: "none",
    defaults: &[],
};

/// The rule.
#[derive(Debug)]
pub struct Signed;

impl Reduction for Signed {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn keeps_lengths(&self) -> bool {
        true
    }

    fn reduce(&self, raw: Tensor<2>, _channels: usize) -> Tensor<2> {
        raw
    }

    fn tangent(&self, _raw: Tensor<2>, change: Tensor<2>, _channels: usize) -> Tensor<2> {
        change
    }

    fn pull_back(&self, _raw: Tensor<2>, gradient: Tensor<2>, _channels: usize) -> Tensor<2> {
        gradient
    }
}
