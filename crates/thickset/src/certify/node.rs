//! A part of the search: which gates are decided, by implication or by a split, and what is known there.

use std::cmp::Ordering;
use std::rc::Rc;

use super::case::Case;
use super::gate::Gate;
use super::half_space::HalfSpace;
use super::pairs::Form;

/// Where a gate behind the first layer was split: the linear bound that its side implies.
#[derive(Clone)]
pub(super) struct Cut {
    pub neuron: usize,
    pub half_space: Rc<HalfSpace>,
}

/// A part of the search. Neurons are counted through all hidden layers.
#[derive(Clone)]
pub(super) struct Node {
    /// No move of this part is shorter.
    pub distance: f64,
    pub splits: u32,
    /// In the order of creation, which breaks ties.
    pub number: u64,
    pub gates: Vec<Gate>,
    /// Bounds of the exact pre-activations.
    pub low: Rc<Vec<f64>>,
    pub high: Rc<Vec<f64>>,
    pub cuts: Vec<Cut>,
    /// Bounds of the class's margins, where they matter.
    pub margins: (f64, f64),
    /// Where the class can stay.
    pub class_cuts: Vec<Rc<HalfSpace>>,
    /// Forms that were split on, whether this is the side where the pair keeps its order, and that side.
    pub orders: Vec<(Form, bool, Rc<HalfSpace>)>,
}

impl Node {
    pub(super) fn root(case: &Case<'_>) -> Self {
        let neurons = case.network.neurons();
        Self {
            distance: 0.0,
            splits: 0,
            number: 0,
            gates: vec![Gate::Free; neurons],
            low: Rc::new(case.slack.low.clone()),
            high: Rc::new(case.slack.high.clone()),
            cuts: Vec::new(),
            margins: (0.0, 0.0),
            class_cuts: Vec::new(),
            orders: Vec::new(),
        }
    }

    /// Every half-space that this part lies in.
    pub(super) fn half_spaces<'n>(&'n self, case: &'n Case<'_>, radius: f64) -> Vec<&'n HalfSpace> {
        let bounds = case.bounds.iter().filter(|cut| cut.offset < radius);
        let mut all: Vec<&HalfSpace> = bounds.collect();
        for (neuron, (gate, open)) in self.gates.iter().zip(&case.open).enumerate() {
            match gate {
                Gate::SplitOpen => all.push(open),
                Gate::SplitClosed => all.push(case.closed(neuron)),
                _ => {}
            }
        }
        all.extend(self.cuts.iter().map(|cut| &*cut.half_space));
        all.extend(self.class_cuts.iter().map(|cut| &**cut));
        all.extend(self.orders.iter().map(|(.., cut)| &**cut));
        all
    }

    /// Whether no gate of some layer is open at any move of this part.
    pub(super) fn has_closed_layer(&self, case: &Case<'_>) -> bool {
        let mut layers = case.starts.windows(2);
        layers.any(|range| {
            self.gates[range[0]..range[1]]
                .iter()
                .all(|gate| gate.is_closed())
        })
    }

    /// Whether every gate is decided.
    pub(super) fn is_leaf(&self) -> bool {
        !self.gates.contains(&Gate::Free)
    }
}

/// A node in the queue. The first out is the nearest, then the most split, then the latest; or simply the latest.
pub(super) struct Queued {
    pub node: Node,
    pub depth_first: bool,
}

impl Ord for Queued {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (&self.node, &other.node);
        if self.depth_first {
            return a.number.cmp(&b.number);
        }
        b.distance
            .total_cmp(&a.distance)
            .then(a.splits.cmp(&b.splits))
            .then(a.number.cmp(&b.number))
    }
}

impl PartialOrd for Queued {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Queued {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Queued {}

#[cfg(test)]
mod tests {
    use super::super::ball::MoveNorm;
    use super::super::explained::{Explained, Ranked};
    use super::super::tests::{free_moves, random_network, with_case};
    use super::*;
    use crate::Seed;

    #[test]
    fn the_nearest_comes_first_then_the_most_split_then_the_latest() {
        let network = random_network(&[2, 3, 2], &mut Seed::new(1).stream("network"));
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let moves = free_moves(MoveNorm::L2, 1.0, 2, false);
        with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            let root = Node::root(case);
            let queued = |distance: f64, splits: u32, number: u64, depth_first: bool| Queued {
                node: Node {
                    distance,
                    splits,
                    number,
                    ..root.clone()
                },
                depth_first,
            };
            let first = |depth_first: bool| {
                let parts = [(0.5, 9, 3), (0.1, 1, 2), (0.1, 2, 1), (0.1, 2, 0)];
                let mut heap: std::collections::BinaryHeap<Queued> = parts
                    .into_iter()
                    .map(|(distance, splits, number)| queued(distance, splits, number, depth_first))
                    .collect();
                let mut order = Vec::new();
                while let Some(one) = heap.pop() {
                    order.push(one.node.number);
                }
                order
            };
            assert_eq!(first(false), [1, 0, 2, 3]);
            assert_eq!(first(true), [3, 2, 1, 0]);
            let one = || queued(0.1, 2, 3, false);
            assert!(one() == one() && one() != queued(0.1, 2, 4, false));
            assert!(one() < queued(0.0, 2, 3, false));
        });
    }

    #[test]
    fn a_part_lies_in_every_half_space_that_was_put_upon_it() {
        let network = random_network(&[2, 3, 2], &mut Seed::new(1).stream("network"));
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let mut moves = free_moves(MoveNorm::L2, 1.0, 2, false);
        (moves.low[0], moves.high[1]) = (-0.5, 0.25);
        with_case(&network, &explained, &moves, &[0.0, 0.0], 1, |case| {
            let mut node = Node::root(case);
            let offsets = |node: &Node, radius: f64| {
                let cuts = node.half_spaces(case, radius);
                cuts.iter().map(|cut| cut.offset).collect::<Vec<_>>()
            };
            // Limits beyond the radius say nothing.
            assert_eq!(offsets(&node, 1.0).len(), 2);
            assert_eq!(offsets(&node, 0.4).len(), 1);
            assert!(offsets(&node, 0.2).is_empty() && !node.is_leaf());
            node.gates = vec![Gate::SplitOpen, Gate::SplitClosed, Gate::Open];
            let expected = [case.open[0].offset, case.closed(1).offset];
            assert_eq!(offsets(&node, 0.2), expected);
            assert!(node.is_leaf() && !node.has_closed_layer(case));
            node.gates = vec![Gate::Closed, Gate::SplitClosed, Gate::Closed];
            assert!(node.has_closed_layer(case));
        });
    }
}
