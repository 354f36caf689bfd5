//! Sufficiency (SUFF): how much the prediction moves when only the most important features are kept.
//!
//! `1/|K| * sum over k in K of |f_c(x) - f_c(x with only its top k)|`, R2ET B.1.4.

use super::comprehensiveness::mean_change;
use crate::Result;
use crate::audit::figure::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::registry::{Direction, Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "sufficiency",
    label: "SUFF",
    family: Family::Metric,
    summary: "Mean change of the predicted probability when only the most important features are kept",
    formula: "1/|K| sum_{k in K} |f_c(x) - f_c(x_[k])|",
    source: "R2ET, B.1.4",
    direction: Some(Direction::Lower),
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
    id: "sufficiency",
    key: "sufficiency",
    label: "SUFF",
    title: "Sufficiency",
    meaning: "mean change of the probability with only the most important {features}",
    direction: Direction::Lower,
    unit: Unit::Score,
    of_row: OfRow::Measured(|part| part.faithful(|found| found.sufficiency)),
    sum: SumBy::Mean { range: [0.0, 1.0] },
    baseline: Baseline::No,
    compare: CompareBy::Nothing,
    is_main: false,
    method: Some(&INFO),
};

/// The mean absolute change from `original`, the probability of the predicted class at x, to `only`, the probabilities of
/// the same class for the inputs with only their most important features. In `[0, 1]`, lower is more faithful.
///
/// # Errors
/// When there is no count of features, or a value is not finite.
pub fn score(original: f64, only: &[f64]) -> Result<f64> {
    mean_change(original, only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeping_what_the_model_uses_changes_nothing() {
        assert!(score(0.9, &[0.9, 0.9]).unwrap().abs() < 1e-15);
        assert!((score(0.9, &[0.5, 0.9]).unwrap() - 0.2).abs() < 1e-15);
    }
}
