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
use super::order::{Decided, decide_order, side};
use super::pairs::{Form, Gradient};
use super::projection::{Projection, Reach, project};
use super::swaps::OpenPairs;

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
    pub(super) fn run(mut self, most_nodes: usize) -> Searched {
        let depth_first = self.goal == Goal::Any;
        let radius = self.radius;
        let mut queue = BinaryHeap::new();
        queue.push(Queued {
            node: Node::root(self.case),
            depth_first,
        });
        let (mut nodes, mut number) = (0, 0);
        let mut splits = Vec::new();
        let mut is_finished = true;
        while let Some(Queued { mut node, .. }) = queue.pop() {
            if node.distance >= self.radius {
                if depth_first {
                    continue;
                }
                break;
            }
            if nodes == most_nodes {
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
                    if self.goal == Goal::Any && self.witness.is_some() {
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
                    [Gate::SplitOpen, Gate::SplitClosed].map(|gate| {
                        let mut side = node.clone();
                        split(self.case, &mut side, neuron, gate);
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
            nodes,
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
                return Outcome::Done;
            }
            node.distance = node.distance.max(start.at_least);
            let candidate: Vec<f64> = start.nearest.iter().map(|d| d * OVER).collect();
            if self.offer(&candidate) {
                if self.goal == Goal::Any {
                    return Outcome::Done;
                }
                if self.radius <= node.distance * (1.0 + TIGHT) {
                    self.reached = self.reached.min(node.distance);
                    return Outcome::Done;
                }
            }
            start.aggregate
        };
        let paths = match bound_layers(case, node, self.radius, aggregate.as_ref(), &mut self.room)
        {
            Bounded::Empty => return Outcome::Done,
            Bounded::Paths(paths) => paths,
        };
        // Behind a layer that is closed altogether every importance is zero, in any arithmetic, and ties decide.
        let is_zero = node.has_closed_layer(case);
        if is_zero && case.lost(&vec![0.0; case.salient.len() + case.others.len()]) < self.t {
            return Outcome::Done;
        }
        let gradient = Gradient::new(case, node, &paths, self.radius);
        if node.is_leaf() {
            return self.visit_leaf(node, &gradient);
        }
        match self.open_form(&gradient) {
            None => Outcome::Done,
            Some(form) => gradient
                .gate_to_split(&form, node)
                .map_or(Outcome::Done, Outcome::Gate),
        }
    }

    /// A form by which t features could still be swapped.
    fn open_form(&self, gradient: &Gradient<'_>) -> Option<Form> {
        let case = self.case;
        let mut edges: Vec<(f64, usize, usize)> = Vec::new();
        for (row, &salient) in case.salient.iter().enumerate() {
            for (column, &other) in case.others.iter().enumerate() {
                if gradient.is_apart(salient, other) {
                    continue;
                }
                let (bound, form) = gradient.weakest(salient, other, false);
                if bound <= gradient.needed(form.salient, form.other) {
                    edges.push((bound, row, column));
                }
            }
        }
        edges.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let columns = case.others.len();
        let mut sharpened: Vec<Option<(f64, bool, Form)>> =
            vec![None; case.salient.len() * columns];
        let mut sharper = |row: usize, column: usize| {
            *sharpened[row * columns + column].get_or_insert_with(|| {
                let (bound, form) = gradient.weakest(case.salient[row], case.others[column], true);
                let is_open = bound <= gradient.needed(form.salient, form.other);
                (bound, is_open, form)
            })
        };
        if self.t == 1 {
            // One open pair is enough: the most open one first.
            return edges.iter().find_map(|&(_, row, column)| {
                let (_, is_open, form) = sharper(row, column);
                is_open.then_some(form)
            });
        }
        let mut open = OpenPairs::new(case.salient.len(), case.others.len());
        for &(_, row, column) in &edges {
            open.open(row, column);
        }
        loop {
            let complete = open.complete(self.t)?;
            // One closed pair breaks it: the one that is nearest to closed first.
            let mut mildest: Option<(f64, Form)> = None;
            let mut is_broken = false;
            for &(_, row, column) in edges.iter().rev() {
                if !complete.has(row, column) {
                    continue;
                }
                let (bound, is_open, form) = sharper(row, column);
                if !is_open {
                    open.close(row, column);
                    is_broken = true;
                    break;
                }
                if mildest.is_none_or(|(most, _)| bound > most) {
                    mildest = Some((bound, form));
                }
            }
            if !is_broken {
                return mildest.map(|(_, form)| form);
            }
        }
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
        } else if self.open_form(gradient).is_none() {
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
