//! What is audited: a model, where it comes from, and the rows that it is audited on.

use sha2::{Digest as _, Sha256};

use super::part::hash_of_blocks;
use super::result;
use super::running_totals::BLOCK;
use crate::Rows;
use crate::data::hexadecimal;
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

/// A model and the rows that it is audited on.
#[derive(Clone, Debug)]
pub struct AuditTarget<'a> {
    /// The model.
    pub model: NamedModel<'a>,
    /// The name of the dataset, or of the file without folders.
    pub data: String,
    /// The rows.
    pub rows: Rows<'a>,
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
        result::DataRecord {
            name: self.data.clone(),
            sha256: hash_of_blocks(self.block_hashes().iter()),
            split: self.rows.split().cloned(),
            part: self.rows.part(),
            rows: self.rows.len(),
            shape: self.rows.schema().shape.clone(),
            features: features.to_vec(),
            has_labels: (0..self.rows.len()).any(|place| self.rows.label(place).is_some()),
        }
    }

    /// The hashes of the encoded rows and their labels, block by block, in hexadecimal.
    pub(super) fn block_hashes(&self) -> Vec<String> {
        let mut row = vec![0.0_f32; self.rows.schema().len()];
        let starts = (0..self.rows.len()).step_by(BLOCK);
        let block = |start: usize| {
            let mut hash = Sha256::new();
            for place in start..(start + BLOCK).min(self.rows.len()) {
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
        };
        starts.map(block).collect()
    }
}
