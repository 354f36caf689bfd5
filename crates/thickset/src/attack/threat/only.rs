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
