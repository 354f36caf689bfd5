//! AUC: how often a row of a class gets a higher score than a row of another.
//!
//! Two classes: the Mann-Whitney form `(sum of the positives' midranks - m(m+1)/2) / (m q)`, m positive and q negative
//! rows, ties counted half. More classes: each against the rest, and the plain mean over the classes (macro). On clean
//! rows this is the paper's cAUC, on attacked ones its aAUC (R2ET B.1.4).
//!
//! The standard error is `DeLong`'s (1988): each row's placement among the rows of the other side has a variance, and those
//! variances add up. For several classes the rows' deviations are summed over the classes before squaring, so that a
//! row's part in several one-against-rest comparisons is counted as the dependence it is.

use super::ranking;
use crate::audit::figure::{AllRows, Baseline, CompareBy, Figure, FigureValue, OfRow, SumBy, Unit};
use crate::check::{as_f64, check_finite, check_length, check_not_empty};
use crate::registry::{Direction, Family, Info};
use crate::{Error, Result, statistics};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "auc",
    label: "AUC",
    family: Family::Metric,
    summary: "Area under the ROC curve; one class against the rest, averaged, when there are more than two",
    formula: "P(s+ > s-) + P(s+ = s-) / 2",
    source: "R2ET, B.1.4 (cAUC, aAUC); DeLong 1988 for the interval",
    direction: Some(Direction::Higher),
    cost: "one prediction a row; O(rows log rows) a class",
    defaults: &[],
};

/// The entry of an audit's table of figures.
pub static FIGURE: Figure = Figure {
    id: "auc",
    key: "auc",
    label: "AUC",
    title: "AUC",
    meaning: "how well the probabilities separate the classes of these {rows}",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Nothing,
    sum: SumBy::Together {
        of: of_predictions,
        has_interval: true,
    },
    baseline: Baseline::Predicted,
    compare: CompareBy::Areas,
    is_main: true,
    method: Some(&INFO),
};

fn of_predictions(all: &AllRows<'_>) -> Result<Option<FigureValue>> {
    let predictions = all.predictions;
    if predictions.labels.is_empty() {
        return Ok(None);
    }
    let area = score(&predictions.probabilities, &predictions.labels)?;
    Ok(area.map(|area| statistics::auc::estimate(&area).into()))
}

/// An AUC with what its uncertainty is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Auc {
    /// The area; in `[0, 1]`, higher is better, 0.5 is chance.
    pub value: f64,
    /// `DeLong`'s standard error; `None` when a side of a comparison has a single row.
    pub standard_error: Option<f64>,
    /// Each row's part of the error, whose squares add up to the variance. The difference of two models' lists on the
    /// same rows gives the variance of the difference of their AUCs.
    pub deviations: Vec<f64>,
}

/// The AUC of scores of which a higher one speaks for `positive`; `None` when all rows are on one side.
///
/// # Errors
/// When there is no row, the lists differ in length, or a score is not finite.
pub fn binary(scores: &[f64], positive: &[bool]) -> Result<Option<Auc>> {
    check_not_empty("the scores", scores)?;
    check_length("the labels", positive, scores.len())?;
    check_finite("the scores", scores)?;
    let side = |of: bool| -> Vec<f64> {
        scores
            .iter()
            .zip(positive)
            .filter(|(_, label)| **label == of)
            .map(|(score, _)| *score)
            .collect()
    };
    let (positives, negatives) = (side(true), side(false));
    if positives.is_empty() || negatives.is_empty() {
        return Ok(None);
    }
    let (m, q) = (as_f64(positives.len()), as_f64(negatives.len()));
    let overall = ranking::midranks(scores)?;
    let mut among_positives = ranking::midranks(&positives)?.into_iter();
    let mut among_negatives = ranking::midranks(&negatives)?.into_iter();
    // The share of the other side's rows that this row is placed rightly against.
    let placements: Vec<f64> = overall
        .iter()
        .zip(positive)
        .map(|(rank, &label)| {
            let within = if label {
                among_positives.next()
            } else {
                among_negatives.next()
            };
            let beaten = rank - within.unwrap_or(0.0);
            if label { beaten / q } else { 1.0 - beaten / m }
        })
        .collect();
    let of_positives = placements
        .iter()
        .zip(positive)
        .filter(|(_, label)| **label)
        .map(|(placement, _)| placement);
    let value = of_positives.sum::<f64>() / m;
    let deviations: Vec<f64> = placements
        .iter()
        .zip(positive)
        .map(|(placement, &label)| {
            let side = if label { m } else { q };
            (placement - value) / (side * (side - 1.0).max(1.0)).sqrt()
        })
        .collect();
    let standard_error = (m > 1.0 && q > 1.0).then(|| length(&deviations));
    Ok(Some(Auc {
        value,
        standard_error,
        deviations,
    }))
}

/// The AUC of class probabilities, one list a row. Two classes: of the second class's probability. More: the mean over the
/// classes that have a row and lack one, each against the rest; `None` when there is no such class.
///
/// # Errors
/// When there is no row, the lists differ in length, a probability is not finite, or a label names no class.
pub fn score(probabilities: &[Vec<f64>], labels: &[usize]) -> Result<Option<Auc>> {
    check_not_empty("the probabilities", probabilities)?;
    check_length("the labels", labels, probabilities.len())?;
    let classes = probabilities[0].len();
    for row in probabilities {
        check_length("a row's probabilities", row, classes)?;
    }
    if let Some(&got) = labels.iter().find(|label| **label >= classes) {
        return Err(Error::IndexOutOfRange {
            what: "a label",
            bound: classes,
            got,
        });
    }
    let against_rest = |class: usize| {
        let scores: Vec<f64> = probabilities.iter().map(|row| row[class]).collect();
        let positive: Vec<bool> = labels.iter().map(|label| *label == class).collect();
        binary(&scores, &positive)
    };
    if classes == 2 {
        return against_rest(1);
    }
    let mut parts = Vec::new();
    for class in 0..classes {
        parts.extend(against_rest(class)?);
    }
    if parts.is_empty() {
        return Ok(None);
    }
    let count = as_f64(parts.len());
    let value = parts.iter().map(|part| part.value).sum::<f64>() / count;
    let deviations: Vec<f64> = (0..labels.len())
        .map(|row| parts.iter().map(|part| part.deviations[row]).sum::<f64>() / count)
        .collect();
    let standard_error = parts
        .iter()
        .all(|part| part.standard_error.is_some())
        .then(|| length(&deviations));
    Ok(Some(Auc {
        value,
        standard_error,
        deviations,
    }))
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(scores: &[f64], positive: &[bool]) -> f64 {
        binary(scores, positive).unwrap().unwrap().value
    }

    #[test]
    fn three_of_four_comparisons_right_is_three_quarters() {
        let labels = [false, true, false, true];
        assert!((area(&[0.1, 0.4, 0.35, 0.2], &labels) - 0.75).abs() < 1e-15);
    }

    #[test]
    fn a_tie_counts_half_and_a_constant_score_is_chance() {
        assert!((area(&[0.3, 0.3], &[false, true]) - 0.5).abs() < 1e-15);
        assert!((area(&[7.0; 5], &[true, false, true, false, false]) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn turning_the_scores_around_turns_the_area_around() {
        let (scores, labels) = ([0.1, 0.9, 0.4, 0.4, 0.7], [false, true, true, false, false]);
        let turned: Vec<f64> = scores.iter().map(|score| -score).collect();
        assert!((area(&scores, &labels) + area(&turned, &labels) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn rows_of_one_class_have_no_area() {
        assert_eq!(binary(&[0.1, 0.2], &[true, true]).unwrap(), None);
        assert_eq!(score(&[vec![0.2, 0.8]], &[1]).unwrap(), None);
    }

    #[test]
    fn a_perfect_order_has_no_error_and_a_single_row_on_a_side_has_none_known() {
        let perfect = binary(&[0.1, 0.2, 0.8, 0.9], &[false, false, true, true])
            .unwrap()
            .unwrap();
        assert!((perfect.value - 1.0).abs() < 1e-15);
        assert!(perfect.standard_error.unwrap().abs() < 1e-15);
        assert_eq!(
            binary(&[0.1, 0.2], &[false, true])
                .unwrap()
                .unwrap()
                .standard_error,
            None
        );
    }

    #[test]
    fn delongs_error_by_hand() {
        // Positives 0.4 and 0.2 are placed at 1 and 0.5, negatives 0.1 and 0.35 at 1 and 0.5. Each side has the sample
        // variance 1/8, so the area's variance is 1/16 + 1/16.
        let auc = binary(&[0.1, 0.4, 0.35, 0.2], &[false, true, false, true])
            .unwrap()
            .unwrap();
        assert!((auc.standard_error.unwrap() - (1.0_f64 / 8.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn classes_without_rows_are_left_out_of_the_mean() {
        let rows = [
            vec![0.7, 0.2, 0.1],
            vec![0.1, 0.8, 0.1],
            vec![0.6, 0.3, 0.1],
        ];
        let auc = score(&rows, &[0, 1, 0]).unwrap().unwrap();
        assert!((auc.value - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_label_without_a_class_is_refused() {
        let message = score(&[vec![0.5, 0.5]], &[2]).unwrap_err().to_string();
        assert_eq!(message, "a label must be below 2, got 2");
    }

    #[test]
    fn a_single_row_on_either_side_leaves_the_error_unknown() {
        let error = |labels: [bool; 3]| {
            let auc = binary(&[0.1, 0.4, 0.3], &labels).unwrap().unwrap();
            auc.standard_error
        };
        assert_eq!(error([false, true, false]), None);
        assert_eq!(error([true, false, true]), None);
    }

    #[test]
    fn a_third_class_without_rows_leaves_the_error_of_the_two() {
        // Scores of the second class are those of the case by hand above, and the first class's are their mirror image: each
        // row deviates equally in both comparisons, and so does the mean of the two.
        let rows = [0.1, 0.4, 0.35, 0.2].map(|score| vec![1.0 - score, score, 0.0]);
        let auc = score(&rows, &[0, 1, 0, 1]).unwrap().unwrap();
        assert!((auc.value - 0.75).abs() < 1e-15);
        assert!((auc.standard_error.unwrap() - (1.0_f64 / 8.0).sqrt()).abs() < 1e-15);
    }
}
