//! How alike two explanations of each row are: cosine and Pearson's correlation, differentiable.

use thickset_engine::Tensor;

use super::hessian_norm::{TINY, lengths};
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

/// The cosine of two rows in plain numbers; its slopes in them are written over them.
pub(in crate::objective) fn cosine_slopes(first: &mut [f64], second: &mut [f64]) -> f64 {
    let length = |row: &[f64]| (row.iter().map(|it| it * it).sum::<f64>() + TINY).sqrt();
    let lengths = (length(first), length(second));
    let products = first.iter().zip(&*second).map(|(a, b)| a * b);
    let cosine = products.sum::<f64>() / (lengths.0 * lengths.1);
    for (first, second) in first.iter_mut().zip(second) {
        let units = (*first / lengths.0, *second / lengths.1);
        *first = (units.1 - cosine * units.0) / lengths.0;
        *second = (units.0 - cosine * units.1) / lengths.1;
    }
    cosine
}

/// Pearson's correlation, likewise.
pub(in crate::objective) fn pearson_slopes(first: &mut [f64], second: &mut [f64]) -> f64 {
    let centre = |row: &mut [f64]| {
        let mean = row.iter().sum::<f64>() / as_f64(row.len().max(1));
        for entry in row {
            *entry -= mean;
        }
    };
    centre(first);
    centre(second);
    let correlation = cosine_slopes(first, second);
    centre(first);
    centre(second);
    correlation
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [[f64; 4]; 2] = [[1.0, -2.0, 0.5, 3.0], [0.3, 1.0, -0.7, 2.0]];
    /// Of central differences.
    const STEP: f64 = 1e-6;

    #[test]
    fn slopes_of_similarities_are_those_of_differences() {
        for similarity in [cosine_slopes, pearson_slopes] {
            let mut slopes = ROWS;
            let [first, second] = &mut slopes;
            similarity(first, second);
            for row in 0..2 {
                for entry in 0..4 {
                    let at = |shift: f64| {
                        let mut rows = ROWS;
                        rows[row][entry] += shift;
                        let [first, second] = &mut rows;
                        similarity(first, second)
                    };
                    let expected = (at(STEP) - at(-STEP)) / (2.0 * STEP);
                    assert!((slopes[row][entry] - expected).abs() < 1e-8);
                }
            }
        }
    }

    #[test]
    fn similarities_in_plain_numbers_by_hand() {
        let cosine = cosine_slopes(&mut [3.0, 4.0], &mut [4.0, 3.0]);
        assert!((cosine - 0.96).abs() < 1e-12);
        let correlation = pearson_slopes(&mut [1.0, 2.0, 3.0], &mut [5.0, 3.0, 1.0]);
        assert!((correlation + 1.0).abs() < 1e-12);
        let mut zero = [0.0; 2];
        assert!(cosine_slopes(&mut zero, &mut [1.0, 0.0]).abs() < 1e-12);
    }
}
