//! What R2ET's theory says of a model's explanations, row by row.

use rayon::prelude::*;
use thickset_engine::Network;

use super::{ExplainOptions, Model};
use crate::attack::ThreatConfig;
use crate::attack::moo::{self, MooConfig, row_gaps};
use crate::attack::threat::ball::{BallConfig, Surface};
use crate::explain::{CheckedExplain, Points};
use crate::theory::{Attacked, Point, TheoryRow, of_row};
use crate::{Result, Rows, Seed};

/// Points around a row at which the constants of Theorem 5.1 are looked for.
const AROUND: usize = 4;

/// What the theory is evaluated with. What is left out is the model's own, or that of its data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TheoryOptions {
    /// Salient features.
    pub k: Option<usize>,
    /// ε: radius of the l2 ball, in encoded units.
    pub radius: Option<f64>,
    /// The multi-objective attack of Theorem 5.1; its input budget is the radius where it has none.
    pub attack: MooConfig,
    /// What is explained.
    pub explain: ExplainOptions,
}

impl Model {
    /// Evaluates R2ET's propositions and theorems at each row: one second derivative a feature, some points around it, and the
    /// multi-objective attack.
    ///
    /// # Errors
    /// When rows do not fit the model, k or the radius is out of range, or rows have too many features for the attack.
    pub fn theory(&self, rows: &Rows<'_>, options: &TheoryOptions) -> Result<Vec<TheoryRow>> {
        let origin = self.origin()?;
        let explain = self.explain_config(&origin, &options.explain)?;
        let explain = explain.check(rows.schema())?;
        let width = explain.importances(&self.network)?;
        let k = origin.k(rows, options.k, (explain.config(), width));
        let threat = origin.threat(rows, Some(&ThreatConfig::papers()), options.radius)?;
        let (values, ids) = (rows.gather(0..rows.len()), rows.ids());
        let points = Points {
            values: &values,
            ids: &ids,
        };
        let plan = TheoryPlan {
            k,
            radius: threat.ball.radius,
            attack: options.attack,
            seed: options.explain.seed,
        };
        of_points(&self.network, &explain, points, &plan)
    }
}

/// What the theory of some rows is evaluated with.
pub(crate) struct TheoryPlan {
    /// Salient features.
    pub(crate) k: usize,
    /// ε: radius of the l2 ball, in encoded units.
    pub(crate) radius: f64,
    /// The multi-objective attack; its input budget is the radius where it has none.
    pub(crate) attack: MooConfig,
    /// Decides the points around a row.
    pub(crate) seed: Seed,
}

/// Evaluates the theory at each of these rows.
pub(crate) fn of_points(
    network: &Network,
    explain: &CheckedExplain,
    all: Points<'_>,
    plan: &TheoryPlan,
) -> Result<Vec<TheoryRow>> {
    let &TheoryPlan {
        k, radius, seed, ..
    } = plan;
    let settings = MooConfig {
        input_budget: plan.attack.input_budget.or(Some(radius)),
        ..plan.attack
    };
    let found = moo::perturb(network, explain, all, k, &settings, seed)?;
    let single: Vec<Points<'_>> = all.parts(network.features(), 1).collect();
    let ball = BallConfig {
        radius,
        ..BallConfig::default()
    };
    single
        .into_par_iter()
        .zip(found)
        .map(|(row, outcome)| {
            let mut gaps = row_gaps(network, explain, row, k, seed)?;
            let mut stream = seed.stream_at("theory", row.ids[0]);
            let free = vec![true; row.values.len()];
            let mut at = vec![row.values.to_vec()];
            at.extend(
                (0..AROUND).map(|_| ball.draw(row.values, &free, Surface::Ball, &mut stream)),
            );
            let points = at.into_iter().map(|x| {
                Ok(Point {
                    values: gaps.values(&x)?,
                    derivatives: gaps.derivatives(&x)?,
                    x,
                })
            });
            let points = points.collect::<Result<Vec<_>>>()?;
            let attacked = Attacked {
                iterations: outcome.iterations,
                ending: outcome.ending,
            };
            of_row(&points, k, radius, &settings, attacked)
        })
        .collect()
}
