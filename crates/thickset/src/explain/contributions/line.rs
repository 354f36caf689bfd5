//! Contributions along a line through a network of dense layers with `ReLU`, with every kink found.
//!
//! On the way `b + t (x - b)` the values before the gates are piecewise linear in t. A walk starts at the reference with the values
//! and gates known there, and the slopes of this row's way. It goes on to the first t at which a value reaches zero, opens or
//! closes that gate, mends slopes and adjoints by what the gate let through, and so on to t = 1. Between two kinks the gradient
//! is constant: what is added up is its adjoint at the first hidden layer, times the length of the piece. Layers of single features before it, as
//! a binned model has them, make pieces of lines of each feature ([`front`]); where the way comes to another piece is a kink too.
//!
//! The gradient of contributions in x is exact too. At a kink the gradient of the score jumps by `c n`, with n the gradient of the
//! value that reaches zero there; when x moves, the kink moves along the way. So
//! `∂(Σ v_i I_i)/∂x = v ḡ + Σ_kinks t (p / |s|) n <n, v (x - b)>`, with ḡ the mean gradient, p the adjoint behind the gate and
//! s the slope of the value. Unlike a gradient's, this slope is not zero between kinks: contributions are continuous.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

mod front;
mod layer;
mod matrix;
mod walk;

use thickset_engine::Network;
use thickset_engine::kernel::{VectorLoop, vectorised};

use self::front::Front;
use self::matrix::Matrix;
pub(crate) use self::walk::Walk;
use super::score_weights;
use crate::certify::DenseNetwork;
use crate::certify::vector::{add_scaled, dot};

/// A network of dense layers with `ReLU`, and the reference that ways start from.
pub(crate) struct Lines {
    front: Front,
    /// The hidden layers behind the first that a walk goes through.
    later: Vec<Later>,
    reference: Vec<f64>,
    /// Before the gates of those layers, at the reference.
    values: Vec<Vec<f64>>,
    /// Of each class: the score's adjoints before the gates of each of them, at the reference.
    adjoints: Vec<Vec<Vec<f64>>>,
}

struct Later {
    /// Of each of its units, the weights of what it reads.
    rows: Matrix,
    /// Of each input, the weights to its units.
    columns: Matrix,
}

impl Lines {
    /// `None` for any other network.
    pub(crate) fn new(network: &Network, reference: &[f64]) -> Option<Self> {
        let dense = DenseNetwork::of(network).ok()?;
        let front = Front::new(&dense);
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(dense.hidden.len());
        let mut inputs = reference.to_vec();
        for layer in &dense.hidden {
            let rows = layer.rows().zip(&layer.bias);
            let before: Vec<f64> = rows.map(|(row, bias)| dot(row, &inputs) + bias).collect();
            inputs = before.iter().map(|value| value.max(0.0)).collect();
            values.push(before);
        }
        values.drain(..front.skipped);
        let later: Vec<Later> = dense
            .hidden
            .iter()
            .skip(front.skipped + 1)
            .map(|layer| Later {
                rows: Matrix::new(layer.weight.clone(), layer.inputs),
                columns: Matrix::by_inputs(layer),
            })
            .collect();
        let score = |class: usize| {
            let mut adjoint = vec![0.0; dense.head.inputs];
            let weights = score_weights(class, dense.classes());
            for (row, weight) in dense.head.rows().zip(weights) {
                add_scaled(&mut adjoint, weight, row);
            }
            let mut adjoints = vec![adjoint];
            for (layer, values) in later.iter().zip(&values[1.min(values.len())..]).rev() {
                let mut below = vec![0.0; layer.rows.width];
                for (unit, (adjoint, value)) in adjoints[0].iter().zip(values).enumerate() {
                    if *value > 0.0 {
                        add_scaled(&mut below, *adjoint, layer.rows.row(unit));
                    }
                }
                adjoints.insert(0, below);
            }
            adjoints
        };
        Some(Self {
            // Of a linear model the one adjoint is that of the features.
            adjoints: (0..dense.classes()).map(score).collect(),
            front,
            later,
            reference: reference.to_vec(),
            values,
        })
    }

    /// Contributions of the features of `x` to the score of a class.
    pub(crate) fn contributions(&self, x: &[f64], class: usize, walk: &mut Walk, out: &mut [f64]) {
        vectorised(Contributions {
            lines: self,
            x,
            class,
            walk,
            out,
        });
    }

    /// The gradient in x of the contributions of the latest walk, which was asked to keep its kinks, each times its weight.
    pub(crate) fn gradient(&self, weights: &[f64], walk: &mut Walk, out: &mut [f64]) {
        vectorised(Gradient {
            lines: self,
            weights,
            walk,
            out,
        });
    }
}

/// A walk and what it comes to.
struct Contributions<'a> {
    lines: &'a Lines,
    x: &'a [f64],
    class: usize,
    walk: &'a mut Walk,
    out: &'a mut [f64],
}

impl VectorLoop for Contributions<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            lines, class, walk, ..
        } = self;
        walk.run(lines, self.x, class);
        let ways = walk.way.iter().zip(&walk.mean_gradient);
        for (out, (way, gradient)) in self.out.iter_mut().zip(ways) {
            *out = if *way == 0.0 { 0.0 } else { way * gradient };
        }
    }
}

/// The gradient after a walk.
struct Gradient<'a> {
    lines: &'a Lines,
    weights: &'a [f64],
    walk: &'a mut Walk,
    out: &'a mut [f64],
}

impl VectorLoop for Gradient<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.walk.gradient(self.lines, self.weights, self.out);
    }
}

#[cfg(test)]
mod tests {
    use thickset_engine::Network;

    use super::*;
    use crate::Seed;
    use crate::data::{Dataset, InputShape};
    use crate::host::read;
    use crate::model::{BinnedConfig, Fresh, MlpConfig, Model, ModelConfig};

    fn network(hidden: &[usize], classes: usize, seed: u64) -> Network {
        ModelConfig::Mlp(MlpConfig {
            hidden: hidden.to_vec(),
            ..MlpConfig::default()
        })
        .network(
            &InputShape::Table,
            5,
            classes,
            &mut Fresh::new(Seed::new(seed)),
        )
        .unwrap()
    }

    /// Two fixed layers, zero but for a few numbers, before trained ones.
    fn binned(hidden: &[usize], seed: u64) -> Network {
        let mut stream = Seed::new(seed).stream("binned");
        #[expect(clippy::cast_possible_truncation, reason = "rows are f32")]
        let values = (0..300).map(|_| stream.normal() as f32).collect();
        let labels = (0..60).map(|row| row % 2).collect();
        let rows = Dataset::from_rows(values, labels, &["a", "b", "c", "d", "e"]).unwrap();
        let config = BinnedConfig {
            hidden: hidden.to_vec(),
            bins: 6,
            ..BinnedConfig::default()
        };
        let mut model = Model::for_dataset(config.into(), &rows, Seed::new(seed)).unwrap();
        model.network.untrack();
        model.network
    }

    fn score(network: &Network, x: &[f64], class: usize) -> f64 {
        let logits = read(network.logits(network.batch(x)));
        dot(&score_weights(class, logits.len()), &logits)
    }

    fn contributions(lines: &Lines, x: &[f64], class: usize) -> Vec<f64> {
        let mut out = vec![0.0; x.len()];
        lines.contributions(x, class, &mut Walk::default(), &mut out);
        out
    }

    /// Networks of no to four hidden layers, and every fifth with fixed ones, a reference and a row.
    fn cases() -> impl Iterator<Item = (Network, Vec<f64>, Vec<f64>, usize)> {
        let shapes: [&[usize]; 4] = [&[], &[7, 8, 6, 5], &[9, 6], &[8, 7, 6]];
        (0..40_u64).map(move |case| {
            let mut stream = Seed::new(case).stream("lines");
            let mut row = || (0..5).map(|_| 3.0 * stream.normal()).collect::<Vec<f64>>();
            let classes = if case % 3 == 0 { 3 } else { 2 };
            let shape = shapes[usize::try_from(case % 4).unwrap()];
            let (from, to) = (row(), row());
            let network = if case % 5 == 4 {
                binned(shape, case)
            } else {
                network(shape, classes, case)
            };
            (network, from, to, 1)
        })
    }

    #[test]
    fn they_add_up_to_the_difference_of_the_scores() {
        for (network, from, to, class) in cases() {
            let lines = Lines::new(&network, &from).unwrap();
            let sum: f64 = contributions(&lines, &to, class).iter().sum();
            let expected = score(&network, &to, class) - score(&network, &from, class);
            assert!((sum - expected).abs() < 1e-5, "{sum} {expected}");
        }
    }

    #[test]
    fn they_are_what_ten_thousand_steps_come_near_to() {
        use crate::explain::contributions::ContributionsConfig;
        use crate::explain::{Binding, Explain};
        for (network, from, to, class) in cases().step_by(3) {
            let lines = Lines::new(&network, &from).unwrap();
            let exact = contributions(&lines, &to, class);
            let config = ContributionsConfig {
                points: 1000,
                row: Some(from),
                ..ContributionsConfig::default()
            };
            let binding = Binding {
                classes: &[class],
                ids: &[0],
                seed: Seed::new(0),
            };
            let bound = config.bind(&network, binding);
            let pass = network.pass(network.batch(&to));
            let near = read(bound.at(&pass).value());
            for (exact, near) in exact.iter().zip(near) {
                assert!(
                    (exact - near).abs() < 1e-2 * (1.0 + near.abs()),
                    "{exact} {near}"
                );
            }
        }
    }

    #[test]
    fn their_gradient_agrees_with_central_differences() {
        const H: f64 = 1e-6;
        let mut compared = 0;
        for (network, from, to, class) in cases() {
            let lines = Lines::new(&network, &from).unwrap();
            let weights = [0.3, -1.0, 0.7, 0.2, -0.5];
            let mut walk = Walk::default();
            walk.keeps_kinks = true;
            let (mut out, mut gradient) = (vec![0.0; 5], vec![0.0; 5]);
            lines.contributions(&to, class, &mut walk, &mut out);
            lines.gradient(&weights, &mut walk, &mut gradient);
            for feature in 0..5 {
                let at = |h: f64| {
                    let mut x = to.clone();
                    x[feature] += h;
                    dot(&weights, &contributions(&lines, &x, class))
                };
                let expected = (at(H) - at(-H)) / (2.0 * H);
                let near = 1e-5 * (1.0 + expected.abs());
                assert!(
                    (gradient[feature] - expected).abs() < near,
                    "{} {expected}",
                    gradient[feature]
                );
                compared += 1;
            }
        }
        assert_eq!(compared, 200);
    }

    #[test]
    fn a_value_that_is_the_references_contributes_nothing() {
        for (network, from, mut to, class) in cases() {
            to[2] = from[2];
            let lines = Lines::new(&network, &from).unwrap();
            assert!(contributions(&lines, &to, class)[2].abs() < f64::MIN_POSITIVE);
        }
    }

    #[test]
    fn smooth_networks_have_no_kinks_to_find() {
        let smooth = network(&[4], 2, 1).smooth_twin(2.0);
        assert!(Lines::new(&smooth, &[0.0; 5]).is_none());
    }
}
