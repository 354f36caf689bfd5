//! Two models on the same rows, summed up: how large the difference is, how sure, and how consistent.

use serde::Serialize;

use super::t_test::{self, TTest};
use super::wilcoxon::{self, PValueMethod, Wilcoxon};
use super::{Estimate, differences, mean, median};
use crate::Result;
use crate::check::as_f64;

/// The comparison `first - second`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// The mean difference.
    pub mean: Estimate,
    /// The median difference.
    pub median: Estimate,
    /// Rows on which the first has the larger value.
    pub first_larger: usize,
    /// Rows on which the values are equal.
    pub equal: usize,
    /// Rows on which the second has the larger value.
    pub second_larger: usize,
    /// The mean difference in units of the differences' standard deviation (Cohen's d of paired values); `None` when
    /// they do not vary, or there is only one.
    pub standardised: Option<f64>,
    /// The paired t-test.
    pub t_test: TTest,
    /// Wilcoxon's signed-rank test, with the rank-biserial correlation as its effect size.
    pub wilcoxon: Wilcoxon,
}

/// Compares two models row by row.
///
/// # Errors
/// When the lists are empty, differ in length, or hold a value that is not finite.
pub fn compare(first: &[f64], second: &[f64]) -> Result<Comparison> {
    let differences = differences(first, second)?;
    let t_test = t_test::of_differences(&differences);
    Ok(Comparison {
        mean: mean::estimate(&differences)?,
        median: median::estimate(&differences)?,
        first_larger: differences
            .iter()
            .filter(|difference| **difference > 0.0)
            .count(),
        equal: differences
            .iter()
            .filter(|difference| **difference == 0.0)
            .count(),
        second_larger: differences
            .iter()
            .filter(|difference| **difference < 0.0)
            .count(),
        standardised: t_test
            .statistic
            .map(|t| t / as_f64(differences.len()).sqrt()),
        t_test,
        wilcoxon: wilcoxon::of_differences(&differences, PValueMethod::Auto),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_comparison_by_hand() {
        // Differences 1, 3, 0, -2.
        let found = compare(&[2.0, 5.0, 1.0, 0.0], &[1.0, 2.0, 1.0, 2.0]).unwrap();
        assert!((found.mean.value - 0.5).abs() < 1e-15);
        assert!((found.median.value - 0.5).abs() < 1e-15);
        assert_eq!(
            (found.first_larger, found.equal, found.second_larger),
            (2, 1, 1)
        );
        // Variance 13/3.
        assert!((found.standardised.unwrap() - 0.5 / (13.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.wilcoxon.count, 3);
    }

    #[test]
    fn exchanging_the_models_turns_the_signs_and_keeps_the_p_values() {
        let (first, second) = ([0.9, 0.7, 0.8, 1.0, 0.6], [0.8, 0.9, 0.5, 0.6, 0.55]);
        let (there, back) = (
            compare(&first, &second).unwrap(),
            compare(&second, &first).unwrap(),
        );
        assert!((there.mean.value + back.mean.value).abs() < 1e-15);
        assert!((there.wilcoxon.rank_biserial + back.wilcoxon.rank_biserial).abs() < 1e-15);
        assert!((there.t_test.p_value - back.t_test.p_value).abs() < 1e-15);
        assert!((there.wilcoxon.p_value - back.wilcoxon.p_value).abs() < 1e-15);
    }

    #[test]
    fn a_comparison_can_be_written_as_json() {
        let found = compare(&[1.0, 2.0], &[0.0, 1.0]).unwrap();
        let json = serde_json::to_value(found).unwrap();
        assert_eq!(json["t_test"]["statistic"], serde_json::Value::Null);
        assert_eq!(json["first_larger"], 2);
    }
}
