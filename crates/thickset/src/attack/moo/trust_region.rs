//! The step of the multi-objective attack: TR-MOO(x, Δ) of R2ET section 5.
//!
//! Around x, the merit of objective l is `|| F + J d || + | a_l + g_l'd |`, where F is how far the constrained outputs are
//! from the original ones, `a_l = h_l - t_l` how far the objective is above its target, and J, g their derivatives. The step
//! makes the largest merit least, within a ball:
//!
//! ```text
//! min α   such that   || F + J d || + | a_l + g_l'd | <= α for every l,   || d || <= Δ
//! ```
//!
//! The norm is common to all objectives, so with one more variable s >= || F + J d || the rest is linear, and the whole is a
//! second-order cone program. The objectives are gaps, `g_l = ∇I_i - ∇I_j`: k(n-k) of them, of only n importances. The
//! importances' changes are variables of their own, so that each objective takes four numbers instead of n.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT, SolverStatus,
    ZeroConeT,
};

use crate::check::{check_finite, check_length, check_not_empty};
use crate::{Error, Result};

const PROBLEM: &str = "TR-MOO";

/// The linearised merit functions around a point.
#[derive(Debug, Clone, Copy)]
pub struct Model<'a> {
    /// F, one entry a constrained output.
    pub residual: &'a [f64],
    /// J, one row an output, one column an input.
    pub residual_jacobian: &'a [Vec<f64>],
    /// The importances' derivatives, one row a feature, one column an input.
    pub importance_jacobian: &'a [Vec<f64>],
    /// The objectives.
    pub objectives: &'a [Objective],
}

/// The gap of two features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// The feature that is ahead.
    pub ahead: usize,
    /// The feature that is behind.
    pub behind: usize,
    /// `h_l - t_l`: the gap less its target.
    pub excess: f64,
}

/// A solution.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The step d.
    pub direction: Vec<f64>,
    /// The largest linearised merit after the step: α.
    pub bound: f64,
}

impl Model<'_> {
    /// The linearised merit of one objective after a step.
    #[must_use]
    pub fn merit(&self, objective: &Objective, step: &[f64]) -> f64 {
        let rows = self.residual.iter().zip(self.residual_jacobian);
        let squares: f64 = rows
            .map(|(value, row)| (value + dot(row, step)).powi(2))
            .sum();
        let rise = |feature: usize| dot(&self.importance_jacobian[feature], step);
        squares.sqrt() + (objective.excess + rise(objective.ahead) - rise(objective.behind)).abs()
    }

    /// The largest linearised merit after a step.
    fn largest_merit(&self, step: &[f64]) -> f64 {
        self.objectives
            .iter()
            .map(|objective| self.merit(objective, step))
            .fold(f64::NEG_INFINITY, f64::max)
    }

    /// TR-MOO: the step of length `radius` at most after which the largest merit is least. When no step helps, it is zero.
    ///
    /// # Errors
    /// When the parts do not fit each other, a value is not finite, the radius is not positive, or the solver fails.
    pub fn step(&self, radius: f64) -> Result<Step> {
        let inputs = self.check(radius)?;
        let still = vec![0.0; inputs];
        let unmoved = self.largest_merit(&still);
        let mut direction = self.solve(inputs, radius)?;
        // An interior point may leave the ball by the solver's tolerance.
        let length = dot(&direction, &direction).sqrt();
        if length > radius {
            for value in &mut direction {
                *value *= radius / length;
            }
        }
        let bound = self.largest_merit(&direction);
        Ok(if bound < unmoved {
            Step { direction, bound }
        } else {
            Step {
                direction: still,
                bound: unmoved,
            }
        })
    }

    /// χ of Eq. 12: the most by which one objective's linearised merit can fall within `radius`; 0 or more.
    ///
    /// # Errors
    /// As for [`Model::step`].
    pub fn criticality(&self, objective: usize, radius: f64) -> Result<f64> {
        let Some(only) = self.objectives.get(objective..=objective) else {
            let (bound, got) = (self.objectives.len(), objective);
            return Err(Error::IndexOutOfRange {
                what: "an objective",
                bound,
                got,
            });
        };
        let alone = Model {
            objectives: only,
            ..*self
        };
        let step = alone.step(radius)?;
        Ok(alone.largest_merit(&vec![0.0; step.direction.len()]) - step.bound)
    }

    /// Refuses what does not fit, and gives the number of inputs.
    fn check(&self, radius: f64) -> Result<usize> {
        check_not_empty("the objectives", self.objectives)?;
        check_not_empty("the importances' derivatives", self.importance_jacobian)?;
        let inputs = self.importance_jacobian[0].len();
        check_length(
            "the outputs' derivatives",
            self.residual_jacobian,
            self.residual.len(),
        )?;
        check_finite("the outputs' distances", self.residual)?;
        for row in self
            .residual_jacobian
            .iter()
            .chain(self.importance_jacobian)
        {
            check_length("a row of derivatives", row, inputs)?;
            check_finite("a row of derivatives", row)?;
        }
        for objective in self.objectives {
            check_finite("an objective's excess", &[objective.excess])?;
            for got in [objective.ahead, objective.behind] {
                if got >= self.importance_jacobian.len() {
                    let bound = self.importance_jacobian.len();
                    return Err(Error::IndexOutOfRange {
                        what: "a feature of an objective",
                        bound,
                        got,
                    });
                }
            }
        }
        if !(radius > 0.0 && radius.is_finite()) {
            return Err(Error::OutOfRange {
                what: "the radius",
                expected: "positive and finite",
                got: radius,
            });
        }
        Ok(inputs)
    }

    /// Solves the cone program for the step in units of the radius, so that its accuracy does not depend on it.
    fn solve(&self, inputs: usize, radius: f64) -> Result<Vec<f64>> {
        // Variables: the step, the importances' changes (of features that occur), the norm s, and α.
        let mut place = vec![None; self.importance_jacobian.len()];
        let mut variables = inputs;
        for feature in self
            .objectives
            .iter()
            .flat_map(|objective| [objective.ahead, objective.behind])
        {
            if place[feature].is_none() {
                place[feature] = Some(variables);
                variables += 1;
            }
        }
        let (norm, bound) = (variables, variables + 1);
        variables += 2;

        // Rows `A z + slack = b`, with slacks in the cones in the order they are added.
        let mut rows = Rows::default();
        let mut used = 0;
        for (feature, column) in place.iter().enumerate() {
            let Some(column) = *column else { continue };
            rows.dense(&self.importance_jacobian[feature], radius);
            rows.add(&[(column, -1.0)]);
            rows.close(0.0);
            used += 1;
        }
        let mut cones = vec![ZeroConeT(used)];
        for objective in self.objectives {
            let (ahead, behind) = (
                place[objective.ahead].unwrap_or(0),
                place[objective.behind].unwrap_or(0),
            );
            for sign in [1.0, -1.0] {
                // ±(excess + change) <= α - s
                rows.add(&[(ahead, sign), (behind, -sign), (norm, 1.0), (bound, -1.0)]);
                rows.close(-sign * objective.excess);
            }
        }
        cones.push(NonnegativeConeT(2 * self.objectives.len()));
        rows.add(&[(norm, -1.0)]);
        rows.close(0.0);
        for (value, row) in self.residual.iter().zip(self.residual_jacobian) {
            rows.dense(row, -radius);
            rows.close(*value);
        }
        cones.push(SecondOrderConeT(1 + self.residual.len()));
        rows.close(1.0);
        for input in 0..inputs {
            rows.add(&[(input, -1.0)]);
            rows.close(0.0);
        }
        cones.push(SecondOrderConeT(1 + inputs));

        let mut costs = vec![0.0; variables];
        costs[bound] = 1.0;
        let quadratic = CscMatrix::zeros((variables, variables));
        let constraints = CscMatrix::new_from_triplets(
            rows.right.len(),
            variables,
            rows.places,
            rows.columns,
            rows.values,
        );
        let settings = DefaultSettings {
            verbose: false,
            max_threads: 1,
            ..DefaultSettings::default()
        };
        let failed = |status: String| Error::Solver {
            problem: PROBLEM,
            status,
        };
        let mut solver = DefaultSolver::new(
            &quadratic,
            &costs,
            &constraints,
            &rows.right,
            &cones,
            settings,
        )
        .map_err(|error| failed(error.to_string()))?;
        solver.solve();
        // A solver out of progress is as near as doubles allow; the caller computes the merit of the step itself.
        match solver.solution.status {
            SolverStatus::Solved
            | SolverStatus::AlmostSolved
            | SolverStatus::InsufficientProgress => {}
            status => return Err(failed(format!("{status:?}"))),
        }
        let direction: Vec<f64> = solver.solution.x[..inputs]
            .iter()
            .map(|value| value * radius)
            .collect();
        if direction.iter().all(|value| value.is_finite()) {
            return Ok(direction);
        }
        Err(failed("a step that is not finite".to_owned()))
    }
}

/// A sparse matrix under construction, row by row, with its right side.
#[derive(Default)]
struct Rows {
    places: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    right: Vec<f64>,
}

impl Rows {
    /// Adds entries to the open row.
    fn add(&mut self, entries: &[(usize, f64)]) {
        for &(column, value) in entries {
            self.places.push(self.right.len());
            self.columns.push(column);
            self.values.push(value);
        }
    }

    /// Adds the entries of a list, times a factor, from the first column on.
    fn dense(&mut self, values: &[f64], factor: f64) {
        for (column, value) in values
            .iter()
            .enumerate()
            .filter(|(_, value)| **value != 0.0)
        {
            self.add(&[(column, factor * value)]);
        }
    }

    /// Ends the open row.
    fn close(&mut self, right: f64) {
        self.right.push(right);
    }
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    first.iter().zip(second).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A model that owns its parts, with objectives between features 0, 1, … and the last ones.
    #[derive(Debug, Clone)]
    struct Parts {
        residual: Vec<f64>,
        residual_jacobian: Vec<Vec<f64>>,
        importance_jacobian: Vec<Vec<f64>>,
        objectives: Vec<Objective>,
    }

    impl Parts {
        fn model(&self) -> Model<'_> {
            Model {
                residual: &self.residual,
                residual_jacobian: &self.residual_jacobian,
                importance_jacobian: &self.importance_jacobian,
                objectives: &self.objectives,
            }
        }
    }

    fn numbers(count: usize) -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(-2.0..2.0_f64, count)
    }

    fn parts(inputs: usize) -> impl Strategy<Value = Parts> {
        let rows = |count| prop::collection::vec(numbers(inputs), count);
        (
            numbers(2),
            rows(2),
            rows(4),
            prop::collection::vec(0.0..2.0_f64, 4),
        )
            .prop_map(
                |(residual, residual_jacobian, importance_jacobian, excesses)| {
                    let pairs = [(0, 2), (0, 3), (1, 2), (1, 3)];
                    let objective = |((ahead, behind), excess)| Objective {
                        ahead,
                        behind,
                        excess,
                    };
                    let objectives = pairs.into_iter().zip(excesses).map(objective).collect();
                    Parts {
                        residual,
                        residual_jacobian,
                        importance_jacobian,
                        objectives,
                    }
                },
            )
    }

    /// The least largest merit on a fine polar grid of the disc.
    fn by_search(model: &Model, radius: f64) -> f64 {
        let mut best = f64::INFINITY;
        for turn in 0..720_u32 {
            let angle = f64::from(turn).to_radians() / 2.0;
            for part in 0..=200_u32 {
                let length = radius * f64::from(part) / 200.0;
                best = best.min(model.largest_merit(&[length * angle.cos(), length * angle.sin()]));
            }
        }
        best
    }

    /// A second solver: projected subgradient descent with steps 1/sqrt(t), best value kept.
    fn by_subgradient(model: &Model, inputs: usize, radius: f64) -> f64 {
        let mut step = vec![0.0; inputs];
        let mut best = f64::INFINITY;
        for round in 1..=40_000_u32 {
            let worst = model
                .objectives
                .iter()
                .max_by(|a, b| model.merit(a, &step).total_cmp(&model.merit(b, &step)))
                .unwrap();
            best = best.min(model.merit(worst, &step));
            let moved: Vec<f64> = model
                .residual
                .iter()
                .zip(model.residual_jacobian)
                .map(|(value, row)| value + dot(row, &step))
                .collect();
            let norm = dot(&moved, &moved).sqrt().max(1e-300);
            let slopes = (
                &model.importance_jacobian[worst.ahead],
                &model.importance_jacobian[worst.behind],
            );
            let sign = (worst.excess + dot(slopes.0, &step) - dot(slopes.1, &step)).signum();
            let gradient: Vec<f64> = (0..inputs)
                .map(|input| {
                    let of_norm: f64 = moved
                        .iter()
                        .zip(model.residual_jacobian)
                        .map(|(value, row)| value * row[input])
                        .sum();
                    of_norm / norm + sign * (slopes.0[input] - slopes.1[input])
                })
                .collect();
            let length = dot(&gradient, &gradient).sqrt().max(1e-300);
            let pace = radius / f64::from(round).sqrt() / length;
            step.iter_mut()
                .zip(&gradient)
                .for_each(|(value, slope)| *value -= pace * slope);
            let length = dot(&step, &step).sqrt();
            if length > radius {
                for value in &mut step {
                    *value *= radius / length;
                }
            }
        }
        best
    }

    #[test]
    fn one_linear_gap_by_hand() {
        // No outputs: |1 - d_0| with ||d|| <= 1/2 falls to 1/2; with ||d|| <= 3 it can be closed.
        let parts = Parts {
            residual: vec![],
            residual_jacobian: vec![],
            importance_jacobian: vec![vec![0.0, 0.0], vec![1.0, 0.0]],
            objectives: vec![Objective {
                ahead: 0,
                behind: 1,
                excess: 1.0,
            }],
        };
        let step = parts.model().step(0.5).unwrap();
        assert!((step.bound - 0.5).abs() < 1e-7);
        assert!((step.direction[0] - 0.5).abs() < 1e-6 && step.direction[1].abs() < 1e-3);
        assert!(parts.model().step(3.0).unwrap().bound.abs() < 1e-7);
        assert!((parts.model().criticality(0, 0.5).unwrap() - 0.5).abs() < 1e-7);
    }

    #[test]
    fn objectives_that_pull_apart_leave_no_step() {
        // Gaps 1 - d and 1 + d: whatever d is, the larger is at least 1. Each alone can be closed.
        let parts = Parts {
            residual: vec![],
            residual_jacobian: vec![],
            importance_jacobian: vec![vec![0.0], vec![1.0], vec![-1.0]],
            objectives: vec![
                Objective {
                    ahead: 0,
                    behind: 1,
                    excess: 1.0,
                },
                Objective {
                    ahead: 0,
                    behind: 2,
                    excess: 1.0,
                },
            ],
        };
        let step = parts.model().step(1.0).unwrap();
        assert!((step.bound - 1.0).abs() < 1e-7);
        assert!((parts.model().criticality(0, 1.0).unwrap() - 1.0).abs() < 1e-7);
        assert!((parts.model().criticality(1, 1.0).unwrap() - 1.0).abs() < 1e-7);
    }

    #[test]
    fn an_output_that_moves_faster_than_the_gap_makes_the_point_critical() {
        let parts = Parts {
            residual: vec![0.0],
            residual_jacobian: vec![vec![2.0]],
            importance_jacobian: vec![vec![0.0], vec![1.0]],
            objectives: vec![Objective {
                ahead: 0,
                behind: 1,
                excess: 1.0,
            }],
        };
        assert!(parts.model().criticality(0, 1.0).unwrap() < 1e-7);
    }

    #[test]
    fn a_tiny_radius_is_as_accurate_as_a_large_one() {
        let parts = Parts {
            residual: vec![0.0],
            residual_jacobian: vec![vec![0.0, 1.0]],
            importance_jacobian: vec![vec![0.0, 0.0], vec![1.0, 0.0]],
            objectives: vec![Objective {
                ahead: 0,
                behind: 1,
                excess: 1.0,
            }],
        };
        let step = parts.model().step(1e-6).unwrap();
        assert!((step.direction[0] - 1e-6).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let fine = Parts {
            residual: vec![0.0],
            residual_jacobian: vec![vec![1.0]],
            importance_jacobian: vec![vec![0.0], vec![1.0]],
            objectives: vec![Objective {
                ahead: 0,
                behind: 1,
                excess: 1.0,
            }],
        };
        assert!(fine.model().step(0.0).is_err());
        assert!(fine.model().criticality(1, 1.0).is_err());
        let far = Parts {
            objectives: vec![Objective {
                ahead: 0,
                behind: 2,
                excess: 1.0,
            }],
            ..fine.clone()
        };
        assert!(far.model().step(1.0).is_err());
        let nan = Parts {
            residual: vec![f64::NAN],
            ..fine
        };
        assert!(nan.model().step(1.0).is_err());
    }

    #[test]
    fn a_gap_closes_as_the_feature_ahead_falls() {
        // |1 - d| again, now by the importance of the feature that is ahead.
        let parts = Parts {
            residual: vec![],
            residual_jacobian: vec![],
            importance_jacobian: vec![vec![-1.0], vec![0.0]],
            objectives: vec![Objective {
                ahead: 0,
                behind: 1,
                excess: 1.0,
            }],
        };
        let step = parts.model().step(0.5).unwrap();
        assert!((step.bound - 0.5).abs() < 1e-7);
        assert!((step.direction[0] - 0.5).abs() < 1e-6);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn in_two_dimensions_no_point_of_a_grid_is_better(parts in parts(2), radius in 0.1..2.0_f64) {
            let model = parts.model();
            let step = model.step(radius).unwrap();
            prop_assert!(dot(&step.direction, &step.direction).sqrt() <= radius * (1.0 + 1e-12));
            let searched = by_search(&model, radius);
            prop_assert!(step.bound <= searched + 1e-6, "{} > {searched}", step.bound);
            // Merits have slopes of at most 10, and a grid point is within radius/100 of any other point.
            prop_assert!(step.bound >= searched - 0.1 * radius, "{} < {searched}", step.bound);
        }

        #[test]
        fn in_six_dimensions_a_subgradient_method_comes_to_the_same_value(
            parts in parts(6), radius in 0.1..2.0_f64
        ) {
            let model = parts.model();
            let found = model.step(radius).unwrap().bound;
            let other = by_subgradient(&model, 6, radius);
            prop_assert!(found <= other + 1e-6, "{found} > {other}");
            prop_assert!(found >= other - 0.05 * radius, "{found} < {other}");
        }
    }

    #[test]
    fn a_merit_is_the_distance_of_the_outputs_and_that_of_the_gap() {
        let parts = Parts {
            residual: vec![1.0, -2.0],
            residual_jacobian: vec![vec![2.0, 0.0], vec![0.0, -1.0]],
            importance_jacobian: vec![vec![1.0, 0.0], vec![0.0, 3.0]],
            objectives: vec![Objective {
                ahead: 0,
                behind: 1,
                excess: 0.5,
            }],
        };
        // Outputs (1 + 2, -2 - 2), which is 5 long, and a gap of 1/2 + 1 - 6.
        let merit = parts.model().merit(&parts.objectives[0], &[1.0, 2.0]);
        assert!((merit - 9.5).abs() < 1e-12, "{merit}");
    }

    #[test]
    fn a_step_brings_outputs_back_and_closes_a_gap_from_either_side() {
        // |1/4 + d_0| of the outputs and |excess - d_1| of the gap: both vanish within the radius, on different sides.
        for excess in [0.5, -0.5] {
            let parts = Parts {
                residual: vec![0.25],
                residual_jacobian: vec![vec![1.0, 0.0]],
                importance_jacobian: vec![vec![0.0, 0.0], vec![0.0, 1.0]],
                objectives: vec![Objective {
                    ahead: 0,
                    behind: 1,
                    excess,
                }],
            };
            let step = parts.model().step(1.0).unwrap();
            assert!(step.bound < 1e-6, "{step:?}");
            assert!((step.direction[0] + 0.25).abs() < 1e-6, "{step:?}");
            assert!((step.direction[1] - excess).abs() < 1e-6, "{step:?}");
        }
    }
}
