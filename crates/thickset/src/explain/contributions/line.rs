//! Contributions along a line through a network of dense layers with `ReLU`, with every kink found.
//!
//! On the way `b + t (x - b)` the values before the gates are piecewise linear in t. A walk starts at the reference with the values
//! and gates known there, and the slopes of this row's way. It goes on to the first t at which a value reaches zero, opens or
//! closes that gate, mends slopes and adjoints by what the gate let through, and so on to t = 1. Between two kinks the gradient
//! is constant: what is added up is its adjoint at the first hidden layer, times the length of the piece.
//!
//! The gradient of contributions in x is exact too. At a kink the gradient of the score jumps by `c n`, with n the gradient of the
//! value that reaches zero there; when x moves, the kink moves along the way. So
//! `∂(Σ v_i I_i)/∂x = v ḡ + Σ_kinks t (p / |s|) n <n, v (x - b)>`, with ḡ the mean gradient, p the adjoint behind the gate and
//! s the slope of the value. Unlike a gradient's, this slope is not zero between kinks: contributions are continuous.

use thickset_engine::Network;

use super::score_weights;
use crate::certify::{DenseLayer, DenseNetwork};

/// A network of dense layers with `ReLU`, and the reference that ways start from.
pub(crate) struct Lines {
    /// Of each feature, the weights to the first hidden layer.
    first: Columns,
    /// The hidden layers behind the first.
    later: Vec<Later>,
    reference: Vec<f64>,
    /// Before the gates, at the reference.
    values: Vec<Vec<f64>>,
    /// Of each class: the score's adjoints before the gates of each hidden layer, at the reference.
    adjoints: Vec<Vec<Vec<f64>>>,
}

/// A matrix by its inputs: of each input, its weights to all outputs.
struct Columns {
    weights: Vec<f64>,
    outputs: usize,
}

impl Columns {
    fn of(layer: &DenseLayer) -> Self {
        let (inputs, outputs) = (layer.inputs, layer.outputs());
        let mut weights = vec![0.0; inputs * outputs];
        for output in 0..outputs {
            for input in 0..inputs {
                weights[input * outputs + output] = layer.weight[output * inputs + input];
            }
        }
        Self { weights, outputs }
    }

    fn of_input(&self, input: usize) -> &[f64] {
        &self.weights[input * self.outputs..][..self.outputs]
    }
}

struct Later {
    /// `[outputs, inputs]`.
    rows: Vec<f64>,
    columns: Columns,
    inputs: usize,
}

impl Later {
    fn row(&self, output: usize) -> &[f64] {
        &self.rows[output * self.inputs..][..self.inputs]
    }
}

impl Lines {
    /// `None` for any other network.
    pub(crate) fn new(network: &Network, reference: &[f64]) -> Option<Self> {
        let dense = DenseNetwork::of(network).ok()?;
        let mut layers = dense.hidden.iter();
        let first = layers.next();
        let later: Vec<Later> = layers
            .map(|layer| Later {
                rows: layer.weight.clone(),
                columns: Columns::of(layer),
                inputs: layer.inputs,
            })
            .collect();
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(dense.hidden.len());
        let mut inputs = reference.to_vec();
        for layer in &dense.hidden {
            let rows = layer.weight.chunks(layer.inputs.max(1)).zip(&layer.bias);
            let before: Vec<f64> = rows.map(|(row, bias)| dot(row, &inputs) + bias).collect();
            inputs = before.iter().map(|value| value.max(0.0)).collect();
            values.push(before);
        }
        let score = |class: usize| {
            let mut adjoint = vec![0.0; dense.head.inputs];
            let weights = score_weights(class, dense.classes());
            let rows = dense.head.weight.chunks(dense.head.inputs.max(1));
            for (row, weight) in rows.zip(weights) {
                add_scaled(&mut adjoint, weight, row);
            }
            let mut adjoints = vec![adjoint];
            for (layer, values) in later.iter().zip(&values[1.min(values.len())..]).rev() {
                let mut below = vec![0.0; layer.inputs];
                for (unit, (adjoint, value)) in adjoints[0].iter().zip(values).enumerate() {
                    if *value > 0.0 {
                        add_scaled(&mut below, *adjoint, layer.row(unit));
                    }
                }
                adjoints.insert(0, below);
            }
            adjoints
        };
        Some(Self {
            adjoints: (0..dense.classes()).map(score).collect(),
            // Of a linear model the one adjoint is that of the features.
            first: first.map_or_else(
                || Columns {
                    weights: Vec::new(),
                    outputs: 0,
                },
                Columns::of,
            ),
            later,
            reference: reference.to_vec(),
            values,
        })
    }

    /// Contributions of the features of `x` to the score of a class.
    pub(crate) fn contributions(&self, x: &[f64], class: usize, walk: &mut Walk, out: &mut [f64]) {
        walk.run(self, x, class);
        for (feature, (out, way)) in out.iter_mut().zip(&walk.way).enumerate() {
            *out = if *way == 0.0 {
                0.0
            } else {
                way * walk.mean_gradient(self, class, feature)
            };
        }
    }

    /// The gradient in x of the contributions of the latest walk, which was asked to keep its kinks, each times its weight.
    pub(in super::super) fn gradient(
        &self,
        class: usize,
        weights: &[f64],
        walk: &mut Walk,
        out: &mut [f64],
    ) {
        let hidden = self.first.outputs;
        walk.moved.clear();
        walk.moved.resize(hidden, 0.0);
        if hidden > 0 {
            for (feature, (weight, way)) in weights.iter().zip(&walk.way).enumerate() {
                let along = weight * way;
                if along != 0.0 {
                    add_scaled(&mut walk.moved, along, self.first.of_input(feature));
                }
            }
        }
        walk.bent.clear();
        walk.bent.resize(hidden, 0.0);
        let mut normals = walk.normals.chunks(hidden.max(1));
        for kink in &walk.kinks {
            match kink.first_unit {
                Some(unit) => walk.bent[unit] += kink.weight * walk.moved[unit],
                None => {
                    if let Some(normal) = normals.next() {
                        let along = dot(normal, &walk.moved);
                        add_scaled(&mut walk.bent, kink.weight * along, normal);
                    }
                }
            }
        }
        for (feature, (out, weight)) in out.iter_mut().zip(weights).enumerate() {
            let straight = weight * walk.mean_gradient(self, class, feature);
            let bent = if hidden > 0 {
                dot(self.first.of_input(feature), &walk.bent)
            } else {
                0.0
            };
            *out = straight + bent;
        }
    }
}

/// A gate that opened or closed.
struct Kink {
    /// `t p / |s|`.
    weight: f64,
    /// The unit, where it is of the first hidden layer; else the next of the walk's normals is its own.
    first_unit: Option<usize>,
}

/// Room for a walk, and what the latest one came to.
#[derive(Default)]
pub(crate) struct Walk {
    /// Whether kinks are kept, which only gradients need.
    pub(in super::super) keeps_kinks: bool,
    /// `x - b`.
    way: Vec<f64>,
    values: Vec<Vec<f64>>,
    slopes: Vec<Vec<f64>>,
    open: Vec<Vec<bool>>,
    adjoints: Vec<Vec<f64>>,
    /// The adjoint at the first hidden layer, closed gates as zero, integrated over t.
    integral: Vec<f64>,
    kinks: Vec<Kink>,
    /// Gradients of the values that reach zero in later layers, as weights of the first hidden layer's values.
    normals: Vec<f64>,
    moved: Vec<f64>,
    bent: Vec<f64>,
}

impl Walk {
    fn mean_gradient(&self, lines: &Lines, class: usize, feature: usize) -> f64 {
        if lines.values.is_empty() {
            lines.adjoints[class][0][feature]
        } else {
            dot(lines.first.of_input(feature), &self.integral)
        }
    }

    fn run(&mut self, lines: &Lines, x: &[f64], class: usize) {
        self.way.clear();
        let way = x.iter().zip(&lines.reference);
        self.way.extend(way.map(|(x, reference)| x - reference));
        self.kinks.clear();
        self.normals.clear();
        if lines.values.is_empty() {
            return;
        }
        self.start(lines, class);
        let mut at = 0.0;
        while let Some((layer, unit, length)) = self.step(1.0 - at) {
            at += length;
            self.pass(lines, (layer, unit), at);
        }
    }

    fn start(&mut self, lines: &Lines, class: usize) {
        copy(&mut self.values, &lines.values);
        copy(&mut self.adjoints, &lines.adjoints[class]);
        self.integral.clear();
        self.integral.resize(lines.first.outputs, 0.0);
        self.open.resize_with(lines.values.len(), Vec::new);
        self.slopes.resize_with(lines.values.len(), Vec::new);
        for ((open, slopes), values) in self
            .open
            .iter_mut()
            .zip(&mut self.slopes)
            .zip(&lines.values)
        {
            open.clear();
            open.extend(values.iter().map(|value| *value > 0.0));
            slopes.clear();
            slopes.resize(values.len(), 0.0);
        }
        for (feature, way) in self.way.iter().enumerate() {
            if *way != 0.0 {
                add_scaled(&mut self.slopes[0], *way, lines.first.of_input(feature));
            }
        }
        for (place, layer) in lines.later.iter().enumerate() {
            let (below, above) = self.slopes.split_at_mut(place + 1);
            for (unit, slope) in below[place].iter().enumerate() {
                if self.open[place][unit] {
                    add_scaled(&mut above[0], *slope, layer.columns.of_input(unit));
                }
            }
        }
    }

    /// Goes on to the next kink, or by all that is left if there is none; gives the layer, the unit and the length of the piece.
    fn step(&mut self, left: f64) -> Option<(usize, usize, f64)> {
        let mut length = left;
        let mut next = None;
        for (layer, slopes) in self.slopes.iter().enumerate() {
            let units = slopes
                .iter()
                .zip(&self.values[layer])
                .zip(&self.open[layer]);
            for (unit, ((slope, value), is_open)) in units.enumerate() {
                let approaches = if *is_open { *slope < 0.0 } else { *slope > 0.0 };
                if approaches {
                    // Rounding may have carried a value beyond zero.
                    let reached = (-value / slope).max(0.0);
                    if reached < length {
                        length = reached;
                        next = Some((layer, unit));
                    }
                }
            }
        }
        let adjoints = self.adjoints[0].iter().zip(&self.open[0]);
        for (sum, (adjoint, is_open)) in self.integral.iter_mut().zip(adjoints) {
            if *is_open {
                *sum += length * adjoint;
            }
        }
        for (values, slopes) in self.values.iter_mut().zip(&self.slopes) {
            add_scaled(values, length, slopes);
        }
        next.map(|(layer, unit)| (layer, unit, length))
    }

    /// Opens or closes a gate at t.
    fn pass(&mut self, lines: &Lines, (layer, unit): (usize, usize), at: f64) {
        let opens = !self.open[layer][unit];
        self.open[layer][unit] = opens;
        self.values[layer][unit] = 0.0;
        let (slope, adjoint) = (self.slopes[layer][unit], self.adjoints[layer][unit]);
        let sign = if opens { 1.0 } else { -1.0 };
        if self.keeps_kinks {
            self.kinks.push(Kink {
                weight: at * adjoint / slope.abs(),
                first_unit: (layer == 0).then_some(unit),
            });
            if layer > 0 {
                let normal = self.pulled_down(lines, layer, lines.later[layer - 1].row(unit));
                self.normals.extend(normal);
            }
        }
        self.push_up(lines, layer, unit, sign * slope);
        if layer > 0 {
            let change: Vec<f64> = lines.later[layer - 1]
                .row(unit)
                .iter()
                .map(|weight| sign * adjoint * weight)
                .collect();
            self.push_down(lines, layer - 1, change);
        }
    }

    /// A slope behind a gate changed: so do all slopes above.
    fn push_up(&mut self, lines: &Lines, layer: usize, unit: usize, change: f64) {
        let Some(above) = lines.later.get(layer) else {
            return;
        };
        let mut changes: Vec<f64> = above.columns.of_input(unit).to_vec();
        for one in &mut changes {
            *one *= change;
        }
        for (place, next) in
            (layer + 1..).zip(lines.later[layer + 1..].iter().map(Some).chain([None]))
        {
            add_scaled(&mut self.slopes[place], 1.0, &changes);
            let Some(next) = next else { return };
            let mut higher = vec![0.0; next.columns.outputs];
            for (unit, change) in changes.iter().enumerate() {
                if self.open[place][unit] {
                    add_scaled(&mut higher, *change, next.columns.of_input(unit));
                }
            }
            changes = higher;
        }
    }

    /// The adjoints of a layer change by so much: so do those below.
    fn push_down(&mut self, lines: &Lines, layer: usize, mut changes: Vec<f64>) {
        for place in (0..=layer).rev() {
            add_scaled(&mut self.adjoints[place], 1.0, &changes);
            if place > 0 {
                changes = self.through(lines, place, &changes);
            }
        }
    }

    /// Weights of the values behind a layer's gates as weights of the values behind the first layer's gates.
    fn pulled_down(&self, lines: &Lines, layer: usize, weights: &[f64]) -> Vec<f64> {
        let mut weights = weights.to_vec();
        for place in (1..layer).rev() {
            weights = self.through(lines, place, &weights);
        }
        for (weight, is_open) in weights.iter_mut().zip(&self.open[0]) {
            if !*is_open {
                *weight = 0.0;
            }
        }
        weights
    }

    /// Weights of a layer's values behind its gates as weights of the layer below.
    fn through(&self, lines: &Lines, layer: usize, weights: &[f64]) -> Vec<f64> {
        let of = &lines.later[layer - 1];
        let mut below = vec![0.0; of.inputs];
        for (unit, weight) in weights.iter().enumerate() {
            if self.open[layer][unit] {
                add_scaled(&mut below, *weight, of.row(unit));
            }
        }
        below
    }
}

fn copy(to: &mut Vec<Vec<f64>>, from: &[Vec<f64>]) {
    to.resize_with(from.len(), Vec::new);
    for (to, from) in to.iter_mut().zip(from) {
        to.clone_from(from);
    }
}

fn add_scaled(to: &mut [f64], factor: f64, what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += factor * what;
    }
}

/// In four sums, so that several go at once; their order is fixed.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a_parts, b_parts) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = a_parts.remainder().iter().zip(b_parts.remainder());
    let rest: f64 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in a_parts.zip(b_parts) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use thickset_engine::Network;

    use super::*;
    use crate::Seed;
    use crate::data::InputShape;
    use crate::host::read;
    use crate::model::{Fresh, MlpConfig, ModelConfig};

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

    fn score(network: &Network, x: &[f64], class: usize) -> f64 {
        let logits = read(network.logits(network.batch(x)));
        dot(&score_weights(class, logits.len()), &logits)
    }

    fn contributions(lines: &Lines, x: &[f64], class: usize) -> Vec<f64> {
        let mut out = vec![0.0; x.len()];
        lines.contributions(x, class, &mut Walk::default(), &mut out);
        out
    }

    /// Networks of no to three hidden layers, a reference and a row.
    fn cases() -> impl Iterator<Item = (Network, Vec<f64>, Vec<f64>, usize)> {
        let shapes: [&[usize]; 4] = [&[], &[7], &[9, 6], &[8, 7, 6]];
        (0..40_u64).map(move |case| {
            let mut stream = Seed::new(case).stream("lines");
            let mut row = || (0..5).map(|_| 3.0 * stream.normal()).collect::<Vec<f64>>();
            let classes = if case % 3 == 0 { 3 } else { 2 };
            let shape = shapes[usize::try_from(case % 4).unwrap()];
            let (from, to) = (row(), row());
            (network(shape, classes, case), from, to, 1)
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
            let mut walk = Walk {
                keeps_kinks: true,
                ..Walk::default()
            };
            let (mut out, mut gradient) = (vec![0.0; 5], vec![0.0; 5]);
            lines.contributions(&to, class, &mut walk, &mut out);
            lines.gradient(class, &weights, &mut walk, &mut gradient);
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
