//! A dataset ready to train on: a matrix, labels, what each feature means, and which rows train.

use std::collections::BTreeMap;

use super::encode::encoding::Encoding;
use super::references::References;
use super::schema::{InputShape, Schema};
use super::sets::recipe::{AttackDefaults, Recipe};
use super::sets::split::{Part, Split};

/// Rows of numbers with labels. The rows of a pair dataset are made on demand from the inputs they pair.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The name it was asked for by, or its file.
    pub name: String,
    /// One line: what the rows are.
    pub title: String,
    /// The recipe that made it, if it is a table or a known dataset.
    pub recipe: Option<Recipe>,
    /// The class of each row, an index into `classes`.
    pub labels: Vec<usize>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// What each feature is.
    pub schema: Schema,
    /// Which rows train, validate and test.
    pub split: Split,
    /// What new rows of a table go through.
    pub encoding: Option<Encoding>,
    /// Missing values of each original column, where there are some.
    pub missing: BTreeMap<String, usize>,
    /// What was left out or assumed, for the user to know.
    pub notes: Vec<String>,
    /// What attacks use unless told otherwise.
    pub attack: Option<AttackDefaults>,
    /// Row-major, `[inputs, features of one input]`.
    pub(super) values: Vec<f32>,
    /// The two inputs of each row, for pairs.
    pub(super) pairs: Option<Vec<[u32; 2]>>,
    /// How much each row counts.
    pub(super) weights: Option<Vec<f64>>,
}

impl Dataset {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of features of a row.
    #[must_use]
    pub fn features(&self) -> usize {
        self.schema.len()
    }

    /// How a row is laid out.
    #[must_use]
    pub fn shape(&self) -> &InputShape {
        &self.schema.shape
    }

    /// Copies one row to `target`, which has as many places as there are features.
    ///
    /// # Panics
    /// If the row does not exist or the target has another length.
    pub fn copy_row(&self, row: usize, target: &mut [f32]) {
        match &self.pairs {
            None => {
                let width = self.features();
                target.copy_from_slice(&self.values[row * width..(row + 1) * width]);
            }
            Some(pairs) => {
                let width = self.features() / 2;
                for (input, half) in pairs[row].iter().zip(target.chunks_exact_mut(width)) {
                    let start = *input as usize * width;
                    half.copy_from_slice(&self.values[start..start + width]);
                }
            }
        }
    }

    /// The rows asked for, row-major, `[rows.len(), features]`.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn gather(&self, rows: &[usize]) -> Vec<f32> {
        let width = self.features();
        let mut values = vec![0.0; rows.len() * width];
        if width > 0 {
            for (&row, target) in rows.iter().zip(values.chunks_exact_mut(width)) {
                self.copy_row(row, target);
            }
        }
        values
    }

    /// The labels of the rows asked for.
    ///
    /// # Panics
    /// If a row does not exist.
    #[must_use]
    pub fn gather_labels(&self, rows: &[usize]) -> Vec<usize> {
        rows.iter().map(|&row| self.labels[row]).collect()
    }

    /// The rows of a part.
    #[must_use]
    pub fn part(&self, part: Part) -> &[usize] {
        self.split.rows(part)
    }

    /// Learns from the training rows what others are compared with, where the rows are a table's.
    pub(super) fn learn_references(&mut self) {
        let train = self.part(Part::Train);
        self.schema.references = References::learn(
            &self.schema,
            &self.classes,
            &self.values,
            &self.labels,
            train,
        );
    }

    /// The inputs that rows are made of, row-major: the rows themselves, or what they pair.
    pub(crate) fn inputs(&self) -> &[f32] {
        &self.values
    }

    /// The two inputs of each row, for a pair dataset.
    #[must_use]
    pub fn pairs(&self) -> Option<&[[u32; 2]]> {
        self.pairs.as_deref()
    }
}
