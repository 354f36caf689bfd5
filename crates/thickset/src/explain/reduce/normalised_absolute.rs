//! The size of each attribution as a share of the row's sum, so that confidence does not change importances.

use thickset_engine::Tensor;

use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "normalised-absolute",
    label: "normalised absolute",
    family: Family::Reduction,
    summary: "Size of each attribution as a share of the row's sum, for single-channel images",
    formula: "I_i = |a_i| / sum_j |a_j|",
    source: "R2ET, B.1.3; Ghorbani et al. 2019",
    direction: None,
    cost: "none",
    defaults: &[],
};

/// A row of zeros stays one; far below any sum that matters, and far above the least `f32`.
const TINY: f64 = 1e-30;

pub(super) fn reduce(raw: Tensor<2>) -> Tensor<2> {
    let size = raw.abs();
    let share = (size.clone().sum_dim(1) + TINY).recip();
    size * share
}

/// `sign(a_i) (u_i - sum_j u_j I_j) / sum_j |a_j|`.
pub(super) fn pull_back(raw: Tensor<2>, slope: Tensor<2>) -> Tensor<2> {
    let size = raw.clone().abs();
    let share = (size.clone().sum_dim(1) + TINY).recip();
    let along = (slope.clone() * size).sum_dim(1) * share.clone();
    raw.sign() * (slope - along) * share
}
