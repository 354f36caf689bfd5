//! Pearson's correlation of two explanations.
//!
//! The cosine of the explanations minus their means.

use super::{check_pair, cosine_of, is_constant, similarity_without_order};
use crate::Result;
use crate::check::as_f64;
use crate::registry::{Direction, Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "pearson",
    label: "Pearson correlation",
    family: Family::Metric,
    summary: "Linear correlation of two explanations over their features",
    formula: "cov(I(x), I(x')) / (sd(I(x)) sd(I(x')))",
    source: "standard (AdvAAT's similarity)",
    direction: Some(Direction::Higher),
    cost: "two explanations a row",
    defaults: &[],
};

/// The correlation; in `[-1, 1]`, higher is more stable. Two constant explanations score 1, a constant and another 0.
///
/// # Errors
/// When the explanations are empty, differ in length, or hold a value that is not finite.
pub fn score(first: &[f64], second: &[f64]) -> Result<f64> {
    check_pair(first, second)?;
    Ok(correlation(first, second))
}

/// The correlation of values known to be finite and of one length.
pub(super) fn correlation(first: &[f64], second: &[f64]) -> f64 {
    similarity_without_order(is_constant(first), is_constant(second))
        .unwrap_or_else(|| cosine_of(&centred(first), &centred(second)))
}

fn centred(values: &[f64]) -> Vec<f64> {
    let count = as_f64(values.len());
    // Each term is divided before it is added: a sum of large finite values must not become infinite.
    let mean: f64 = values.iter().map(|value| value / count).sum();
    values.iter().map(|value| value - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_computed_case() {
        // Deviations (-1, 0, 1) and (-1, 1, 0): 1 / (sqrt 2 * sqrt 2).
        assert!((score(&[1.0, 2.0, 3.0], &[1.0, 3.0, 2.0]).unwrap() - 0.5).abs() < 1e-15);
    }

    #[test]
    fn a_shift_and_a_positive_scale_change_nothing() {
        let (a, b) = ([0.3, -1.0, 2.0, 0.7], [1.0, 0.5, 0.25, 4.0]);
        let moved: Vec<f64> = a.iter().map(|value| 3.0 * value + 7.0).collect();
        assert!((score(&a, &b).unwrap() - score(&moved, &b).unwrap()).abs() < 1e-14);
    }

    #[test]
    fn a_constant_is_like_itself_and_like_nothing_else() {
        assert!((score(&[0.1; 3], &[0.2; 3]).unwrap() - 1.0).abs() < 1e-15);
        assert!(score(&[0.1; 3], &[1.0, 2.0, 3.0]).unwrap().abs() < 1e-15);
        assert!((score(&[4.0], &[5.0]).unwrap() - 1.0).abs() < 1e-15);
    }
}
