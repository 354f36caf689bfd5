//! The size of each attribution.

use thickset_engine::Tensor;

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

pub(super) fn reduce(raw: Tensor<2>) -> Tensor<2> {
    raw.abs()
}

pub(super) fn pull_back(raw: Tensor<2>, slope: Tensor<2>) -> Tensor<2> {
    raw.sign() * slope
}
