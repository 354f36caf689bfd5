//! What most benches measure on a dataset: its explanation, its ball, the papers' attacks, the suite, thickness.

use thickset::attack::er_attack::ErAttackConfig;
use thickset::attack::mse_attack::MseAttackConfig;
use thickset::attack::suite::SuiteConfig;
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{AttackConfig, ThreatConfig};
use thickset::explain::ExplainConfig;

use crate::measure::Measure;
use crate::method::explained;
use crate::options::BenchOptions;
use crate::seeded_dataset::SeededDataset;

/// The ball of a dataset's attacks.
pub(crate) fn threat(data: &SeededDataset) -> ThreatConfig {
    ThreatConfig {
        ball: BallConfig {
            norm: Norm::L2,
            radius: data.radius,
        },
        ..ThreatConfig::papers()
    }
}

/// How a dataset's rows are explained.
pub(crate) fn explain(data: &SeededDataset) -> ExplainConfig {
    let shape = data.dataset.shape();
    let own = data.plan.and_then(|plan| plan.explain.as_ref());
    own.map_or_else(|| explained(shape), |explain| explain.resolve(shape))
}

/// `ERAttack` on a dataset.
pub(crate) fn er_attack(data: &SeededDataset) -> AttackConfig {
    AttackConfig {
        method: ErAttackConfig {}.into(),
        k: data.k,
        threat: threat(data),
        step_cap: data.plan.map(|plan| plan.step_cap),
        constraint: data
            .plan
            .and_then(|plan| plan.constraint)
            .unwrap_or_default(),
        ..AttackConfig::default()
    }
}

/// The MSE attack on a dataset.
pub(crate) fn mse_attack(data: &SeededDataset) -> AttackConfig {
    AttackConfig {
        method: MseAttackConfig::default().into(),
        ..er_attack(data)
    }
}

/// An attack on a dataset's own explanation.
pub(crate) fn attack(attack: AttackConfig, data: &SeededDataset) -> Measure {
    Measure::Attack {
        attack,
        explain: explain(data),
    }
}

/// The suite on a dataset.
pub(crate) fn suite(data: &SeededDataset, options: &BenchOptions) -> Measure {
    Measure::Suite {
        suite: SuiteConfig {
            effort: options.effort.suite(),
            k: data.k,
            threat: threat(data),
        },
        explain: explain(data),
        donors: 0,
    }
}

/// Thickness towards gaussian neighbours of a dataset's rows.
pub(crate) fn gaussian(data: &SeededDataset) -> Measure {
    Measure::GaussianThickness {
        k: data.k,
        radius: data.radius,
        explain: explain(data),
    }
}

/// Thickness on the way to where `ERAttack` ends.
pub(crate) fn adversarial(data: &SeededDataset) -> Measure {
    Measure::AdversarialThickness {
        attack: er_attack(data),
        explain: explain(data),
    }
}

/// AUC and distinctness.
pub(crate) fn clean(data: &SeededDataset) -> Measure {
    Measure::Clean {
        explain: explain(data),
    }
}
