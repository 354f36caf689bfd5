//! The box: each feature stays in the range of the training rows, or of its format.

use super::{Threat, ThreatConfig, ThreatPart};
use crate::Result;
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

/// The part.
pub(super) struct Box;

impl ThreatPart for Box {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        if config.r#box {
            for (index, feature) in schema.features.iter().enumerate() {
                threat.low[index] = threat.low[index].max(f64::from(feature.low));
                threat.high[index] = threat.high[index].min(f64::from(feature.high));
            }
        }
        Ok(())
    }
}
