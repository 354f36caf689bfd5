//! Numbers that say how good a model is, and how stable and how faithful its explanations are.
//!
//! Every metric takes plain slices of one row, or of one column of rows; [`measure`] makes them of rows of a network. What
//! they share:
//!
//! - NaN and infinity are refused ([`Error::NotFinite`](crate::Error::NotFinite)), and so are lists that do not fit each other.
//! - An explanation without any order (all features equal, or all zero) is *like itself and like nothing else*: the
//!   similarity of two such explanations is 1, that of one such and an ordinary one is 0. Where other software answers
//!   NaN, a mean over rows would be lost to one saturated row.
//! - What has no value at all, such as an AUC of rows of one class, is `None`.

pub mod accuracy;
pub mod auc;
pub mod comprehensiveness;
pub mod cosine;
pub mod dffot;
pub mod distinctness;
pub mod faithfulness;
pub mod hessian_norm;
pub mod kendall;
pub mod manipulation_epoch;
pub mod measure;
pub mod pearson;
pub mod precision_at_k;
pub mod ranking;
pub mod sensitivity;
pub mod spearman;
pub mod stability_limit;
pub mod sufficiency;
pub mod thickness;

use crate::Result;
use crate::check::{check_finite, check_length, check_not_empty};

/// Refuses two explanations that cannot be compared: empty, of different lengths, or not finite.
fn check_pair(first: &[f64], second: &[f64]) -> Result<()> {
    check_not_empty("the first explanation", first)?;
    check_length("the second explanation", second, first.len())?;
    check_finite("the first explanation", first)?;
    check_finite("the second explanation", second)
}

/// Whether all values are the same number.
fn is_constant(values: &[f64]) -> bool {
    #[expect(
        clippy::float_cmp,
        reason = "constant means bit for bit the same order, so equality is exact"
    )]
    values.windows(2).all(|pair| pair[0] == pair[1])
}

/// The similarity of two explanations of which at least one has no order; `None` when both have one.
fn similarity_without_order(first: bool, second: bool) -> Option<f64> {
    match (first, second) {
        (true, true) => Some(1.0),
        (false, false) => None,
        _ => Some(0.0),
    }
}

/// The Euclidean norm, scaled by the largest entry so that squares neither overflow nor vanish.
fn norm(values: &[f64]) -> f64 {
    let largest = values
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest
        * values
            .iter()
            .map(|value| (value / largest).powi(2))
            .sum::<f64>()
            .sqrt()
}

/// The cosine of the angle between two vectors of the same length, neither of them zero; in `[-1, 1]`.
fn cosine_of(first: &[f64], second: &[f64]) -> f64 {
    let (first_norm, second_norm) = (norm(first), norm(second));
    let inner: f64 = first
        .iter()
        .zip(second)
        .map(|(a, b)| (a / first_norm) * (b / second_norm))
        .sum();
    inner.clamp(-1.0, 1.0)
}
