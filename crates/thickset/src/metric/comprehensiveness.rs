//! Comprehensiveness (COMP): how much the prediction moves when the most important features are removed.
//!
//! `1/|K| * sum over k in K of |f_c(x) - f_c(x without its top k)|`, R2ET B.1.4.

use crate::Result;
use crate::audit::figure::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::check::{as_f64, check_finite, check_not_empty};
use crate::registry::{Direction, Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "comprehensiveness",
    label: "COMP",
    family: Family::Metric,
    summary: "Mean change of the predicted probability when the most important features are removed",
    formula: "1/|K| sum_{k in K} |f_c(x) - f_c(x_[\\k])|",
    source: "R2ET, B.1.4",
    direction: Some(Direction::Higher),
    cost: "|K| predictions a row",
    defaults: &[
        Setting::in_words(
            "counts",
            "every",
            "K: 1..n for tables; 1, 5, 10, 20, 50% of n for images and graphs",
        ),
        Setting::in_words("removal", "0", "what a removed feature is set to"),
    ],
};

/// The entry of an audit's table of figures.
pub static FIGURE: Figure = Figure {
    id: "comprehensiveness",
    key: "comprehensiveness",
    label: "COMP",
    title: "Comprehensiveness",
    meaning: "mean change of the probability without the most important {features}",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Measured(|part| part.faithful(|found| found.comprehensiveness)),
    sum: SumBy::Mean { range: [0.0, 1.0] },
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: Some(&INFO),
};

/// The mean absolute change from `original`, the probability of the predicted class at x, to `without`, the probabilities
/// of the same class for the inputs without their most important features. In `[0, 1]`, higher is more faithful.
///
/// # Errors
/// When there is no count of features, or a value is not finite.
pub fn score(original: f64, without: &[f64]) -> Result<f64> {
    mean_change(original, without)
}

/// The mean absolute change, shared with sufficiency.
pub(super) fn mean_change(original: f64, changed: &[f64]) -> Result<f64> {
    check_not_empty("the probabilities of the changed inputs", changed)?;
    check_finite("the probability of the input", &[original])?;
    check_finite("the probabilities of the changed inputs", changed)?;
    Ok(changed
        .iter()
        .map(|probability| (original - probability).abs())
        .sum::<f64>()
        / as_f64(changed.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_and_rises_both_count_as_changes() {
        assert!((score(0.6, &[0.5, 0.7, 0.1]).unwrap() - 0.7 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_to_average_is_refused() {
        assert!(score(0.6, &[]).is_err());
        assert!(score(0.6, &[f64::NAN]).is_err());
        assert!(score(f64::NAN, &[0.5]).is_err());
    }
}
