//! The mean gap between salient and other features (R2ET, Eq. 6, first regulariser).
//!
//! With `I = |g|`, `sum over salient i and other j of (I_i - I_j) = sum_i l_i I_i`, where
//! `l_i = n - k` for the k salient features and `-k` for the rest. We divide by the number of pairs,
//! `k (n - k)`, so that a weight means the same for every number of features. The salient set is
//! the ranking at hand and a constant for the gradient; so is the sign, so `|g_i| = sign(g_i) g_i`.

use thickset_engine::{Tensor, TensorData};

use crate::{Error, Result};

/// The signed weights that turn input gradients, `[rows, features]`, into mean gaps.
///
/// # Errors
/// If `k` does not leave a feature on either side, or a gradient is not finite.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "numbers of features are far below 2^24"
)]
pub fn weights(gradients: &[f32], features: usize, k: usize) -> Result<Vec<f32>> {
    if k == 0 || k >= features {
        let largest = features.saturating_sub(1);
        return Err(Error::TopKOutOfRange { k, largest });
    }
    if let Some(index) = gradients.iter().position(|gradient| !gradient.is_finite()) {
        return Err(Error::NotFinite {
            what: "the input gradient",
            index,
            value: f64::from(gradients[index]),
        });
    }
    let (salient, other) = (1.0 / k as f32, -1.0 / (features - k) as f32);
    let mut weights = vec![other; gradients.len()];
    let mut keys = Vec::with_capacity(features);
    for (gradients, weights) in gradients.chunks(features).zip(weights.chunks_mut(features)) {
        keys.clear();
        keys.extend(gradients.iter().enumerate().map(descending_key));
        keys.select_nth_unstable(k - 1);
        for key in &keys[..k] {
            weights[(key & u64::from(u32::MAX)) as usize] = salient;
        }
        for (weight, gradient) in weights.iter_mut().zip(gradients) {
            *weight *= sign(*gradient);
        }
    }
    Ok(weights)
}

/// Orders features by magnitude, descending, ties to the lower index: the bits of a float that is
/// not negative are in the order of its value, so one integer holds both.
fn descending_key((feature, gradient): (usize, &f32)) -> u64 {
    let magnitude = u64::from(u32::MAX - gradient.abs().to_bits());
    magnitude << 32 | feature as u64
}

/// 1, -1, or 0 at zero.
pub(super) fn sign(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// The mean over rows of the mean gap, given [`weights`].
#[must_use]
pub fn mean_gap(gradients: Tensor<2>, weights: Vec<f32>) -> Tensor<1> {
    let [rows, features] = gradients.dims();
    #[expect(
        clippy::cast_precision_loss,
        reason = "batches are far below 2^53 rows"
    )]
    let share = 1.0 / rows as f64;
    let place = (&gradients.device().without_autodiff(), gradients.dtype());
    let weights = Tensor::<2>::from_data(TensorData::new(weights, [rows, features]), place);
    (gradients * weights).sum() * share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_a_row_by_hand() {
        // |g| = 3, 1, 2, 0 and k = 2: features 0 and 2 are salient.
        let weights = weights(&[3.0, 1.0, -2.0, 0.0], 4, 2).unwrap();
        assert_eq!(weights, [0.5, -0.5, -0.5, 0.0]);
        // Mean gap over the four pairs: ((3-1) + (3-0) + (2-1) + (2-0)) / 4 = 2.
        let gap: f32 = weights
            .iter()
            .zip([3.0, 1.0, -2.0, 0.0])
            .map(|(w, g)| w * g)
            .sum();
        assert!((gap - 2.0).abs() < 1e-6);
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        let weights = weights(&[1.0, -1.0, 1.0], 3, 1).unwrap();
        assert_eq!(weights, [1.0, 0.5, -0.5]);
    }

    #[test]
    fn a_k_without_another_side_and_a_nan_are_refused() {
        assert!(matches!(
            weights(&[1.0, 2.0], 2, 2),
            Err(Error::TopKOutOfRange { k: 2, largest: 1 })
        ));
        assert!(weights(&[1.0, f32::NAN], 2, 1).is_err());
    }
}
