//! Errors of measurement: numbers may be off by so much, in their own unit or as a share of the value, and nothing else moves.

use super::{Threat, ThreatConfig, ThreatPart, amount};
use crate::Result;
use crate::data::Schema;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "error",
    label: "errors of measurement",
    family: Family::Threat,
    summary: "Numbers may be off by so much, in their own unit or as a share of the value; all else stays",
    formula: "|value'_i - value_i| <= amount_i, or <= share_i |value_i|",
    source: "thickset",
    direction: None,
    cost: "none",
    defaults: &[Setting::in_words(
        "error",
        "no error is stated",
        "columns with amounts, such as { income = \"5%\", age = 1 }; `*` stands for every number",
    )],
};

/// The part.
pub(super) struct MeasurementError;

impl ThreatPart for MeasurementError {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        amount::apply("`error`", &config.error, schema, threat)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Amount, ThreatConfig};
    use crate::data::Schema;

    #[test]
    fn a_share_is_of_the_rows_own_value_and_unnamed_columns_stay() {
        let mut schema = Schema::table(&["income", "age"]);
        schema.features[0].offset = 2000.0;
        schema.features[0].factor = 1000.0;
        schema.features[0].high = 9.0;
        let config = ThreatConfig {
            error: [("income".to_owned(), Amount::Share(0.05))].into(),
            r#box: false,
            ..ThreatConfig::table()
        };
        let threat = config.check(&schema).unwrap();
        // 5% of 4000 is 200, a fifth of an encoded unit.
        let (low, high) = threat.bounds(0, 2.0);
        assert!((low - 1.8).abs() < 1e-12 && (high - 2.2).abs() < 1e-12);
        let (low, high) = threat.bounds(1, 0.5);
        assert!(high - low < f64::MIN_POSITIVE);
    }

    #[test]
    fn a_category_has_no_unit() {
        let mut schema = Schema::table(&["job"]);
        schema.features[0].kind = crate::data::FeatureKind::Level { values: vec![] };
        let config = ThreatConfig {
            error: [("job".to_owned(), Amount::Units(1.0))].into(),
            ..ThreatConfig::table()
        };
        let error = config.check(&schema).unwrap_err().to_string();
        assert!(error.contains("no unit"), "{error}");
    }
}
