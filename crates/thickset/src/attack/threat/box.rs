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

#[cfg(test)]
mod tests {
    use super::super::ThreatConfig;
    use crate::toy::{assert_close, schema};

    #[test]
    fn a_point_comes_back_to_the_range_of_the_training_rows_and_a_row_outside_keeps_its_value() {
        let mut schema = schema();
        for feature in &mut schema.features {
            (feature.low, feature.high) = (0.0, 1.0);
        }
        let mut config = ThreatConfig::papers();
        config.ball.radius = 100.0;
        let mut z = [-3.0, 0.25, 4.0];
        config
            .check(&schema)
            .unwrap()
            .project(&[0.5, 0.5, 2.0], &mut z);
        assert_close(&z, &[-3.0, 0.25, 4.0]);
        config.r#box = true;
        config
            .check(&schema)
            .unwrap()
            .project(&[0.5, 0.5, 2.0], &mut z);
        assert_close(&z, &[0.0, 0.25, 2.0]);
    }
}
