//! The linear baseline: logistic regression on the training rows of the same data, attacked alike.
//!
//! It minimises the mean cross-entropy plus `||W||² / (2 rows)`, biases free, as scikit-learn does by default, by L-BFGS
//! in double precision. Rows are summed in fixed blocks, so the weights do not depend on the number of threads.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use rayon::prelude::*;
use thickset_engine::TensorData;

use super::figure::{AllRows, Baseline, FIGURES, Predictions, Summary};
use super::measure::LabelledRows;
use super::plan::CheckedAudit;
use super::progress::{Event, Observer};
use super::row_list::RowList;
use super::run::parts;
use super::summary;
use super::target::AuditTarget;
use crate::check::as_f64;
use crate::data::{Dataset, Part};
use crate::explain::Points;
use crate::host::read;
use crate::metric::ranking;
use crate::model::{Model, ModelConfig};
use crate::{Result, Seed};

/// The most rows that the baseline is attacked on, and that its P@k and distinctness are of: the first of the audited.
/// Its AUC and accuracy are of all of them.
pub const MOST_ATTACKED: usize = 2_000;

/// The most training rows it is fitted to, spread evenly over all of them.
pub const MOST_FITTED: usize = 20_000;

/// Steps of the fit.
const STEPS: usize = 200;

/// The fit ends when no part of the gradient is larger.
const FLAT: f64 = 1e-6;

/// Earlier steps that L-BFGS remembers.
const MEMORY: usize = 10;

/// Rows of a block that is summed by one thread.
const BLOCK: usize = 512;

/// The baseline of a target, none where there are no training rows; breaks if the observer stopped.
pub(super) fn baseline(
    audit: &CheckedAudit,
    target: &AuditTarget<'_>,
    observer: &mut dyn Observer,
) -> Result<ControlFlow<(), Option<Summary>>> {
    let Some(dataset) = target.rows.training() else {
        return Ok(ControlFlow::Continue(None));
    };
    let count = target.rows.len().min(MOST_ATTACKED);
    if observer.on_event(&Event::Linear { rows: count }).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    let model = fit(dataset)?;
    let network = &model.network;
    let found = parts(count, network.features())
        .into_par_iter()
        .map(|places| {
            let ids: Vec<u64> = places.clone().map(|place| target.rows.id(place)).collect();
            let labels: Vec<Option<usize>> = places
                .clone()
                .map(|place| target.rows.label(place))
                .collect();
            let values = target.rows.gather(places);
            let part = LabelledRows {
                rows: Points {
                    values: &values,
                    ids: &ids,
                },
                labels: &labels,
            };
            audit.measure(network, part, |figure| {
                figure.baseline == Baseline::Attacked
            })
        })
        .collect::<Result<Vec<_>>>()?;
    let rows: RowList = found.into_iter().flat_map(|part| part.rows).collect();
    let all = AllRows {
        rows: &rows,
        in_top: &summary::in_top(&rows, audit.names.len()),
        k: audit.k(),
        predictions: &predictions(target, &model)?,
    };
    // What comes from all rows is written before what comes from those that were attacked.
    let figures = [Baseline::Predicted, Baseline::Attacked]
        .into_iter()
        .flat_map(|of| FIGURES.iter().filter(move |figure| figure.baseline == of));
    let summary = summary::of_figures(figures.copied(), &all)?;
    Ok(ControlFlow::Continue(Some(summary)))
}

/// Its predictions of all labelled rows.
fn predictions(target: &AuditTarget<'_>, model: &Model) -> Result<Predictions> {
    let network = &model.network;
    let labelled: Vec<(usize, usize)> = (0..target.rows.len())
        .filter_map(|place| Some((place, target.rows.label(place)?)))
        .collect();
    let mut predictions = Predictions::default();
    for part in labelled.chunks(BLOCK) {
        let values = target.rows.gather(part.iter().map(|(place, _)| *place));
        let probabilities = read(network.probabilities(network.batch(&values)));
        for (row, (_, label)) in probabilities.chunks(network.classes()).zip(part) {
            predictions.push(row.to_vec(), ranking::largest(row)?, *label);
        }
    }
    Ok(predictions)
}

/// Logistic regression on the training rows of a dataset.
///
/// # Errors
/// If the dataset has fewer than two classes.
pub fn fit(dataset: &Dataset) -> Result<Model> {
    let all = dataset.part(Part::Train);
    let step = all.len().div_ceil(MOST_FITTED).max(1);
    let rows: Vec<usize> = all.iter().copied().step_by(step).collect();
    let problem = Problem {
        x: dataset.gather(&rows),
        labels: dataset.gather_labels(&rows),
        features: dataset.features(),
        classes: dataset.classes.len(),
    };
    let weights = minimum(&problem);
    let mut model = Model::fresh(
        ModelConfig::Linear(crate::model::LinearConfig::default()),
        dataset.shape().clone(),
        dataset.features(),
        dataset.classes.clone(),
        dataset.encoding.clone(),
        Seed::new(0),
    )?;
    #[expect(clippy::cast_possible_truncation, reason = "models are kept in f32")]
    let single: Vec<f32> = weights.iter().map(|weight| *weight as f32).collect();
    let (matrix, bias) = single.split_at(problem.features * problem.classes);
    let values = [matrix, bias].map(|part| TensorData::new(part.to_vec(), [part.len()]));
    model.network.set_parameter_values(&values)?;
    Ok(model)
}

/// Logistic regression on rows of so many features: `[classes, features]` weights, then one bias a class.
pub(crate) fn logistic(
    x: Vec<f32>,
    labels: Vec<usize>,
    features: usize,
    classes: usize,
) -> Vec<f64> {
    minimum(&Problem {
        x,
        labels,
        features,
        classes,
    })
}

/// The rows that are fitted. Weights are `[classes, features]`, then one bias a class.
struct Problem {
    x: Vec<f32>,
    labels: Vec<usize>,
    features: usize,
    classes: usize,
}

impl Problem {
    fn size(&self) -> usize {
        (self.features + 1) * self.classes
    }

    /// The loss and its gradient.
    fn at(&self, weights: &[f64]) -> (f64, Vec<f64>) {
        let blocks: Vec<(f64, Vec<f64>)> = self
            .x
            .par_chunks(BLOCK * self.features)
            .zip(self.labels.par_chunks(BLOCK))
            .map(|(x, labels)| self.block(weights, x, labels))
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

    fn block(&self, weights: &[f64], x: &[f32], labels: &[usize]) -> (f64, Vec<f64>) {
        let (matrix, bias) = weights.split_at(self.features * self.classes);
        let mut gradient = vec![0.0; self.size()];
        let (of_matrix, of_bias) = gradient.split_at_mut(matrix.len());
        let mut loss = 0.0;
        let mut scores = vec![0.0; self.classes];
        let mut powers = vec![0.0; self.classes];
        for (x, &label) in x.chunks(self.features).zip(labels) {
            let rows = matrix.chunks(self.features).zip(bias);
            for (score, (weights, bias)) in scores.iter_mut().zip(rows) {
                let products = weights.iter().zip(x).map(|(w, x)| w * f64::from(*x));
                *score = bias + products.sum::<f64>();
            }
            let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            for (power, score) in powers.iter_mut().zip(&scores) {
                *power = libm::exp(score - most);
            }
            let sum: f64 = powers.iter().sum();
            loss += libm::log(sum) + most - scores[label];
            for (class, power) in powers.iter().enumerate() {
                let hit = f64::from(u8::from(class == label));
                let error = power / sum - hit;
                of_bias[class] += error;
                let slopes = &mut of_matrix[class * self.features..(class + 1) * self.features];
                for (slope, x) in slopes.iter_mut().zip(x) {
                    *slope += error * f64::from(*x);
                }
            }
        }
        (loss, gradient)
    }
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

    #[test]
    fn the_fit_of_two_points_by_hand() {
        // One feature, x = 1 and -1 with labels 1 and 0. By symmetry the biases are 0 and the weights -w and w, so the sum
        // is 2 log(1 + exp(-2w)) + w^2, whose slope vanishes at w = 2 / (1 + exp(2w)).
        let problem = Problem {
            x: vec![1.0, -1.0],
            labels: vec![1, 0],
            features: 1,
            classes: 2,
        };
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
        let problem = Problem {
            x,
            labels: (0..10).map(|row| row % 3).collect(),
            features: 3,
            classes: 3,
        };
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
        let problem = Problem {
            x: vec![1.0, -1.0],
            labels: vec![1, 0],
            features: 1,
            classes: 2,
        };
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
        let weights = logistic(x.clone(), labels.clone(), 2, 3);
        let problem = Problem {
            x,
            labels,
            features: 2,
            classes: 3,
        };
        let (_, gradient) = problem.at(&weights);
        assert!(
            gradient.iter().all(|slope| slope.abs() <= 1e-6),
            "{gradient:?}"
        );
    }
}
