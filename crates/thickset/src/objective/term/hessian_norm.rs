//! The Hessian norm along the gradient's sign (R2ET, Eq. 6, second regulariser).
//!
//! `||H z||_2` with `z = sign(g) / ||sign(g)||_2`, by the exact product. The paper takes a finite
//! difference along the same direction, which in `f32` trades rounding against curvature; the exact
//! product costs the same.

use thickset_engine::{InputGradient, Tensor, TensorData};

use super::gap::sign;

/// Keeps the root differentiable at zero; far below any norm that matters.
const TINY: f64 = 1e-20;

/// The directions `z` of a batch of input gradients, `[rows, features]`.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of features are far below 2^24"
)]
pub fn directions(gradients: &[f32], features: usize) -> Vec<f32> {
    let mut directions = Vec::with_capacity(gradients.len());
    for row in gradients.chunks(features) {
        let moved = row.iter().filter(|gradient| **gradient != 0.0).count();
        let length = 1.0 / (moved.max(1) as f32).sqrt();
        directions.extend(row.iter().map(|gradient| sign(*gradient) * length));
    }
    directions
}

/// The mean over rows of `||H z||_2`, given [`directions`].
#[must_use]
pub fn mean_norm(gradient: &InputGradient<'_>, directions: Vec<f32>) -> Tensor<1> {
    let value = gradient.value();
    let size = value.dims();
    let place = (&value.device().without_autodiff(), value.dtype());
    let directions = Tensor::<2>::from_data(TensorData::new(directions, size), place);
    let product = gradient.hessian_product(directions);
    ((product.clone() * product).sum_dim(1) + TINY)
        .sqrt()
        .mean()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_has_length_one_over_the_features_that_move() {
        assert_eq!(
            directions(&[4.0, 0.0, -1.0, 0.0], 4),
            [0.5_f32.sqrt(), 0.0, -(0.5_f32.sqrt()), 0.0]
        );
        assert_eq!(directions(&[0.0, 0.0], 2), [0.0, 0.0]);
    }
}
