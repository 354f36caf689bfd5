//! Certificates by bounds alone, of what no search can split: softplus networks, and probabilities of many classes. Sound, not complete.
//!
//! 1. **Lines.** Within the radius every hidden value lies between two lines in the move d: an exact one for the first layer, and for later ones
//!    what chords above and tangents below an activation give. Over the ball they bound each pre-activation.
//! 2. **Gates.** A slope of an activation lies between its values at the ends, and within `error` of a chord. The gradient of a margin is
//!    `W1' (gate * u)`, with intervals for what comes from above, `u = center ± reach`.
//! 3. **Pairs.** Feature i stays ahead of j if `s_i g_i - g_j` and `s_i g_i + g_j` stay positive. Each is a sum over the first layer's
//!    neurons, whose chords are added up before their slope in d is bounded, so that neurons that pull against each other cancel.
//!
//! The gradient of the probability of class c of many is `p_c` times `sum over j of p_j (grad z_c - grad z_j)`, a mixture of the gradients of its margins. Each
//! margin bounds its own weight, so the least of a mixture is had with the least weight where a part is positive and the most where it is not.
//!
//! Rounding: each interval is widened by what the deployed model can be off at that step in any order of sums, so that intervals
//! hold what the model computes; that the bounds themselves are computed in `f64` is part of the same term.

use super::MoveNorm;
use super::explained::Ranked;
use super::network::{DenseLayer, DenseNetwork};
use super::result::{CertifiedRadius, CertifiedWorstCase, Status};
use super::rounding::{Arithmetic, SEARCH_UNIT, gamma};
use super::swaps::OpenPairs;
use super::vector::{add_scaled, dot};

/// Halvings of the interval in which the largest certified radius is looked for.
const HALVINGS: usize = 14;

/// How far an exponential, a logarithm, a softmax or a gate can be off, in units of roundoff.
const FUNCTION_UNITS: f64 = 32.0;

/// Margins beyond which probabilities may underflow, and with them their gradients.
const MOST_MARGIN: f64 = 60.0;

/// What stands behind a hidden layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Activation {
    Relu,
    Softplus { beta: f64 },
}

/// A chain of dense layers with any of the activations.
#[derive(Clone, Debug)]
pub(super) struct SmoothNetwork {
    pub dense: DenseNetwork,
    /// One a hidden layer.
    pub activations: Vec<Activation>,
}

/// Where a row may move: `|d| <= radius`, and each feature within limits of its own.
#[derive(Clone, Debug)]
pub(super) struct MoveSet {
    pub norm: MoveNorm,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// What is ranked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    /// The salient features.
    pub salient: &'a [usize],
    /// Whether a feature counts by its absolute value.
    pub absolute: bool,
    /// The gradient at the row as the model computes it, up to a positive factor.
    pub gradient: &'a [f64],
    /// The explained output, and the class that it is of.
    pub class: usize,
    pub ranked: Ranked,
}

/// One row and what is asked of it.
pub(super) struct BoundedRow<'a> {
    network: &'a SmoothNetwork,
    x: &'a [f64],
    moves: &'a MoveSet,
    order: Order<'a>,
    /// The heads' weights of each margin, or of the logit, with a bound on what the deployed model's differ from them.
    seeds: Vec<Interval>,
    others: Vec<usize>,
}

/// A line in the move for each neuron: `slope d + offset`.
#[derive(Clone, Debug)]
struct Lines {
    slope: Vec<f64>,
    offset: Vec<f64>,
    inputs: usize,
}

/// `center ± reach`, entry by entry.
#[derive(Clone, Debug)]
struct Interval {
    center: Vec<f64>,
    reach: Vec<f64>,
}

/// The gates of one layer.
#[derive(Clone, Debug)]
struct GateBounds {
    low: Vec<f64>,
    high: Vec<f64>,
    /// Each gate lies within `error` of `chord z + offset`, z its pre-activation.
    chord: Vec<f64>,
    offset: Vec<f64>,
    error: Vec<f64>,
}

/// What the forward pass can come to within a ball.
struct ForwardBounds {
    /// Of every hidden layer.
    gates: Vec<GateBounds>,
    /// The first layer's pre-activations at the row.
    first: Vec<f64>,
    /// The other classes, one a margin.
    rivals: Vec<Odds>,
}

/// How likely a class can be against the explained one, as a ratio of probabilities.
struct Odds {
    least: f64,
    most: f64,
}

impl Activation {
    fn slope(self, z: f64) -> f64 {
        match self {
            Self::Relu => f64::from(u8::from(z > 0.0)),
            Self::Softplus { beta } => {
                let e = (-(beta * z).abs()).exp();
                if z >= 0.0 {
                    1.0 / (1.0 + e)
                } else {
                    e / (1.0 + e)
                }
            }
        }
    }

    fn value(self, z: f64) -> f64 {
        match self {
            Self::Relu => z.max(0.0),
            Self::Softplus { beta } => z.max(0.0) + (-(beta * z).abs()).exp().ln_1p() / beta,
        }
    }

    /// Slope and offset of a line above the activation, and of one below, between two places.
    fn lines(self, low: f64, high: f64) -> [(f64, f64); 2] {
        let (at_low, at_high) = (self.value(low), self.value(high));
        let width = high - low;
        let above = if width > 0.0 {
            ((at_high - at_low) / width).clamp(0.0, 1.0)
        } else {
            self.slope(low)
        };
        // Convex: the chord through one end lies above up to the other, whatever was rounded, if the larger offset is taken.
        let offset = (at_low - above * low).max(at_high - above * high);
        let middle = f64::midpoint(low, high);
        let below = self.slope(middle);
        [
            (above, offset),
            (below, self.value(middle) - below * middle),
        ]
    }

    /// Gate and chord between two places.
    fn gate(self, low: f64, high: f64) -> [f64; 5] {
        let (first, last) = match self {
            // At the kink itself either may be.
            Self::Relu => (self.slope(low), f64::from(u8::from(high >= 0.0))),
            Self::Softplus { .. } => (self.slope(low), self.slope(high)),
        };
        let flat = [
            first,
            last,
            0.0,
            f64::midpoint(first, last),
            (last - first) / 2.0,
        ];
        let Self::Softplus { beta } = self else {
            return flat;
        };
        let width = high - low;
        if !(width > 0.0 && last > first) {
            return flat;
        }
        let chord = (last - first) / width;
        // The gate less the chord is extreme at the ends, or where its slope, beta d (1 - d), is the chord's.
        let mut apart = vec![first - chord * low, last - chord * high];
        let root = 1.0 - 4.0 * chord / beta;
        if root > 0.0 {
            for gate in [(1.0 - root.sqrt()) / 2.0, f64::midpoint(1.0, root.sqrt())] {
                if gate > first && gate < last {
                    let z = (gate / (1.0 - gate)).ln() / beta;
                    apart.push(gate - chord * z);
                }
            }
        }
        let least = apart.iter().copied().fold(f64::INFINITY, f64::min);
        let most = apart.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        [
            first,
            last,
            chord,
            f64::midpoint(least, most),
            (most - least) / 2.0,
        ]
    }
}

impl MoveSet {
    /// The most that `<direction, d>` can be.
    fn most(&self, direction: &[f64], radius: f64) -> f64 {
        let limits = || self.low.iter().zip(&self.high).zip(direction);
        let moving = limits().filter(|((low, high), _)| low < high);
        let in_ball = match self.norm {
            MoveNorm::L2 => moving.map(|(_, way)| way * way).sum::<f64>().sqrt() * radius,
            MoveNorm::Linf => moving.map(|(_, way)| way.abs()).sum::<f64>() * radius,
        };
        let in_box: f64 = limits()
            .map(|((low, high), way)| (way * low.max(-radius)).max(way * high.min(radius)))
            .sum();
        let most = in_ball.min(in_box);
        // What this sum itself may have lost.
        most + gamma(2 * direction.len(), SEARCH_UNIT) * in_ball.abs()
    }

    /// The largest absolute value of each moved feature.
    fn sizes(&self, x: &[f64], radius: f64) -> Vec<f64> {
        let limits = self.low.iter().zip(&self.high).zip(x);
        let size = |((low, high), x): ((&f64, &f64), &f64)| {
            let (low, high) = (low.max(-radius), high.min(radius));
            (x + low).abs().max((x + high).abs())
        };
        limits.map(size).collect()
    }
}

impl Interval {
    fn size(&self) -> Vec<f64> {
        let both = self.center.iter().zip(&self.reach);
        both.map(|(center, reach)| center.abs() + reach).collect()
    }

    /// Times gates, which lie between 0 and 1, as the model multiplies them.
    fn through(&self, gates: &GateBounds, unit: f64) -> Self {
        let mut product = self.clone();
        for place in 0..self.center.len() {
            let (low, high) = (
                self.center[place] - self.reach[place],
                self.center[place] + self.reach[place],
            );
            let (closed, open) = (gates.low[place], gates.high[place]);
            let least = (low * closed).min(low * open);
            let most = (high * closed).max(high * open);
            let rounding = 4.0 * unit * least.abs().max(most.abs());
            product.center[place] = f64::midpoint(least, most);
            product.reach[place] = (most - least) / 2.0 + rounding;
        }
        product
    }

    /// Back through a layer's weights.
    fn back(&self, layer: &DenseLayer, arithmetic: Arithmetic) -> Self {
        let mut below = Self {
            center: vec![0.0; layer.inputs],
            reach: vec![0.0; layer.inputs],
        };
        let size = self.size();
        let rounding = gamma(layer.outputs(), arithmetic.unit + SEARCH_UNIT);
        for (neuron, row) in layer.rows().enumerate() {
            add_scaled(&mut below.center, self.center[neuron], row);
            for (reach, weight) in below.reach.iter_mut().zip(row) {
                *reach +=
                    weight.abs() * (self.reach[neuron] + rounding * size[neuron]) + arithmetic.tiny;
            }
        }
        below
    }
}

impl<'a> BoundedRow<'a> {
    pub(super) fn new(
        network: &'a SmoothNetwork,
        x: &'a [f64],
        moves: &'a MoveSet,
        order: Order<'a>,
    ) -> Self {
        let head = &network.dense.head;
        let classes = head.outputs();
        let own = head.row(order.class);
        let unit = network.dense.arithmetic.unit;
        #[expect(clippy::cast_precision_loss, reason = "classes are few")]
        let relative = (FUNCTION_UNITS + classes as f64) * unit;
        let seeds = if order.ranked == Ranked::Logit {
            vec![Interval {
                center: own.to_vec(),
                reach: own.iter().map(|weight| relative * weight.abs()).collect(),
            }]
        } else {
            let rivals = (0..classes).filter(|other| *other != order.class);
            let margin = |other: usize| {
                let pairs = || own.iter().zip(head.row(other));
                Interval {
                    center: pairs().map(|(own, other)| own - other).collect(),
                    reach: pairs()
                        .map(|(own, other)| relative * (own.abs() + other.abs()))
                        .collect(),
                }
            };
            rivals.map(margin).collect::<Vec<_>>()
        };
        let seeds = match order.ranked {
            Ranked::Loss => seeds
                .into_iter()
                .map(|seed| Interval {
                    center: negated(&seed.center),
                    ..seed
                })
                .collect(),
            _ => seeds,
        };
        let features = network.dense.features();
        Self {
            network,
            x,
            moves,
            others: (0..features)
                .filter(|feature| !order.salient.contains(feature))
                .collect(),
            order,
            seeds,
        }
    }

    /// The largest radius, up to the given one, at which the bounds show that the top-k set stays.
    pub(super) fn radius(&self, largest: f64) -> CertifiedRadius {
        let holds = |radius: f64| {
            self.open_pairs(radius)
                .is_some_and(|open| open.complete(1).is_none())
        };
        let (mut certified, mut refused) = (0.0, largest);
        if holds(largest) {
            certified = largest;
        } else {
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(certified, refused);
                if holds(middle) {
                    certified = middle;
                } else {
                    refused = middle;
                }
            }
        }
        CertifiedRadius {
            status: if certified >= largest {
                Status::Certified
            } else {
                Status::Unknown
            },
            certified,
            counterexample: None,
            nodes: 1,
        }
    }

    /// How many of the salient features are shown to stay.
    pub(super) fn worst_case(&self, radius: f64) -> CertifiedWorstCase {
        let k = self.order.salient.len();
        let most = k.min(self.others.len());
        let lost = self.open_pairs(radius).map_or(most, |open| {
            (1..=most)
                .find(|t| open.complete(*t).is_none())
                .map_or(most, |t| t - 1)
        });
        CertifiedWorstCase {
            status: match k - lost {
                kept if kept == k => Status::Exact,
                0 => Status::Unknown,
                _ => Status::Certified,
            },
            kept_at_least: k - lost,
            kept_at_most: k,
            counterexample: None,
            nodes: 1,
        }
    }

    /// The pairs whose order the bounds do not show; none where probabilities may underflow.
    fn open_pairs(&self, radius: f64) -> Option<OpenPairs> {
        let bounds = self.forward(radius)?;
        // The better of the chords and of plain intervals: chords for small balls, intervals for large ones.
        let flat: Vec<GateBounds> = bounds
            .gates
            .iter()
            .map(GateBounds::without_chords)
            .collect();
        let gradients = [&bounds.gates, &flat].map(|gates| {
            let seeds = self.seeds.iter();
            seeds
                .map(|seed| self.gradient(seed, gates, &bounds.first, radius))
                .collect::<Vec<_>>()
        });
        let mut open = OpenPairs::new(self.order.salient.len(), self.others.len());
        for (row, &ahead) in self.order.salient.iter().enumerate() {
            let sign = if self.order.absolute && self.order.gradient[ahead] < 0.0 {
                -1.0
            } else {
                1.0
            };
            for (column, &behind) in self.others.iter().enumerate() {
                let stays = |other: f64| {
                    let mixture = gradients.iter().map(|gradients| {
                        let margins = gradients.iter().zip(&bounds.rivals);
                        margins
                            .map(|(gradient, rival)| {
                                let least = gradient.least(ahead, behind, sign, other);
                                least * if least > 0.0 { rival.least } else { rival.most }
                            })
                            .sum::<f64>()
                    });
                    mixture.fold(f64::NEG_INFINITY, f64::max) > 0.0
                };
                if !(stays(-1.0) && (!self.order.absolute || stays(1.0))) {
                    open.open(row, column);
                }
            }
        }
        Some(open)
    }

    /// What the forward pass can come to within the ball; none where it can overflow, or a probability underflow.
    fn forward(&self, radius: f64) -> Option<ForwardBounds> {
        let dense = &self.network.dense;
        let arithmetic = dense.arithmetic;
        let unit = arithmetic.unit + SEARCH_UNIT;
        let features = dense.features();
        // Lines below and above the values that the next layer reads, and their largest sizes.
        let identity = Lines {
            slope: (0..features * features)
                .map(|place| f64::from(u8::from(place % (features + 1) == 0)))
                .collect(),
            offset: self.x.to_vec(),
            inputs: features,
        };
        let (mut below, mut above) = (identity.clone(), identity);
        let mut sizes = self.moves.sizes(self.x, radius);
        // What the lines of a value are made of can be larger than the value.
        let mut wide = sizes.clone();
        let (mut gates, mut first) = (Vec::new(), Vec::new());
        for (layer, activation) in dense.hidden.iter().zip(&self.network.activations) {
            let [mut low_lines, mut high_lines] = layer_lines(layer, &below, &above);
            let rounding = gamma(layer.inputs + 1, unit);
            let count = layer.outputs();
            let (mut low, mut high, mut errors) =
                (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
            for (neuron, (row, bias)) in layer.rows().zip(&layer.bias).enumerate() {
                let magnitude: f64 = row.iter().zip(&sizes).map(|(w, size)| w.abs() * size).sum();
                let of_lines: f64 = row.iter().zip(&wide).map(|(w, size)| w.abs() * size).sum();
                #[expect(clippy::cast_precision_loss, reason = "features are few")]
                let error = rounding * (magnitude + bias.abs())
                    + arithmetic.tiny * (layer.inputs + 1) as f64
                    // The lines' own arithmetic.
                    + gamma(8 * layer.inputs + 64, SEARCH_UNIT) * (of_lines + bias.abs());
                errors[neuron] = error;
                low_lines.offset[neuron] -= error;
                high_lines.offset[neuron] += error;
                low[neuron] = low_lines.offset[neuron]
                    - self.moves.most(&negated(low_lines.row(neuron)), radius);
                high[neuron] =
                    high_lines.offset[neuron] + self.moves.most(high_lines.row(neuron), radius);
            }
            if !low.iter().chain(&high).all(|bound| bound.is_finite()) {
                return None;
            }
            if gates.is_empty() {
                first = layer
                    .rows()
                    .zip(&layer.bias)
                    .map(|(row, bias)| dot(row, self.x) + bias)
                    .collect();
            }
            gates.push(gate_bounds(*activation, &low, &high, &errors, unit));
            [below, above] = activated(*activation, low_lines, high_lines, &low, &high, unit);
            sizes = low
                .iter()
                .zip(&high)
                .map(|(low, high)| {
                    let size = activation
                        .value(*high)
                        .abs()
                        .max(activation.value(*low).abs());
                    size + FUNCTION_UNITS * unit * (size + 1.0)
                })
                .collect();
            let bounds = low.iter().zip(&high).zip(&sizes);
            wide = bounds
                .map(|((low, high), size)| 4.0 * (low.abs() + high.abs() + size))
                .collect();
        }
        Some(ForwardBounds {
            rivals: self.rivals(&below, &above, &sizes, radius)?,
            gates,
            first,
        })
    }

    /// How likely every other class can be, against the explained one; none where a margin can be so large that a probability's gradient is lost.
    fn rivals(
        &self,
        below: &Lines,
        above: &Lines,
        sizes: &[f64],
        radius: f64,
    ) -> Option<Vec<Odds>> {
        if self.order.ranked == Ranked::Logit {
            return Some(vec![Odds {
                least: 1.0,
                most: 1.0,
            }]);
        }
        let head = &self.network.dense.head;
        let unit = self.network.dense.arithmetic.unit + SEARCH_UNIT;
        let own = head.row(self.order.class);
        let rivals = (0..head.outputs()).filter(|other| *other != self.order.class);
        rivals
            .map(|other| {
                let weight = own.iter().zip(head.row(other));
                let weight: Vec<f64> = weight.map(|(own, other)| own - other).collect();
                let margin = DenseLayer {
                    bias: vec![head.bias[self.order.class] - head.bias[other]],
                    inputs: weight.len(),
                    weight,
                };
                let [low, high] = layer_lines(&margin, below, above);
                let pairs = own.iter().zip(head.row(other)).zip(sizes);
                let magnitude: f64 = pairs
                    .map(|((own, other), size)| (own.abs() + other.abs()) * size)
                    .sum();
                let bias = head.bias[self.order.class].abs() + head.bias[other].abs();
                let slack = gamma(8 * margin.inputs + 64, unit) * (magnitude + bias + 1.0);
                let least = low.offset[0] - self.moves.most(&negated(low.row(0)), radius) - slack;
                let most = high.offset[0] + self.moves.most(high.row(0), radius) + slack;
                (least > -MOST_MARGIN && most < MOST_MARGIN).then(|| Odds {
                    least: (-most).exp() * (1.0 - FUNCTION_UNITS * unit),
                    most: (-least).exp() * (1.0 + FUNCTION_UNITS * unit),
                })
            })
            .collect()
    }

    /// What the first layer makes of one margin's gradient.
    fn gradient<'b>(
        &'b self,
        seed: &Interval,
        gates: &[GateBounds],
        first: &[f64],
        radius: f64,
    ) -> MarginGradient<'b> {
        let dense = &self.network.dense;
        let arithmetic = dense.arithmetic;
        let unit = arithmetic.unit + SEARCH_UNIT;
        let mut above = seed.clone();
        let layers = dense.hidden.iter().zip(gates);
        for (layer, gates) in layers.skip(1).rev() {
            above = above.through(gates, unit).back(layer, arithmetic);
        }
        let features = dense.features();
        let (Some(layer), Some(gates)) = (dense.hidden.first(), gates.first()) else {
            // A linear model: the seed is the gradient.
            return MarginGradient {
                row: self,
                radius,
                layer: None,
                value: above.center.clone(),
                slope: vec![0.0; features * features],
                doubt: Vec::new(),
                rounding: above.reach,
            };
        };
        let mut found = MarginGradient {
            row: self,
            radius,
            layer: Some(layer),
            value: vec![0.0; features],
            slope: vec![0.0; features * features],
            doubt: Vec::with_capacity(layer.outputs()),
            rounding: vec![0.0; features],
        };
        let summed = gamma(layer.outputs() + 4, unit);
        for (neuron, row) in layer.rows().enumerate() {
            let (center, reach) = (above.center[neuron], above.reach[neuron]);
            let gate = gates.chord[neuron] * first[neuron] + gates.offset[neuron];
            let slope = center * gates.chord[neuron];
            // The gate beside its chord, and what comes from above beside its center.
            found
                .doubt
                .push(center.abs() * gates.error[neuron] + gates.high[neuron] * reach);
            let size = (center.abs() + reach) * gates.high[neuron].max(gate.abs());
            let moved = slope.abs() * self.moves.most(row, radius).abs();
            for feature in 0..features {
                let weight = row[feature];
                found.value[feature] += weight * center * gate;
                found.rounding[feature] += summed * weight.abs() * (size + moved) + arithmetic.tiny;
                let line = &mut found.slope[feature * features..(feature + 1) * features];
                add_scaled(line, weight * slope, row);
            }
        }
        found
    }
}

/// Bounds of one margin's gradient, ready for pairs of features.
struct MarginGradient<'b> {
    row: &'b BoundedRow<'b>,
    radius: f64,
    layer: Option<&'b DenseLayer>,
    /// Each feature's chord gradient at the row.
    value: Vec<f64>,
    /// How it moves with d, `[features, features]`.
    slope: Vec<f64>,
    /// Of each neuron: what the chord leaves out.
    doubt: Vec<f64>,
    /// Of each feature.
    rounding: Vec<f64>,
}

impl MarginGradient<'_> {
    /// The least of `sign g_ahead + other g_behind`.
    fn least(&self, ahead: usize, behind: usize, sign: f64, other: f64) -> f64 {
        let features = self.value.len();
        let line = |feature: usize| &self.slope[feature * features..(feature + 1) * features];
        let falling: Vec<f64> = line(ahead)
            .iter()
            .zip(line(behind))
            .map(|(first, second)| -(sign * first + other * second))
            .collect();
        let doubt: f64 = self.layer.map_or(0.0, |layer| {
            let rows = layer.rows().zip(&self.doubt);
            rows.map(|(row, doubt)| (sign * row[ahead] + other * row[behind]).abs() * doubt)
                .sum()
        });
        let value = sign * self.value[ahead] + other * self.value[behind];
        let rounding = 2.0 * (self.rounding[ahead] + self.rounding[behind])
            + gamma(features + self.doubt.len(), SEARCH_UNIT) * (value.abs() + doubt);
        value - self.row.moves.most(&falling, self.radius) - doubt - rounding
    }
}

impl GateBounds {
    /// The same gates as plain intervals.
    fn without_chords(&self) -> Self {
        let between = || self.low.iter().zip(&self.high);
        Self {
            chord: vec![0.0; self.low.len()],
            offset: between()
                .map(|(low, high)| f64::midpoint(*low, *high))
                .collect(),
            error: between().map(|(low, high)| (high - low) / 2.0).collect(),
            ..self.clone()
        }
    }
}

impl Lines {
    fn row(&self, neuron: usize) -> &[f64] {
        &self.slope[neuron * self.inputs..][..self.inputs]
    }

    /// Makes a line `by` times itself plus `offset`.
    fn scale(&mut self, neuron: usize, by: f64, offset: f64) {
        let start = neuron * self.inputs;
        for slope in &mut self.slope[start..start + self.inputs] {
            *slope *= by;
        }
        self.offset[neuron] = by * self.offset[neuron] + offset;
    }
}

fn negated(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

/// Lines below and above a layer's outputs, given those of what it reads.
fn layer_lines(layer: &DenseLayer, below: &Lines, above: &Lines) -> [Lines; 2] {
    let inputs = below.inputs;
    let empty = Lines {
        slope: vec![0.0; layer.outputs() * inputs],
        offset: layer.bias.clone(),
        inputs,
    };
    let mut found = [empty.clone(), empty];
    for (neuron, row) in layer.rows().enumerate() {
        for (place, &weight) in row.iter().enumerate() {
            let (lower, upper) = if weight >= 0.0 {
                (below, above)
            } else {
                (above, below)
            };
            for (found, read) in found.iter_mut().zip([lower, upper]) {
                found.offset[neuron] += weight * read.offset[place];
                let line = &mut found.slope[neuron * inputs..(neuron + 1) * inputs];
                add_scaled(line, weight, read.row(place));
            }
        }
    }
    found
}

/// Lines of the values behind an activation.
fn activated(
    activation: Activation,
    mut low_lines: Lines,
    mut high_lines: Lines,
    low: &[f64],
    high: &[f64],
    unit: f64,
) -> [Lines; 2] {
    for neuron in 0..low.len() {
        let [(over, over_offset), (under, under_offset)] =
            activation.lines(low[neuron], high[neuron]);
        let size = activation
            .value(high[neuron])
            .abs()
            .max(low[neuron].abs())
            .max(high[neuron].abs());
        let error = FUNCTION_UNITS * unit * (size + activation.value(0.0) + f64::MIN_POSITIVE);
        // Slopes are not negative, so lines keep their sides.
        high_lines.scale(neuron, over, over_offset + error);
        low_lines.scale(neuron, under, under_offset - error);
    }
    [low_lines, high_lines]
}

fn gate_bounds(
    activation: Activation,
    low: &[f64],
    high: &[f64],
    errors: &[f64],
    unit: f64,
) -> GateBounds {
    let mut gates = GateBounds {
        low: Vec::new(),
        high: Vec::new(),
        chord: Vec::new(),
        offset: Vec::new(),
        error: Vec::new(),
    };
    for ((&low, &high), &moved) in low.iter().zip(high).zip(errors) {
        let [first, last, chord, offset, error] = activation.gate(low, high);
        let off = match activation {
            Activation::Relu => 0.0,
            Activation::Softplus { .. } => FUNCTION_UNITS * unit,
        };
        gates.low.push((first - off).max(0.0));
        gates.high.push((last + off).min(1.0 + off));
        gates.chord.push(chord);
        gates.offset.push(offset);
        // The chord is taken at the exact pre-activation, from which the deployed one differs.
        gates.error.push(error + off + chord * moved);
    }
    gates
}
