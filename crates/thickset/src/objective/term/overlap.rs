//! How much of their salient sets two rows of a batch share, as a number that a gradient can lower.
//!
//! A feature is salient to the degree `sigmoid((l - theta) / 0.1)`, where l are the [levels](super::ranking::levels) of a row's importances and
//! theta lies midway between the k-th and the next, a constant. The overlap of two rows is the sum of the products of their degrees, over k;
//! the mean is over all pairs of different rows, which takes one pass: `(|sum_r s_r|^2 - sum_r |s_r|^2) / (k rows (rows - 1))`.

use thickset_engine::{Tensor, TensorData, activation};

use crate::check::as_f64;
use crate::host::read;

/// How softly a feature becomes salient, in levels.
pub const SOFTNESS: f64 = 0.1;

/// The mean overlap of two rows, given the levels `[rows, features]`; nothing where there is one row alone.
#[must_use]
pub fn mean_overlap(levels: &Tensor<2>, k: usize) -> Option<Tensor<1>> {
    let [rows, features] = levels.dims();
    if rows < 2 || k == 0 || k >= features {
        return None;
    }
    let mut borders = Vec::with_capacity(rows);
    let plain = read(levels.clone());
    for row in plain.chunks(features) {
        let mut sorted = row.to_vec();
        sorted.sort_by(|a, b| b.total_cmp(a));
        borders.push(f64::midpoint(sorted[k - 1], sorted[k]));
    }
    let device = levels.device().without_autodiff();
    let borders = Tensor::from_data(
        TensorData::new(borders, [rows, 1]),
        (&device, levels.dtype()),
    );
    let degrees = activation::sigmoid((levels.clone() - borders) * (1.0 / SOFTNESS));
    let all = degrees.clone().sum_dim(0);
    let with_itself = (degrees.clone() * degrees).sum();
    let pairs = as_f64(k) * as_f64(rows) * as_f64(rows - 1);
    Some(((all.clone() * all).sum() - with_itself) * (1.0 / pairs))
}

#[cfg(test)]
mod tests {
    use thickset_engine::{DType, Device};

    use super::*;

    fn overlap(levels: &[f64], features: usize, k: usize) -> Option<f64> {
        let size = [levels.len() / features, features];
        let data = TensorData::new(levels.to_vec(), size);
        let levels = Tensor::from_data(data, (&Device::cpu(), DType::F64));
        mean_overlap(&levels, k).map(|found| read(found)[0])
    }

    #[test]
    fn clear_sets_overlap_as_sets_do() {
        // Sets {0}, {0} and {1}: of three pairs one shares its feature.
        let levels = [9.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0, 9.0, 0.0];
        let found = overlap(&levels, 3, 1).unwrap();
        assert!((found - 1.0 / 3.0).abs() < 1e-9, "{found}");
        assert!(overlap(&levels[..3], 3, 1).is_none());
    }

    #[test]
    fn features_on_the_border_count_half() {
        // All levels are alike, so all degrees are a half: two features of a quarter each, over k = 1.
        let found = overlap(&[1.0; 4], 2, 1).unwrap();
        assert!((found - 0.5).abs() < 1e-12);
    }
}
