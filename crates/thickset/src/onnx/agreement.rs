//! Whether the probabilities that we compute are those that the framework computes.
//!
//! A converter can be wrong without a word, and then everything that is said of the model is said of another one.

use serde::Serialize;

use crate::{Error, Model, Result, Rows};

/// How far probabilities may differ: single precision through a deep network, and no more.
pub const TOLERANCE: f64 = 1e-4;

/// A row whose probabilities differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferentRow {
    /// Its number, counted from 1.
    pub row: u64,
    /// The class that differs most.
    pub class: String,
    /// What the model here gives.
    pub ours: f64,
    /// What was expected.
    pub expected: f64,
}

/// What a comparison came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// Rows that were compared.
    pub rows: usize,
    /// The largest difference of a probability.
    pub largest: f64,
    /// What may differ.
    pub tolerance: f64,
    /// Rows that differ by more, the worst first.
    pub different: Vec<DifferentRow>,
}

impl Agreement {
    /// Refuses a difference above the tolerance.
    ///
    /// # Errors
    /// [`Error::Disagreement`], naming rows and sizes.
    pub fn check(self) -> Result<Self> {
        let Some(worst) = self.different.first() else {
            return Ok(self);
        };
        let listed = self.different.iter().take(5);
        let listed: Vec<String> = listed
            .map(|one| {
                format!(
                    "row {} `{}` {:.6} instead of {:.6}",
                    one.row, one.class, one.ours, one.expected
                )
            })
            .collect();
        Err(Error::Disagreement {
            rows: self.rows,
            different: self.different.len(),
            largest: (worst.ours - worst.expected).abs(),
            tolerance: self.tolerance,
            examples: listed.join("; "),
        })
    }
}

impl Model {
    /// Compares the model's probabilities with those that its framework gave, row-major with one number a class. Of two classes
    /// one number a row is enough: the probability of the second.
    ///
    /// # Errors
    /// If there are not as many, one is no probability, or rows do not fit the model.
    pub fn compare_probabilities(
        &self,
        rows: &Rows<'_>,
        expected: &[f64],
        tolerance: f64,
    ) -> Result<Agreement> {
        let classes = self.classes().len();
        let expected: Vec<f64> = if classes == 2 && expected.len() == rows.len() {
            expected.iter().flat_map(|&p| [1.0 - p, p]).collect()
        } else {
            expected.to_vec()
        };
        if expected.len() != rows.len() * classes {
            return Err(Error::LengthMismatch {
                what: "the expected probabilities",
                expected: rows.len() * classes,
                got: expected.len(),
            });
        }
        if let Some((position, &value)) = expected
            .iter()
            .enumerate()
            .find(|(_, value)| !(-1e-6..=1.0 + 1e-6).contains(*value))
        {
            return Err(Error::NotAProbability {
                row: position / classes + 1,
                value,
            });
        }
        let mut agreement = Agreement {
            rows: rows.len(),
            largest: 0.0,
            tolerance,
            different: Vec::new(),
        };
        for (place, (prediction, expected)) in self
            .predict(rows)?
            .iter()
            .zip(expected.chunks(classes))
            .enumerate()
        {
            let differences = prediction
                .probabilities
                .iter()
                .zip(expected)
                .map(|(ours, expected)| (ours - expected).abs());
            let (class, difference) =
                differences.enumerate().fold(
                    (0, 0.0),
                    |worst, one| if one.1 > worst.1 { one } else { worst },
                );
            agreement.largest = agreement.largest.max(difference);
            if difference > tolerance {
                agreement.different.push(DifferentRow {
                    row: rows.id(place) + 1,
                    class: self.classes()[class].clone(),
                    ours: prediction.probabilities[class],
                    expected: expected[class],
                });
            }
        }
        agreement.different.sort_by(|a, b| {
            let size = |one: &DifferentRow| (one.ours - one.expected).abs();
            size(b).total_cmp(&size(a)).then(a.row.cmp(&b.row))
        });
        Ok(agreement)
    }
}
