//! Budgets of single columns, in the column's own unit: an age by at most two years.

use super::{Threat, ThreatConfig, ThreatPart};
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

/// The part.
pub(super) struct FeatureBudget;

impl ThreatPart for FeatureBudget {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn apply(&self, config: &ThreatConfig, schema: &Schema, threat: &mut Threat) -> Result<()> {
        for (name, &budget) in &config.feature_budget {
            limit(name, budget, schema, threat)?;
        }
        Ok(())
    }
}

fn limit(name: &str, budget: f64, schema: &Schema, threat: &mut Threat) -> Result<()> {
    if !(budget >= 0.0 && budget.is_finite()) {
        return Err(Error::OutOfRange {
            what: "`feature_budget` of a column",
            expected: "finite and not negative",
            got: budget,
        });
    }
    let mut is_known = false;
    for (limit, feature) in threat.limits.iter_mut().zip(&schema.features) {
        if feature.column == name || feature.name == name {
            *limit = limit.min(budget / feature.factor);
            is_known = true;
        }
    }
    if is_known {
        return Ok(());
    }
    let known = schema.features.iter();
    Err(Error::UnknownFeature {
        what: "column",
        name: name.to_owned(),
        nearest: nearest(name, known.map(|feature| feature.column.as_str())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::{assert_close, schema};

    fn with_budget(column: &str, budget: f64) -> Result<Threat> {
        let mut schema = schema();
        schema.features[1].factor = 20.0;
        let mut config = ThreatConfig {
            feature_budget: [(column.to_owned(), budget)].into(),
            ..ThreatConfig::papers()
        };
        config.ball.radius = 100.0;
        config.check(&schema)
    }

    #[test]
    fn a_budget_is_in_the_columns_own_unit_and_other_columns_are_free() {
        let mut z = [3.0, 3.0, 3.0];
        with_budget("x1", 2.0)
            .unwrap()
            .project(&[0.0, 0.0, 0.0], &mut z);
        // Two of 20 units a feature.
        assert_close(&z, &[3.0, 0.1, 3.0]);
    }

    #[test]
    fn an_unknown_column_and_a_negative_budget_are_refused() {
        let unknown = with_budget("x7", 1.0).unwrap_err();
        assert!(matches!(unknown, Error::UnknownFeature { .. }));
        let negative = with_budget("x1", -1.0).unwrap_err();
        assert!(matches!(negative, Error::OutOfRange { .. }));
    }

    #[test]
    fn a_budget_of_nothing_holds_the_column_and_a_name_may_be_of_one_feature() {
        assert!(with_budget("x1", 0.0).unwrap().limits[1] == 0.0);
        assert!(with_budget("x1", f64::INFINITY).is_err());
        assert!(with_budget("x1", f64::NAN).is_err());
        let mut schema = schema();
        for feature in &mut schema.features[1..] {
            feature.column = "x".to_owned();
        }
        let limits = |name: &str| {
            let config = ThreatConfig {
                feature_budget: [(name.to_owned(), 2.0)].into(),
                ..ThreatConfig::papers()
            };
            config.check(&schema).unwrap().limits
        };
        let free = f64::INFINITY;
        assert_eq!(limits("x"), [free, 2.0, 2.0]);
        assert_eq!(limits("x2"), [free, free, 2.0]);
    }
}
