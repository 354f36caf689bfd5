//! Searches for inputs that change an explanation and keep the prediction.
//!
//! An attack has a method (what it lowers, or that it draws at random), a set of inputs it may reach ([`threat`]) and a way
//! to keep the prediction ([`constraint`]). It runs over batches; each row has its own random stream, and its result does
//! not depend on the rows beside it.
//!
//! Directions may come from a smooth twin of the network (`surrogate`), as the second derivatives of a `ReLU` network are zero
//! almost everywhere. Scores always come from the network itself.

pub mod constraint;
pub mod er_attack;
pub mod mass_center;
pub mod moo;
pub mod mse_attack;
pub mod random;
pub mod suite;
pub mod target;
pub mod threat;
pub mod top_k;

mod change;
mod descent;
mod goal;
mod outcome;
mod state;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thickset_engine::Network;

pub use change::{Cell, Change, Value, changes, decoded};
pub use constraint::ConstraintConfig;
pub use descent::Trace;
pub use outcome::{Attacked, Last};
pub use threat::{Threat, ThreatConfig};

use self::descent::Descent;
use self::goal::Goal;
use self::state::{AttackState, Networks};
use crate::check::as_f64;
use crate::data::Schema;
use crate::explain::{CheckedExplain, ExplainConfig, Rows};
use crate::metric::manipulation_epoch;
use crate::metric::ranking::TopK;
use crate::{Error, Result, Seed};

/// What an attack does: `method = { kind = "er-attack" }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MethodConfig {
    /// Lowers the mean gap between salient and other features.
    ErAttack(er_attack::ErAttackConfig),
    /// Moves the centre of an image's importances.
    MassCenter(mass_center::MassCenterConfig),
    /// All gaps at once, by [`moo::perturb`]; it takes no steps of an [`AttackConfig`].
    Moo(moo::MooConfig),
    /// Raises the squared change of the explanation.
    MseAttack(mse_attack::MseAttackConfig),
    /// Draws points.
    Random(random::RandomConfig),
    /// Raises the importances of chosen features.
    Target(target::TargetConfig),
    /// Lowers the importances of the salient features.
    TopK(top_k::TopKConfig),
}

impl Default for MethodConfig {
    fn default() -> Self {
        Self::ErAttack(er_attack::ErAttackConfig {})
    }
}

impl MethodConfig {
    /// The registry's id.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ErAttack(_) => er_attack::INFO.id,
            Self::MassCenter(_) => mass_center::INFO.id,
            Self::Moo(_) => moo::INFO.id,
            Self::MseAttack(_) => mse_attack::INFO.id,
            Self::Random(_) => random::INFO.id,
            Self::Target(_) => target::INFO.id,
            Self::TopK(_) => top_k::INFO.id,
        }
    }
}

impl std::str::FromStr for MethodConfig {
    type Err = Error;

    /// Reads an id, or an inline TOML table with settings.
    fn from_str(text: &str) -> Result<Self> {
        crate::inline::parse("the attack", text)
    }
}

/// An attack as a configuration states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AttackConfig {
    /// What it does.
    pub method: MethodConfig,
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
    /// Runs: the first from the row itself, the others from random points of the set.
    pub restarts: usize,
    /// Sharpness of the softplus in the smooth twin that directions come from; the network's own if absent.
    pub surrogate: Option<f64>,
    /// Directions come from importances as shares of their sum, so that confidence plays no part.
    pub shares: bool,
}

impl Default for AttackConfig {
    fn default() -> Self {
        Self {
            method: MethodConfig::default(),
            k: 8,
            threat: ThreatConfig::default(),
            constraint: ConstraintConfig::default(),
            steps: 100,
            step_size: None,
            restarts: 1,
            surrogate: None,
            shares: false,
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
        let checked = explain.check(schema)?;
        let method = match &self.method {
            MethodConfig::ErAttack(_) => Method::ErAttack,
            MethodConfig::MassCenter(_) => {
                Method::MassCenter(mass_center::places(schema, explain)?)
            }
            MethodConfig::Moo(_) => {
                return Err(Error::AttackInput {
                    attack: moo::INFO.id,
                    expected: "a ball and settings of its own",
                    got: "steps, a constraint and a threat set".to_owned(),
                });
            }
            MethodConfig::MseAttack(config) => Method::MseAttack(config.check()?),
            MethodConfig::Random(config) => Method::Random(config.check()?),
            MethodConfig::Target(config) => Method::Target(config.check(&checked)?),
            MethodConfig::TopK(_) => Method::TopK,
        };
        self.constraint.multipliers(1)?;
        Ok(CheckedAttack {
            kind: self.method.kind(),
            method,
            explain: checked,
            k: self.k,
            threat: self.threat.check(schema)?,
            constraint: self.constraint,
            steps: self.steps,
            step_size: self
                .step_size
                .unwrap_or(2.5 * self.threat.ball.radius / as_f64(self.steps)),
            restarts: self.restarts,
            surrogate: self.surrogate,
            shares: self.shares,
            bound: manipulation_epoch::bound(&schema.shape),
        })
    }
}

#[derive(Clone, Debug)]
enum Method {
    ErAttack,
    MassCenter(Vec<[f64; 2]>),
    MseAttack(mse_attack::MseAttackConfig),
    Random(random::RandomConfig),
    Target(Option<Vec<usize>>),
    TopK,
}

impl Method {
    /// What turns the goal into `g_0` of R2ET Eq. 57, which divergences are weighed against: `ERAttack`'s is the sum of gaps over
    /// the k(n-k) pairs, its goal here their mean.
    fn objective_factor(&self, top: &TopK) -> f64 {
        match self {
            Self::ErAttack => as_f64(top.k() * (top.features() - top.k())),
            _ => 1.0,
        }
    }

    /// What one row's search lowers, given its importances at the start in the network that is followed.
    fn goal(&self, reference: &[f64], top: &TopK) -> Box<dyn Goal> {
        match self {
            Self::ErAttack => Box::new(er_attack::goal(top)),
            Self::MassCenter(places) => Box::new(mass_center::goal(places.clone(), reference)),
            Self::MseAttack(config) => Box::new(mse_attack::goal(*config, reference)),
            Self::Target(features) => Box::new(target::goal(features.as_deref(), reference, top)),
            // A random search follows nothing.
            Self::Random(_) | Self::TopK => Box::new(top_k::goal(top)),
        }
    }
}

/// An attack that fits its rows.
#[derive(Clone, Debug)]
pub struct CheckedAttack {
    kind: &'static str,
    method: Method,
    explain: CheckedExplain,
    k: usize,
    threat: Threat,
    constraint: ConstraintConfig,
    steps: usize,
    step_size: f64,
    restarts: usize,
    surrogate: Option<f64>,
    shares: bool,
    /// P@k below which a row counts as manipulated.
    bound: f64,
}

impl CheckedAttack {
    /// The way the attacked predictions are explained.
    #[must_use]
    pub fn explain(&self) -> &CheckedExplain {
        &self.explain
    }

    /// The set that the attack stays in.
    #[must_use]
    pub fn threat(&self) -> &Threat {
        &self.threat
    }

    /// Attacks every row. A row's result depends neither on the others nor on the number of threads.
    ///
    /// # Errors
    /// When rows do not fit the network, `k` does not fit the explanation, or something is not finite.
    pub fn perturb(&self, network: &Network, rows: Rows<'_>, seed: Seed) -> Result<Vec<Attacked>> {
        rows.check(network)?;
        let features = network.features();
        let networks = Networks::new(network, self.surrogate);
        let parts: Vec<Rows<'_>> = rows.parts(features, networks.chunk_rows()).collect();
        let attacked = parts.into_par_iter().map(|part| {
            let state = AttackState::new(self, &networks, part, seed)?;
            self.run(state, None)
        });
        let attacked = attacked.collect::<Result<Vec<_>>>()?;
        Ok(attacked.into_iter().flatten().collect())
    }

    /// The same for a few rows at once, with every iterate of the first run.
    ///
    /// # Errors
    /// As for [`CheckedAttack::perturb`].
    pub fn perturb_traced(
        &self,
        network: &Network,
        rows: Rows<'_>,
        seed: Seed,
    ) -> Result<(Vec<Attacked>, Trace)> {
        rows.check(network)?;
        let networks = Networks::new(network, self.surrogate);
        let mut trace = Trace::default();
        let state = AttackState::new(self, &networks, rows, seed)?;
        let attacked = self.run(state, Some(&mut trace))?;
        Ok((attacked, trace))
    }

    fn run(&self, state: AttackState<'_>, trace: Option<&mut Trace>) -> Result<Vec<Attacked>> {
        match &self.method {
            Method::Random(config) => random::run(*config, state),
            _ => Descent::new(state)?.run(trace),
        }
    }
}
