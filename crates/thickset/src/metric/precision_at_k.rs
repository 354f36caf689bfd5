//! P@k: how much of the top-k set two explanations share.
//!
//! `|I(x)_[k] ∩ I(x')_[k]| / k`, R2ET B.1.4. Ties go to the lower feature index.

use super::ranking::TopK;
use crate::Result;
use crate::audit::figure::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::check::as_f64;
use crate::registry::{Direction, Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "precision-at-k",
    label: "P@k",
    family: Family::Metric,
    summary: "Share of the k most important features that stay among the k most important",
    formula: "|I(x)_[k] ∩ I(x')_[k]| / k",
    source: "R2ET, B.1.4",
    direction: Some(Direction::Higher),
    cost: "two explanations a row",
    defaults: &[Setting::in_words(
        "k",
        "8",
        "salient features (the paper: 8 for tables, 50 for MNIST and graphs, 100 for CIFAR-10)",
    )],
};

/// The entry of an audit's table of figures.
pub static FIGURE: Figure = Figure {
    id: "p_at_k",
    key: "precision_at_k",
    label: "P@{k}",
    title: "P@{k} under attack",
    meaning: "share of the {k} {reasons} that stay at the worst small change found",
    direction: Direction::Higher,
    unit: Unit::Share,
    of_row: OfRow::Follows(|row| row.precision),
    sum: SumBy::Mean { range: [0.0, 1.0] },
    baseline: Baseline::Attacked,
    compare: CompareBy::Rows,
    is_main: true,
    method: Some(&INFO),
};

/// P@k of two explanations of one row; in `[0, 1]`, higher is more stable. Two constant explanations score 1, as their
/// ties break alike.
///
/// # Errors
/// When the explanations differ in length, `k` is not in `1..=features`, or a value is not finite.
pub fn score(first: &[f64], second: &[f64], k: usize) -> Result<f64> {
    between(&TopK::of(first, k)?, &TopK::of(second, k)?)
}

/// P@k of two top-k sets: what they share, as a share of the first set's `k`.
///
/// # Errors
/// When the sets are of different numbers of features.
pub fn between(first: &TopK, second: &TopK) -> Result<f64> {
    Ok(as_f64(first.overlap(second)?) / as_f64(first.k()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_three_kept_is_two_thirds() {
        let p = score(&[5.0, 4.0, 3.0, 2.0], &[5.0, 4.0, 0.0, 2.0], 3).unwrap();
        assert!((p - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn the_order_within_the_set_does_not_matter() {
        let p = score(&[5.0, 4.0, 3.0, 2.0], &[3.0, 4.0, 5.0, 2.0], 3).unwrap();
        assert!((p - 1.0).abs() < 1e-15);
    }

    #[test]
    fn with_k_of_all_features_nothing_can_leave() {
        assert!((score(&[1.0, 2.0], &[2.0, 1.0], 2).unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn ties_do_not_depend_on_sort_stability() {
        let p = score(&[1.0; 50], &[7.0; 50], 20).unwrap();
        assert!((p - 1.0).abs() < 1e-15);
    }

    #[test]
    fn lengths_that_differ_are_refused() {
        let message = score(&[1.0, 2.0], &[1.0, 2.0, 3.0], 1)
            .unwrap_err()
            .to_string();
        assert_eq!(message, "the second top-k set must have length 2, got 3");
    }
}
