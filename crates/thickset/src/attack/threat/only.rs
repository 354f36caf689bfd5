//! Only these columns: they move by at most so much, in their own unit, and nothing else moves.

use super::{Threat, ThreatConfig, ThreatPart, amount};
use crate::Result;
use crate::data::Schema;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "only",
    label: "only these columns",
    family: Family::Threat,
    summary: "Named columns move by at most so much, in their own unit or as a share; all others stay",
    formula: "factor_i |x'_i - x_i| <= amount_i for named i, x'_i = x_i for all others",
    source: "thickset",
    direction: None,
    cost: "none",
    defaults: &[Setting::in_words(
        "only",
        "no column is named",
        "columns with amounts, such as { income = 100, age = \"5%\", job = \"free\" }",
    )],
};

/// The part.
pub(super) struct Only;

impl ThreatPart for Only {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        amount::apply("`only`", &config.only, schema, threat)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Amount, ThreatConfig};
    use crate::toy::{assert_close, schema};

    #[test]
    fn the_named_column_moves_by_its_amount_and_nothing_else_moves() {
        let mut schema = schema();
        schema.features[0].factor = 1000.0;
        let mut config = ThreatConfig {
            only: [("x0".to_owned(), Amount::Units(100.0))].into(),
            ..ThreatConfig::papers()
        };
        config.ball.radius = 100.0;
        let mut z = [0.9, 0.9, -0.9];
        let x = [0.5, 0.5, 0.5];
        config.check(&schema).unwrap().project(&x, &mut z);
        // 100 of 1,000 units is a tenth.
        assert_close(&z, &[0.6, 0.5, 0.5]);
    }
}
