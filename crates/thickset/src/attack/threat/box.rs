//! The box: each feature stays in the range of the training rows, or of its format.

use super::Threat;
use crate::data::Schema;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "box",
    label: "feature ranges",
    family: Family::Threat,
    summary: "Features stay in the range of the training rows, pixels in 0..=255",
    formula: "low_i <= x'_i <= high_i",
    source: "thickset; R2ET's released code clips images",
    direction: None,
    cost: "none",
    defaults: &[],
};

pub(super) fn apply(schema: &Schema, threat: &mut Threat) {
    for (index, feature) in schema.features.iter().enumerate() {
        threat.low[index] = f64::from(feature.low);
        threat.high[index] = f64::from(feature.high);
    }
}
