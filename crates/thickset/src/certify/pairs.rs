//! Which pairs of a salient feature and another can change their order in a part of the search.
//!
//! The ranked gradient of feature i is a sum over ways from it to the output, each the product of its weights if all its gates are
//! open. `|g_i| > |g_j|` if and only if `s g_i + g_j > 0` and `s g_i - g_j > 0` with s the sign of `g_i`, and each such form
//! `α g_i + β g_j` is bounded as one:
//!
//! - Ways through open gates alone are known. The others are told apart by their first free gate. What lies behind that gate is a
//!   number u, the sum over the ways from it to the output, between bounds. With c the form's weight up to the gate, its ways
//!   add 0 or c u, so at least `min(0, c u)`.
//! - That is concave in u, and so not below its chord between the bounds of u. With chords all is linear in the gates behind,
//!   which are then shared by all ways through them.
//!
//! The larger of both bounds is taken. Where features are multiplied by their values, the form is linear in each value, and its
//! least is at a corner of the two values' ranges.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::case::Case;
use super::gate::Gate;
use super::layers::Paths;
use super::node::Node;
use super::vector::{add_scaled, dot, lesser, sum_of};

/// `α g_i + β g_j`: the order of importances `salient` and `other` holds while it is positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Form {
    pub salient: usize,
    pub other: usize,
    /// The sign of the salient feature's gradient.
    pub alpha: f64,
    /// Minus the sign of the other's.
    pub beta: f64,
}

/// One layer's gates as chords see them.
struct Stage {
    /// Its first free gate among all, and how many there are.
    first: usize,
    free: usize,
    /// Weights from what is carried out of the layer before to each open gate, row by row, and to each free one. At the last layer,
    /// one row in place of the open gates' own: what all of them together carry on to the output.
    to_open: Vec<f64>,
    to_free: Vec<f64>,
    /// How many numbers are carried in.
    carried: usize,
    /// How many open gates.
    open: usize,
}

/// The gradient of a part of the search, known up to its free gates.
pub(super) struct Gradient<'a> {
    case: &'a Case<'a>,
    /// Over ways through open gates alone.
    known: Vec<f64>,
    /// Weight of each importance up to each free gate, `[importances, free gates]`.
    weights: Vec<f64>,
    /// Bounds of what lies behind each free gate.
    behind_low: Vec<f64>,
    behind_high: Vec<f64>,
    /// The neurons of the free gates, the first layer's first.
    pub free: Vec<usize>,
    stages: Vec<Stage>,
    /// Bounds of each importance before its absolute value is taken.
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    /// How far rounding can move each importance.
    slack: Vec<f64>,
    /// Ranges of the features' values, where importances are multiplied by them.
    values: Option<(Vec<f64>, Vec<f64>)>,
}

/// A gradient is gathered.
struct Gather<'a, 'p> {
    case: &'a Case<'a>,
    node: &'p Node,
    paths: &'p Paths,
    radius: f64,
}

impl<'a> VectorLoop for Gather<'a, '_> {
    type Output = Gradient<'a>;

    #[inline(always)]
    fn run(self) -> Gradient<'a> {
        Gradient::gather(self.case, self.node, self.paths, self.radius)
    }
}

impl<'a> Gradient<'a> {
    pub(super) fn new(case: &'a Case<'a>, node: &Node, paths: &Paths, radius: f64) -> Self {
        vectorised(Gather {
            case,
            node,
            paths,
            radius,
        })
    }

    #[inline(always)]
    fn gather(case: &'a Case<'a>, node: &Node, paths: &Paths, radius: f64) -> Self {
        let explained = case.explained;
        let features = case.network.features();
        let depth = case.depth();
        let seed = &explained.seed;
        let (behind_low, behind_high) = behind(case, node);
        let mut known = vec![0.0; features];
        match paths.0.last() {
            None => known.copy_from_slice(seed),
            Some(ways) => {
                let gates = &node.gates[case.starts[depth - 1]..];
                for ((ways, gate), seed) in ways.chunks(features).zip(gates).zip(seed) {
                    if gate.is_open() {
                        add_scaled(&mut known, *seed, ways);
                    }
                }
            }
        }
        let free: Vec<usize> = (0..node.gates.len())
            .filter(|neuron| node.gates[*neuron] == Gate::Free)
            .collect();
        let importances = explained.importances(features);
        let mut weights = vec![0.0; importances * free.len()];
        for (place, &neuron) in free.iter().enumerate() {
            let layer = case.starts.partition_point(|start| *start <= neuron) - 1;
            let ways = &paths.0[layer][(neuron - case.starts[layer]) * features..][..features];
            if explained.groups.is_none() {
                for (importance, way) in ways.iter().enumerate() {
                    weights[importance * free.len() + place] = *way;
                }
            } else {
                let sums = explained.of_features(ways, |_, way| way);
                for (importance, sum) in sums.iter().enumerate() {
                    weights[importance * free.len() + place] = *sum;
                }
            }
        }
        let values = explained.times_input.then(|| {
            let range = |feature: usize, sign: f64| {
                let (low, high) = (case.moves.low[feature], case.moves.high[feature]);
                case.x[feature] + (sign * radius).clamp(low, high)
            };
            let all = 0..features;
            (
                all.clone().map(|feature| range(feature, -1.0)).collect(),
                all.map(|feature| range(feature, 1.0)).collect(),
            )
        });
        let mut gradient = Self {
            case,
            known: explained.of_features(&known, |_, value| value),
            weights,
            behind_low: free.iter().map(|neuron| behind_low[*neuron]).collect(),
            behind_high: free.iter().map(|neuron| behind_high[*neuron]).collect(),
            free,
            stages: Vec::new(),
            low: Vec::new(),
            high: Vec::new(),
            slack: case.slack.importance.at(node.margins),
            values,
        };
        gradient.bound_importances();
        if depth > 1 && !gradient.free.is_empty() {
            gradient.stages = stages(case, node, &gradient.free);
        }
        gradient
    }

    #[inline(always)]
    fn weights_of(&self, importance: usize) -> &[f64] {
        &self.weights[importance * self.free.len()..][..self.free.len()]
    }

    #[inline(always)]
    fn bound_importances(&mut self) {
        for importance in 0..self.known.len() {
            let (mut low, mut high) = (self.known[importance], self.known[importance]);
            let behind = self.behind_low.iter().zip(&self.behind_high);
            for (weight, (from, to)) in self.weights_of(importance).iter().zip(behind) {
                let (a, b) = (weight * from, weight * to);
                low += lesser(lesser(a, b), 0.0);
                high -= lesser(lesser(-a, -b), 0.0);
            }
            if let Some((from, to)) = &self.values {
                let corners = [low, high]
                    .map(|bound| [bound * from[importance], bound * to[importance]])
                    .concat();
                low = corners.iter().copied().fold(f64::INFINITY, f64::min);
                high = corners.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            }
            self.low.push(low);
            self.high.push(high);
        }
    }

    /// The importances, where all gates are decided and no value counts: bounds that are one number.
    #[inline(always)]
    fn least_absolute(&self, importance: usize) -> f64 {
        let (low, high) = (self.low[importance], self.high[importance]);
        if !self.case.explained.absolute || low > 0.0 {
            low
        } else if high < 0.0 {
            -high
        } else {
            0.0
        }
    }

    #[inline(always)]
    fn most_absolute(&self, importance: usize) -> f64 {
        let (low, high) = (self.low[importance], self.high[importance]);
        if self.case.explained.absolute {
            high.max(-low)
        } else {
            high
        }
    }

    /// By how much a salient importance must be ahead of another for the deployed model to see it so.
    #[inline(always)]
    pub(super) fn needed(&self, salient: usize, other: usize) -> f64 {
        self.slack[salient] + self.slack[other]
    }

    /// The forms that keep a pair in order.
    #[inline(always)]
    fn forms(&self, salient: usize, other: usize) -> ([Form; 2], usize) {
        let form = |alpha: f64, beta: f64| Form {
            salient,
            other,
            alpha,
            beta,
        };
        if self.case.explained.absolute {
            let is_positive = self.low[salient] + self.high[salient] >= 0.0;
            let alpha = if is_positive { 1.0 } else { -1.0 };
            ([form(alpha, 1.0), form(alpha, -1.0)], 2)
        } else {
            ([form(1.0, -1.0); 2], 1)
        }
    }

    /// The same as a list.
    pub(super) fn forms_of(&self, salient: usize, other: usize) -> impl Iterator<Item = Form> {
        let (forms, count) = self.forms(salient, other);
        forms.into_iter().take(count)
    }

    /// An importance's gradient, over ways through open gates alone.
    pub(super) fn known_of(&self, importance: usize) -> f64 {
        self.known[importance]
    }

    /// Whether the pair keeps its order by the bounds of its importances alone.
    #[inline(always)]
    pub(super) fn is_apart(&self, salient: usize, other: usize) -> bool {
        let ahead = self.least_absolute(salient) - self.most_absolute(other);
        ahead > self.needed(salient, other)
    }

    /// The lower one of the pair's forms and its bound.
    #[inline(always)]
    pub(super) fn weakest(&self, salient: usize, other: usize, chords: bool) -> (f64, Form) {
        let (forms, count) = self.forms(salient, other);
        let mut weakest = (f64::INFINITY, forms[0]);
        for form in &forms[..count] {
            let bound = self.bound(form, chords);
            if bound < weakest.0 {
                weakest = (bound, *form);
            }
        }
        weakest
    }

    /// A lower bound of a form.
    #[inline(always)]
    pub(super) fn bound(&self, form: &Form, chords: bool) -> f64 {
        let Some((from, to)) = &self.values else {
            return self.bound_weighted(form, form.alpha, form.beta, chords);
        };
        let mut least = f64::INFINITY;
        for own in [from[form.salient], to[form.salient]] {
            for other in [from[form.other], to[form.other]] {
                let (alpha, beta) = (form.alpha * own, form.beta * other);
                least = least.min(self.bound_weighted(form, alpha, beta, chords));
            }
        }
        least
    }

    #[inline(always)]
    fn bound_weighted(&self, form: &Form, alpha: f64, beta: f64, chords: bool) -> f64 {
        let known = alpha * self.known[form.salient] + beta * self.known[form.other];
        let own = self.weights_of(form.salient);
        let other = self.weights_of(form.other);
        let behind = [&self.behind_low[..], &self.behind_high[..]];
        let plain = known + gate_by_gate([own, other], [alpha, beta], behind);
        if !chords || self.stages.is_empty() || plain > self.needed(form.salient, form.other) {
            return plain;
        }
        let with_chords = WithChords {
            gradient: self,
            own,
            other,
            alpha,
            beta,
            known,
        };
        plain.max(with_chords.bound())
    }

    /// The free gate to split for a form: the one with the largest part in it, rather one that can hardly move past its kink.
    pub(super) fn gate_to_split(&self, form: &Form, node: &Node) -> Option<usize> {
        let (alpha, beta) = match &self.values {
            None => (form.alpha, form.beta),
            Some((from, to)) => (
                form.alpha * f64::midpoint(from[form.salient], to[form.salient]),
                form.beta * f64::midpoint(from[form.other], to[form.other]),
            ),
        };
        let own = self.weights_of(form.salient);
        let other = self.weights_of(form.other);
        let weight = |gate: usize| (alpha * own[gate] + beta * other[gate]).abs();
        let mut best: Option<(f64, usize)> = None;
        for (gate, &neuron) in self.free.iter().enumerate() {
            let mut part = weight(gate);
            let layer = self.case.starts.partition_point(|start| *start <= neuron) - 1;
            if let Some(below) = layer.checked_sub(1) {
                let map = &self.case.network.hidden[layer];
                let row = map.row(neuron - self.case.starts[layer]);
                let range = self.case.starts[below]..self.case.starts[layer];
                for (place, before) in self.free.iter().enumerate() {
                    if range.contains(before) {
                        part += (weight(place) * row[before - range.start]).abs();
                    }
                }
            }
            let behind = self.behind_low[gate]
                .abs()
                .max(self.behind_high[gate].abs());
            let worth = part * behind * preference(layer, node.low[neuron], node.high[neuron]);
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, neuron));
            }
        }
        best.map(|(_, neuron)| neuron)
    }
}

/// What the ways of a form through each free gate add at least, each gate on its own: from the weights of both importances up to the gates, the
/// form's factors and the bounds of what lies behind the gates.
#[inline(always)]
fn gate_by_gate(
    [own, other]: [&[f64]; 2],
    [alpha, beta]: [f64; 2],
    [low, high]: [&[f64]; 2],
) -> f64 {
    let count = own.len();
    // So that no place is checked in the loop.
    let (other, low, high) = (&other[..count], &low[..count], &high[..count]);
    sum_of(count, |gate| {
        let weight = alpha * own[gate] + beta * other[gate];
        lesser(lesser(weight * low[gate], weight * high[gate]), 0.0)
    })
}

/// The bound of a form by chords.
struct WithChords<'g, 'a> {
    gradient: &'g Gradient<'a>,
    /// Weights of both importances up to the free gates.
    own: &'g [f64],
    other: &'g [f64],
    alpha: f64,
    beta: f64,
    /// The form over ways through open gates alone.
    known: f64,
}

impl WithChords<'_, '_> {
    #[inline(always)]
    fn bound(self) -> f64 {
        let stages = &self.gradient.stages;
        let mut sum = self.known;
        let mut carried: Vec<f64> = Vec::new();
        for (layer, stage) in stages.iter().enumerate() {
            let is_last = layer + 1 == stages.len();
            let width = stage.carried;
            let mut next = Vec::new();
            // The first layer's open gates carry nothing that is not known.
            if is_last {
                sum += dot(&stage.to_open, &carried);
            } else {
                next.reserve_exact(stage.open + stage.free);
                for place in 0..stage.open {
                    next.push(dot(&stage.to_open[place * width..][..width], &carried));
                }
            }
            for place in 0..stage.free {
                let gate = stage.first + place;
                let extra = dot(&stage.to_free[place * width..][..width], &carried);
                let weight = self.alpha * self.own[gate] + self.beta * self.other[gate] + extra;
                let (low, high) = (
                    self.gradient.behind_low[gate],
                    self.gradient.behind_high[gate],
                );
                let (at_low, at_high) = (lesser(weight * low, 0.0), lesser(weight * high, 0.0));
                if is_last || high <= low {
                    sum += at_low;
                    if !is_last {
                        next.push(0.0);
                    }
                    continue;
                }
                let most = weight.abs();
                let slope = ((at_high - at_low) / (high - low)).clamp(-most, most);
                sum += at_low - slope * low;
                next.push(slope);
            }
            carried = next;
        }
        sum
    }
}

/// How much rather a gate is split than another of the same part. A gate whose kink is at the edge of the part cuts it into a
/// large piece, in which the gate is decided for good, and a small one that is soon empty.
fn preference(layer: usize, low: f64, high: f64) -> f64 {
    /// Keeps the preference finite.
    const EDGE: f64 = 0.05;
    /// Gates behind the first layer cut less sharply: their half-spaces are bounds, not kinks.
    const BEHIND: f64 = 0.5;
    if layer > 0 {
        return BEHIND;
    }
    1.0 / (EDGE + (-low).min(high).max(0.0) / (high - low))
}

/// Bounds of the sum over the ways from behind each neuron to the output.
#[inline(always)]
fn behind(case: &Case<'_>, node: &Node) -> (Vec<f64>, Vec<f64>) {
    let neurons = node.gates.len();
    let (mut low, mut high) = (vec![0.0; neurons], vec![0.0; neurons]);
    let depth = case.depth();
    if depth == 0 {
        return (low, high);
    }
    let last = case.starts[depth - 1];
    low[last..].copy_from_slice(&case.explained.seed);
    high[last..].copy_from_slice(&case.explained.seed);
    for layer in (0..depth - 1).rev() {
        let (start, above) = (case.starts[layer], case.starts[layer + 1]);
        let map = &case.network.hidden[layer + 1];
        for (neuron, row) in map.rows().enumerate() {
            let gate = node.gates[above + neuron];
            if gate.is_closed() {
                continue;
            }
            let (mut from, mut to) = (low[above + neuron], high[above + neuron]);
            if gate == Gate::Free {
                (from, to) = (from.min(0.0), to.max(0.0));
            }
            for (place, weight) in row.iter().enumerate() {
                let (a, b) = (weight * from, weight * to);
                low[start + place] += a.min(b);
                high[start + place] += a.max(b);
            }
        }
    }
    (low, high)
}

/// The layers' gates as chords see them.
#[inline(always)]
fn stages(case: &Case<'_>, node: &Node, free: &[usize]) -> Vec<Stage> {
    let depth = case.depth();
    let mut carriers: Vec<usize> = Vec::new();
    let mut all = Vec::with_capacity(depth);
    let mut first = 0;
    for layer in 0..depth {
        let (start, end) = (case.starts[layer], case.starts[layer + 1]);
        let count = free[first..]
            .iter()
            .take_while(|neuron| **neuron < end)
            .count();
        let own_free: Vec<usize> = free[first..first + count]
            .iter()
            .map(|neuron| neuron - start)
            .collect();
        let own_open: Vec<usize> = if layer == 0 {
            Vec::new()
        } else {
            (0..end - start)
                .filter(|neuron| node.gates[start + neuron].is_open())
                .collect()
        };
        let map = &case.network.hidden[layer];
        let gather = |neurons: &[usize]| -> Vec<f64> {
            let mut rows = Vec::with_capacity(neurons.len() * carriers.len());
            for &neuron in neurons {
                let row = map.row(neuron);
                rows.extend(carriers.iter().map(|carrier| row[*carrier]));
            }
            rows
        };
        let mut to_open = gather(&own_open);
        if layer + 1 == depth {
            let mut to_output = vec![0.0; carriers.len()];
            let rows = to_open.chunks(carriers.len().max(1));
            for (row, neuron) in rows.zip(&own_open) {
                add_scaled(&mut to_output, case.explained.seed[*neuron], row);
            }
            to_open = to_output;
        }
        all.push(Stage {
            first,
            free: count,
            to_open,
            to_free: gather(&own_free),
            carried: carriers.len(),
            open: own_open.len(),
        });
        carriers = own_open;
        carriers.extend(own_free);
        first += count;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::ball::{MoveNorm, Room};
    use super::super::explained::{Explained, Ranked};
    use super::super::layers::{Bounded, bound_layers};
    use super::super::network::{DenseLayer, DenseNetwork};
    use super::super::rounding::Arithmetic;
    use super::super::tests::{free_moves, with_case};
    use super::*;

    #[test]
    fn gates_at_the_edge_of_a_part_are_split_first_and_later_layers_last() {
        // The kink cuts off a quarter, from either side; or nothing.
        for (low, high) in [(-1.0, 3.0), (-3.0, 1.0)] {
            assert!((preference(0, low, high) - 1.0 / 0.3).abs() < 1e-12);
        }
        assert!((preference(0, 1.0, 3.0) - 20.0).abs() < 1e-12);
        assert!((preference(0, -2.0, 2.0) - 1.0 / 0.55).abs() < 1e-12);
        assert!((preference(1, -2.0, 2.0) - 0.5).abs() < 1e-12);
    }

    /// Runs something on the gradient around 0 of a network whose first layer is `max(0, -x0)` twice. Behind it the first neuron is open and takes the second of
    /// them, the other is free and takes their difference.
    fn with_gradient(run: impl FnOnce(&Gradient<'_>, &Node)) {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: 2,
        };
        let network = DenseNetwork {
            hidden: vec![
                layer(&[-1.0, 0.0, -1.0, 0.0], &[0.0, 0.0]),
                layer(&[0.0, 1.0, 1.0, -1.0], &[5.0, 0.0]),
            ],
            head: layer(&[1.0, 1.0, 0.0, 0.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, 0.5, 2, false);
        with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            let mut node = Node::root(case);
            let bounded = bound_layers(case, &mut node, 0.5, None, &mut Room::default());
            let Bounded::Paths(paths) = bounded else {
                panic!("the row itself is in the ball");
            };
            run(&Gradient::new(case, &node, &paths, 0.5), &node);
        });
    }

    #[test]
    fn chords_share_a_gate_behind_two_others_where_plain_bounds_count_it_twice() {
        with_gradient(|gradient, node| {
            assert_eq!(gradient.free, [0, 1, 3]);
            // Of the first either the free neuron comes through, of the second what is left of the open one.
            assert_eq!(gradient.behind_low, [0.0, 0.0, 1.0]);
            assert_eq!(gradient.behind_high, [1.0, 1.0, 1.0]);
            assert_eq!(gradient.weights_of(0), [-1.0, -1.0, 0.0]);
            assert_eq!((gradient.low[0], gradient.high[0]), (-2.0, 0.0));
            // Whether the free neuron is open or not, one of the two adds -1 at most.
            let form = Form {
                salient: 0,
                other: 1,
                alpha: 1.0,
                beta: 1.0,
            };
            assert_eq!(vec![gradient.bound(&form, false)], [-2.0]);
            assert_eq!(vec![gradient.bound(&form, true)], [-1.0]);
            // The sign is that of the larger part.
            let forms: Vec<(f64, f64)> = gradient
                .forms_of(0, 1)
                .map(|form| (form.alpha, form.beta))
                .collect();
            assert_eq!(forms, [(-1.0, 1.0), (-1.0, -1.0)]);
            // A gate of the first layer is split rather than the one behind.
            assert_eq!(gradient.gate_to_split(&form, node), Some(0));
        });
    }
}
