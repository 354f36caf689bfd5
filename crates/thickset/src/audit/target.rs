//! What is audited: a model, where it comes from, and the rows that it is audited on.

use sha2::{Digest as _, Sha256};

use super::result::{self, SplitRecord};
use crate::data::{Dataset, Part, Schema, hexadecimal};
use crate::model::Model;
use crate::train::EpochRecord;

/// A model, and what is known of it beside its weights.
#[derive(Clone, Debug)]
pub struct NamedModel<'a> {
    /// The model.
    pub model: &'a Model,
    /// The name of its run, or of its file without folders and ending.
    pub name: String,
    /// The name of its file, without folders.
    pub file: String,
    /// The hash of its file, in hexadecimal.
    pub sha256: String,
    /// The objective's id, if it is known.
    pub objective: Option<String>,
    /// The epochs of its training, if they are known.
    pub training: Vec<EpochRecord>,
}

/// The rows that a model is audited on.
#[derive(Clone, Copy, Debug)]
pub enum RowSource<'a> {
    /// Rows of a dataset, whose training part a linear baseline is fitted to.
    Dataset {
        /// The dataset.
        dataset: &'a Dataset,
        /// The rows' numbers, counted from 0.
        rows: &'a [usize],
        /// The part they are from, if it is one.
        part: Option<Part>,
        /// How it was split.
        split: &'a SplitRecord,
    },
    /// The rows of a file from the first on, encoded as the model wants them.
    File {
        /// What the values are.
        schema: &'a Schema,
        /// RowRecord-major.
        values: &'a [f32],
        /// The class of each row, where it is known; as many as there are rows.
        labels: &'a [Option<usize>],
    },
}

impl<'a> RowSource<'a> {
    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Dataset { rows, .. } => rows.len(),
            Self::File { labels, .. } => labels.len(),
        }
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the values of a row are.
    #[must_use]
    pub fn schema(&self) -> &'a Schema {
        match self {
            Self::Dataset { dataset, .. } => &dataset.schema,
            Self::File { schema, .. } => schema,
        }
    }

    /// The number of the row at this place in its file or dataset, counted from 0.
    pub(super) fn id(&self, place: usize) -> u64 {
        match self {
            Self::Dataset { rows, .. } => rows[place] as u64,
            Self::File { .. } => place as u64,
        }
    }

    pub(super) fn label(&self, place: usize) -> Option<usize> {
        match self {
            Self::Dataset { dataset, rows, .. } => Some(dataset.labels[rows[place]]),
            Self::File { labels, .. } => labels[place],
        }
    }

    /// Copies the row at this place.
    pub(super) fn copy(&self, place: usize, target: &mut [f32]) {
        match self {
            Self::Dataset { dataset, rows, .. } => dataset.copy_row(rows[place], target),
            Self::File { values, .. } => {
                let start = place * target.len();
                target.copy_from_slice(&values[start..start + target.len()]);
            }
        }
    }

    /// The rows at these places, row-major, in double precision.
    pub(super) fn gather(&self, places: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let mut row = vec![0.0; self.schema().len()];
        let mut values = Vec::new();
        for place in places {
            self.copy(place, &mut row);
            values.extend(row.iter().copied().map(f64::from));
        }
        values
    }

    /// The dataset with the training rows, if there are some.
    pub(super) fn training(&self) -> Option<&'a Dataset> {
        match self {
            Self::Dataset { dataset, .. } => {
                (!dataset.part(Part::Train).is_empty()).then_some(*dataset)
            }
            Self::File { .. } => None,
        }
    }
}

/// A model and the rows that it is audited on.
#[derive(Clone, Debug)]
pub struct AuditTarget<'a> {
    /// The model.
    pub model: NamedModel<'a>,
    /// The name of the dataset, or of the file without folders.
    pub data: String,
    /// The rows.
    pub rows: RowSource<'a>,
}

impl AuditTarget<'_> {
    pub(super) fn described_model(&self) -> result::ModelRecord {
        let model = self.model.model;
        let weights = model.network.parameters().into_iter();
        result::ModelRecord {
            name: self.model.name.clone(),
            file: self.model.file.clone(),
            sha256: self.model.sha256.clone(),
            architecture: model.description.model.clone(),
            parameters: weights
                .filter(|parameter| parameter.role == thickset_engine::Role::Weight)
                .map(thickset_engine::Parameter::len)
                .sum(),
            classes: model.description.classes.clone(),
            objective: self.model.objective.clone(),
        }
    }

    pub(super) fn described_rows(&self, features: &[String]) -> result::DataRecord {
        let (part, split) = match self.rows {
            RowSource::Dataset { part, split, .. } => (part, Some(split.clone())),
            RowSource::File { .. } => (None, None),
        };
        result::DataRecord {
            name: self.data.clone(),
            sha256: self.hash(),
            split,
            part,
            rows: self.rows.len(),
            shape: self.rows.schema().shape.clone(),
            features: features.to_vec(),
            has_labels: (0..self.rows.len()).any(|place| self.rows.label(place).is_some()),
        }
    }

    /// The hash of the encoded rows and their labels.
    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut row = vec![0.0_f32; self.rows.schema().len()];
        for place in 0..self.rows.len() {
            self.rows.copy(place, &mut row);
            for value in &row {
                hash.update(value.to_le_bytes());
            }
            // No class has this number.
            let label = self
                .rows
                .label(place)
                .map_or(u64::MAX, |label| label as u64);
            hash.update(label.to_le_bytes());
        }
        hexadecimal(&hash.finalize())
    }
}
