//! Bounds of every pre-activation over a part of the search, layer by layer.
//!
//! A first-layer pre-activation is linear in the move. Behind it, each output is put between two lines of its own pre-activation
//! (CROWN; Zhang et al. 2018), and lines are put into lines down to the move. The least value of a line over the ball and the
//! part's half-spaces bounds the pre-activation, and a bound on one side of the kink decides the gate.
//!
//! On the way this gathers [`Paths`]: for each neuron that can be open, the sum over all ways up to it through open gates.

use std::rc::Rc;

use super::ball::{Room, least};
use super::case::Case;
use super::explained::Scale;
use super::gate::{Gate, Relaxation};
use super::half_space::HalfSpace;
use super::node::Node;
use super::vector::add_scaled;

/// `q.d + c` below and above one neuron's exact pre-activation.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    pub low: Vec<f64>,
    pub low_offset: f64,
    pub high: Vec<f64>,
    pub high_offset: f64,
}

/// Sums over the ways from each feature through open gates alone, `[neurons, features]` a layer.
pub(super) struct Paths(pub Vec<Vec<f64>>);

/// What came of bounding a part.
pub(super) enum Bounded {
    /// No move is in it.
    Empty,
    /// The node now says what is known.
    Paths(Paths),
}

/// Sweeps over all half-spaces of a part.
const SWEEPS: usize = 2;

/// Bounds all layers of the node over its half-spaces and the ball, decides gates and renews its cuts. `aggregate` is a half-space
/// that holds the part.
pub(super) fn bound_layers(
    case: &Case<'_>,
    node: &mut Node,
    radius: f64,
    aggregate: Option<&HalfSpace>,
    room: &mut Room,
) -> Bounded {
    let mut known = Known::new(case, node);
    let Some(paths) = known.run(node, radius, aggregate, room) else {
        return Bounded::Empty;
    };
    if !known.bound_margins(node, radius, aggregate, room) {
        return Bounded::Empty;
    }
    (node.low, node.high) = (Rc::new(known.low), Rc::new(known.high));
    Bounded::Paths(Paths(paths))
}

struct Known<'a> {
    case: &'a Case<'a>,
    low: Vec<f64>,
    high: Vec<f64>,
    /// Of the layers done.
    relaxations: Vec<Relaxation>,
}

impl<'a> Known<'a> {
    fn new(case: &'a Case<'a>, node: &Node) -> Self {
        Self {
            case,
            low: (*node.low).clone(),
            high: (*node.high).clone(),
            relaxations: Vec::with_capacity(node.gates.len()),
        }
    }

    /// Bounds layer after layer; `None` where nothing is left of the part.
    fn run(
        &mut self,
        node: &mut Node,
        radius: f64,
        aggregate: Option<&HalfSpace>,
        room: &mut Room,
    ) -> Option<Vec<Vec<f64>>> {
        let mut paths: Vec<Vec<f64>> = Vec::with_capacity(self.case.depth());
        for layer in 0..self.case.depth() {
            let ways = self.ways(layer, node, paths.last());
            let mut lines = Vec::new();
            if layer > 0 {
                lines = self.lines(layer, node, &ways);
                self.renew_cuts(layer, node, &lines);
            }
            if !self.decide(layer, node, &lines, radius, aggregate, room) {
                return None;
            }
            self.relax(layer, node);
            paths.push(ways);
        }
        Some(paths)
    }

    /// Sums over the ways to each neuron of a layer that is not closed, through the open gates of the layers before.
    fn ways(&self, layer: usize, node: &Node, below: Option<&Vec<f64>>) -> Vec<f64> {
        let map = &self.case.network.hidden[layer];
        let Some(below) = below else {
            return map.weight.clone();
        };
        let features = self.case.network.features();
        let mut ways = vec![0.0; map.outputs() * features];
        let gates = &node.gates[self.case.starts[layer]..];
        let open = self.open_gates(layer - 1, node);
        for ((out, row), gate) in ways.chunks_mut(features).zip(map.rows()).zip(gates) {
            if *gate == Gate::Closed {
                continue;
            }
            for &neuron in &open {
                add_scaled(out, row[neuron], &below[neuron * features..][..features]);
            }
        }
        ways
    }

    fn open_gates(&self, layer: usize, node: &Node) -> Vec<usize> {
        let gates = &node.gates[self.case.starts[layer]..self.case.starts[layer + 1]];
        let open = gates.iter().enumerate().filter(|(_, gate)| gate.is_open());
        open.map(|(neuron, _)| neuron).collect()
    }

    /// The lines of a layer's neurons; none for those known to be closed.
    fn lines(&self, layer: usize, node: &Node, ways: &[f64]) -> Vec<Option<Lines>> {
        let case = self.case;
        let start = case.starts[layer];
        let map = &case.network.hidden[layer];
        let all = map.rows().zip(&map.bias).enumerate();
        all.map(|(neuron, (weights, bias))| {
            if node.gates[start + neuron] == Gate::Closed {
                return None;
            }
            let mut lines = if layer == 1 {
                self.second_layer(node, weights, *bias, &ways[neuron * case.x.len()..])
            } else {
                let (low, low_offset) = self.substitute(layer, weights, *bias, false);
                let (high, high_offset) = self.substitute(layer, weights, *bias, true);
                Lines {
                    low,
                    low_offset,
                    high,
                    high_offset,
                }
            };
            let rounding = case.slack.line[start + neuron];
            lines.low_offset -= rounding;
            lines.high_offset += rounding;
            Some(lines)
        })
        .collect()
    }

    /// The same as [`Self::substitute`] twice; the open gates' part of both lines is one, and known already.
    fn second_layer(&self, node: &Node, weights: &[f64], bias: f64, ways: &[f64]) -> Lines {
        let case = self.case;
        let shared: Vec<f64> = case.moving.iter().map(|feature| ways[*feature]).collect();
        let mut lines = Lines {
            low: shared.clone(),
            low_offset: bias,
            high: shared,
            high_offset: bias,
        };
        for (neuron, (&weight, &gate)) in weights.iter().zip(&node.gates).enumerate() {
            if gate == Gate::Open {
                let at = weight * case.centre[neuron];
                lines.low_offset += at;
                lines.high_offset += at;
                continue;
            }
            if gate == Gate::Closed || weight == 0.0 {
                continue;
            }
            let relaxation = &self.relaxations[neuron];
            let (low_slope, low_offset) = relaxation.line(weight, false);
            let (high_slope, high_offset) = relaxation.line(weight, true);
            lines.low_offset += low_slope * case.centre[neuron] + low_offset;
            lines.high_offset += high_slope * case.centre[neuron] + high_offset;
            if !gate.is_open() {
                let normal = &case.open[neuron].normal;
                if low_slope != 0.0 {
                    add_scaled(&mut lines.low, low_slope, normal);
                }
                if high_slope != 0.0 {
                    add_scaled(&mut lines.high, high_slope, normal);
                }
            }
        }
        lines
    }

    /// The line in the move of `<weights, outputs of the layer before> + bias`, from below or from above. `layer` may be
    /// one past the last, for the head.
    fn substitute(
        &self,
        layer: usize,
        weights: &[f64],
        bias: f64,
        from_above: bool,
    ) -> (Vec<f64>, f64) {
        let case = self.case;
        let mut weights = weights.to_vec();
        let mut constant = bias;
        for below in (0..layer).rev() {
            let start = case.starts[below];
            let map = &case.network.hidden[below];
            let mut next = vec![
                0.0;
                if below == 0 {
                    case.dimensions()
                } else {
                    map.inputs
                }
            ];
            for (neuron, &weight) in weights.iter().enumerate() {
                if weight == 0.0 {
                    continue;
                }
                let (slope, offset) = self.relaxations[start + neuron].line(weight, from_above);
                constant += offset;
                if slope == 0.0 {
                    continue;
                }
                if below == 0 {
                    constant += slope * case.centre[neuron];
                    add_scaled(&mut next, slope, &case.open[neuron].normal);
                } else {
                    constant += slope * map.bias[neuron];
                    add_scaled(&mut next, slope, map.row(neuron));
                }
            }
            weights = next;
        }
        (weights, constant)
    }

    /// A gate that was split open lies where its upper line is not below the kink, and one split closed where its lower line is
    /// not above it.
    fn renew_cuts(&self, layer: usize, node: &mut Node, lines: &[Option<Lines>]) {
        let start = self.case.starts[layer];
        for cut in &mut node.cuts {
            let Some(Some(lines)) = cut
                .neuron
                .checked_sub(start)
                .and_then(|neuron| lines.get(neuron))
            else {
                continue;
            };
            let is_open = node.gates[cut.neuron] == Gate::SplitOpen;
            let slack = self.case.slack.gate[cut.neuron];
            cut.half_space = Rc::new(side(lines, is_open, slack));
        }
    }

    /// Bounds the layer and decides its gates; `false` where nothing is left of the part.
    fn decide(
        &mut self,
        layer: usize,
        node: &mut Node,
        lines: &[Option<Lines>],
        radius: f64,
        aggregate: Option<&HalfSpace>,
        room: &mut Room,
    ) -> bool {
        let case = self.case;
        let (start, end) = (case.starts[layer], case.starts[layer + 1]);
        let mut decided: Vec<(usize, Gate)> = Vec::new();
        {
            let mut cuts: Vec<&HalfSpace> = aggregate.into_iter().collect();
            let few = cuts.len();
            cuts.extend(node.half_spaces(case, radius));
            let mut negative = vec![0.0; case.dimensions()];
            for neuron in start..end {
                let gate = node.gates[neuron];
                // The bounds of a gate that was split matter to nobody on the first layer, where its half-space is exact.
                let is_asked = gate == Gate::Free
                    || (layer > 0 && matches!(gate, Gate::SplitOpen | Gate::SplitClosed));
                if !is_asked {
                    continue;
                }
                let (low_line, low_offset, high_line, high_offset) = if layer == 0 {
                    let (normal, rounding) = (&case.open[neuron].normal, case.slack.line[neuron]);
                    let at = case.centre[neuron];
                    (normal, at - rounding, normal, at + rounding)
                } else {
                    let Some(lines) = &lines[neuron - start] else {
                        continue;
                    };
                    (&lines.low, lines.low_offset, &lines.high, lines.high_offset)
                };
                for (negative, value) in negative.iter_mut().zip(high_line) {
                    *negative = -value;
                }
                let slack = case.slack.gate[neuron];
                let mut bounds = |cuts: &[&HalfSpace], sweeps: usize| {
                    let low = least(case.moves.norm, low_line, radius, cuts, sweeps, room);
                    let high = least(case.moves.norm, &negative, radius, cuts, sweeps, room);
                    (low_offset + low, high_offset - high)
                };
                let (mut low, mut high) = bounds(&cuts[..few], 1);
                low = low.max(self.low[neuron]);
                high = high.min(self.high[neuron]);
                if low < slack && high > -slack && cuts.len() > few {
                    let (tighter_low, tighter_high) = bounds(&cuts, SWEEPS);
                    low = low.max(tighter_low);
                    high = high.min(tighter_high);
                }
                (self.low[neuron], self.high[neuron]) = (low, high);
                // The bounds have their rounding taken off, so crossing each other they hold nothing.
                let is_empty = low > high
                    || (gate == Gate::SplitOpen && high < -slack)
                    || (gate == Gate::SplitClosed && low > slack);
                if is_empty {
                    return false;
                }
                if gate == Gate::Free {
                    if low >= slack {
                        decided.push((neuron, Gate::Open));
                    } else if high <= -slack {
                        decided.push((neuron, Gate::Closed));
                    }
                }
            }
        }
        for (neuron, gate) in decided {
            node.gates[neuron] = gate;
        }
        true
    }

    fn relax(&mut self, layer: usize, node: &Node) {
        for neuron in self.case.starts[layer]..self.case.starts[layer + 1] {
            self.relaxations.push(Relaxation::new(
                node.gates[neuron],
                self.low[neuron],
                self.high[neuron],
                self.case.slack.gate[neuron],
            ));
        }
    }

    /// Bounds the margins of the class and, where it must stay, adds where each can be above zero; `false` where one cannot.
    fn bound_margins(
        &self,
        node: &mut Node,
        radius: f64,
        aggregate: Option<&HalfSpace>,
        room: &mut Room,
    ) -> bool {
        let (case, hold) = (self.case, self.case.moves.hold);
        let norm = case.moves.norm;
        let cuts: Vec<&HalfSpace> = aggregate.into_iter().collect();
        node.class_cuts.clear();
        node.margins = (0.0, 0.0);
        if !hold && case.explained.scale == Scale::One {
            return true;
        }
        for (margin, &slack) in case.explained.margins.iter().zip(&case.slack.class) {
            let (line, offset) = self.substitute(case.depth(), &margin.weights, margin.bias, true);
            let negative: Vec<f64> = line.iter().map(|value| -value).collect();
            let most = offset + slack - least(norm, &negative, radius, &cuts, 1, room);
            node.margins.1 = node.margins.1.max(most);
            if hold {
                if most < 0.0 {
                    return false;
                }
                node.class_cuts
                    .push(Rc::new(HalfSpace::new(line, offset, slack)));
            } else {
                let (line, offset) =
                    self.substitute(case.depth(), &margin.weights, margin.bias, false);
                let least = offset - slack + least(norm, &line, radius, &cuts, 1, room);
                node.margins.0 = node.margins.0.min(least);
            }
        }
        true
    }
}

/// Where a gate can be open, or closed, by the neuron's lines.
fn side(lines: &Lines, is_open: bool, slack: f64) -> HalfSpace {
    if is_open {
        HalfSpace::new(lines.high.clone(), lines.high_offset, slack)
    } else {
        let normal = lines.low.iter().map(|value| -value).collect();
        HalfSpace::new(normal, -lines.low_offset, slack)
    }
}

/// Adds the cut of a gate that is about to be split, by what the node knows.
pub(super) fn split(case: &Case<'_>, node: &mut Node, neuron: usize, gate: Gate) {
    node.gates[neuron] = gate;
    let layer = case.starts.partition_point(|start| *start <= neuron) - 1;
    if layer == 0 {
        return;
    }
    let mut known = Known::new(case, node);
    for below in 0..layer {
        known.relax(below, node);
    }
    let map = &case.network.hidden[layer];
    let place = neuron - case.starts[layer];
    let is_open = gate == Gate::SplitOpen;
    let (line, offset) = known.substitute(layer, map.row(place), map.bias[place], is_open);
    let mut lines = Lines::default();
    let rounding = case.slack.line[neuron];
    if is_open {
        (lines.high, lines.high_offset) = (line, offset + rounding);
    } else {
        (lines.low, lines.low_offset) = (line, offset - rounding);
    }
    node.cuts.push(super::node::Cut {
        neuron,
        half_space: Rc::new(side(&lines, is_open, case.slack.gate[neuron])),
    });
}
