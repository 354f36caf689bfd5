//! The methods that an audit used, as the registry describes them.

use std::collections::BTreeSet;

use thickset::attack::threat::OneHot;
use thickset::audit::Audit;
use thickset::audit::figure::FIGURES;
use thickset::explain::ExplanationConfig;
use thickset::registry::{Info, METHODS};

/// What these audits used, in the registry's order.
pub fn of(audits: &[Audit]) -> Vec<&'static Info> {
    let metrics = FIGURES.iter().filter_map(|figure| figure.method);
    let mut used: BTreeSet<String> = metrics.map(|info| info.id.to_owned()).collect();
    used.insert("suite".to_owned());
    used.insert("ball".to_owned());
    for audit in audits {
        used.insert(audit.model.architecture.kind().to_owned());
        used.extend(audit.model.objective.clone());
        let explain = &audit.settings.explain;
        let mut explanation = &explain.explanation;
        used.insert(explanation.kind().to_owned());
        while let ExplanationConfig::SmoothGrad(config) = explanation {
            explanation = &config.base;
            used.insert(explanation.kind().to_owned());
        }
        used.insert(explain.reduce.kind().to_owned());
        used.extend(audit.attacks.iter().map(|one| one.attack.clone()));
        let threat = &audit.settings.suite.threat;
        let parts = [
            ("box", threat.r#box),
            ("immutable", threat.immutable),
            ("integer", threat.integer),
            ("one-hot", threat.one_hot != OneHot::Free),
            ("feature-budget", !threat.feature_budget.is_empty()),
        ];
        used.extend(
            parts
                .iter()
                .filter(|(_, is_on)| *is_on)
                .map(|(id, _)| (*id).to_owned()),
        );
        if audit.linear.is_some() {
            used.insert("linear".to_owned());
        }
        if !audit.rows.is_empty() {
            used.insert("spearman".to_owned());
        }
    }
    METHODS
        .iter()
        .copied()
        .filter(|info| used.contains(info.id))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metrics_among_the_figures_are_in_the_registry() {
        let found = of(&[]);
        let metrics: Vec<&Info> = FIGURES.iter().filter_map(|figure| figure.method).collect();
        let is_found = |metric: &&Info| found.iter().any(|info| info.id == metric.id);
        assert!(metrics.iter().all(is_found));
        assert_eq!(found.len(), metrics.len() + 2);
    }
}
