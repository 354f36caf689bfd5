//! The Hessian norm along the gradient's sign (R2ET, Eq. 6, second regulariser).
//!
//! `||J z||_2` with J the Jacobian of the importances and `z = sign(g) / ||sign(g)||_2`, g the gradient of the explained
//! output. For importances that are the gradient or its sizes J is the Hessian, up to signs. The paper takes a finite
//! difference, `||I(x + h z) - I(x)||_2 / h`, which in `f32` trades rounding against curvature; the exact product along the
//! same direction costs the same and is the default.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use serde::{Deserialize, Serialize};
use thickset_engine::kernel::{VectorLoop, sum_of_pairs, vectorised};
use thickset_engine::{Network, Tensor};

use super::reading::{constant, mean_over_rows};
use crate::check::as_f64;
use crate::explain::{Explainer, ImportanceAt};

/// Keeps the root differentiable at zero; far below any norm that matters.
pub(super) const TINY: f64 = 1e-20;

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

/// [`directions`] of row-major gradients in plain numbers.
#[must_use]
pub fn directions_of(gradients: &[f64], features: usize) -> Vec<f64> {
    let mut directions = vec![0.0; gradients.len()];
    vectorised(Directions {
        gradients,
        features: features.max(1),
        out: &mut directions,
    });
    directions
}

struct Directions<'a> {
    gradients: &'a [f64],
    features: usize,
    out: &'a mut [f64],
}

impl VectorLoop for Directions<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let rows = self.gradients.chunks_exact(self.features);
        let rows = rows.zip(self.out.chunks_exact_mut(self.features));
        for (row, direction) in rows {
            let moved = sum_of_pairs(row, row, |g, _| f64::from(g != 0.0));
            let length = 1.0 / moved.max(1.0).sqrt();
            for (direction, g) in direction.iter_mut().zip(row) {
                *direction = if *g == 0.0 { 0.0 } else { length.copysign(*g) };
            }
        }
    }
}

/// The mean of the [lengths] of row-major numbers, and the slopes of `weight` times it.
#[must_use]
pub fn mean_length_slopes(numbers: &[f64], features: usize, weight: f64) -> (f64, Vec<f64>) {
    let features = features.max(1);
    let mut slopes = vec![0.0; numbers.len()];
    let sum = vectorised(LengthSlopes {
        numbers,
        features,
        share: 1.0 / as_f64((numbers.len() / features).max(1)),
        weight,
        slopes: &mut slopes,
    });
    (sum, slopes)
}

struct LengthSlopes<'a> {
    numbers: &'a [f64],
    features: usize,
    /// Of a row in the mean.
    share: f64,
    weight: f64,
    slopes: &'a mut [f64],
}

impl VectorLoop for LengthSlopes<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let rows = self.numbers.chunks_exact(self.features);
        let mut mean = 0.0;
        for (row, slopes) in rows.zip(self.slopes.chunks_exact_mut(self.features)) {
            let length = (sum_of_pairs(row, row, |a, b| a * b) + TINY).sqrt();
            mean += length * self.share;
            let factor = self.weight * self.share / length;
            for (slope, number) in slopes.iter_mut().zip(row) {
                *slope = factor * number;
            }
        }
        mean
    }
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
        let gradients = Tensor::<2>::from_data([[4.0, 0.0, -1.0, 0.0], [0.0; 4]], &Device::cpu());
        let half = f64::from(0.5_f32.sqrt());
        let expected = [half, 0.0, -half, 0.0, 0.0, 0.0, 0.0, 0.0];
        let plain = directions_of(&read(gradients.clone()), 4);
        for got in [read(directions(&gradients)), plain] {
            for (got, expected) in got.iter().zip(expected) {
                assert!((got - expected).abs() < 1e-6, "{got} {expected}");
            }
        }
    }

    #[test]
    fn the_mean_length_and_its_slopes_by_hand() {
        // Lengths 5 and 0, at which the slope is none.
        let (mean, slopes) = mean_length_slopes(&[3.0, -4.0, 0.0, 0.0], 2, 10.0);
        assert!((mean - 2.5).abs() < 1e-9);
        let expected = [3.0, -4.0, 0.0, 0.0];
        for (got, expected) in slopes.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-12, "{got} {expected}");
        }
    }
}
