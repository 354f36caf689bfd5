//! Distinguishes other settings, other data, or another reference, from those that a checkpoint was made with.

use sha2::{Digest as _, Sha256};

use crate::config::RunConfig;
use crate::data::{Dataset, Part, hexadecimal};

/// What a checkpoint was made with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fingerprints {
    /// Of the settings that decide a step or which epoch is kept.
    pub(super) settings: String,
    /// Of the data and the reference.
    pub(super) data: String,
}

impl Fingerprints {
    /// Of a run on this data, with the hash of the reference's file.
    pub(super) fn new(config: &RunConfig, dataset: &Dataset, reference: Option<&str>) -> Self {
        Self {
            settings: settings(config),
            data: data(dataset, reference),
        }
    }
}

/// The hash of the configuration without the name of the run, where its data lies, which is hashed itself, and how the
/// trained model is audited.
fn settings(config: &RunConfig) -> String {
    let empty = RunConfig::default();
    let relevant = RunConfig {
        name: empty.name,
        data: empty.data,
        audit: empty.audit,
        ..config.clone()
    };
    hexadecimal(&Sha256::digest(relevant.to_text()))
}

/// The hash of all rows that train or validate, with their classes, and of the reference's file.
fn data(dataset: &Dataset, reference: Option<&str>) -> String {
    let mut hash = Sha256::new();
    if let Some(pairs) = dataset.pairs() {
        // Each input is in many pairs: the inputs once, then which of them are paired.
        for chunk in dataset.inputs().chunks(1 << 16) {
            hash.update(bytes(chunk));
        }
        for part in [Part::Train, Part::Validation] {
            for &row in dataset.part(part) {
                let [left, right] = pairs[row];
                hash.update(left.to_le_bytes());
                hash.update(right.to_le_bytes());
            }
        }
    } else {
        let mut values = vec![0.0; dataset.features()];
        for part in [Part::Train, Part::Validation] {
            for &row in dataset.part(part) {
                dataset.copy_row(row, &mut values);
                hash.update(bytes(&values));
            }
        }
    }
    for part in [Part::Train, Part::Validation] {
        hash.update((dataset.part(part).len() as u64).to_le_bytes());
        for &row in dataset.part(part) {
            hash.update((dataset.labels[row] as u64).to_le_bytes());
        }
    }
    if let Some(weights) = dataset.weights() {
        for weight in weights {
            hash.update(weight.to_le_bytes());
        }
    }
    hash.update(reference.unwrap_or_default());
    hexadecimal(&hash.finalize())
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}
