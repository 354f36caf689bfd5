//! Spearman's rank correlation of two explanations.
//!
//! Pearson's correlation of the midranks, so ties are counted as they should be.

use super::{check_pair, pearson, ranking};
use crate::Result;
use crate::registry::{Direction, Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "spearman",
    label: "Spearman's rho",
    family: Family::Metric,
    summary: "Correlation of the ranks of two explanations",
    formula: "pearson(midranks of I(x), midranks of I(x'))",
    source: "standard",
    direction: Some(Direction::Higher),
    cost: "two explanations a row; O(n log n)",
    defaults: &[],
};

/// The rank correlation; in `[-1, 1]`, higher is more stable. Two constant explanations score 1, a constant and another
/// 0.
///
/// # Errors
/// When the explanations are empty, differ in length, or hold a value that is not finite.
pub fn score(first: &[f64], second: &[f64]) -> Result<f64> {
    check_pair(first, second)?;
    Ok(pearson::correlation(
        &ranking::midranks(first)?,
        &ranking::midranks(second)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_order_counts() {
        assert!((score(&[1.0, 10.0, 100.0], &[-5.0, 0.0, 0.1]).unwrap() - 1.0).abs() < 1e-15);
        assert!((score(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0]).unwrap() + 1.0).abs() < 1e-15);
    }

    #[test]
    fn without_ties_it_is_one_minus_six_times_the_squared_rank_differences() {
        // Differences 1, -1, 0, 0: 1 - 6 * 2 / (4 * 15).
        assert!((score(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 3.0, 4.0]).unwrap() - 0.8).abs() < 1e-15);
    }

    #[test]
    fn a_constant_is_like_itself_and_like_nothing_else() {
        assert!((score(&[2.0; 3], &[2.0; 3]).unwrap() - 1.0).abs() < 1e-15);
        assert!(score(&[2.0; 3], &[1.0, 2.0, 3.0]).unwrap().abs() < 1e-15);
    }
}
