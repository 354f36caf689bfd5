//! How alike two explanations of each row are: cosine and Pearson's correlation, differentiable.

use thickset_engine::Tensor;

use super::hessian_norm::lengths;
use crate::check::as_f64;

/// The cosine of each row of one with the same row of the other, `[rows, 1]`; 0 where one of them is zero.
#[must_use]
pub fn cosine(first: Tensor<2>, second: Tensor<2>) -> Tensor<2> {
    let unit = |rows: Tensor<2>| rows.clone() / lengths(rows);
    (unit(first) * unit(second)).sum_dim(1)
}

/// Pearson's correlation of each row of one with the same row of the other, `[rows, 1]`.
#[must_use]
pub fn pearson(first: Tensor<2>, second: Tensor<2>) -> Tensor<2> {
    let centred = |rows: Tensor<2>| {
        let share = 1.0 / as_f64(rows.dims()[1]);
        rows.clone() - rows.sum_dim(1) * share
    };
    cosine(centred(first), centred(second))
}
