//! Kendall's tau-b of two explanations, in O(n log n).
//!
//! `(C - D) / sqrt((P - T_a)(P - T_b))`: concordant minus discordant pairs of features, `P = n(n-1)/2` pairs, `T` those
//! tied in each explanation. The discordant pairs are counted by merge sort (Knight 1966): sort by the first
//! explanation, then by the second within ties; each exchange a merge sort of the second needs is one discordant pair.

use super::{check_pair, similarity_without_order};
use crate::Result;
use crate::audit::figure::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::registry::{Direction, Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "kendall",
    label: "Kendall's tau",
    family: Family::Metric,
    summary: "Concordant minus discordant pairs of features, corrected for ties (tau-b)",
    formula: "(C - D) / sqrt((P - T_a)(P - T_b)), P = n(n-1)/2",
    source: "Kendall 1945; Knight 1966; IGR, appendix C",
    direction: Some(Direction::Higher),
    cost: "two explanations a row; O(n log n)",
    defaults: &[],
};

/// The entry of an audit's table of figures.
pub static FIGURE: Figure = Figure {
    id: "kendall",
    key: "kendall",
    label: "Kendall",
    title: "Kendall's tau under attack",
    meaning: "agreement of the whole ranking with the one at the worst small change found, from -1 to 1",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Measured(|rows| {
        let pairs = rows.explained.iter().zip(&rows.at_worst);
        pairs
            .map(|(row, worst)| score(&row.importance, &worst.importance))
            .collect()
    }),
    sum: SumBy::Mean { range: [-1.0, 1.0] },
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: Some(&INFO),
};

/// Tau-b; in `[-1, 1]`, higher is more stable. Two constant explanations score 1, a constant and another 0.
///
/// # Errors
/// When the explanations are empty, differ in length, or hold a value that is not finite.
pub fn score(first: &[f64], second: &[f64]) -> Result<f64> {
    check_pair(first, second)?;
    // Adding zero turns -0 into 0, so that the two zeros are tied under a total order.
    let mut pairs: Vec<(f64, f64)> = first
        .iter()
        .zip(second)
        .map(|(a, b)| (a + 0.0, b + 0.0))
        .collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let tied_in_first = tied_pairs(&pairs, |a, b| a.0 >= b.0);
    let tied_in_both = tied_pairs(&pairs, |a, b| a.0 >= b.0 && a.1 >= b.1 && a.1 <= b.1);
    let mut column: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let discordant = exchanges(&mut column);
    let tied_in_second = tied_pairs(&column, |a, b| a >= b);

    let all = pairs_of(pairs.len());
    if let Some(score) = similarity_without_order(tied_in_first == all, tied_in_second == all) {
        return Ok(score);
    }
    // C + D = P - T_a - T_b + T_ab, hence C - D is that minus 2 D. A first explanation of n features has P < 2^53 pairs.
    let surplus = as_signed(all) - as_signed(tied_in_first) - as_signed(tied_in_second)
        + as_signed(tied_in_both)
        - 2 * as_signed(discordant);
    let tau = real(surplus)
        / real(as_signed(all - tied_in_first)).sqrt()
        / real(as_signed(all - tied_in_second)).sqrt();
    Ok(tau.clamp(-1.0, 1.0))
}

fn pairs_of(count: usize) -> u64 {
    let count = count as u64;
    count * count.saturating_sub(1) / 2
}

fn as_signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "pairs of features: exact up to 2^53, that is 134 million features"
)]
fn real(count: i64) -> f64 {
    count as f64
}

/// The number of pairs within runs of sorted neighbours that `same` calls equal.
fn tied_pairs<T>(sorted: &[T], same: impl Fn(&T, &T) -> bool) -> u64 {
    sorted.chunk_by(same).map(|run| pairs_of(run.len())).sum()
}

/// Sorts by merging from the bottom up, and counts the pairs that stood in the wrong order.
fn exchanges(values: &mut [f64]) -> u64 {
    let mut count = 0;
    let mut merged = values.to_vec();
    let mut width = 1;
    while width < values.len() {
        for (source, target) in values.chunks(2 * width).zip(merged.chunks_mut(2 * width)) {
            let (left, right) = source.split_at(width.min(source.len()));
            let (mut i, mut j) = (0, 0);
            for place in target {
                if j == right.len() || (i < left.len() && left[i] <= right[j]) {
                    *place = left[i];
                    i += 1;
                } else {
                    *place = right[j];
                    j += 1;
                    count += (left.len() - i) as u64;
                }
            }
        }
        values.copy_from_slice(&merged);
        width *= 2;
    }
    count
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Straight from the definition, in O(n^2).
    fn slow(first: &[f64], second: &[f64]) -> f64 {
        let sign = |a: f64, b: f64| {
            if a > b {
                1.0
            } else if a < b {
                -1.0
            } else {
                0.0
            }
        };
        let (mut surplus, mut first_untied, mut second_untied) = (0.0, 0.0, 0.0);
        for i in 0..first.len() {
            for j in 0..i {
                let (a, b): (f64, f64) = (sign(first[i], first[j]), sign(second[i], second[j]));
                surplus += a * b;
                first_untied += a.abs();
                second_untied += b.abs();
            }
        }
        match (first_untied == 0.0, second_untied == 0.0) {
            (true, true) => 1.0,
            (false, false) => surplus / f64::sqrt(first_untied * second_untied),
            _ => 0.0,
        }
    }

    #[test]
    fn one_exchange_of_neighbours_in_four_costs_a_third() {
        // Six pairs, one discordant: (5 - 1) / 6.
        let tau = score(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]).unwrap();
        assert!((tau - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn ties_are_corrected_for() {
        // Pairs (1,2): tied in the first; (1,3), (2,3) concordant: 2 / sqrt(2 * 3).
        let tau = score(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((tau - 2.0 / 6.0_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn a_constant_is_like_itself_and_like_nothing_else() {
        assert!((score(&[1.0; 3], &[2.0; 3]).unwrap() - 1.0).abs() < 1e-15);
        assert!(score(&[1.0; 3], &[1.0, 2.0, 3.0]).unwrap().abs() < 1e-15);
        assert!((score(&[1.0], &[2.0]).unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn the_two_zeros_are_tied() {
        let tau = score(&[0.0, -0.0, 1.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((tau - slow(&[0.0, 0.0, 1.0], &[1.0, 2.0, 3.0])).abs() < 1e-15);
    }

    proptest! {
        #[test]
        fn merge_sort_counts_what_the_definition_counts(
            pairs in prop::collection::vec((-4..4_i32, -4..4_i32), 1..40)
        ) {
            let first: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.0)).collect();
            let second: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.1)).collect();
            let tau = score(&first, &second).unwrap();
            prop_assert!((tau - slow(&first, &second)).abs() < 1e-12);
            prop_assert!((tau - score(&second, &first).unwrap()).abs() < 1e-12);
        }
    }
}
