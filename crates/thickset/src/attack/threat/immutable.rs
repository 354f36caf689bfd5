//! Immutable columns: what a person cannot change, an attack does not.

use super::Threat;
use crate::data::Schema;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "immutable",
    label: "immutable columns",
    family: Family::Threat,
    summary: "Columns that a person cannot change stay as they are",
    formula: "x'_i = x_i for immutable i",
    source: "thickset",
    direction: None,
    cost: "none",
    defaults: &[],
};

pub(super) fn apply(schema: &Schema, threat: &mut Threat) {
    for (index, feature) in schema.features.iter().enumerate() {
        if feature.immutable {
            threat.limits[index] = 0.0;
        }
    }
}
