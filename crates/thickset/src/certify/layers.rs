//! Bounds of every pre-activation over a part of the search, layer by layer.
//!
//! A first-layer pre-activation is linear in the move. Behind it, each output is put between two lines of its own pre-activation
//! (CROWN; Zhang et al. 2018), and lines are put into lines down to the move. The least value of a line over the ball and the
//! part's half-spaces bounds the pre-activation, and a bound on one side of the kink decides the gate.
//!
//! On the way this gathers [`Paths`]: for each neuron that can be open, the sum over all ways up to it through open gates.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::rc::Rc;

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::ball::{Room, least};
use super::case::Case;
use super::explained::Scale;
use super::gate::{Gate, Relaxation};
use super::half_space::HalfSpace;
use super::node::Node;
use super::vector::{add_scaled, dot};

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
    vectorised(LayerByLayer {
        case,
        node,
        radius,
        aggregate,
        room,
    })
}

/// All layers of one part.
struct LayerByLayer<'a, 'p> {
    case: &'a Case<'a>,
    node: &'p mut Node,
    radius: f64,
    aggregate: Option<&'p HalfSpace>,
    room: &'p mut Room,
}

impl VectorLoop for LayerByLayer<'_, '_> {
    type Output = Bounded;

    #[inline(always)]
    fn run(self) -> Bounded {
        let Self {
            case,
            node,
            radius,
            aggregate,
            room,
        } = self;
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
    #[inline(always)]
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
    #[inline(always)]
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

    #[inline(always)]
    fn open_gates(&self, layer: usize, node: &Node) -> Vec<usize> {
        let gates = &node.gates[self.case.starts[layer]..self.case.starts[layer + 1]];
        let open = gates.iter().enumerate().filter(|(_, gate)| gate.is_open());
        open.map(|(neuron, _)| neuron).collect()
    }

    /// The lines of a layer's neurons; none for those known to be closed.
    #[inline(always)]
    fn lines(&self, layer: usize, node: &Node, ways: &[f64]) -> Vec<Option<Lines>> {
        let case = self.case;
        let start = case.starts[layer];
        let map = &case.network.hidden[layer];
        let mut all = Vec::with_capacity(map.bias.len());
        for (neuron, (weights, bias)) in map.rows().zip(&map.bias).enumerate() {
            if node.gates[start + neuron] == Gate::Closed {
                all.push(None);
                continue;
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
            all.push(Some(lines));
        }
        all
    }

    /// The same as [`Self::substitute`] twice; the open gates' part of both lines is one, and known already.
    #[inline(always)]
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
    #[inline(always)]
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
        if layer == 0 {
            // No layer lies before: what is read are the features themselves.
            constant += dot(&weights, case.x);
            weights = case
                .moving
                .iter()
                .map(|&feature| weights[feature])
                .collect();
        }
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
    #[inline(always)]
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
                let lines = TwoLines {
                    low: low_line,
                    low_offset,
                    negative_high: &negative,
                    high_offset,
                };
                let (mut low, mut high) = lines.bounds(case, radius, &cuts[..few], 1, room);
                low = low.max(self.low[neuron]);
                high = high.min(self.high[neuron]);
                if low < slack && high > -slack && cuts.len() > few {
                    let (tighter_low, tighter_high) =
                        lines.bounds(case, radius, &cuts, SWEEPS, room);
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

    #[inline(always)]
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
    #[inline(always)]
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

/// A line below a pre-activation, and the negative of one above it.
struct TwoLines<'l> {
    low: &'l [f64],
    low_offset: f64,
    negative_high: &'l [f64],
    high_offset: f64,
}

impl TwoLines<'_> {
    /// The least of the one and the most of the other over the ball and these half-spaces.
    #[inline(always)]
    fn bounds(
        &self,
        case: &Case<'_>,
        radius: f64,
        cuts: &[&HalfSpace],
        sweeps: usize,
        room: &mut Room,
    ) -> (f64, f64) {
        let norm = case.moves.norm;
        let low = least(norm, self.low, radius, cuts, sweeps, room);
        let high = least(norm, self.negative_high, radius, cuts, sweeps, room);
        (self.low_offset + low, self.high_offset - high)
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

#[cfg(test)]
mod tests {
    use super::super::ball::MoveNorm;
    use super::super::explained::{Explained, Ranked};
    use super::super::network::{DenseLayer, DenseNetwork};
    use super::super::rounding::Arithmetic;
    use super::super::tests::{free_moves, random_network, with_case};
    use super::*;
    use crate::Seed;

    /// The first layer is `x0 + 1` and `x1 + 0.1`, the second `2 max(0, .) - 3 max(0, .) - 0.25`, which is the margin where it is above zero.
    fn network() -> DenseNetwork {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        DenseNetwork {
            hidden: vec![
                layer(&[1.0, 0.0, 0.0, 1.0], &[1.0, 0.1]),
                layer(&[2.0, -3.0], &[-0.25]),
            ],
            head: layer(&[1.0, 0.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        }
    }

    const RADIUS: f64 = 0.5;

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (one, other) in found.iter().zip(expected) {
            assert!((one - other).abs() < 1e-9, "{found:?} {expected:?}");
        }
    }

    fn bounded(case: &Case<'_>, node: &mut Node) -> Vec<Vec<f64>> {
        match bound_layers(case, node, RADIUS, None, &mut Room::default()) {
            Bounded::Paths(paths) => paths.0,
            Bounded::Empty => panic!("the row itself is in the ball"),
        }
    }

    #[test]
    fn two_layers_are_bounded_as_on_paper() {
        // The second neuron lies in [-0.4, 0.6], below 0.6 z + 0.24 and above z. So the third is above 2 d0 - 1.8 d1 + 0.85 and below 2 d0 - 3 d1 + 1.45; by
        // intervals alone it is at most 3 - 0.25.
        let network = network();
        let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, RADIUS, 2, false);
        with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            let mut node = Node::root(case);
            let paths = bounded(case, &mut node);
            assert_eq!(node.gates, [Gate::Open, Gate::Free, Gate::Free]);
            let least = 0.85 - 0.5 * (4.0_f64 + 3.24).sqrt();
            assert_near(&node.low, &[0.5, -0.4, least]);
            assert_near(&node.high, &[1.5, 0.6, 2.75]);
            // Ways to the third lead through the first alone, which is open.
            assert_eq!(paths, [vec![1.0, 0.0, 0.0, 1.0], vec![2.0, 0.0]]);
            // The margin is below its chord, and above the third itself.
            let slope = 2.75 / (2.75 - least);
            let most = slope * (1.45 + 0.5 * 13.0_f64.sqrt()) - slope * least;
            assert_near(&[node.margins.0, node.margins.1], &[least, most]);
            assert!(node.class_cuts.is_empty() && node.cuts.is_empty());
        });
    }

    #[test]
    fn where_the_class_must_stay_its_margin_is_a_half_space() {
        let network = network();
        let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, RADIUS, 2, true);
        with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            let mut node = Node::root(case);
            bounded(case, &mut node);
            let slope = 2.75 / (2.75 - node.low[2]);
            let [cut] = &node.class_cuts[..] else {
                panic!("one margin")
            };
            assert_near(&cut.normal, &[2.0 * slope, -3.0 * slope]);
            assert_near(&[cut.offset], &[slope * (1.45 - node.low[2])]);
            // Only how large it can be matters.
            assert_near(&[node.margins.0], &[0.0]);
            assert!(node.margins.1 > 3.0);
        });
        // Of class 1 the margin is never above zero where the third neuron is open.
        let explained = Explained::new(&network, Ranked::Probability, 1).unwrap();
        with_case(&network, &explained, &moves, &[1.0, 0.0], 1, |case| {
            let mut node = Node::root(case);
            let empty = bound_layers(case, &mut node, 0.1, None, &mut Room::default());
            assert!(matches!(empty, Bounded::Empty));
        });
    }

    #[test]
    fn a_logit_needs_no_margins_unless_the_class_must_stay() {
        let network = network();
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        for hold in [false, true] {
            let moves = free_moves(MoveNorm::L2, RADIUS, 2, hold);
            with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
                let mut node = Node::root(case);
                bounded(case, &mut node);
                assert_eq!(node.margins.1 > 0.0, hold);
                assert_eq!(node.class_cuts.len(), usize::from(hold));
            });
        }
    }

    #[test]
    fn a_gate_behind_the_first_layer_is_split_at_its_lines() {
        let network = network();
        let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, RADIUS, 2, false);
        with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            let mut root = Node::root(case);
            bounded(case, &mut root);
            for (gate, normal, offset) in [
                (Gate::SplitOpen, [2.0, -3.0], 1.45),
                (Gate::SplitClosed, [-2.0, 1.8], -0.85),
            ] {
                let mut side = root.clone();
                split(case, &mut side, 2, gate);
                assert_eq!((side.gates[2], side.cuts[0].neuron), (gate, 2));
                let cut = |node: &Node| node.cuts[0].half_space.clone();
                assert_near(&cut(&side).normal, &normal);
                assert_near(&[cut(&side).offset], &[offset]);
                // Rounding widens it, to either side.
                assert!(cut(&side).offset > offset);
                // When the side is bounded its lines are found again; of the closed side tighter ones.
                bounded(case, &mut side);
                assert_near(&cut(&side).normal[..1], &normal[..1]);
                if gate == Gate::SplitOpen {
                    assert_near(&cut(&side).normal, &normal);
                    assert_near(&[cut(&side).offset], &[offset]);
                }
            }
            // On the first layer the half-space is that of the kink.
            let mut side = root.clone();
            split(case, &mut side, 1, Gate::SplitClosed);
            assert_eq!((side.gates[1], side.cuts.len()), (Gate::SplitClosed, 0));
            bounded(case, &mut side);
            // Without the second neuron the third is 2 d0 + 1.75, at least 3/4.
            assert_eq!(side.gates, [Gate::Open, Gate::SplitClosed, Gate::Open]);
            assert_near(&[side.low[2]], &[0.75]);
        });
    }

    #[test]
    fn a_side_that_no_move_reaches_is_empty() {
        let network = network();
        let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, RADIUS, 2, false);
        with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            // Within 0.14 the third neuron is above 0.9.
            let mut node = Node::root(case);
            node.gates[2] = Gate::SplitClosed;
            let empty = bound_layers(case, &mut node, 0.14, None, &mut Room::default());
            assert!(matches!(empty, Bounded::Empty));
            let mut node = Node::root(case);
            node.gates[2] = Gate::SplitOpen;
            let some = bound_layers(case, &mut node, 0.14, None, &mut Room::default());
            assert!(matches!(some, Bounded::Paths(_)));
        });
    }

    #[test]
    fn what_is_known_of_the_open_gates_gives_the_lines_of_every_gate_put_in() {
        let mut compared = 0;
        for number in 0..40 {
            let mut stream = Seed::new(31).stream_at("lines", number);
            let network = random_network(&[4, 6, 4, 2], &mut stream);
            let x: Vec<f64> = (0..4).map(|_| stream.normal()).collect();
            let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
            let mut moves = free_moves(MoveNorm::L2, RADIUS, 4, false);
            // One feature stays.
            (moves.low[1], moves.high[1]) = (0.0, 0.0);
            with_case(&network, &explained, &moves, &x, 1, |case| {
                let mut node = Node::root(case);
                let mut known = Known::new(case, &node);
                assert!(known.decide(0, &mut node, &[], RADIUS, None, &mut Room::default()));
                let mut sides = [Gate::SplitOpen, Gate::SplitClosed].into_iter().cycle();
                for gate in node.gates[..6].iter_mut().skip(1).step_by(2) {
                    if *gate == Gate::Free {
                        *gate = sides.next().unwrap();
                    }
                }
                known.relax(0, &node);
                let ways = known.ways(1, &node, Some(&network.hidden[0].weight));
                let map = &network.hidden[1];
                for (neuron, (row, bias)) in map.rows().zip(&map.bias).enumerate() {
                    let lines = known.second_layer(&node, row, *bias, &ways[neuron * 4..]);
                    let (low, low_offset) = known.substitute(1, row, *bias, false);
                    let (high, high_offset) = known.substitute(1, row, *bias, true);
                    assert_near(&lines.low, &low);
                    assert_near(&lines.high, &high);
                    assert_near(
                        &[lines.low_offset, lines.high_offset],
                        &[low_offset, high_offset],
                    );
                    compared += usize::from(lines.low != lines.high);
                }
            });
        }
        assert!(compared > 40, "{compared}");
    }

    #[test]
    fn no_move_takes_a_neuron_out_of_its_bounds_or_its_gate_to_the_other_side() {
        for number in 0..30 {
            let mut stream = Seed::new(37).stream_at("bounds", number);
            let network = random_network(&[3, 5, 4, 4, 2], &mut stream);
            let x: Vec<f64> = (0..3).map(|_| stream.normal()).collect();
            let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
            for norm in [MoveNorm::L2, MoveNorm::Linf] {
                let moves = free_moves(norm, RADIUS, 3, false);
                with_case(&network, &explained, &moves, &x, 1, |case| {
                    let mut node = Node::root(case);
                    bounded(case, &mut node);
                    for _ in 0..100 {
                        let d: Vec<f64> = (0..3).map(|_| stream.normal()).collect();
                        let size = norm.of(&d) / RADIUS;
                        let mut values: Vec<f64> =
                            x.iter().zip(&d).map(|(x, d)| x + d / size).collect();
                        let mut neuron = 0;
                        for layer in &network.hidden {
                            let rows = layer.rows().zip(&layer.bias);
                            let sums = rows.map(|(row, bias)| dot(row, &values) + bias);
                            let sums: Vec<f64> = sums.collect();
                            for sum in &sums {
                                assert!(node.low[neuron] <= *sum && *sum <= node.high[neuron]);
                                assert!(*sum >= 0.0 || node.gates[neuron] != Gate::Open);
                                assert!(*sum <= 0.0 || node.gates[neuron] != Gate::Closed);
                                neuron += 1;
                            }
                            values = sums.iter().map(|sum| sum.max(0.0)).collect();
                        }
                    }
                });
            }
        }
    }

    #[test]
    fn a_gate_is_decided_where_its_bounds_are_beyond_what_rounding_can_do() {
        // So coarse that a gate may open a hundredth beside its kink.
        let coarse = Arithmetic {
            unit: 1e-3,
            tiny: 1e-3,
        };
        let mut counts = [0, 0, 0];
        for step in -70..=70 {
            let mut network = network();
            network.arithmetic = coarse;
            network.hidden[0].bias = vec![f64::from(step) / 100.0 + 0.005, 0.1];
            let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
            let moves = free_moves(MoveNorm::L2, RADIUS, 2, false);
            with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
                let slack = case.slack.gate[0];
                assert!(slack > 5e-3);
                let mut node = Node::root(case);
                bounded(case, &mut node);
                let (low, high) = (node.low[0], node.high[0]);
                let gate = if low >= slack {
                    Gate::Open
                } else if high <= -slack {
                    Gate::Closed
                } else {
                    Gate::Free
                };
                assert_eq!(node.gates[0], gate, "{step}");
                counts[usize::from(gate == Gate::Open) + 2 * usize::from(gate == Gate::Closed)] +=
                    1;
            });
        }
        assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
    }

    #[test]
    fn margins_and_splits_are_wider_by_what_rounding_can_do() {
        let mut network = network();
        let of = |network: &DenseNetwork, gate: Gate| {
            let explained = Explained::new(network, Ranked::Probability, 0).unwrap();
            let moves = free_moves(MoveNorm::L2, 0.1, 2, false);
            // At 0.2 the first layer and the second are open, whatever rounding does.
            with_case(network, &explained, &moves, &[0.0, 0.2], 1, |case| {
                let mut node = Node::root(case);
                let paths = bound_layers(case, &mut node, 0.1, None, &mut Room::default());
                assert!(matches!(paths, Bounded::Paths(_)));
                let margins = node.margins;
                split(case, &mut node, 2, gate);
                let offset = node.cuts[0].half_space.offset;
                (margins, offset, case.slack.class[0], case.slack.gate[2])
            })
        };
        for gate in [Gate::SplitOpen, Gate::SplitClosed] {
            network.arithmetic = Arithmetic::DOUBLE;
            let (exact, sharp, ..) = of(&network, gate);
            network.arithmetic = Arithmetic {
                unit: 1e-4,
                tiny: 0.0,
            };
            let (margins, offset, class, slack) = of(&network, gate);
            assert!(class > 1e-4 && slack > 1e-4);
            assert_near(&[margins.1], &[exact.1 + class]);
            assert_near(&[offset], &[sharp + slack]);
        }
    }
}
