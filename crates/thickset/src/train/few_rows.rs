//! A word about a class of which there are too few rows to learn or to judge by.

use crate::check::as_f64;
use crate::data::{Dataset, Part};

/// A class of fewer training rows than this, and of a smaller share than [`RARE`], is told of.
const FEW: usize = 50;

/// A class that is not at least this share of the training rows is rare.
const RARE: f64 = 0.2;

/// The AUC at which the width of its interval is stated.
const TYPICAL_AUC: f64 = 0.75;

/// The note, where there is such a class.
pub(super) fn few_rows(dataset: &Dataset) -> Option<String> {
    let counts = |part: Part| {
        let mut counts = vec![0_usize; dataset.classes.len()];
        for &row in dataset.part(part) {
            counts[dataset.labels[row]] += 1;
        }
        counts
    };
    let train = counts(Part::Train);
    let (class, &rows) = train.iter().enumerate().min_by_key(|(_, count)| **count)?;
    let all: usize = train.iter().sum();
    if rows >= FEW || as_f64(rows) >= RARE * as_f64(all) {
        return None;
    }
    let validation = counts(Part::Validation);
    let (few, others) = (
        validation[class],
        validation.iter().sum::<usize>() - validation[class],
    );
    let name = &dataset.classes[class];
    let judged = match standard_error(TYPICAL_AUC, few, others) {
        Some(error) => format!(
            "with {few} validation rows of it an AUC of {TYPICAL_AUC} is uncertain by {:.2} either way, so that epochs and settings are \
             hardly told apart",
            1.96 * error
        ),
        None => "no validation row is of it, so that the AUC says nothing".to_owned(),
    };
    Some(format!(
        "only {rows} of {all} training rows are of class `{name}`; {judged}; more rows of it would help most, and \
         `--class-weight balanced` shows them as often as the others"
    ))
}

/// The standard error of an AUC of rows of two classes (Hanley and `McNeil` 1982).
fn standard_error(auc: f64, positives: usize, negatives: usize) -> Option<f64> {
    if positives == 0 || negatives == 0 {
        return None;
    }
    let (one, other) = (as_f64(positives), as_f64(negatives));
    let (first, second) = (auc / (2.0 - auc), 2.0 * auc * auc / (1.0 + auc));
    let square = auc * auc;
    let sum =
        auc * (1.0 - auc) + (one - 1.0) * (first - square) + (other - 1.0) * (second - square);
    Some((sum / (one * other)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(rows: u16, positives: u16) -> Dataset {
        let values = (0..rows).map(f32::from).collect();
        let labels = (0..rows).map(|row| usize::from(row < positives)).collect();
        Dataset::from_rows(values, labels, &["x"]).unwrap()
    }

    #[test]
    fn thirty_five_positives_of_five_thousand_are_told_with_what_it_means() {
        let note = few_rows(&dataset(5000, 35)).unwrap();
        assert!(
            note.contains("only 25 of 3500 training rows are of class `1`"),
            "{note}"
        );
        assert!(note.contains("with 5 validation rows"), "{note}");
        assert!(note.contains("uncertain by 0.2"), "{note}");
    }

    #[test]
    fn enough_rows_and_small_but_even_tables_are_not() {
        assert_eq!(few_rows(&dataset(5000, 500)), None);
        assert_eq!(few_rows(&dataset(60, 30)), None);
    }

    #[test]
    fn the_error_is_that_of_the_formula() {
        // One row of each class: the AUC is 0 or 1, and its variance A (1 - A).
        let error = standard_error(0.75, 1, 1).unwrap();
        assert!((error - (0.75_f64 * 0.25).sqrt()).abs() < 1e-12);
        assert_eq!(standard_error(0.75, 0, 9), None);
    }
}
