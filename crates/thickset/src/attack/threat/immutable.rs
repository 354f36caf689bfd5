//! Immutable columns: what a person cannot change, an attack does not.

use super::{Threat, ThreatConfig, ThreatPart};
use crate::Result;
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

/// The part.
pub(super) struct Immutable;

impl ThreatPart for Immutable {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        for (limit, feature) in threat.limits.iter_mut().zip(&schema.features) {
            if config.immutable && feature.immutable {
                *limit = 0.0;
            }
        }
        Ok(())
    }
}
