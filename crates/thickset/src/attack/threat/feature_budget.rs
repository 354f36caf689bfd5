//! Budgets of single columns, in the column's own unit: an age by at most two years.

use std::collections::BTreeMap;

use super::Threat;
use crate::data::Schema;
use crate::registry::{Family, Info, nearest};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "feature-budget",
    label: "budgets of columns",
    family: Family::Threat,
    summary: "Columns move by at most so much, in their own unit",
    formula: "factor_i |x'_i - x_i| <= budget_i",
    source: "thickset",
    direction: None,
    cost: "none",
    defaults: &[],
};

pub(super) fn apply(
    budgets: &BTreeMap<String, f64>,
    schema: &Schema,
    threat: &mut Threat,
) -> Result<()> {
    for (name, &budget) in budgets {
        if !(budget >= 0.0 && budget.is_finite()) {
            return Err(Error::OutOfRange {
                what: "`feature_budget` of a column",
                expected: "finite and not negative",
                got: budget,
            });
        }
        let mut found = false;
        for (index, feature) in schema.features.iter().enumerate() {
            if feature.column == *name || feature.name == *name {
                threat.limits[index] = threat.limits[index].min(budget / feature.factor);
                found = true;
            }
        }
        if !found {
            let known = schema
                .features
                .iter()
                .map(|feature| feature.column.as_str());
            return Err(Error::UnknownFeature {
                what: "column",
                name: name.clone(),
                nearest: nearest(name, known),
            });
        }
    }
    Ok(())
}
