//! An attack that was checked against the rows it is for, and how it runs.

use rayon::prelude::*;
use thickset_engine::Network;

use super::descent::{Descent, Trace};
use super::outcome::Attacked;
use super::state::{AttackState, Networks};
use super::{ConstraintConfig, PairPredictions, Plan, Threat};
use crate::explain::{CheckedExplain, Points};
use crate::{Result, Seed};

/// An attack that fits its rows.
#[derive(Clone, Debug)]
pub struct CheckedAttack {
    /// The registry's id.
    pub(super) kind: &'static str,
    pub(super) plan: Plan,
    pub(super) explain: CheckedExplain,
    pub(super) k: usize,
    pub(super) threat: Threat,
    pub(super) constraint: ConstraintConfig,
    pub(super) steps: usize,
    pub(super) step_size: f64,
    pub(super) step_cap: Option<f64>,
    pub(super) restarts: usize,
    pub(super) surrogate: Option<f64>,
    pub(super) shares: bool,
    pub(super) pair_predictions: PairPredictions,
    /// P@k below which a row counts as manipulated.
    pub(super) bound: f64,
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

    /// Whether the attack can run on a network.
    #[must_use]
    pub fn fits(&self, network: &Network) -> bool {
        match &self.plan {
            Plan::Descent(_) => true,
            Plan::Search(search) => search.fits(network),
        }
    }

    /// Attacks every row. A row's result depends neither on the others nor on the number of threads.
    ///
    /// # Errors
    /// When rows do not fit the network, `k` does not fit the explanation, or something is not finite.
    pub fn perturb(
        &self,
        network: &Network,
        rows: Points<'_>,
        seed: Seed,
    ) -> Result<Vec<Attacked>> {
        rows.check(network)?;
        let features = network.features();
        let networks = Networks::new(network, self.surrogate);
        let count = networks.part_rows(rows.ids.len());
        let parts: Vec<Points<'_>> = rows.parts(features, count).collect();
        let attacked = parts.into_par_iter().map(|part| {
            let state = AttackState::new(self, &networks, part, seed)?;
            self.run(state, None)
        });
        let attacked = attacked.collect::<Result<Vec<_>>>()?;
        Ok(attacked.into_iter().flatten().collect())
    }

    /// The same for a few rows at once, with every iterate of the first run; nothing is traced of a search of its own.
    ///
    /// # Errors
    /// As for [`CheckedAttack::perturb`].
    pub fn perturb_traced(
        &self,
        network: &Network,
        rows: Points<'_>,
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
        match &self.plan {
            Plan::Descent(goals) => Descent::new(goals.as_ref(), state)?.run(trace),
            Plan::Search(search) => search.run(state),
        }
    }
}
