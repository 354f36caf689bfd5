//! Cosine similarity of two explanations.
//!
//! `<a, b> / (||a|| ||b||)`. Unlike the correlations it sees the common level of the features.

use super::{check_pair, cosine_of, similarity_without_order};
use crate::Result;
use crate::registry::{Direction, Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "cosine",
    label: "Cosine similarity",
    family: Family::Metric,
    summary: "Cosine of the angle between two explanations",
    formula: "<I(x), I(x')> / (||I(x)|| ||I(x')||)",
    source: "IGR, section 4 (the regulariser's similarity); standard",
    direction: Some(Direction::Higher),
    cost: "two explanations a row",
    defaults: &[],
};

/// The cosine; in `[-1, 1]`, higher is more stable. Two zero vectors score 1, a zero and another vector 0.
///
/// # Errors
/// When the explanations are empty, differ in length, or hold a value that is not finite.
pub fn score(first: &[f64], second: &[f64]) -> Result<f64> {
    check_pair(first, second)?;
    let is_zero = |values: &[f64]| values.iter().all(|value| *value == 0.0);
    Ok(similarity_without_order(is_zero(first), is_zero(second))
        .unwrap_or_else(|| cosine_of(first, second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_angle_is_zero_and_half_of_it_is_the_root_of_a_half() {
        assert!(score(&[1.0, 0.0], &[0.0, 2.0]).unwrap().abs() < 1e-15);
        assert!((score(&[1.0, 0.0], &[3.0, 3.0]).unwrap() - 0.5_f64.sqrt()).abs() < 1e-15);
        assert!((score(&[1.0, -2.0], &[-2.0, 4.0]).unwrap() + 1.0).abs() < 1e-15);
    }

    #[test]
    fn zero_is_like_itself_and_like_nothing_else() {
        assert!((score(&[0.0, -0.0], &[0.0, 0.0]).unwrap() - 1.0).abs() < 1e-15);
        assert!(score(&[0.0, 0.0], &[1.0, 0.0]).unwrap().abs() < 1e-15);
    }

    #[test]
    fn values_whose_squares_vanish_still_have_an_angle() {
        assert!((score(&[1e-200, 1e-200], &[1e200, 0.0]).unwrap() - 0.5_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn nan_is_refused() {
        assert!(score(&[f64::NAN], &[1.0]).is_err());
        assert!(score(&[1.0], &[f64::INFINITY]).is_err());
    }
}
