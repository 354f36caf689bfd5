//! The Hessian norm along the gradient's sign (R2ET, Eq. 6, second regulariser).
//!
//! `||J z||_2` with J the Jacobian of the importances and `z = sign(g) / ||sign(g)||_2`, g the gradient of the explained
//! output. For importances that are the gradient or its sizes J is the Hessian, up to signs. The paper takes a finite
//! difference, `||I(x + h z) - I(x)||_2 / h`, which in `f32` trades rounding against curvature; the exact product along the
//! same direction costs the same and is the default.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Tensor};

use super::reading::{constant, mean_over_rows};
use crate::explain::{Explainer, ImportanceAt};

/// Keeps the root differentiable at zero; far below any norm that matters.
const TINY: f64 = 1e-20;

/// How the norm is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HessianMethod {
    /// By the exact Hessian product.
    #[default]
    Exact,
    /// By the difference of two input gradients.
    FiniteDifference,
}

/// The Euclidean length of each row, `[rows, 1]`.
#[must_use]
pub fn lengths(rows: Tensor<2>) -> Tensor<2> {
    ((rows.clone() * rows).sum_dim(1) + TINY).sqrt()
}

/// The direction `z` of each row, a constant; zero where the gradient is.
#[must_use]
pub fn directions(gradients: &Tensor<2>) -> Tensor<2> {
    let signs = constant(gradients).sign();
    let moved = signs.clone().abs().sum_dim(1).clamp_min(1.0);
    signs / moved.sqrt()
}

/// The mean over rows of `||J z||_2` by the exact product.
#[must_use]
pub fn exact(importance: &ImportanceAt<'_>) -> Tensor<1> {
    let direction = directions(&importance.input_gradient());
    mean_over_rows(lengths(importance.change(direction)))
}

/// The mean over rows of `||I(x + h z) - I(x)||_2 / h`, given the importances at x.
#[must_use]
pub fn finite_difference(
    network: &Network,
    x: &Tensor<2>,
    explainer: &Explainer,
    importance: &ImportanceAt<'_>,
    step: f64,
) -> Tensor<1> {
    let beside = x.clone() + directions(&importance.input_gradient()) * step;
    let pass = network.pass(beside);
    let difference = importance.difference(&explainer.at(&pass), step);
    mean_over_rows(lengths(difference))
}

/// The mean over rows of the whole Jacobian's Frobenius norm; one product per feature.
#[must_use]
pub fn frobenius(importance: &ImportanceAt<'_>) -> Tensor<1> {
    mean_over_rows(lengths(importance.jacobian()))
}

#[cfg(test)]
mod tests {
    use thickset_engine::Device;

    use super::*;
    use crate::host::read;

    #[test]
    fn a_direction_has_length_one_over_the_features_that_move() {
        let gradients = Tensor::<2>::from_data([[4.0, 0.0, -1.0, 0.0], [0.0; 4]], &Device::flex());
        let half = f64::from(0.5_f32.sqrt());
        let got = read(directions(&gradients));
        let expected = [half, 0.0, -half, 0.0, 0.0, 0.0, 0.0, 0.0];
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        }
    }
}
