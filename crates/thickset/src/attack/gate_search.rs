//! Gate search: branch and bound over the gates of a `ReLU` network, as certificates do it, for as long as it may take.
//!
//! The search for a [certified worst case](crate::certify::certified_worst_case) asks whether one feature more can be lost than
//! any point so far has lost. Until it is done it is an attack like any other, and one that leaves nothing out: where it ends
//! within its limit, what was found is the worst case itself. A [suite](super::suite) runs it last, from what the others found.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

use super::outcome::Attacked;
use super::state::AttackState;
use super::{Attack, AttackOption, Plan, Search, Setup};
use crate::certify::{CertifyConfig, CheckedCertify};
use crate::explain::Points;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "gate-search",
    label: "Gate search",
    family: Family::Attack,
    summary: "Branch and bound over the gates of a ReLU network: the worst point itself, where it ends within its limit",
    formula: "argmin over ||d|| <= radius of P@k(I(x), I(x + d)), by branch and bound over the gates",
    source: "thickset; see certified-worst-case",
    direction: None,
    cost: "at most `nodes` parts of the search a row, each about a tenth of a millisecond for 64 and 32 hidden neurons",
    defaults: &[Setting::new(
        "nodes",
        "parts of a row's search, after which it gives up",
    )],
};

/// Its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GateSearchConfig {
    /// Parts of a row's search, after which it gives up.
    pub nodes: usize,
}

impl Default for GateSearchConfig {
    fn default() -> Self {
        Self { nodes: 2_000 }
    }
}

impl Attack for GateSearchConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn options(&self) -> &'static [AttackOption] {
        &[AttackOption::Constraint, AttackOption::Radius]
    }

    fn plan(&self, setup: &Setup<'_>) -> Result<Plan> {
        let config = CertifyConfig {
            threat: setup.threat.clone(),
            nodes: self.nodes,
            ..CertifyConfig::default()
        };
        let checked = config.check(setup.explain.config(), setup.schema)?;
        if !checked.finds_points() {
            return Err(Error::CertifyInput {
                expected: "`grad` and `grad-input`",
                got: format!("`{}`", setup.explain.config().explanation.kind()),
            });
        }
        Ok(Plan::Search(Arc::new(GateSearch(checked))))
    }
}

#[derive(Debug)]
struct GateSearch(CheckedCertify);

impl Search for GateSearch {
    fn fits(&self, network: &Network) -> bool {
        self.0.is_searched(network)
    }

    fn run(&self, mut state: AttackState<'_>) -> Result<Vec<Attacked>> {
        let hold = !state.attack.constraint.behaviour().ignores_predictions();
        let certify = self.0.clone().for_attack(state.k(), hold);
        let rows: Points<'_> = state.rows();
        let found = certify.worst_case(state.network, rows)?;
        let features = state.features();
        let mut points = state.origin().to_vec();
        for (point, found) in points.chunks_mut(features).zip(&found) {
            if let Some(counterexample) = &found.counterexample {
                point.copy_from_slice(&counterexample.point);
            }
        }
        state.evaluate(&points)?;
        for row in 0..found.len() {
            state.keep_if_worst(row, &points);
        }
        state.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::kinked_precision;

    #[test]
    fn the_ranking_changes_where_the_ball_reaches_the_kink_and_not_before() {
        for (radius, expected) in [(0.29, 1.0), (0.5, 0.0)] {
            let got = kinked_precision(GateSearchConfig::default().into(), radius);
            assert!((got - expected).abs() < 1e-12, "{radius}: {got}");
        }
    }

    #[test]
    fn gates_are_searched_where_there_are_some() {
        let config = crate::attack::AttackConfig {
            method: GateSearchConfig::default().into(),
            k: 1,
            ..crate::attack::AttackConfig::default()
        };
        let schema = crate::Schema::table(&["x0", "x1"]);
        let explain = crate::explain::ExplainConfig::default();
        let attack = config.check(&explain, &schema).unwrap();
        let network = crate::toy::kinked_network();
        assert!(attack.fits(&network) && !attack.fits(&network.smooth_twin(3.0)));
    }
}
