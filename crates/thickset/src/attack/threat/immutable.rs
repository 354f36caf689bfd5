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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{assert_close, schema};

    #[test]
    fn a_column_that_cannot_change_goes_back_to_the_rows_value_unless_it_may_move() {
        let mut schema = schema();
        schema.features[1].immutable = true;
        let x = [0.0, 0.0, 0.0];
        for (immutable, expected) in [(true, [0.1, 0.0, 0.2]), (false, [0.1, 0.3, 0.2])] {
            let config = ThreatConfig {
                immutable,
                ..ThreatConfig::papers()
            };
            let mut z = [0.1, 0.3, 0.2];
            config.check(&schema).unwrap().project(&x, &mut z);
            assert_close(&z, &expected);
        }
    }

    #[test]
    fn a_table_of_which_nothing_can_change_is_refused() {
        let mut schema = schema();
        for feature in &mut schema.features {
            feature.immutable = true;
        }
        let refused = ThreatConfig::default().check(&schema).unwrap_err();
        assert!(matches!(refused, Error::AllImmutable));
    }
}
