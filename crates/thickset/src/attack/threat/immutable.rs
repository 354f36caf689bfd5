//! Immutable columns: what a person cannot change, an attack does not.

use super::{Threat, ThreatConfig, ThreatPart};
use crate::data::Schema;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

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
    defaults: &[Setting::new(
        "immutable",
        "false lets them move, as in the papers",
    )],
};

/// The part.
pub(super) struct Immutable;

impl ThreatPart for Immutable {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        if !config.immutable {
            return Ok(());
        }
        for (index, feature) in schema.features.iter().enumerate() {
            if feature.immutable {
                threat.limits[index] = 0.0;
                threat.immutable[index] = true;
            }
        }
        if schema.is_empty() || threat.immutable.contains(&false) {
            Ok(())
        } else {
            Err(Error::AllImmutable)
        }
    }
}
