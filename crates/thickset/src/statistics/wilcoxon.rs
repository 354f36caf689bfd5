//! Wilcoxon's signed-rank test: whether the rows' differences lie evenly around zero.
//!
//! The differences that are not zero are ranked by size, ties sharing their mean rank; W+ and W- are the sums of the
//! ranks of the positive and of the negative ones, and the statistic is the smaller. Up to [`EXACT`] differences the
//! p value counts, among all 2^n ways to set the signs, those at least as uneven; this is exact with ties too. Beyond,
//! it is normal: `z = (W - n(n+1)/4) / sqrt((n(n+1)(2n+1) - sum(t^3 - t)/2) / 24)` over tie groups of size t.

use serde::Serialize;

use super::{ROUNDING, differences, normal_p_value};
use crate::Result;
use crate::check::as_f64;

/// Most differences for which the p value is exact.
pub const EXACT: usize = 50;

/// How the p value is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PValueMethod {
    /// Exact up to [`EXACT`] differences other than zero, normal without continuity correction beyond.
    Auto,
    /// Exact for any number of differences; time grows with its third power.
    Exact,
    /// The normal approximation.
    Normal {
        /// Whether the statistic is moved half a rank towards its mean.
        continuity: bool,
    },
}

/// The test's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wilcoxon {
    /// The smaller of the two rank sums.
    pub statistic: f64,
    /// `(W+ - W-) / (W+ + W-)`, the matched-pairs rank-biserial correlation; in `[-1, 1]`, 0 without differences.
    pub rank_biserial: f64,
    /// How many differences are not zero.
    pub count: usize,
    /// Two-sided p value; 1 when no row differs.
    pub p_value: f64,
}

/// The test of `first - second`, row by row.
///
/// # Errors
/// When the lists are empty, differ in length, or hold a value that is not finite.
pub fn paired(first: &[f64], second: &[f64], method: PValueMethod) -> Result<Wilcoxon> {
    Ok(of_differences(&differences(first, second)?, method))
}

/// The test of finite differences.
pub(super) fn of_differences(differences: &[f64], method: PValueMethod) -> Wilcoxon {
    let mut ordered: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|difference| *difference != 0.0)
        .collect();
    ordered.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let count = ordered.len();
    if count == 0 {
        return Wilcoxon {
            statistic: 0.0,
            rank_biserial: 0.0,
            count,
            p_value: 1.0,
        };
    }
    let tolerance = ROUNDING * ordered[count - 1].abs();
    // Ranks are doubled, so that shared ones are whole numbers.
    let mut doubled_ranks = Vec::with_capacity(count);
    let (mut positive, mut tie_term) = (0_usize, 0.0);
    for group in ordered.chunk_by(|a, b| b.abs() - a.abs() <= tolerance) {
        let rank = 2 * doubled_ranks.len() + group.len() + 1;
        positive += rank * group.iter().filter(|difference| **difference > 0.0).count();
        tie_term += as_f64(group.len()).powi(3) - as_f64(group.len());
        doubled_ranks.extend(group.iter().map(|_| rank));
    }
    let total: usize = doubled_ranks.iter().sum();
    let smaller = positive.min(total - positive);
    let p_value = match method {
        PValueMethod::Auto if count <= EXACT => exact(&doubled_ranks, smaller),
        PValueMethod::Exact => exact(&doubled_ranks, smaller),
        PValueMethod::Auto => normal(count, tie_term, smaller, false),
        PValueMethod::Normal { continuity } => normal(count, tie_term, smaller, continuity),
    };
    Wilcoxon {
        statistic: as_f64(smaller) / 2.0,
        rank_biserial: (2.0 * as_f64(positive) - as_f64(total)) / as_f64(total),
        count,
        p_value,
    }
}

/// Twice the share of sign patterns whose doubled rank sum is at most `smaller`.
fn exact(doubled_ranks: &[usize], smaller: usize) -> f64 {
    // Probabilities rather than counts: they stay in range for any number of differences.
    let mut share = vec![0.0; smaller + 1];
    share[0] = 1.0;
    for &rank in doubled_ranks {
        for sum in (0..=smaller).rev() {
            let with = if sum >= rank { share[sum - rank] } else { 0.0 };
            share[sum] = f64::midpoint(share[sum], with);
        }
    }
    (2.0 * share.iter().sum::<f64>()).min(1.0)
}

fn normal(count: usize, tie_term: f64, smaller: usize, continuity: bool) -> f64 {
    let n = as_f64(count);
    let variance = (n * (n + 1.0) * (2.0 * n + 1.0) - tie_term / 2.0) / 24.0;
    let below = n * (n + 1.0) / 4.0 - as_f64(smaller) / 2.0;
    let correction = if continuity && below > 0.0 { 0.5 } else { 0.0 };
    normal_p_value((below - correction) / variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p_value(differences: &[f64]) -> f64 {
        of_differences(differences, PValueMethod::Auto).p_value
    }

    #[test]
    fn all_of_one_sign_is_two_patterns_of_all() {
        assert!((p_value(&[1.0, 2.0, 3.0, 4.0, 5.0]) - 2.0 / 32.0).abs() < 1e-15);
    }

    #[test]
    fn a_case_by_hand() {
        // Ranks 1, 2, 3 with signs +, -, +: W- = 2. Sums 0, 1, 2 have one pattern each of eight.
        let found = of_differences(&[0.1, -0.2, 0.3], PValueMethod::Auto);
        assert!((found.statistic - 2.0).abs() < 1e-15);
        assert!((found.p_value - 6.0 / 8.0).abs() < 1e-15);
        assert!((found.rank_biserial - 2.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn exact_with_ties_counts_every_pattern_of_signs() {
        let sizes = [0.5, 0.5, 0.25, 1.0, 1.0, 1.0, 0.75];
        let ranks = [2.5, 2.5, 1.0, 6.0, 6.0, 6.0, 4.0];
        let signs = [1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0];
        let total: f64 = ranks.iter().sum();
        let smaller = |pattern: usize| {
            let positive: f64 = ranks
                .iter()
                .enumerate()
                .filter(|(bit, _)| pattern >> bit & 1 == 1)
                .map(|(_, rank)| rank)
                .sum();
            f64::min(positive, total - positive)
        };
        let seen = smaller(0b110_1011);
        let as_uneven = (0..1_usize << 7)
            .filter(|&pattern| smaller(pattern) <= seen)
            .count();
        let differences: Vec<f64> = sizes
            .iter()
            .zip(signs)
            .map(|(size, sign)| size * sign)
            .collect();
        let found = of_differences(&differences, PValueMethod::Exact);
        assert!((found.statistic - seen).abs() < 1e-15);
        assert!((found.p_value - as_f64(as_uneven) / 128.0).abs() < 1e-15);
    }

    #[test]
    fn zeros_are_left_out_and_nothing_but_zeros_is_no_evidence() {
        assert!((p_value(&[0.0, 1.0, 0.0, 2.0]) - 0.5).abs() < 1e-15);
        assert!((p_value(&[0.0, 0.0]) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn tenths_that_differ_in_their_last_bit_are_ties() {
        let found = paired(&[0.9, 0.4, 0.1 + 0.2], &[0.8, 0.3, 0.3], PValueMethod::Auto).unwrap();
        assert_eq!(found.count, 2);
        // Two ties of one sign: W- = 0, with probability 1/4 on either side.
        assert!((found.p_value - 0.5).abs() < 1e-15);
        let mixed = paired(&[0.9, 0.3], &[0.8, 0.4], PValueMethod::Auto).unwrap();
        assert!((mixed.statistic - 1.5).abs() < 1e-15);
    }

    #[test]
    fn for_many_differences_the_normal_p_value_is_near_the_exact_one() {
        let differences: Vec<f64> = (1..=60)
            .map(|size| {
                if size % 3 == 0 {
                    -f64::from(size)
                } else {
                    f64::from(size)
                }
            })
            .collect();
        let exact = of_differences(&differences, PValueMethod::Exact).p_value;
        let normal =
            of_differences(&differences, PValueMethod::Normal { continuity: true }).p_value;
        assert!((exact - normal).abs() < 1e-3, "{exact} {normal}");
    }

    #[test]
    fn up_to_fifty_differences_the_p_value_is_exact() {
        let signed = |count: i32| -> Vec<f64> {
            let sign = |size: i32| if size % 3 == 0 { -1.0 } else { 1.0 };
            (1..=count)
                .map(|size| sign(size) * f64::from(size))
                .collect()
        };
        let by = |count: i32, method| of_differences(&signed(count), method).p_value.to_bits();
        let normal = PValueMethod::Normal { continuity: false };
        assert_eq!(by(50, PValueMethod::Auto), by(50, PValueMethod::Exact));
        assert_ne!(by(50, PValueMethod::Auto), by(50, normal));
        assert_eq!(by(51, PValueMethod::Auto), by(51, normal));
    }

    #[test]
    fn an_even_split_is_no_evidence_with_the_correction_either() {
        // Two tied differences of both signs: W is its mean, 3/2, and there is nothing to correct.
        let method = PValueMethod::Normal { continuity: true };
        let found = of_differences(&[1.0, -1.0], method);
        assert!((found.p_value - 1.0).abs() < 1e-15);
    }

    #[test]
    fn rounding_of_large_values_makes_neither_differences_nor_ranks() {
        let above = 1000.0 + 1e-10;
        let found = paired(&[above, 3.0], &[1000.0, 1.0], PValueMethod::Auto).unwrap();
        assert_eq!(found.count, 1);
        // Tied: both have the rank 3/2.
        let found = paired(&[1000.0, 0.0], &[0.0, above], PValueMethod::Auto).unwrap();
        assert!((found.statistic - 1.5).abs() < 1e-15);
    }
}
