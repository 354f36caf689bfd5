//! The quick attack that validation rows go through after each epoch, so that epochs can be chosen by P@k.
//!
//! The papers choose by `ERAttack`, which on a binary `ReLU` network only raises the confidence: chosen by it alone, an epoch
//! wins for being sure, not for being stable. So rows are also attacked on shares in the direction of a smooth twin, from a
//! few starts, and the worse of the two counts. What it finds chooses epochs; it is not a measurement of stability.

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

use super::settings::check_count;
use crate::attack::threat::BallConfig;
use crate::attack::{AttackConfig, CheckedAttack, ThreatConfig};
use crate::check::{as_f64, check_positive};
use crate::config::RunConfig;
use crate::data::Schema;
use crate::explain::{ExplainConfig, InlineExplain, Points};
use crate::{Result, Seed};

/// What validation rows are attacked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Against {
    /// `ERAttack` alone, as the papers choose.
    ErAttack,
    /// The worse of `ERAttack` and an attack on shares that follows a smooth twin from a few starts.
    #[default]
    Both,
}

/// Sharpness of the twin, and the runs and steps on it: what the quick suite finds most with, cut short.
const TWIN: f64 = 10.0;
const STARTS: usize = 3;
const STEPS_ON_SHARES: usize = 10;

/// How far and how long validation rows are attacked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValidationAttackConfig {
    /// The most validation rows that are attacked; 0 attacks none, and the AUC alone selects.
    pub rows: usize,
    /// Steps of `ERAttack`.
    pub steps: usize,
    /// What they are attacked by.
    pub against: Against,
    /// Radius of the l2 ball in encoded units; the dataset's own, or 0.5, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// Columns that a person cannot change stay, where not all are such.
    pub immutable: bool,
    /// What is attacked; what the objective ranks if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

impl Default for ValidationAttackConfig {
    fn default() -> Self {
        Self {
            rows: 256,
            steps: 20,
            against: Against::default(),
            epsilon: None,
            immutable: true,
            explain: None,
        }
    }
}

impl ValidationAttackConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        check_count("`probe.steps`", self.steps)?;
        match self.epsilon {
            None => Ok(()),
            Some(epsilon) => check_positive("`probe.epsilon`", epsilon),
        }
    }

    /// What is attacked and compared in rows of this schema: its own explanation, or what the run ranks.
    #[must_use]
    pub fn explain(&self, run: &RunConfig, schema: &Schema) -> ExplainConfig {
        match &self.explain {
            Some(explain) => explain.resolve(&schema.shape),
            None => run.trained_for(schema),
        }
    }

    /// The attack on explanations of rows of this schema; `epsilon` where the configuration has none.
    ///
    /// # Errors
    /// If the settings do not fit the rows.
    pub(super) fn bind(
        &self,
        explain: &ExplainConfig,
        schema: &Schema,
        k: usize,
        (threat, epsilon): (ThreatConfig, f64),
        seed: Seed,
    ) -> Result<ValidationAttack> {
        let is_any_free = schema.features.iter().any(|one| !one.immutable);
        let radius = match self.epsilon {
            Some(radius) => radius,
            None if threat.names_columns() => threat.reach(schema),
            None => epsilon,
        };
        let plain = AttackConfig {
            k,
            steps: self.steps,
            threat: ThreatConfig {
                ball: BallConfig {
                    radius,
                    ..BallConfig::default()
                },
                immutable: threat.immutable && self.immutable && is_any_free,
                ..threat
            },
            ..AttackConfig::default()
        };
        let has_slopes = explain.explanation.behaviour().has_slopes();
        let on_shares = AttackConfig {
            shares: true,
            surrogate: (!has_slopes).then_some(TWIN),
            steps: STEPS_ON_SHARES,
            restarts: STARTS,
            ..plain.clone()
        };
        let attacks = match self.against {
            Against::ErAttack => vec![plain],
            Against::Both => vec![plain, on_shares],
        };
        let attacks = attacks
            .iter()
            .map(|attack| attack.check(explain, schema))
            .collect::<Result<_>>()?;
        Ok(ValidationAttack { attacks, seed })
    }
}

/// Attacks explanations and says how much of them holds.
pub(super) struct ValidationAttack {
    attacks: Vec<CheckedAttack>,
    seed: Seed,
}

impl ValidationAttack {
    /// The mean over the rows of the least P@k, in `[0, 1]`.
    ///
    /// # Errors
    /// If the model has diverged, or k does not fit the features.
    pub(super) fn precision_at_k(&self, network: &Network, rows: Points<'_>) -> Result<f64> {
        let mut least = vec![1.0_f64; rows.ids.len()];
        for attack in &self.attacks {
            let attacked = attack.perturb(network, rows, self.seed)?;
            for (least, row) in least.iter_mut().zip(attacked) {
                *least = least.min(row.precision);
            }
        }
        Ok(least.iter().sum::<f64>() / as_f64(least.len().max(1)))
    }
}
