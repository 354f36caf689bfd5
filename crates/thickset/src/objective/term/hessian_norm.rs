//! The Hessian norm along the gradient's sign (R2ET, Eq. 6, second regulariser).
//!
//! `||H z||_2` with `z = sign(g) / ||sign(g)||_2`. The paper takes a finite difference,
//! `||g(x + h z) - g(x)||_2 / h`, which in `f32` trades rounding against curvature; the exact product along the same
//! direction costs the same and is the default.

use serde::{Deserialize, Serialize};
use thickset_engine::{InputGradient, Network, Output, Tensor};

use super::reading::{constant, mean_over_rows};

/// Keeps the root differentiable at zero; far below any norm that matters.
const TINY: f64 = 1e-20;

/// How the norm is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
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

/// The mean over rows of `||H z||_2` by the exact product.
#[must_use]
pub fn exact(gradient: &InputGradient<'_>) -> Tensor<1> {
    let direction = directions(&gradient.value());
    mean_over_rows(lengths(gradient.hessian_product(direction)))
}

/// The mean over rows of `||g(x + h z) - g(x)||_2 / h`, given `g(x)` for these classes.
#[must_use]
pub fn finite_difference(
    network: &Network,
    x: &Tensor<2>,
    classes: Tensor<2>,
    gradients: Tensor<2>,
    step: f64,
) -> Tensor<1> {
    let beside = x.clone() + directions(&gradients) * step;
    let pass = network.pass(beside);
    let moved = pass.input_gradient(Output::Probability, classes).value();
    mean_over_rows(lengths((moved - gradients) * (1.0 / step)))
}

/// The mean over rows of the whole Hessian's Frobenius norm; one product per feature.
#[must_use]
pub fn frobenius(gradient: &InputGradient<'_>) -> Tensor<1> {
    let hessian = gradient.hessian();
    let [rows, features, _] = hessian.dims();
    mean_over_rows(lengths(hessian.reshape([rows, features * features])))
}

#[cfg(test)]
mod tests {
    use thickset_engine::Device;

    use super::super::reading::values;
    use super::*;

    #[test]
    fn a_direction_has_length_one_over_the_features_that_move() {
        let gradients = Tensor::<2>::from_data([[4.0, 0.0, -1.0, 0.0], [0.0; 4]], &Device::flex());
        let half = f64::from(0.5_f32.sqrt());
        let got = values(&directions(&gradients));
        let expected = [half, 0.0, -half, 0.0, 0.0, 0.0, 0.0, 0.0];
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        }
    }
}
