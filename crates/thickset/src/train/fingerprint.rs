//! Tells other data, or another reference, from those that a checkpoint was made with.

use sha2::{Digest as _, Sha256};

use crate::data::{Dataset, Part, hexadecimal};

/// The hash of all rows that train or validate, with their classes, and of the reference's file.
pub(super) fn fingerprint(dataset: &Dataset, reference: Option<&str>) -> String {
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
    hash.update(reference.unwrap_or_default());
    hexadecimal(&hash.finalize())
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}
