//! Branch and bound over the gates of the deployed model.
//!
//! A part of the search is dropped when no move of the ball is in it, or when its open pairs cannot swap t features. Else a
//! gate of the pair in question is split. Where all gates are decided the ranking is decided too, and what remains is a distance.
//! Counterexamples are points that the deployed model was run at.

use std::collections::BinaryHeap;
use std::rc::Rc;

use thickset_engine::interrupt;

use super::ball::{MoveNorm, Room, least};
use super::case::Case;
use super::gate::Gate;
use super::half_space::HalfSpace;
use super::layers::{Bounded, bound_layers, split};
use super::nearest_in_box;
use super::node::{Node, Queued};
use super::open_forms::OpenForms;
use super::order::{Decided, decide_order, side};
use super::pairs::{Form, Gradient};
use super::projection::{Projection, Reach, project};

/// A point where the deployed model's top-k set has changed.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub point: Vec<f64>,
    /// The size of the move to it.
    pub size: f64,
    /// Salient features lost.
    pub lost: usize,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// The nearest counterexample.
    Nearest,
    /// Any counterexample, or that there is none.
    Any,
    /// That there is no counterexample. The search is given up as soon as it cannot be finished.
    Proof,
}

/// What came of a search.
#[derive(Clone, Debug)]
pub(super) struct Searched {
    /// No counterexample is nearer than this; at most the radius searched.
    pub certified: f64,
    /// Whether the search came to its end. If so, there is no counterexample, or the nearest one is between `certified` and
    /// the witness.
    pub is_finished: bool,
    pub witness: Option<Witness>,
    pub nodes: usize,
    /// The gates that were split.
    pub splits: Vec<Split>,
}

/// A part of the search that was split at a gate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// Its number; that of the whole is 0.
    pub part: u64,
    pub gate: usize,
    /// The number of its open side; the closed side has the next.
    pub open_side: u64,
}

/// Sweeps of the projection that every part of the search begins with.
const FIRST_SWEEPS: usize = 40;

/// Sweeps of the projection that a distance rests on.
const LAST_SWEEPS: usize = 20_000;

/// How far over the nearest kink a candidate is taken.
const OVER: f64 = 1.0 + 1e-6;

/// A witness this near to the proved distance, as a share of it, ends the search of its part.
const TIGHT: f64 = 1e-5;

/// Where a point of a leaf is looked for: at the kinks themselves, clear of what rounding widens them by, then ever further inside.
/// Widenings and lengths to go in by.
const ATTEMPTS: [(f64, f64); 7] = [
    (1.0, 1e-9),
    (2.0, 1e-9),
    (2.0, 1e-7),
    (2.0, 1e-6),
    (2.0, 1e-5),
    (2.0, 1e-4),
    (2.0, 1e-3),
];

pub(super) struct Search<'a> {
    case: &'a Case<'a>,
    goal: Goal,
    /// Lost features that make a counterexample.
    t: usize,
    /// Moves up to this size are of interest; it shrinks to the nearest witness.
    radius: f64,
    /// The least distance of a part that holds, or may hold, a counterexample.
    reached: f64,
    witness: Option<Witness>,
    room: Room,
}

enum Outcome {
    /// Nothing in it, or nothing that matters.
    Done,
    /// Split this gate.
    Gate(usize),
    /// Split where these two importances change their order.
    Order(Form, [(bool, Rc<HalfSpace>); 2]),
}

impl<'a> Search<'a> {
    pub(super) fn new(case: &'a Case<'a>, goal: Goal, t: usize, radius: f64) -> Self {
        Self {
            case,
            goal,
            t,
            radius,
            reached: f64::INFINITY,
            witness: None,
            room: Room::default(),
        }
    }

    /// Searches at most so many parts.
    pub(super) fn run(self, most_nodes: usize) -> Searched {
        let root = Node::root(self.case);
        self.run_from(vec![root], 0, Vec::new(), most_nodes)
    }

    /// The same where these parts are left of a search that has visited so many others. Their numbers are in order.
    fn run_from(
        mut self,
        left: Vec<Node>,
        visited: usize,
        mut splits: Vec<Split>,
        most_nodes: usize,
    ) -> Searched {
        let depth_first = self.goal != Goal::Nearest;
        let radius = self.radius;
        let mut number = left.last().map_or(0, |node| node.number);
        let mut queue: BinaryHeap<Queued> = left
            .into_iter()
            .map(|node| Queued { node, depth_first })
            .collect();
        let mut nodes = visited;
        let mut is_finished = true;
        while let Some(Queued { mut node, .. }) = queue.pop() {
            if node.distance >= self.radius {
                if depth_first {
                    continue;
                }
                break;
            }
            let is_given_up = self.goal == Goal::Proof && nodes + queue.len() >= most_nodes;
            if nodes == most_nodes || is_given_up {
                // In order of distance, the rest is not nearer; else nothing is known of it.
                self.reached = self
                    .reached
                    .min(if depth_first { 0.0 } else { node.distance });
                is_finished = false;
                break;
            }
            nodes += 1;
            interrupt::check();
            let sides: [(Node, u64); 2] = match self.visit(&mut node) {
                Outcome::Done => {
                    if self.goal != Goal::Nearest && self.witness.is_some() {
                        break;
                    }
                    continue;
                }
                Outcome::Gate(neuron) => {
                    splits.push(Split {
                        part: node.number,
                        gate: neuron,
                        open_side: number + 1,
                    });
                    sides(self.case, &node, neuron).map(|side| {
                        number += 1;
                        (side, number)
                    })
                }
                Outcome::Order(form, sides) => sides.map(|(is_kept, half_space)| {
                    let mut side = node.clone();
                    side.orders.push((form, is_kept, half_space));
                    number += 1;
                    (side, number)
                }),
            };
            for (mut node, number) in sides {
                node.number = number;
                node.splits += 1;
                queue.push(Queued { node, depth_first });
            }
        }
        Searched {
            certified: self.reached.min(self.radius).min(radius),
            is_finished: is_finished
                && (self.goal == Goal::Nearest
                    || self.witness.is_some()
                    || self.reached.is_infinite()),
            witness: self.witness,
            nodes: nodes - visited,
            splits,
        }
    }

    fn reach(&self) -> Reach {
        Reach {
            dimensions: self.case.dimensions(),
            radius: self.radius,
        }
    }

    fn visit(&mut self, node: &mut Node) -> Outcome {
        let Some(gradient) = self.bound(node) else {
            return Outcome::Done;
        };
        if node.is_leaf() {
            return self.visit_leaf(node, &gradient);
        }
        match OpenForms::new(self.case, &gradient).lost(self.case, &gradient, self.t) {
            None => Outcome::Done,
            Some(form) => gradient
                .gate_to_split(&form, node)
                .map_or(Outcome::Done, Outcome::Gate),
        }
    }

    /// The gradient in a part, where there is something left to look for.
    fn bound(&mut self, node: &mut Node) -> Option<Gradient<'a>> {
        let case = self.case;
        let norm = case.moves.norm;
        let aggregate = {
            let cuts = node.half_spaces(case, self.radius);
            let start = project(norm, &cuts, self.reach(), FIRST_SWEEPS, self.radius, false);
            let zero = vec![0.0; case.dimensions()];
            let is_empty = start.at_least >= self.radius
                || (norm == MoveNorm::Linf
                    && least(
                        norm,
                        &zero,
                        self.radius,
                        &cuts,
                        FIRST_SWEEPS,
                        &mut self.room,
                    ) > 0.0);
            if is_empty {
                return None;
            }
            node.distance = node.distance.max(start.at_least);
            let candidate: Vec<f64> = start.nearest.iter().map(|d| d * OVER).collect();
            if self.offer(&candidate) {
                if self.goal != Goal::Nearest {
                    return None;
                }
                if self.radius <= node.distance * (1.0 + TIGHT) {
                    self.reached = self.reached.min(node.distance);
                    return None;
                }
            }
            start.aggregate
        };
        let paths = match bound_layers(case, node, self.radius, aggregate.as_ref(), &mut self.room)
        {
            Bounded::Empty => return None,
            Bounded::Paths(paths) => paths,
        };
        // Behind a layer that is closed altogether every importance is zero, in any arithmetic, and ties decide.
        let is_zero = node.has_closed_layer(case);
        if is_zero && case.lost(&vec![0.0; case.salient.len() + case.others.len()]) < self.t {
            return None;
        }
        Some(Gradient::new(case, node, &paths, self.radius))
    }

    /// All gates are decided.
    fn visit_leaf(&mut self, node: &Node, gradient: &Gradient<'_>) -> Outcome {
        let case = self.case;
        if case.explained.times_input {
            match decide_order(case, node, gradient, self.t, self.radius, &mut self.room) {
                Decided::Kept => return Outcome::Done,
                Decided::Swapped => {}
                Decided::Split(form) => {
                    let sides = [true, false]
                        .map(|is_kept| (is_kept, Rc::new(side(case, gradient, &form, is_kept))));
                    return Outcome::Order(form, sides);
                }
            }
        } else if OpenForms::new(case, gradient)
            .lost(case, gradient, self.t)
            .is_none()
        {
            return Outcome::Done;
        }
        let cuts = node.half_spaces(case, self.radius);
        let nearest = self.project_exactly(&cuts);
        if nearest.at_least >= self.radius {
            return Outcome::Done;
        }
        self.reached = self.reached.min(nearest.at_least.max(node.distance));
        for (widenings, inside) in ATTEMPTS {
            let shifted: Vec<HalfSpace> = cuts
                .iter()
                .map(|cut| {
                    let mut shifted = (*cut).clone();
                    if cut.widening > 0.0 {
                        shifted.offset -= widenings * cut.widening + inside * cut.length;
                    }
                    shifted
                })
                .collect();
            let shifted: Vec<&HalfSpace> = shifted.iter().collect();
            let found = self.project_exactly(&shifted);
            if found.at_least >= self.radius {
                break;
            }
            if self.offer(&found.nearest) {
                break;
            }
        }
        Outcome::Done
    }

    fn project_exactly(&self, cuts: &[&HalfSpace]) -> Projection {
        match self.case.moves.norm {
            MoveNorm::L2 => project(
                MoveNorm::L2,
                cuts,
                self.reach(),
                LAST_SWEEPS,
                self.radius,
                true,
            ),
            MoveNorm::Linf => nearest_in_box::project(cuts, self.reach()),
        }
    }

    /// Runs the models at the row moved by d; keeps the point if it is a counterexample nearer than all before.
    fn offer(&mut self, d: &[f64]) -> bool {
        let case = self.case;
        let point = case.moved(d);
        let Some(size) = case.size(&point).filter(|size| *size < self.radius) else {
            return false;
        };
        if case.lost_exactly(&point) < self.t {
            return false;
        }
        let lost = case.lost_deployed(&point);
        if lost < self.t {
            return false;
        }
        self.witness = Some(Witness { point, size, lost });
        if self.goal == Goal::Nearest {
            self.radius = size;
        }
        true
    }
}

/// Both sides of a gate, the open one first.
fn sides(case: &Case<'_>, node: &Node, neuron: usize) -> [Node; 2] {
    [Gate::SplitOpen, Gate::SplitClosed].map(|gate| {
        let mut side = node.clone();
        split(case, &mut side, neuron, gate);
        side
    })
}

/// The whole ball as one part, bounded once for every number of lost features that is asked about.
pub(super) struct Whole<'a> {
    case: &'a Case<'a>,
    node: Node,
    gradient: Gradient<'a>,
    open: OpenForms,
}

impl<'a> Whole<'a> {
    /// None where all gates are decided: such a ball is searched at once.
    pub(super) fn new(case: &'a Case<'a>) -> Option<Self> {
        let mut node = Node::root(case);
        let mut search = Search::new(case, Goal::Proof, 1, case.moves.radius);
        let gradient = search.bound(&mut node)?;
        let is_decided = node.is_leaf() || node.has_closed_layer(case);
        (!is_decided).then(|| Self {
            open: OpenForms::new(case, &gradient),
            case,
            node,
            gradient,
        })
    }

    /// The most features, of those numbers, that could be lost by these bounds; the least of them where none could.
    pub(super) fn most_lost(&mut self, least: usize, most: usize) -> usize {
        let (case, gradient) = (self.case, &self.gradient);
        (least + 1..=most)
            .rev()
            .find(|t| self.open.lost(case, gradient, *t).is_some())
            .unwrap_or(least)
    }

    /// Searches for a loss of t features in at most so many parts, beside the whole.
    pub(super) fn search(&mut self, goal: Goal, t: usize, most_nodes: usize) -> Searched {
        let (case, node) = (self.case, &self.node);
        let form = self.open.lost(case, &self.gradient, t);
        let gate = form.and_then(|form| self.gradient.gate_to_split(&form, node));
        let sides = gate.map(|gate| sides(case, node, gate));
        let left = sides
            .into_iter()
            .flatten()
            .zip(1..)
            .map(|(side, number)| Node {
                number,
                splits: node.splits + 1,
                ..side
            });
        let split = gate.map(|gate| Split {
            part: 0,
            gate,
            open_side: 1,
        });
        let search = Search::new(case, goal, t, case.moves.radius);
        let splits = split.into_iter().collect();
        search.run_from(left.collect(), 1, splits, most_nodes.saturating_add(1))
    }
}
