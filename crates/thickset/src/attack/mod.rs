//! Searches for inputs that change an explanation and keep the prediction.
//!
//! An [`Attack`] is one file: its settings, and what it does with them. Most step down the gradient of a [`Goal`]; others
//! [search](Search) in a way of their own. What they share stands in an [`AttackConfig`]: the set of inputs that may be
//! reached ([`threat`]), how the prediction is kept ([`constraint`]), and the steps. An attack runs over batches; each row
//! has its own random stream, and its result does not depend on the rows beside it.
//!
//! Directions may come from a smooth twin of the network (`surrogate`), as the second derivatives of a `ReLU` network are zero
//! almost everywhere. Scores always come from the network itself.

pub mod border;
pub mod constraint;
pub mod donors;
pub mod er_attack;
pub mod every_point;
pub mod gate_search;
pub mod mass_center;
pub mod moo;
pub mod mse_attack;
pub mod random;
pub mod refine;
pub mod region_search;
pub mod suite;
pub mod target;
pub mod threat;
pub mod top_k;

mod change;
mod checked;
mod config;
mod descent;
mod goal;
mod kept;
mod lane_descent;
mod option;
mod outcome;
mod start_points;
mod state;

use std::fmt::Debug;
use std::sync::Arc;

use thickset_engine::Network;

pub use change::{Cell, Change, Value, changes, decoded, decoded_whole, own_values};
pub use checked::CheckedAttack;
pub use config::AttackConfig;
pub use constraint::ConstraintConfig;
pub use descent::Trace;
pub use goal::{Goal, Goals};
pub use kept::PairPredictions;
pub use option::AttackOption;
pub use outcome::{Attacked, Finish, Last};
pub use state::{AttackState, RowStatus};
pub use threat::{Threat, ThreatConfig};

use crate::Result;
use crate::data::Schema;
use crate::explain::CheckedExplain;
use crate::kinds::kinds;
use crate::registry::Info;

/// A way to attack explanations, with its settings.
pub trait Attack: Debug {
    /// The registry's entry.
    fn info(&self) -> &'static Info;

    /// Which of the options that attacks share have an effect on it.
    fn options(&self) -> &'static [AttackOption];

    /// Checks the settings, and prepares the search in rows of one kind.
    ///
    /// # Errors
    /// When a setting is out of range, or the attack does not fit the rows, their explanation or the threat set.
    fn plan(&self, setup: &Setup<'_>) -> Result<Plan>;
}

/// What an attack is prepared for.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// How the attacked predictions are explained.
    pub explain: &'a CheckedExplain,
    /// What the rows are.
    pub schema: &'a Schema,
    /// Which inputs may be reached.
    pub threat: &'a ThreatConfig,
}

/// How an attack searches.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Steps down the gradients of these goals.
    Descent(Arc<dyn Goals>),
    /// In a way of its own.
    Search(Arc<dyn Search>),
}

/// A search of its own.
pub trait Search: Debug + Send + Sync {
    /// Whether the search can run on a network; a [suite] leaves it out where it cannot.
    fn fits(&self, _network: &Network) -> bool {
        true
    }

    /// Searches at the rows of a state. It [evaluates](AttackState::evaluate) points, [keeps](AttackState::keep_if_worst) the
    /// worst, and [finishes](AttackState::finish).
    ///
    /// # Errors
    /// When something is not finite, or the rows do not fit the search.
    fn run(&self, state: AttackState<'_>) -> Result<Vec<Attacked>>;
}

kinds! {
    /// What an attack does: `method = { kind = "er-attack" }`.
    pub enum AttackKind of Attack, read as "the attack" {
        Border(border::BorderConfig),
        ErAttack(er_attack::ErAttackConfig),
        GateSearch(gate_search::GateSearchConfig),
        MassCenter(mass_center::MassCenterConfig),
        Moo(moo::MooConfig),
        MseAttack(mse_attack::MseAttackConfig),
        Random(random::RandomConfig),
        RegionSearch(region_search::RegionSearchConfig),
        Target(target::TargetConfig),
        TopK(top_k::TopKConfig),
    }
}

impl Default for AttackKind {
    fn default() -> Self {
        Self::ErAttack(er_attack::ErAttackConfig {})
    }
}

/// The registry's entries of this family: those of the list, the suite, and what only a suite does.
pub(crate) fn infos() -> impl Iterator<Item = &'static Info> {
    let kinds = AttackKind::all().into_iter();
    kinds.map(|kind| kind.behaviour().info()).chain([
        &suite::INFO,
        &donors::INFO,
        &every_point::INFO,
        &refine::INFO,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::constraint::ConstraintConfig;
    use crate::data::InputShape;
    use crate::explain::{ExplainConfig, Points};
    use crate::metric::ranking::TopK;
    use crate::model::{Fresh, MlpConfig, ModelConfig};
    use crate::registry::{Family, family};
    use crate::{Seed, registry};

    /// Every configuration is written as `{ "kind": id, … }` and is read again as itself.
    fn reads_back<T>(all: Vec<T>, of: Family, id: impl Fn(&T) -> &'static str)
    where
        T: serde::Serialize + serde::de::DeserializeOwned + std::str::FromStr + PartialEq + Debug,
        T::Err: Debug,
    {
        let mut ids: Vec<&str> = all.iter().map(&id).collect();
        if of == Family::Attack {
            ids.extend([
                suite::INFO.id,
                donors::INFO.id,
                every_point::INFO.id,
                refine::INFO.id,
            ]);
        }
        ids.sort_unstable();
        let listed: Vec<&str> = family(of).map(|info| info.id).collect();
        assert_eq!(ids, listed);
        for kind in all {
            let written = serde_json::to_value(&kind).unwrap();
            assert_eq!(written["kind"], id(&kind));
            assert_eq!(serde_json::from_value::<T>(written).unwrap(), kind);
            assert_eq!(id(&kind).parse::<T>().unwrap(), kind);
            let more = format!("{{ kind = \"{}\", nothing = 1 }}", id(&kind));
            assert!(more.parse::<T>().is_err(), "{more}");
        }
    }

    #[test]
    fn every_kind_of_the_lists_is_of_the_registry_and_reads_back() {
        reads_back(AttackKind::all(), Family::Attack, AttackKind::kind);
        reads_back(
            ConstraintConfig::all(),
            Family::Constraint,
            ConstraintConfig::kind,
        );
        let parts: Vec<&str> = threat::PARTS.iter().map(|part| part.info().id).collect();
        let listed: Vec<&str> = family(Family::Threat).map(|info| info.id).collect();
        assert_eq!(parts, listed);
    }

    /// Lowers the importance of the first feature.
    #[derive(Debug)]
    struct First;

    impl Attack for First {
        fn info(&self) -> &'static Info {
            registry::find("top-k").unwrap()
        }

        fn options(&self) -> &'static [AttackOption] {
            descent::OPTIONS
        }

        fn plan(&self, _: &Setup<'_>) -> Result<Plan> {
            Ok(Plan::Descent(Arc::new(Self)))
        }
    }

    impl Goals for First {
        fn goal(&self, reference: &[f64], _: &TopK) -> Box<dyn Goal> {
            let mut weights = vec![0.0; reference.len()];
            weights[0] = 1.0;
            Box::new(goal::Weighted(weights))
        }
    }

    #[test]
    fn an_attack_outside_the_list_runs_like_one_of_it() {
        let schema = Schema::image(1, 1, 4, 255.0);
        let network = ModelConfig::Mlp(MlpConfig {
            activation: crate::model::Activation::Softplus { beta: 2.0 },
            ..MlpConfig::default()
        })
        .network(&InputShape::Table, 4, 2, &mut Fresh::new(Seed::new(1)))
        .unwrap();
        let config = AttackConfig {
            k: 1,
            steps: 5,
            ..AttackConfig::default()
        };
        let attack = config
            .check_with(&First, &ExplainConfig::default(), &schema)
            .unwrap();
        let rows = Points {
            values: &[0.1, 0.2, 0.3, 0.4],
            ids: &[0],
        };
        let (found, trace) = attack.perturb_traced(&network, rows, Seed::new(1)).unwrap();
        assert_eq!(found.len(), 1);
        assert!(
            trace.values[4][0] < trace.values[0][0],
            "{:?}",
            trace.values
        );
    }

    #[test]
    fn what_an_attack_finds_of_a_row_does_not_depend_on_other_rows() {
        let network = crate::toy::kinked_network().smooth_twin(5.0);
        let kinked = crate::toy::kinked_network();
        let values = [0.3, 1.0, -0.5, 0.7, 0.25, 0.2];
        let ids = [3, 4, 9];
        let schema = Schema::table(&["x0", "x1"]);
        for method in AttackKind::all() {
            if matches!(method, AttackKind::MassCenter(_)) {
                continue;
            }
            let has_regions = matches!(
                method,
                AttackKind::GateSearch(_) | AttackKind::RegionSearch(_)
            );
            let network = if has_regions { &kinked } else { &network };
            for constraint in ConstraintConfig::all() {
                let config = AttackConfig {
                    method: method.clone(),
                    constraint,
                    k: 1,
                    steps: 4,
                    restarts: 2,
                    ..AttackConfig::default()
                };
                let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
                let perturb = |values: &[f64], ids: &[u64]| {
                    let rows = Points { values, ids };
                    attack.perturb(network, rows, Seed::new(1)).unwrap()
                };
                let together = perturb(&values, &ids);
                for (row, found) in together.into_iter().enumerate() {
                    let alone = perturb(&values[2 * row..2 * row + 2], &ids[row..=row]);
                    let words = format!("{} {}", method.kind(), constraint.kind());
                    crate::toy::assert_close(&found.perturbed, &alone[0].perturbed);
                    crate::toy::assert_close(&found.last.point, &alone[0].last.point);
                    let shown =
                        |one: &Attacked| (one.held, one.class, one.first_change, one.finish);
                    assert_eq!(shown(&found), shown(&alone[0]), "{words}");
                }
            }
        }
    }
}
