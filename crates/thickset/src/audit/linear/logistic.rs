//! Logistic regression by L-BFGS in double precision.
//!
//! It minimises the mean cross-entropy plus `||W||² / (2 rows)`, biases free, as scikit-learn does by default. Eight rows lie side by side
//! and are summed in fixed blocks, so the weights depend neither on the width of registers nor on the number of threads.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::collections::VecDeque;

use rayon::prelude::*;
use thickset_engine::kernel::{LANES, VectorLoop, vectorised};

use crate::check::as_f64;

/// Steps of the fit.
const STEPS: usize = 200;

/// The fit ends when no part of the gradient is larger.
const FLAT: f64 = 1e-6;

/// Earlier steps that L-BFGS remembers.
const MEMORY: usize = 10;

/// Rows of a block that is summed by one thread.
const BLOCK: usize = 512;

/// Logistic regression on rows of so many features: `[classes, features]` weights, then one bias a class.
pub(crate) fn logistic(x: &[f32], labels: Vec<usize>, features: usize, classes: usize) -> Vec<f64> {
    minimum(&Problem::new(x, labels, features, classes))
}

/// The rows that are fitted. Weights are `[classes, features]`, then one bias a class.
struct Problem {
    /// Of every eight rows, feature by feature, their values; zeros fill the last eight up.
    x: Vec<[f32; LANES]>,
    labels: Vec<usize>,
    features: usize,
    classes: usize,
}

impl Problem {
    fn new(x: &[f32], labels: Vec<usize>, features: usize, classes: usize) -> Self {
        let mut side_by_side = Vec::with_capacity(labels.len().div_ceil(LANES) * features);
        for rows in x.chunks(LANES * features) {
            for feature in 0..features {
                let mut values = [0.0; LANES];
                let of_rows = rows.iter().skip(feature).step_by(features);
                for (value, of_row) in values.iter_mut().zip(of_rows) {
                    *value = *of_row;
                }
                side_by_side.push(values);
            }
        }
        Self {
            x: side_by_side,
            labels,
            features,
            classes,
        }
    }

    fn size(&self) -> usize {
        (self.features + 1) * self.classes
    }

    /// The loss and its gradient.
    fn at(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let blocks: Vec<(f64, Vec<f64>)> = self
            .x
            .par_chunks(BLOCK / LANES * self.features)
            .zip(self.labels.par_chunks(BLOCK))
            .map(|(x, labels)| {
                vectorised(Block {
                    problem: self,
                    weights,
                    x,
                    labels,
                })
            })
            .collect();
        let count = as_f64(self.labels.len());
        let (matrix, _) = weights.split_at(self.features * self.classes);
        let mut loss = matrix.iter().map(|weight| weight * weight).sum::<f64>() / 2.0;
        let mut gradient = matrix.to_vec();
        gradient.resize(self.size(), 0.0);
        for (part, slope) in blocks {
            loss += part;
            for (sum, slope) in gradient.iter_mut().zip(slope) {
                *sum += slope;
            }
        }
        for slope in &mut gradient {
            *slope /= count;
        }
        (loss / count, gradient)
    }
}

/// The loss of a block of rows and its gradient, both as sums.
struct Block<'a> {
    problem: &'a Problem,
    weights: &'a [f64],
    x: &'a [[f32; LANES]],
    labels: &'a [usize],
}

impl VectorLoop for Block<'_> {
    type Output = (f64, Vec<f64>);

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Problem {
            features, classes, ..
        } = *self.problem;
        let (matrix, bias) = self.weights.split_at(features * classes);
        let mut of_matrix = vec![[0.0; LANES]; matrix.len()];
        let mut of_bias = vec![[0.0; LANES]; classes];
        let mut errors = vec![[0.0; LANES]; classes];
        let mut loss = 0.0;
        for (x, labels) in self.x.chunks(features).zip(self.labels.chunks(LANES)) {
            let rows = matrix.chunks(features).zip(bias);
            for (scores, (weights, bias)) in errors.iter_mut().zip(rows) {
                *scores = scores_of(x, weights, *bias);
            }
            for (lane, label) in labels.iter().enumerate() {
                loss += to_errors(&mut errors, lane, *label);
            }
            for lane in labels.len()..LANES {
                for errors in &mut errors {
                    errors[lane] = 0.0;
                }
            }
            let slopes = of_matrix.chunks_mut(features).zip(&mut of_bias);
            for (errors, (of_matrix, of_bias)) in errors.iter().zip(slopes) {
                for lane in 0..LANES {
                    of_bias[lane] += errors[lane];
                }
                for (slopes, x) in of_matrix.iter_mut().zip(x) {
                    for lane in 0..LANES {
                        slopes[lane] += errors[lane] * f64::from(x[lane]);
                    }
                }
            }
        }
        let slopes = of_matrix.iter().chain(&of_bias);
        (loss, slopes.map(|slopes| slopes.iter().sum()).collect())
    }
}

/// The scores of eight rows for a class.
#[inline(always)]
fn scores_of(x: &[[f32; LANES]], weights: &[f64], bias: f64) -> [f64; LANES] {
    let mut sums = [0.0; LANES];
    for (weight, x) in weights.iter().zip(x) {
        for lane in 0..LANES {
            sums[lane] += weight * f64::from(x[lane]);
        }
    }
    sums.map(|sum| bias + sum)
}

/// Turns the scores of one row into the slopes of its cross-entropy in them, and returns it.
#[inline(always)]
fn to_errors(scores: &mut [[f64; LANES]], lane: usize, label: usize) -> f64 {
    let most = scores
        .iter()
        .fold(f64::NEG_INFINITY, |most, of_class| most.max(of_class[lane]));
    let score = scores[label][lane];
    let mut sum = 0.0;
    for of_class in scores.iter_mut() {
        of_class[lane] = libm::exp(of_class[lane] - most);
        sum += of_class[lane];
    }
    for (class, of_class) in scores.iter_mut().enumerate() {
        let hit = f64::from(u8::from(class == label));
        of_class[lane] = of_class[lane] / sum - hit;
    }
    libm::log(sum) + most - score
}

/// One step of the past: the change of the weights, of the gradient, and one over their product.
struct Step {
    weights: Vec<f64>,
    gradient: Vec<f64>,
    scale: f64,
}

/// L-BFGS from zero with halved steps.
fn minimum(problem: &Problem) -> Vec<f64> {
    let mut weights = vec![0.0; problem.size()];
    let (mut loss, mut gradient) = problem.at(&weights);
    let mut past: VecDeque<Step> = VecDeque::with_capacity(MEMORY);
    for _ in 0..STEPS {
        if gradient.iter().all(|slope| slope.abs() <= FLAT) {
            break;
        }
        let mut direction = newton(&gradient, &past);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            // Rounding has spoilt the memory.
            past.clear();
            direction = gradient.iter().map(|slope| -slope).collect();
            slope = dot(&direction, &gradient);
        }
        let Some((length, next_loss, next_gradient)) =
            shorter(problem, &weights, &direction, loss, slope)
        else {
            break;
        };
        let step = Step::new(&direction, length, &gradient, &next_gradient);
        for (weight, change) in weights.iter_mut().zip(&step.weights) {
            *weight += change;
        }
        if step.scale.is_finite() && step.scale > 0.0 {
            if past.len() == MEMORY {
                past.pop_front();
            }
            past.push_back(step);
        }
        (loss, gradient) = (next_loss, next_gradient);
    }
    weights
}

/// The longest of 1, 1/2, 1/4, … along which the loss falls as the slope promises, and what is found there.
fn shorter(
    problem: &Problem,
    weights: &[f64],
    direction: &[f64],
    loss: f64,
    slope: f64,
) -> Option<(f64, f64, Vec<f64>)> {
    const HALVINGS: usize = 40;
    const SHARE: f64 = 1e-4;
    let mut length = 1.0;
    for _ in 0..HALVINGS {
        let moved = weights.iter().zip(direction).map(|(w, d)| w + length * d);
        let (next, gradient) = problem.at(&moved.collect::<Vec<f64>>());
        if next <= loss + SHARE * length * slope {
            return Some((length, next, gradient));
        }
        length /= 2.0;
    }
    None
}

impl Step {
    fn new(direction: &[f64], length: f64, before: &[f64], after: &[f64]) -> Self {
        let weights: Vec<f64> = direction.iter().map(|d| length * d).collect();
        let gradient: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        let scale = 1.0 / dot(&weights, &gradient);
        Self {
            weights,
            gradient,
            scale,
        }
    }
}

/// Minus the gradient times the approximate inverse Hessian, by the two loops of L-BFGS.
fn newton(gradient: &[f64], past: &VecDeque<Step>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
    let mut shares = Vec::with_capacity(past.len());
    for step in past.iter().rev() {
        let share = step.scale * dot(&step.weights, &direction);
        add(&mut direction, -share, &step.gradient);
        shares.push(share);
    }
    if let Some(last) = past.back() {
        let scale = 1.0 / (last.scale * dot(&last.gradient, &last.gradient));
        for slope in &mut direction {
            *slope *= scale;
        }
    }
    for (step, share) in past.iter().zip(shares.iter().rev()) {
        let back = step.scale * dot(&step.gradient, &direction);
        add(&mut direction, share - back, &step.weights);
    }
    direction
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    first.iter().zip(second).map(|(a, b)| a * b).sum()
}

fn add(to: &mut [f64], factor: f64, what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += factor * what;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn the_fit_of_two_points_by_hand() {
        // One feature, x = 1 and -1 with labels 1 and 0. By symmetry the biases are 0 and the weights -w and w, so the sum
        // is 2 log(1 + exp(-2w)) + w^2, whose slope vanishes at w = 2 / (1 + exp(2w)).
        let problem = Problem::new(&[1.0, -1.0], vec![1, 0], 1, 2);
        let found = minimum(&problem);
        let w = found[1];
        assert!((found[0] + w).abs() < 1e-5, "{found:?}");
        assert!(found[2].abs() < 1e-5 && found[3].abs() < 1e-5, "{found:?}");
        let sigma = 1.0 / (1.0 + (2.0 * w).exp());
        assert!((w - 2.0 * sigma).abs() < 1e-5, "{w}");
    }

    #[test]
    fn the_gradient_is_that_of_the_loss() {
        let mut stream = Seed::new(5).stream("linear");
        #[expect(clippy::cast_possible_truncation, reason = "any numbers do")]
        let x: Vec<f32> = (0..30).map(|_| stream.normal() as f32).collect();
        let problem = Problem::new(&x, (0..10).map(|row| row % 3).collect(), 3, 3);
        let weights: Vec<f64> = (0..problem.size()).map(|_| stream.normal()).collect();
        let (_, gradient) = problem.at(&weights);
        for place in 0..weights.len() {
            let at = |change: f64| {
                let mut moved = weights.clone();
                moved[place] += change;
                problem.at(&moved).0
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[place]).abs() < 1e-8, "{place}");
        }
    }

    #[test]
    fn rows_side_by_side_give_the_loss_of_each_row_alone() {
        let mut stream = Seed::new(6).stream("linear");
        // More than a block, and the last eight are not full.
        let rows = 2 * BLOCK + 13;
        #[expect(clippy::cast_possible_truncation, reason = "any numbers do")]
        let x: Vec<f32> = (0..3 * rows).map(|_| stream.normal() as f32).collect();
        let labels: Vec<usize> = (0..rows).map(|row| row % 4).collect();
        let problem = Problem::new(&x, labels.clone(), 3, 4);
        let weights: Vec<f64> = (0..problem.size()).map(|_| stream.normal()).collect();
        let (matrix, bias) = weights.split_at(12);
        let of_row = |(x, label): (&[f32], &usize)| {
            let score = |class: usize| {
                let weights = &matrix[3 * class..3 * class + 3];
                let products = weights.iter().zip(x).map(|(w, x)| w * f64::from(*x));
                bias[class] + products.sum::<f64>()
            };
            let sum: f64 = (0..4).map(|class| score(class).exp()).sum();
            sum.ln() - score(*label)
        };
        let sum: f64 = x.chunks(3).zip(&labels).map(of_row).sum();
        let penalty = matrix.iter().map(|weight| weight * weight).sum::<f64>() / 2.0;
        let expected = (sum + penalty) / as_f64(rows);
        let (loss, _) = problem.at(&weights);
        assert!(
            (loss - expected).abs() < 1e-12 * expected,
            "{loss} {expected}"
        );
    }

    #[test]
    fn across_the_last_step_the_direction_has_the_scale_of_its_curvature() {
        // The step along the first weight showed a curvature of 2, so the second slope is divided by 2 as well.
        let past = VecDeque::from([Step::new(&[1.0, 0.0], 1.0, &[0.0, 6.0], &[2.0, 6.0])]);
        assert_eq!(newton(&[0.0, 6.0], &past), [0.0, -3.0]);
    }

    #[test]
    fn the_slope_that_a_step_took_away_asks_for_that_step() {
        // As an inverse of the curvature must: what was gained along (1, 2) was (3, 1).
        let step = Step::new(&[2.0, 4.0], 0.5, &[5.0, 5.0], &[8.0, 6.0]);
        assert_eq!(
            (&step.weights[..], &step.gradient[..]),
            (&[1.0, 2.0][..], &[3.0, 1.0][..])
        );
        let found = newton(&[3.0, 1.0], &VecDeque::from([step]));
        for (found, expected) in found.iter().zip([-1.0, -2.0]) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn a_step_is_halved_until_the_loss_falls_by_its_share_of_the_slope() {
        let problem = Problem::new(&[1.0, -1.0], vec![1, 0], 1, 2);
        let weights = vec![0.0; problem.size()];
        let (loss, gradient) = problem.at(&weights);
        for factor in [1.0, 64.0, 1000.0] {
            let direction: Vec<f64> = gradient.iter().map(|slope| -factor * slope).collect();
            let slope = dot(&direction, &gradient);
            let at = |length: f64| {
                let moved: Vec<f64> = direction.iter().map(|d| length * d).collect();
                problem.at(&moved)
            };
            let falls = |length: f64| at(length).0 <= loss + 1e-4 * length * slope;
            let (length, next, slopes) =
                shorter(&problem, &weights, &direction, loss, slope).unwrap();
            assert!(
                falls(length) && (length >= 1.0 || !falls(2.0 * length)),
                "{factor}: {length}"
            );
            assert_eq!(length < 1.0, factor > 1.0);
            let expected = at(length);
            assert_eq!((next.to_bits(), slopes), (expected.0.to_bits(), expected.1));
        }
        // Uphill there is no such step.
        let slope = dot(&gradient, &gradient);
        assert!(shorter(&problem, &weights, &gradient, loss, slope).is_none());
    }

    #[test]
    fn a_fit_is_where_all_slopes_are_flat() {
        let x: Vec<f32> = (0..30_u8)
            .flat_map(|row| {
                [
                    f32::from(row * 7 % 11) / 11.0,
                    f32::from(row * 5 % 13) / 4.0,
                ]
            })
            .collect();
        let labels: Vec<usize> = x
            .chunks(2)
            .enumerate()
            .map(|(row, x)| usize::from(x[0] + 0.2 * x[1] > 0.8) + usize::from(row % 7 == 0))
            .collect();
        let weights = logistic(&x, labels.clone(), 2, 3);
        let problem = Problem::new(&x, labels, 2, 3);
        let (_, gradient) = problem.at(&weights);
        assert!(
            gradient.iter().all(|slope| slope.abs() <= 1e-6),
            "{gradient:?}"
        );
    }
}
