//! Accuracy: the share of rows whose predicted class is the label.
//!
//! `1/N * #{ argmax_c f_c(x) = y }`

use crate::Result;
use crate::audit::figure::{AllRows, Baseline, CompareBy, Figure, FigureValue, OfRow, SumBy, Unit};
use crate::check::{as_f64, check_length, check_not_empty};
use crate::registry::{Direction, Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "accuracy",
    label: "Accuracy",
    family: Family::Metric,
    summary: "Share of rows whose predicted class is the label",
    formula: "#{argmax f(x) = y} / N",
    source: "R2ET, section 6 (CIFAR-10); standard",
    direction: Some(Direction::Higher),
    cost: "one prediction a row",
    defaults: &[],
};

/// The entry of an audit's table of figures.
pub static FIGURE: Figure = Figure {
    id: "accuracy",
    key: "accuracy",
    label: "accuracy",
    title: "Accuracy",
    meaning: "share of {rows} predicted as labelled",
    direction: Direction::Higher,
    unit: Unit::Share,
    of_row: OfRow::Nothing,
    sum: SumBy::Together {
        of: of_predictions,
        has_interval: false,
    },
    baseline: Baseline::Predicted,
    compare: CompareBy::Values,
    is_main: true,
    method: Some(&INFO),
};

fn of_predictions(all: &AllRows<'_>) -> Result<Option<FigureValue>> {
    let predictions = all.predictions;
    if predictions.labels.is_empty() {
        return Ok(None);
    }
    Ok(Some(
        score(&predictions.classes, &predictions.labels)?.into(),
    ))
}

/// The share of equal entries; in `[0, 1]`, higher is better.
///
/// # Errors
/// When there is no row, or the lists differ in length.
pub fn score(predicted: &[usize], labels: &[usize]) -> Result<f64> {
    check_not_empty("the predicted classes", predicted)?;
    check_length("the labels", labels, predicted.len())?;
    let right = predicted
        .iter()
        .zip(labels)
        .filter(|(guess, label)| guess == label)
        .count();
    Ok(as_f64(right) / as_f64(predicted.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_of_four_right_is_three_quarters() {
        assert_eq!(
            score(&[0, 1, 2, 2], &[0, 1, 2, 0]).unwrap().to_bits(),
            0.75_f64.to_bits()
        );
    }

    #[test]
    fn lists_that_do_not_fit_are_refused() {
        assert_eq!(
            score(&[], &[]).unwrap_err().to_string(),
            "the predicted classes must not be empty"
        );
        assert_eq!(
            score(&[1, 2], &[1]).unwrap_err().to_string(),
            "the labels must have length 2, got 1"
        );
    }
}
