//! The loop of the multi-objective attack: its state, its steps, and which gaps it goes on with.

use super::trust_region::{Model, Objective, Step};
use super::{Derivatives, Ending, Gaps, MooConfig, Outcome, Values};
use crate::check::{check_finite, check_length};
use crate::metric::ranking;
use crate::{Error, Result};

/// Trust radius, as a share of the first one, from which on the model is taken to be wrong at every scale.
const SMALLEST_RADIUS: f64 = 1e-6;

/// The least unit of gaps, as a share of the largest importance: what single precision tells apart. A smaller one would
/// blow derivatives up beyond what the solver can answer.
const LEAST_UNIT: f64 = 1e-7;

/// One point of the search.
struct Point {
    x: Vec<f64>,
    values: Values,
    /// F.
    residual: Vec<f64>,
    /// ||F||.
    residual_norm: f64,
}

/// The state of an attack.
pub(super) struct Search<'a> {
    gaps: &'a mut dyn Gaps,
    settings: &'a MooConfig,
    origin: (Vec<f64>, Values),
    /// Of the predictions at the origin.
    classes: Vec<usize>,
    /// Gaps are divided by this.
    unit: f64,
    /// All pairs (salient, other).
    pairs: Vec<(usize, usize)>,
    /// Indices of the pairs not dropped.
    active: Vec<usize>,
    here: Point,
    /// The derivatives at `here` in the units of the merits; `None` after a step until needed.
    slopes: Option<Derivatives>,
    radius: f64,
    iterations: usize,
    taken: usize,
}

impl<'a> Search<'a> {
    /// At `x`, with the gaps of its own top-k set.
    pub(super) fn start(
        gaps: &'a mut dyn Gaps,
        x: &[f64],
        k: usize,
        settings: &'a MooConfig,
    ) -> Result<Self> {
        let values = gaps.values(x)?;
        check_finite("the outputs", &values.outputs.concat())?;
        let classes = classes(&values.outputs)?;
        let order = ranking::descending(&values.importance)?;
        if !(1..order.len()).contains(&k) {
            return Err(Error::TopKOutOfRange {
                k,
                largest: order.len() - 1,
            });
        }
        let pairs: Vec<(usize, usize)> = order[..k]
            .iter()
            .flat_map(|&i| order[k..].iter().map(move |&j| (i, j)))
            .collect();
        let smallest = pairs
            .iter()
            .map(|&(i, j)| values.followed()[i] - values.followed()[j])
            .filter(|gap| *gap > 0.0)
            .fold(f64::INFINITY, f64::min);
        let largest = values
            .followed()
            .iter()
            .fold(0.0_f64, |most, one| most.max(one.abs()));
        let unit = smallest.max(LEAST_UNIT * largest);
        let residual = vec![0.0; count(&values.outputs) + x.len()];
        Ok(Self {
            gaps,
            settings,
            origin: (x.to_vec(), values.clone()),
            classes,
            unit: if unit.is_finite() { unit } else { 1.0 },
            active: (0..pairs.len()).collect(),
            pairs,
            here: Point {
                x: x.to_vec(),
                values,
                residual,
                residual_norm: 0.0,
            },
            slopes: None,
            radius: settings.radius,
            iterations: 0,
            taken: 0,
        })
    }

    /// Steps until a pair flips, all pairs are dropped, or the steps run out.
    pub(super) fn run(mut self) -> Result<Outcome> {
        loop {
            let step = match self.descend() {
                Ok(Some(step)) => step,
                Ok(None) => return Ok(self.end(Ending::Failed)),
                // Other rows have nothing to do with it.
                Err(Error::Solver { .. }) => return Ok(self.end(Ending::Unfinished)),
                Err(error) => return Err(error),
            };
            if self.iterations == self.settings.iterations {
                return Ok(self.end(Ending::Unfinished));
            }
            self.iterations += 1;
            if let Some(ending) = self.try_step(&step)? {
                return Ok(self.end(ending));
            }
        }
    }

    fn end(self, ending: Ending) -> Outcome {
        Outcome {
            ending,
            iterations: self.iterations,
            taken: self.taken,
            remaining: self.active.len(),
            x: self.here.x,
        }
    }

    /// The model's values at a point, and how far it is from the origin.
    fn point(&mut self, x: Vec<f64>) -> Result<Point> {
        let values = self.gaps.values(&x)?;
        let (origin, original) = &self.origin;
        let (now, then) = (values.outputs.concat(), original.outputs.concat());
        check_length("the outputs", &now, then.len())?;
        check_length(
            "the explanation",
            &values.importance,
            original.importance.len(),
        )?;
        check_finite("the outputs", &now)?;
        check_finite("the explanation", &values.importance)?;
        check_length(
            "the explanation that is followed",
            values.followed(),
            original.importance.len(),
        )?;
        check_finite("the explanation that is followed", values.followed())?;
        let moved = |now: &[f64], then: &[f64], budget: f64| -> Vec<f64> {
            now.iter()
                .zip(then)
                .map(|(now, then)| (now - then) / budget)
                .collect()
        };
        let mut residual = moved(&now, &then, self.settings.prediction_budget);
        residual.extend(moved(&x, origin, self.settings.move_within()));
        let residual_norm = length(&residual);
        Ok(Point {
            x,
            values,
            residual,
            residual_norm,
        })
    }

    fn gap(&self, importance: &[f64], pair: usize) -> f64 {
        let (i, j) = self.pairs[pair];
        (importance[i] - importance[j]) / self.unit
    }

    /// The derivatives of F and of the importances at the current point.
    fn differentiate(&mut self) -> Result<Derivatives> {
        let inputs = self.here.x.len();
        let raw = self.gaps.derivatives(&self.here.x)?;
        check_length(
            "the outputs' derivatives",
            &raw.outputs,
            count(&self.here.values.outputs),
        )?;
        check_length(
            "the importances' derivatives",
            &raw.importance,
            self.here.values.importance.len(),
        )?;
        for row in raw.outputs.iter().chain(&raw.importance) {
            check_length("a row of derivatives", row, inputs)?;
        }
        let divided = |rows: Vec<Vec<f64>>, by: f64| -> Vec<Vec<f64>> {
            rows.into_iter()
                .map(|row| row.into_iter().map(|value| value / by).collect())
                .collect()
        };
        let mut outputs = divided(raw.outputs, self.settings.prediction_budget);
        outputs.extend((0..inputs).map(|input| {
            let mut row = vec![0.0; inputs];
            row[input] = 1.0 / self.settings.move_within();
            row
        }));
        Ok(Derivatives {
            outputs,
            importance: divided(raw.importance, self.unit),
        })
    }

    /// The linearised merits of some pairs. All merits are 1 at the current point, so every gap exceeds its target by
    /// what the constraint leaves of it.
    fn objectives(&self, pairs: &[usize]) -> Vec<Objective> {
        let excess = (1.0 - self.here.residual_norm).max(0.0);
        let objective = |&pair: &usize| Objective {
            ahead: self.pairs[pair].0,
            behind: self.pairs[pair].1,
            excess,
        };
        pairs.iter().map(objective).collect()
    }

    /// A step that lowers all active merits by enough, after dropping the pairs that stand in its way; `None` when all
    /// had to be dropped.
    fn descend(&mut self) -> Result<Option<Step>> {
        if self.active.is_empty() {
            return Ok(None);
        }
        let slopes = match self.slopes.take() {
            Some(slopes) => slopes,
            None => self.differentiate()?,
        };
        let found = self.joint_step(&slopes);
        self.slopes = Some(slopes);
        let (active, step) = found?;
        self.active = active;
        Ok(step)
    }

    /// The pairs to go on with, and their joint step.
    fn joint_step(&self, slopes: &Derivatives) -> Result<(Vec<usize>, Option<Step>)> {
        let solve = |pairs: &[usize]| {
            let objectives = self.objectives(pairs);
            let model = self.model(slopes, &objectives);
            let step = model.step(self.radius)?;
            let fall = model.merit(&objectives[0], &vec![0.0; self.here.x.len()]) - step.bound;
            Ok::<_, Error>((step, fall))
        };
        // By convexity a merit that can fall by χ within the first radius can fall by this share of it within this one.
        let share = (self.radius / self.settings.radius).min(1.0);
        let enough = self.settings.criticality * share;

        let (step, fall) = solve(&self.active)?;
        if fall >= enough {
            return Ok((self.active.clone(), Some(step)));
        }
        let objectives = self.objectives(&self.active);
        let model = self.model(slopes, &objectives);
        let mut critical = Vec::with_capacity(self.active.len());
        for (index, &pair) in self.active.iter().enumerate() {
            critical.push((model.criticality(index, self.settings.radius)?, pair));
        }
        critical.retain(|(chi, _)| *chi >= self.settings.criticality);
        critical.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut kept: Vec<usize> = critical.into_iter().map(|(_, pair)| pair).collect();
        // The most pairs, largest χ first, that a step can lower together: fewer pairs are never harder to lower.
        let (mut works, mut most) = (None, kept.len());
        let mut least = 0;
        while least < most {
            let count = usize::midpoint(least, most + 1);
            let (step, fall) = solve(&kept[..count])?;
            if fall >= enough {
                least = count;
                works = Some(step);
            } else {
                most = count - 1;
            }
        }
        kept.truncate(least);
        kept.sort_unstable();
        Ok((kept, works))
    }

    fn model<'b>(&'b self, slopes: &'b Derivatives, objectives: &'b [Objective]) -> Model<'b> {
        Model {
            residual: &self.here.residual,
            residual_jacobian: &slopes.outputs,
            importance_jacobian: &slopes.importance,
            objectives,
        }
    }

    /// Takes the step or refuses it; the ending when it flips a pair within the budgets.
    fn try_step(&mut self, step: &Step) -> Result<Option<Ending>> {
        let x = self
            .here
            .x
            .iter()
            .zip(&step.direction)
            .map(|(value, change)| value + change)
            .collect();
        let there = self.point(x)?;
        let outputs = count(&there.values.outputs);
        let within = length(&there.residual[..outputs]) <= 1.0
            && length(&there.residual[outputs..]) <= 1.0
            && classes(&there.values.outputs)? == self.classes;
        let flipped = (0..self.pairs.len())
            .map(|pair| (self.gap(&there.values.importance, pair), pair))
            .filter(|(gap, _)| *gap < 0.0)
            .min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if let (true, Some((_, pair))) = (within, flipped) {
            let (ahead, behind) = self.pairs[pair];
            self.here = there;
            self.taken += 1;
            return Ok(Some(Ending::Flipped { ahead, behind }));
        }

        let (worst_ratio, worst) = self.worst_ratio(&there, step);
        if worst_ratio > self.settings.accept {
            self.here = there;
            self.slopes = None;
            self.taken += 1;
        } else {
            self.radius *= self.settings.shrink;
            if self.radius < SMALLEST_RADIUS * self.settings.radius {
                self.active.retain(|pair| *pair != worst);
                self.radius = self.settings.radius;
            }
        }
        Ok(None)
    }

    /// The least ratio ρ of real to promised decrease over the active pairs, and the pair it belongs to.
    fn worst_ratio(&self, there: &Point, step: &Step) -> (f64, usize) {
        let objectives = self.objectives(&self.active);
        let mut worst = (f64::INFINITY, 0);
        let Some(slopes) = &self.slopes else {
            return worst;
        };
        let model = self.model(slopes, &objectives);
        let still = vec![0.0; step.direction.len()];
        for (objective, &pair) in objectives.iter().zip(&self.active) {
            let target = self.gap(self.here.values.followed(), pair) - objective.excess;
            let gap = self.gap(there.values.followed(), pair);
            let merit = there.residual_norm + (gap - target).abs();
            let now = model.merit(objective, &still);
            let ratio = (now - merit) / (now - model.merit(objective, &step.direction));
            if ratio < worst.0 {
                worst = (ratio, pair);
            }
        }
        worst
    }
}

/// Outputs of all predictions.
fn count(predictions: &[Vec<f64>]) -> usize {
    predictions.iter().map(Vec::len).sum()
}

/// The class of each prediction.
fn classes(predictions: &[Vec<f64>]) -> Result<Vec<usize>> {
    predictions
        .iter()
        .map(|outputs| ranking::largest(outputs))
        .collect()
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One input, one output and two importances, the first of which is 1. The model takes the output to stay and the second importance to rise
    /// by this slope.
    struct Given {
        output: fn(f64) -> f64,
        second: fn(f64) -> f64,
        slope: f64,
    }

    impl Gaps for Given {
        fn values(&mut self, x: &[f64]) -> Result<Values> {
            Ok(Values {
                outputs: vec![vec![(self.output)(x[0])]],
                importance: vec![1.0, (self.second)(x[0])],
                followed: None,
            })
        }

        fn derivatives(&mut self, _: &[f64]) -> Result<Derivatives> {
            Ok(Derivatives {
                outputs: vec![vec![0.0]],
                importance: vec![vec![0.0], vec![self.slope]],
            })
        }
    }

    const FLIPPED: Ending = Ending::Flipped {
        ahead: 0,
        behind: 1,
    };

    #[test]
    fn after_a_refused_step_less_of_a_fall_is_enough() {
        // A step to 1 promises a fall of 1 and brings none. Half of it promises half, which is more than the share 0.4 of a half, and flips.
        let mut gaps = Given {
            output: |_| 0.0,
            second: |x| if x > 0.4 && x < 0.6 { 2.0 } else { 0.0 },
            slope: 1.0,
        };
        let settings = MooConfig {
            input_budget: Some(1000.0),
            radius: 1.0,
            criticality: 0.4,
            ..MooConfig::default()
        };
        let search = Search::start(&mut gaps, &[0.0], 1, &settings).unwrap();
        let outcome = search.run().unwrap();
        assert_eq!((outcome.ending, outcome.iterations), (FLIPPED, 2));
    }

    #[test]
    fn a_flip_beyond_the_prediction_budget_does_not_count() {
        // Beyond 0.2 the pair flips, but the output jumps by 0.4 there.
        let mut gaps = Given {
            output: |x| if x > 0.2 { 0.4 } else { 0.0 },
            second: |x| if x > 0.2 { 2.0 } else { 0.0 },
            slope: 3.0,
        };
        let settings = MooConfig {
            prediction_budget: 0.1,
            input_budget: Some(5.0),
            radius: 0.5,
            ..MooConfig::default()
        };
        let search = Search::start(&mut gaps, &[0.0], 1, &settings).unwrap();
        let outcome = search.run().unwrap();
        assert_eq!(outcome.ending, Ending::Failed);
        assert!(outcome.x[0] <= 0.2, "{outcome:?}");
    }

    #[test]
    fn a_flip_at_just_the_input_budget_counts() {
        let mut gaps = Given {
            output: |_| 0.0,
            second: |x| 4.0 * x,
            slope: 4.0,
        };
        let settings = MooConfig {
            input_budget: Some(0.5),
            ..MooConfig::default()
        };
        for (length, expected) in [(0.5, Some(FLIPPED)), (0.501, None)] {
            let step = Step {
                direction: vec![length],
                bound: 0.0,
            };
            let mut search = Search::start(&mut gaps, &[0.0], 1, &settings).unwrap();
            assert_eq!(search.try_step(&step).unwrap(), expected, "{length}");
        }
    }

    #[test]
    fn a_step_that_keeps_no_more_than_the_share_of_its_promise_is_refused() {
        // At 1/2 the model promises 1/2 + |1 - 2/2| instead of 1. It comes to 1/2 + 1/4, half of the promised fall, or to less.
        let settings = MooConfig {
            input_budget: Some(1.0),
            accept: 0.5,
            ..MooConfig::default()
        };
        let step = Step {
            direction: vec![0.5],
            bound: 0.5,
        };
        let seconds: [fn(f64) -> f64; 2] = [|x| 1.5 * x, |x| 1.75 * x];
        for (second, is_taken) in seconds.into_iter().zip([false, true]) {
            let mut gaps = Given {
                output: |_| 0.0,
                second,
                slope: 2.0,
            };
            let mut search = Search::start(&mut gaps, &[0.0], 1, &settings).unwrap();
            search.slopes = Some(search.differentiate().unwrap());
            assert_eq!(search.try_step(&step).unwrap(), None);
            assert_eq!(search.taken == 1, is_taken);
            assert_eq!(search.radius < settings.radius, !is_taken);
        }
    }

    #[test]
    fn k_must_leave_out_an_importance() {
        let mut gaps = Given {
            output: |_| 0.0,
            second: |_| 0.0,
            slope: 1.0,
        };
        let settings = MooConfig::default();
        for k in [0, 2] {
            let refused = Search::start(&mut gaps, &[0.0], k, &settings)
                .err()
                .unwrap();
            assert!(matches!(refused, Error::TopKOutOfRange { largest: 1, .. }));
        }
    }

    #[test]
    fn outside_of_the_budgets_less_of_a_gap_is_asked_for() {
        let mut gaps = Given {
            output: |_| 0.0,
            second: |_| 0.0,
            slope: 1.0,
        };
        let settings = MooConfig::default();
        let mut search = Search::start(&mut gaps, &[0.0], 1, &settings).unwrap();
        for (norm, excess) in [(0.0, 1.0), (0.75, 0.25), (3.0, 0.0)] {
            search.here.residual_norm = norm;
            assert!((search.objectives(&[0])[0].excess - excess).abs() < 1e-15);
        }
    }
}
