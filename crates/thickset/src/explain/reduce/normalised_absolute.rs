//! The size of each attribution as a share of the row's sum, so that confidence does not change importances.

use thickset_engine::Tensor;

use super::{Reduction, signs};
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

/// A smaller sum counts as this, so that a row of zeros stays one: far below any sum that matters, and so that the square of
/// the reciprocal, which the recorded gradient holds, is still a number in `f32`.
const LEAST_SUM: f64 = 1e-18;

/// The rule.
#[derive(Debug)]
pub struct NormalisedAbsolute;

/// Of each row: the sizes, and 1 over their sum.
fn sizes(raw: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
    let size = raw.abs();
    let share = size.clone().sum_dim(1).clamp_min(LEAST_SUM).recip();
    (size, share)
}

impl Reduction for NormalisedAbsolute {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn reduce(&self, raw: Tensor<2>, _channels: usize) -> Tensor<2> {
        let (size, share) = sizes(raw);
        size * share
    }

    /// `(c_i - I_i sum_j c_j) / sum_j |a_j|` with `c = sign(a) da`.
    fn tangent(&self, raw: Tensor<2>, change: Tensor<2>, _channels: usize) -> Tensor<2> {
        let of_size = signs(&raw) * change;
        let (size, share) = sizes(raw);
        let along = of_size.clone().sum_dim(1) * share.clone();
        (of_size - size * along) * share
    }

    /// `sign(a_i) (u_i - sum_j u_j I_j) / sum_j |a_j|`.
    fn pull_back(&self, raw: Tensor<2>, gradient: Tensor<2>, _channels: usize) -> Tensor<2> {
        let signs = signs(&raw);
        let (size, share) = sizes(raw);
        let along = (gradient.clone() * size).sum_dim(1) * share.clone();
        signs * (gradient - along) * share
    }
}

#[cfg(test)]
mod tests {
    use thickset_engine::Device;

    use super::*;
    use crate::host::read;

    #[test]
    fn a_row_of_zeros_has_no_importance_and_a_gradient_that_is_a_number() {
        let raw = Tensor::<2>::from_data([[0.0_f32, 0.0], [1.0, -3.0]], &Device::cpu());
        let raw = raw.autodiff().require_grad();
        let weights = Tensor::<2>::from_data([[1.0_f32, -1.0], [1.0, -1.0]], &Device::cpu());
        let importance = NormalisedAbsolute.reduce(raw.clone(), 1);
        assert_eq!(read(importance.clone()), [0.0, 0.0, 0.25, 0.75]);
        let gradients = (importance * weights).sum().backward();
        let gradient = read(raw.grad(&gradients).unwrap());
        assert!(
            gradient.iter().all(|value| value.is_finite()),
            "{gradient:?}"
        );
        // (u_i - sum_j u_j I_j) / 4 is 1.5 / 4 and -0.5 / 4, times the signs.
        assert_eq!(gradient[2..], [0.375, 0.125]);
    }
}
