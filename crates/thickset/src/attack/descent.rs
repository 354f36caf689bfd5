//! The search that most attacks share: steps down a gradient, each projected back into the set.
//!
//! `z <- project(z - step g / ||g||)`, where g is the gradient of the goal, or of its weighted sum with the divergences of the
//! predictions from those at the start (R2ET Eq. 57). One look at the network a step serves both the score of the point and
//! the gradient there.

use thickset_engine::{Output, Tensor};

use super::constraint::{ConstraintConfig, Multipliers, Observation};
use super::goal::{Goal, OfShares, shares};
use super::outcome::Attacked;
use super::scene::{Scene, Seen, View};
use super::threat::ball::Surface;
use crate::Result;
use crate::check::{check_finite, check_not_empty};
use crate::host::read;
use crate::registry::Setting;

/// The settings that all of these attacks have.
pub(super) static DEFAULTS: &[Setting] = &[
    Setting {
        name: "k",
        value: "8",
        meaning: "salient features",
    },
    Setting {
        name: "steps",
        value: "100",
        meaning: "steps of each run",
    },
    Setting {
        name: "step_size",
        value: "2.5 radius / steps",
        meaning: "length of a step in encoded units",
    },
    Setting {
        name: "restarts",
        value: "1",
        meaning: "runs; all but the first start at random",
    },
    Setting {
        name: "surrogate",
        value: "none",
        meaning: "sharpness of the softplus twin that directions come from",
    },
    Setting {
        name: "shares",
        value: "false",
        meaning: "follow importances as shares of their sum, so that confidence plays no part",
    },
    Setting {
        name: "constraint",
        value: "{ kind = \"early-stop\" }",
        meaning: "how the prediction is kept",
    },
];

/// Every iterate of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The rows after each step, row-major, the rows before the first step first.
    pub points: Vec<Vec<f64>>,
    /// The goal's value of each row before each step.
    pub values: Vec<Vec<f64>>,
    /// The gradient that each step followed, row-major.
    pub gradients: Vec<Vec<f64>>,
}

pub(super) struct Descent<'a> {
    scene: Scene<'a>,
    goals: Vec<Box<dyn Goal>>,
    rules: Option<Vec<Box<dyn Multipliers>>>,
    /// The goals' gradient in the importances, where it never changes and nobody asks for the goals' values.
    slope: Option<Tensor<2>>,
}

/// What a look at a searching point found.
struct Look {
    seen: Seen,
    /// Of the goal in the inputs; empty where none was asked for.
    gradient: Vec<f64>,
    values: Vec<f64>,
}

impl<'a> Descent<'a> {
    pub(super) fn new(scene: Scene<'a>) -> Result<Self> {
        check_not_empty("the rows", scene.origin())?;
        let width = scene.importance.len() / scene.count();
        let reference = match scene.twin {
            None => scene.importance.clone(),
            Some(twin) => {
                let x = scene.network.batch(scene.origin());
                read(scene.explainer.importance(twin, x))
            }
        };
        let goals = reference.chunks(width).zip(&scene.top);
        let goals = goals.map(|(reference, top)| -> Box<dyn Goal> {
            let method = &scene.attack.method;
            if scene.attack.shares {
                Box::new(OfShares(method.goal(&shares(reference), top)))
            } else {
                method.goal(reference, top)
            }
        });
        Ok(Self {
            goals: goals.collect(),
            rules: None,
            slope: None,
            scene,
        })
    }

    pub(super) fn run(mut self, mut trace: Option<&mut Trace>) -> Result<Vec<Attacked>> {
        let mut streams = self.scene.streams("attack start");
        for run in 0..self.scene.attack.restarts {
            let mut start = self.scene.origin().to_vec();
            if run > 0 {
                let features = self.scene.features();
                for ((stream, x), z) in streams
                    .iter_mut()
                    .zip(self.scene.origin().chunks(features))
                    .zip(start.chunks_mut(features))
                {
                    z.copy_from_slice(&self.scene.attack.threat.draw(x, Surface::Ball, stream));
                }
            }
            let views = self.scene.views().len();
            let rules = (0..self.scene.count())
                .map(|_| self.scene.attack.constraint.multipliers(views))
                .collect::<Result<Option<Vec<_>>>>();
            self.rules = rules?;
            self.slope = None;
            self.descend(start, trace.take())?;
        }
        Ok(self.scene.finish())
    }

    /// One run from a searching point.
    fn descend(&mut self, mut z: Vec<f64>, mut trace: Option<&mut Trace>) -> Result<()> {
        let attack = self.scene.attack;
        let (features, count) = (self.scene.features(), self.scene.count());
        let origin = self.scene.origin();
        let stops = attack.constraint == ConstraintConfig::EarlyStop;
        // Where a row is, and where the search tries to take it.
        let mut here = origin.to_vec();
        let mut trial = vec![0.0; here.len()];
        let mut now = vec![(attack.k, true); count];
        let mut stopped = vec![false; count];
        for step in 0..=attack.steps {
            for ((x, z), point) in origin
                .chunks(features)
                .zip(z.chunks(features))
                .zip(trial.chunks_mut(features))
            {
                self.scene.settle(x, z, point);
            }
            let is_last = step == attack.steps;
            let look = self.look(&trial, step, is_last)?;
            if trace.is_some() || self.rules.is_some() {
                self.slope = None;
            }
            for row in 0..count {
                stopped[row] |= stops && !look.seen.held[row];
                if stopped[row] {
                    continue;
                }
                let place = row * features..(row + 1) * features;
                here[place.clone()].copy_from_slice(&trial[place]);
                now[row] = (look.seen.kept[row], look.seen.held[row]);
                self.scene.score(row, step, &trial, &look.seen);
            }
            if let Some(trace) = trace.as_deref_mut() {
                trace.points.push(here.clone());
                if !is_last {
                    trace.values.push(look.values.clone());
                    trace.gradients.push(look.gradient.clone());
                }
            }
            if is_last || stopped.iter().all(|stopped| *stopped) && trace.is_none() {
                break;
            }
            let rows = z.chunks_mut(features).zip(origin.chunks(features));
            for ((z, x), gradient) in rows.zip(look.gradient.chunks(features)) {
                let ball = attack.threat.ball();
                ball.step(z, gradient, attack.step_size);
                attack.threat.project(x, z);
            }
        }
        for (row, now) in now.into_iter().enumerate() {
            self.scene.end(row, &here, now, stopped[row]);
        }
        Ok(())
    }

    /// Scores the points, and follows the goal there unless the run ends.
    fn look(&mut self, points: &[f64], step: usize, is_last: bool) -> Result<Look> {
        if is_last {
            return Ok(Look {
                seen: self.scene.look(points)?,
                gradient: Vec::new(),
                values: Vec::new(),
            });
        }
        let network = self.scene.twin.unwrap_or(self.scene.network);
        let mut shown = None;
        let mut values = Vec::new();
        let (goals, kept_slope) = (&self.goals, &mut self.slope);
        let mut gradient = self.scene.pull_back(network, points, &mut |attribution| {
            let size = attribution.value.dims();
            let importance = read(attribution.value);
            if let Some(slope) = kept_slope {
                shown = Some((importance, attribution.logits));
                return slope.clone();
            }
            let mut slopes = vec![0.0; importance.len()];
            values = goals
                .iter()
                .zip(importance.chunks(size[1]))
                .zip(slopes.chunks_mut(size[1]))
                .map(|((goal, importance), slope)| goal.evaluate(step, importance, slope))
                .collect();
            shown = Some((importance, attribution.logits));
            let slope = network.tensor(slopes, size);
            if goals.iter().all(|goal| goal.is_linear()) {
                *kept_slope = Some(slope.clone());
            }
            slope
        });
        check_finite("the gradient of the attack's goal", &gradient)?;
        let seen = match shown {
            Some((importance, logits)) if self.scene.twin.is_none() => {
                self.scene.judge(points, &importance, logits)?
            }
            _ => self.scene.look(points)?,
        };
        if self.rules.is_some() {
            self.weigh(points, &values, &mut gradient)?;
        }
        Ok(Look {
            seen,
            gradient,
            values,
        })
    }

    /// Turns the goal's gradient into that of the weighted sum with the predictions' divergences.
    fn weigh(&mut self, points: &[f64], values: &[f64], gradient: &mut [f64]) -> Result<()> {
        let features = self.scene.features();
        let kept: Vec<Divergence> = self
            .scene
            .views()
            .iter()
            .map(|view| self.divergence(*view, points))
            .collect();
        for (row, rule) in self.rules.iter_mut().flatten().enumerate() {
            let place = row * features..(row + 1) * features;
            let all_values: Vec<f64> = std::iter::once(values[row])
                .chain(kept.iter().map(|one| one.values[row]))
                .collect();
            let gradients: Vec<Vec<f64>> = std::iter::once(gradient[place.clone()].to_vec())
                .chain(kept.iter().map(|one| one.gradient[place.clone()].to_vec()))
                .collect();
            rule.update(Observation {
                values: &all_values,
                gradients: &gradients,
            })?;
            for (feature, total) in gradient[place].iter_mut().enumerate() {
                *total = rule
                    .weights()
                    .iter()
                    .zip(&gradients)
                    .map(|(weight, gradient)| weight * gradient[feature])
                    .sum();
            }
        }
        Ok(())
    }

    /// `KL(f(x_0) || f(x))` of each row for one of the predictions to keep, and its gradient. The gradient of the
    /// cross-entropy with the probabilities at the start as labels is the same.
    fn divergence(&self, view: View, points: &[f64]) -> Divergence {
        let scene = &self.scene;
        let (network, features) = (scene.network, scene.features());
        let classes = network.classes();
        let start = network.tensor(scene.probabilities.clone(), [scene.count(), classes]);
        let pass = network.pass(scene.viewed(view, points));
        let mut gradient = read(pass.input_gradient(Output::Loss, start).value());
        for (place, value) in gradient.iter_mut().enumerate() {
            if !view.moves(place % features, features) {
                *value = 0.0;
            }
        }
        let now = read(thickset_engine::activation::log_softmax(pass.logits(), 1));
        let values = scene.probabilities.chunks(classes).zip(now.chunks(classes));
        let values = values.map(|(start, now)| {
            let terms = start.iter().zip(now);
            // 0 log 0 is 0.
            terms
                .filter(|(start, _)| **start > 0.0)
                .map(|(start, now)| start * (start.ln() - now))
                .sum::<f64>()
                .max(0.0)
        });
        Divergence {
            values: values.collect(),
            gradient,
        }
    }
}

struct Divergence {
    values: Vec<f64>,
    gradient: Vec<f64>,
}
