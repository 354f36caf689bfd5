//! The table of figures: the numbers that sum up an audit, one entry each.
//!
//! An entry says what a figure is called, what it means, how it comes from a row, how the rows are summed, and who shows it.
//! The gate, the rows and summaries of `audit.json`, the command's tables, comparisons and the report walk [`FIGURES`]. A
//! figure that is a metric of its own has its entry in the metric's file; what only an audit has is in this folder.

pub mod certified;
pub mod certified_p_at_k;
pub mod certified_radius;
pub mod changed_radius;
pub mod explained;
pub mod noise;
pub mod noise_radius;
pub mod unchanged;

mod row_figures;
mod summary;
mod words;

pub use row_figures::RowFigures;
pub use summary::{FigureValue, Summary};
pub use words::Words;

use super::certificate::RowCertificate;
use super::measure::MeasuredRows;
use super::result::RowRecord;
use super::row_list::RowList;
use crate::check::as_f64;
use crate::metric;
use crate::registry::{Direction, Info};
use crate::statistics::{mean, median};
use crate::{Error, Result};

/// All figures, in the order in which they are shown and written.
pub const FIGURES: &[&Figure] = &[
    &certified_p_at_k::FIGURE,
    &metric::precision_at_k::FIGURE,
    &noise::FIGURE,
    &certified::FIGURE,
    &unchanged::FIGURE,
    &certified_radius::FIGURE,
    &changed_radius::FIGURE,
    &noise_radius::FIGURE,
    &explained::FIGURE,
    &metric::kendall::FIGURE,
    &metric::thickness::FIGURE,
    &metric::distinctness::FIGURE,
    &metric::auc::FIGURE,
    &metric::accuracy::FIGURE,
    &metric::dffot::FIGURE,
    &metric::comprehensiveness::FIGURE,
    &metric::sufficiency::FIGURE,
];

/// A number that sums up an audit.
#[derive(Debug)]
pub struct Figure {
    /// As a requirement names it: `p_at_k`.
    pub id: &'static str,
    /// Its key in the summaries and rows of `audit.json`.
    pub key: &'static str,
    /// Its name in a narrow table; `{k}` stands for the number of salient features.
    pub label: &'static str,
    /// Its name where there is room.
    pub title: &'static str,
    /// What it is, as a clause. `{k}`, `{row}`, `{rows}`, `{reasons}` and `{features}` stand for [`Words`].
    pub meaning: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// How it is written.
    pub unit: Unit,
    /// How it comes from a row.
    pub(crate) of_row: OfRow,
    /// How the rows are summed.
    pub(crate) sum: SumBy,
    /// Whether the linear baseline has it, and on which rows.
    pub baseline: Baseline,
    /// How two models are compared by it.
    pub compare: CompareBy,
    /// Whether it has a column where models stand side by side.
    pub is_main: bool,
    /// The registry's entry of the metric, if it is one.
    pub method: Option<&'static Info>,
}

/// How a figure is written for a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// In per cent.
    Share,
    /// As a number with three decimals.
    Score,
}

/// Whether the linear baseline has a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Baseline {
    /// It has not.
    No,
    /// It has, from its predictions of all audited rows.
    Predicted,
    /// It has, from those of the audited rows that it is attacked on.
    Attacked,
}

/// How two models are compared by a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareBy {
    /// Not at all.
    Nothing,
    /// Row by row, in pairs.
    Rows,
    /// As AUCs of the same rows.
    Areas,
    /// By the difference of the two numbers alone.
    Values,
}

/// How a figure comes from one row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OfRow {
    /// It belongs to all rows together.
    Nothing,
    /// It follows from what the row's record holds anyway.
    Follows(fn(&RowRecord) -> f64),
    /// It is measured at every row, and kept in the row's record under the figure's key.
    Measured(fn(&MeasuredRows<'_>) -> Result<Vec<f64>>),
    /// It is read from the row's certificate where it has one, and kept in the row's record under the figure's key.
    Certified(fn(&RowCertificate) -> f64),
    /// It follows from what the row's record holds where that was measured.
    MayFollow(fn(&RowRecord) -> Option<f64>),
}

/// How a figure of the rows becomes one of all.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SumBy {
    /// The mean, with an interval that is cut off at the ends of the figure's range.
    Mean {
        /// The range.
        range: [f64; 2],
    },
    /// The median, with its interval.
    Median,
    /// The mean of values that are 0 or 1, without an interval.
    Share,
    /// What all rows give together.
    Together {
        /// None if these rows have no such figure.
        of: fn(&AllRows<'_>) -> Result<Option<FigureValue>>,
        /// Whether it comes with an interval.
        has_interval: bool,
    },
}

/// What the figures of all rows are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllRows<'a> {
    /// The records of the rows.
    pub(crate) rows: &'a RowList,
    /// How many rows have each feature among their top k.
    pub(crate) in_top: &'a [usize],
    /// Salient features.
    pub(crate) k: usize,
    /// The predictions of the labelled rows.
    pub(crate) predictions: &'a Predictions,
}

/// Predictions of labelled rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Predictions {
    /// One list a row.
    pub(crate) probabilities: Vec<Vec<f64>>,
    /// The predicted class of each.
    pub(crate) classes: Vec<usize>,
    /// The class that each was labelled with.
    pub(crate) labels: Vec<usize>,
}

impl Predictions {
    /// Adds a row.
    pub(crate) fn push(&mut self, probabilities: Vec<f64>, class: usize, label: usize) {
        self.probabilities.push(probabilities);
        self.classes.push(class);
        self.labels.push(label);
    }

    /// Those of the labelled ones of these rows.
    pub(crate) fn of(rows: &RowList) -> Self {
        let mut predictions = Self::default();
        for row in rows {
            if let Some(label) = row.label {
                predictions.push(row.probabilities, row.class, label);
            }
        }
        predictions
    }
}

impl Figure {
    /// The figure of one row; none if it is one of all rows together, or was not measured.
    #[must_use]
    pub fn of_row(&self, row: &RowRecord) -> Option<f64> {
        match self.of_row {
            OfRow::Nothing => None,
            OfRow::Follows(of) => Some(of(row)),
            OfRow::MayFollow(of) => of(row),
            OfRow::Measured(_) | OfRow::Certified(_) => row.figures.get(self),
        }
    }

    /// Whether it is measured at every row, so that the rows of `audit.json` have it.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        matches!(self.of_row, OfRow::Measured(_) | OfRow::Certified(_))
    }

    /// Whether it comes with a 95% interval, so that the ends of the interval can be required.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        match self.sum {
            SumBy::Mean { .. } | SumBy::Median => true,
            SumBy::Share => false,
            SumBy::Together { has_interval, .. } => has_interval,
        }
    }

    /// Whether it is the median over the rows, so that `.median` says so in a requirement.
    #[must_use]
    pub fn is_median(&self) -> bool {
        matches!(self.sum, SumBy::Median)
    }

    /// The figure of all rows; none if it was measured at none of them.
    pub(crate) fn of_all(&self, all: &AllRows<'_>) -> Result<Option<FigureValue>> {
        if let SumBy::Together { of, .. } = self.sum {
            return of(all);
        }
        let values: Vec<f64> = all
            .rows
            .iter()
            .filter_map(|row| self.of_row(&row))
            .collect();
        if all.rows.is_empty() {
            return Err(Error::Empty {
                what: "the rows to audit",
            });
        }
        if values.is_empty() {
            return Ok(None);
        }
        Ok(Some(match self.sum {
            SumBy::Median => FigureValue::Estimate(median::estimate(&values)?),
            SumBy::Mean { range } => FigureValue::Estimate(mean::estimate(&values)?.within(range)),
            SumBy::Share | SumBy::Together { .. } => {
                FigureValue::Number(values.iter().sum::<f64>() / as_f64(values.len()))
            }
        }))
    }

    /// Its name in a narrow table, for so many salient features.
    #[must_use]
    pub fn short(&self, k: usize) -> String {
        self.label.replace("{k}", &k.to_string())
    }

    /// What it is, in these words.
    #[must_use]
    pub fn described(&self, words: &Words<'_>) -> String {
        words.fill(self.meaning)
    }

    /// Its place in [`FIGURES`].
    pub(crate) fn place(&self) -> usize {
        let place = FIGURES.iter().position(|figure| figure.id == self.id);
        place.expect("every figure is in the table")
    }
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_and_keys_are_unique_and_written_alike() {
        let ids: BTreeSet<&str> = FIGURES.iter().map(|figure| figure.id).collect();
        let keys: BTreeSet<&str> = FIGURES.iter().map(|figure| figure.key).collect();
        assert_eq!((ids.len(), keys.len()), (FIGURES.len(), FIGURES.len()));
        for name in ids.iter().chain(&keys) {
            let is_plain = |one: char| one.is_ascii_lowercase() || one == '_';
            assert!(name.chars().all(is_plain), "{name}");
        }
    }

    #[test]
    fn meanings_are_clauses_whose_words_are_all_known() {
        for figure in FIGURES {
            let meaning = figure.described(&Words::TABLE);
            assert!(!meaning.contains(['{', '}']), "{meaning}");
            assert!(!meaning.ends_with('.'), "{meaning}");
            assert!(!figure.short(8).contains('{'), "{}", figure.label);
        }
    }

    #[test]
    fn what_is_compared_row_by_row_has_a_value_for_each_row() {
        for figure in FIGURES {
            let has_rows = !matches!(figure.of_row, OfRow::Nothing);
            assert!(
                figure.compare != CompareBy::Rows || has_rows,
                "{}",
                figure.id
            );
        }
    }

    #[test]
    fn a_meaning_is_written_in_the_words_it_is_given() {
        let words = Words {
            k: "5",
            rows: "images",
            reasons: "pixels",
            ..Words::TABLE
        };
        let figure = FIGURES.iter().find(|figure| figure.id == "certified");
        assert_eq!(
            figure.unwrap().described(&words),
            "share of images whose 5 pixels are proved to stay whatever the small change"
        );
    }

    #[test]
    fn a_name_in_a_table_says_of_how_many_features() {
        assert_eq!(certified_p_at_k::FIGURE.short(5), "certified P@5");
    }
}
