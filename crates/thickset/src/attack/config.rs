//! An attack as a configuration states it.

use serde::{Deserialize, Serialize};

use super::{
    Attack, AttackKind, CheckedAttack, ConstraintConfig, PairPredictions, Setup, ThreatConfig,
};
use crate::check::as_f64;
use crate::data::Schema;
use crate::explain::ExplainConfig;
use crate::metric::manipulation_epoch;
use crate::{Error, Result, defaults};

/// An attack as a configuration states it. Which of the fields have an effect, the attack [says](Attack::options).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AttackConfig {
    /// What it does.
    pub method: AttackKind,
    /// Salient features.
    pub k: usize,
    /// Which inputs it may reach.
    pub threat: ThreatConfig,
    /// How it keeps the prediction.
    pub constraint: ConstraintConfig,
    /// Steps of each run.
    pub steps: usize,
    /// Length of a step in encoded units; 2.5 radius / steps if absent.
    pub step_size: Option<f64>,
    /// Largest change of a feature in one step, in encoded units; none if absent. R2ET's attacks (B.1.2) have 5 of 255 on images and
    /// 0.2 on graphs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_cap: Option<f64>,
    /// Runs: the first from the row itself, the others from random points of the set.
    pub restarts: usize,
    /// Sharpness of the softplus in the smooth twin that directions come from; the network's own if absent.
    pub surrogate: Option<f64>,
    /// Directions come from importances as shares of their sum, so that confidence plays no part.
    pub shares: bool,
    /// Which predictions of a pair are kept beside its own.
    #[serde(skip_serializing_if = "PairPredictions::is_default")]
    pub pair_predictions: PairPredictions,
}

impl Default for AttackConfig {
    fn default() -> Self {
        Self {
            method: AttackKind::default(),
            k: defaults::K,
            threat: ThreatConfig::default(),
            constraint: ConstraintConfig::default(),
            steps: 100,
            step_size: None,
            step_cap: None,
            restarts: 1,
            surrogate: None,
            shares: false,
            pair_predictions: PairPredictions::default(),
        }
    }
}

const MOST_STEPS: usize = 1_000_000;

impl AttackConfig {
    /// Checks the settings, and that they fit rows of this schema.
    ///
    /// # Errors
    /// When a setting is out of range, or the method does not fit the input.
    pub fn check(&self, explain: &ExplainConfig, schema: &Schema) -> Result<CheckedAttack> {
        self.check_with(self.method.behaviour(), explain, schema)
    }

    /// The same for an attack that is not one of [`AttackKind`], in place of `method`.
    ///
    /// # Errors
    /// As for [`AttackConfig::check`].
    pub fn check_with(
        &self,
        attack: &dyn Attack,
        explain: &ExplainConfig,
        schema: &Schema,
    ) -> Result<CheckedAttack> {
        self.check_ranges()?;
        let explain = explain.check(schema)?;
        let plan = attack.plan(&Setup {
            explain: &explain,
            schema,
            threat: &self.threat,
        })?;
        self.constraint.behaviour().multipliers(1)?;
        Ok(CheckedAttack {
            kind: attack.info().id,
            plan,
            explain,
            k: self.k,
            threat: self.threat.check(schema)?,
            constraint: self.constraint,
            steps: self.steps,
            step_size: self
                .step_size
                .unwrap_or(2.5 * self.threat.ball.radius / as_f64(self.steps)),
            step_cap: self.step_cap,
            restarts: self.restarts,
            surrogate: self.surrogate,
            shares: self.shares,
            pair_predictions: self.pair_predictions,
            bound: manipulation_epoch::bound(&schema.shape),
        })
    }

    fn check_ranges(&self) -> Result<()> {
        for (what, got) in [
            ("`attack.steps`", self.steps),
            ("`attack.restarts`", self.restarts),
        ] {
            if !(1..=MOST_STEPS).contains(&got) {
                return Err(Error::OutOfRange {
                    what,
                    expected: "in 1..=1000000",
                    got: as_f64(got),
                });
            }
        }
        for (what, got) in [
            ("`attack.step_size`", self.step_size),
            ("`attack.step_cap`", self.step_cap),
            ("`attack.surrogate`", self.surrogate),
        ] {
            if let Some(got) = got.filter(|got| !(*got > 0.0 && got.is_finite())) {
                return Err(Error::OutOfRange {
                    what,
                    expected: "positive and finite",
                    got,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::schema;

    fn steps_of(change: impl Fn(&mut AttackConfig)) -> Result<f64> {
        let mut config = AttackConfig {
            k: 1,
            steps: 5,
            ..AttackConfig::default()
        };
        config.threat.ball.radius = 2.0;
        change(&mut config);
        let checked = config.check(&ExplainConfig::default(), &schema())?;
        Ok(checked.step_size)
    }

    #[test]
    fn a_step_is_its_share_of_two_and_a_half_radii_or_what_is_said() {
        assert!((steps_of(|_| {}).unwrap() - 1.0).abs() < 1e-12);
        let own = steps_of(|config| config.step_size = Some(0.3)).unwrap();
        assert!((own - 0.3).abs() < 1e-12);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for steps in [0, MOST_STEPS + 1] {
            assert!(steps_of(|config| config.steps = steps).is_err());
            assert!(steps_of(|config| config.restarts = steps).is_err());
        }
        assert!(steps_of(|config| config.steps = MOST_STEPS).is_ok());
        for length in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(steps_of(|config| config.step_size = Some(length)).is_err());
            assert!(steps_of(|config| config.step_cap = Some(length)).is_err());
            assert!(steps_of(|config| config.surrogate = Some(length)).is_err());
        }
    }
}
