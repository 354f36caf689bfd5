//! A dataset ready to train on: a matrix, labels, what each feature means, and which rows train.

use std::collections::{BTreeMap, BTreeSet};

use super::encode::encoding::Encoding;
use super::encode::given::GivenValues;
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
    /// What the rows are made of, for pairs.
    pub(super) pairs: Option<Pairs>,
    /// How much each row counts.
    pub(super) weights: Option<Vec<f64>>,
    /// What the features of a table's rows do not tell.
    pub(super) given: Option<GivenValues>,
}

/// The inputs of a pair dataset.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// The two inputs of each row.
    pub(super) rows: Vec<[u32; 2]>,
    /// The class of each input, an index into `classes`.
    pub(super) labels: Vec<usize>,
    /// Names of the inputs' classes.
    pub(super) classes: Vec<String>,
}

/// Single inputs of a pair dataset with their classes.
#[derive(Clone, Debug)]
pub(crate) struct SingleInputs {
    /// Row-major.
    pub(crate) values: Vec<f32>,
    /// Indices into `classes`.
    pub(crate) labels: Vec<usize>,
    /// Names of the classes that there are.
    pub(crate) classes: Vec<String>,
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
                for (input, half) in pairs.rows[row].iter().zip(target.chunks_exact_mut(width)) {
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

    /// What the features of the rows do not tell, where they were read from a table.
    pub(crate) fn given(&self) -> Option<&GivenValues> {
        self.given.as_ref()
    }

    /// The inputs that rows are made of, row-major: the rows themselves, or what they pair.
    pub(crate) fn inputs(&self) -> &[f32] {
        &self.values
    }

    /// The two inputs of each row, for a pair dataset.
    #[must_use]
    pub fn pairs(&self) -> Option<&[[u32; 2]]> {
        self.pairs.as_ref().map(|pairs| pairs.rows.as_slice())
    }

    /// The inputs that the pairs of a part are made of, each once, in their order, with their own classes: those classes that occur,
    /// in theirs. None for a dataset of other rows.
    pub(crate) fn single_inputs(&self, part: Part) -> Option<SingleInputs> {
        let pairs = self.pairs.as_ref()?;
        let rows = self.part(part).iter();
        let used: BTreeSet<usize> = rows
            .flat_map(|&row| pairs.rows[row].map(|input| input as usize))
            .collect();
        let classes: BTreeSet<usize> = used.iter().map(|&input| pairs.labels[input]).collect();
        let place = |label: usize| classes.iter().take_while(|&&class| class < label).count();
        let width = self.features() / 2;
        Some(SingleInputs {
            values: used
                .iter()
                .flat_map(|&input| &self.values[input * width..(input + 1) * width])
                .copied()
                .collect(),
            labels: used
                .iter()
                .map(|&input| place(pairs.labels[input]))
                .collect(),
            classes: classes
                .iter()
                .map(|&class| pairs.classes[class].clone())
                .collect(),
        })
    }
}
