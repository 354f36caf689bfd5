//! Dense layers with `ReLU`, at most two of them hidden: for how long each gate is open on the ways to all moved rows.

use super::super::network::DenseNetwork;
use super::super::vector::{add_scaled, dot};
use super::move_set::MoveSet;
use super::{Bounds, PairBound, SLACK};
use crate::explain::contributions::score_weights;

/// A network and a class, with the reference that ways begin at.
pub(in super::super) struct Ways<'a> {
    network: &'a DenseNetwork,
    groups: &'a [Vec<usize>],
    reference: &'a [f64],
    /// Before the gates of the first layer, at the reference.
    start: Vec<f64>,
    /// The score's weights of the last hidden layer, or of the features where none is hidden.
    score: Vec<f64>,
}

/// From a least to a greatest number.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Half of its length.
    fn rest(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// A line in t by its values at 0 and 1.
#[derive(Clone, Copy, Debug)]
struct Line {
    at_0: f64,
    at_1: f64,
}

impl Line {
    fn at(self, t: f64) -> f64 {
        self.at_0 + t * (self.at_1 - self.at_0)
    }

    /// Where it reaches a level.
    fn reaches(self, level: f64) -> Option<f64> {
        let slope = self.at_1 - self.at_0;
        let t = (level - self.at_0) / slope;
        (slope != 0.0 && t > 0.0 && t < 1.0).then_some(t)
    }

    /// The share of `from..to` in which it is above a level.
    fn time_above(self, level: f64, from: f64, to: f64) -> f64 {
        let (a, b) = (self.at(from) - level, self.at(to) - level);
        let length = to - from;
        match (a > 0.0, b > 0.0) {
            (true, true) => length,
            (false, false) => 0.0,
            (true, false) => length * (a / (a - b)),
            (false, true) => length * (b / (b - a)),
        }
    }
}

/// A neuron before its gate, over all ways: between two lines, each widened by what rounding can do.
#[derive(Clone, Copy, Debug)]
struct Neuron {
    low: Line,
    high: Line,
    slack: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closed,
    Either,
}

impl Neuron {
    fn state(&self, t: f64) -> State {
        if self.low.at(t) > self.slack {
            State::Open
        } else if self.high.at(t) < -self.slack {
            State::Closed
        } else {
            State::Either
        }
    }

    /// The least and the greatest time in which it is open between two times.
    fn open_time(&self, from: f64, to: f64) -> Interval {
        Interval {
            low: self.low.time_above(self.slack, from, to),
            high: self.high.time_above(-self.slack, from, to),
        }
    }
}

impl<'a> Ways<'a> {
    /// `None` where more than two layers are hidden.
    pub(in super::super) fn new(
        network: &'a DenseNetwork,
        groups: &'a [Vec<usize>],
        reference: &'a [f64],
        class: usize,
    ) -> Option<Self> {
        if network.hidden.len() > 2 {
            return None;
        }
        let mut score = vec![0.0; network.head.inputs];
        for (row, weight) in network
            .head
            .rows()
            .zip(score_weights(class, network.classes()))
        {
            add_scaled(&mut score, weight, row);
        }
        let start = network.hidden.first().map_or_else(Vec::new, |layer| {
            let rows = layer.rows().zip(&layer.bias);
            rows.map(|(row, bias)| dot(row, reference) + bias).collect()
        });
        Some(Self {
            network,
            groups,
            reference,
            start,
            score,
        })
    }

    /// The first layer over all ways to the moves.
    fn first_layer(&self, set: &MoveSet<'_>) -> Vec<Neuron> {
        let Some(layer) = self.network.hidden.first() else {
            return Vec::new();
        };
        let rows = layer.rows().zip(&layer.bias).zip(&self.start);
        rows.map(|((row, bias), &start)| {
            let terms = || row.iter().copied().enumerate();
            let end = dot(row, set.x) + bias;
            let size = row.iter().zip(set.x.iter().zip(self.reference));
            let size: f64 = size.map(|(w, (x, b))| w.abs() * (x.abs() + b.abs())).sum();
            let line = |at_1: f64| Line { at_0: start, at_1 };
            Neuron {
                low: line(end - set.fall(terms())),
                high: line(end + set.rise(terms())),
                slack: SLACK * (size + bias.abs() + set.rise(terms()) + set.fall(terms())),
            }
        })
        .collect()
    }

    /// The mean adjoint of each neuron of the first layer: of the score, over all ways.
    fn adjoints(&self, set: &MoveSet<'_>) -> Vec<Interval> {
        let first = self.first_layer(set);
        if self.network.hidden.len() == 1 {
            return first
                .iter()
                .zip(&self.score)
                .map(|(neuron, &score)| {
                    let time = neuron.open_time(0.0, 1.0);
                    ordered(score * time.low, score * time.high)
                })
                .collect();
        }
        let mut times: Vec<f64> = first
            .iter()
            .flat_map(|neuron| {
                let low = neuron.low.reaches(neuron.slack);
                [low, neuron.high.reaches(-neuron.slack)]
            })
            .flatten()
            .chain([0.0, 1.0])
            .collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mut second = SecondLayer::new(self, set, &first);
        let mut sums = vec![Interval::default(); first.len()];
        for pair in times.windows(2) {
            second.add_between(pair[0], pair[1], &mut sums);
        }
        sums
    }
}

fn ordered(a: f64, b: f64) -> Interval {
    Interval {
        low: a.min(b),
        high: a.max(b),
    }
}

/// The second layer between two times at which gates of the first change.
struct SecondLayer<'s> {
    ways: &'s Ways<'s>,
    set: &'s MoveSet<'s>,
    first: &'s [Neuron],
    states: Vec<State>,
    /// Of each neuron: its weights of the features through the open gates.
    through: Vec<f64>,
    /// Its value through the open gates, at the reference and at the row.
    ends: Vec<[f64; 2]>,
    /// The ends of the first layer at the row.
    at_row: Vec<f64>,
}

impl<'s> SecondLayer<'s> {
    fn new(ways: &'s Ways<'s>, set: &'s MoveSet<'s>, first: &'s [Neuron]) -> Self {
        let [below, layer] = &ways.network.hidden[..] else {
            return Self {
                ways,
                set,
                first,
                states: Vec::new(),
                through: Vec::new(),
                ends: Vec::new(),
                at_row: Vec::new(),
            };
        };
        let rows = below.rows().zip(&below.bias);
        Self {
            ways,
            set,
            first,
            states: vec![State::Closed; first.len()],
            through: vec![0.0; layer.outputs() * below.inputs],
            ends: vec![[0.0; 2]; layer.outputs()],
            at_row: rows.map(|(row, bias)| dot(row, set.x) + bias).collect(),
        }
    }

    /// Opens and closes gates of the first layer as they are at a time.
    fn open_as_at(&mut self, t: f64) {
        let [below, layer] = &self.ways.network.hidden[..] else {
            return;
        };
        for (neuron, bounds) in self.first.iter().enumerate() {
            let state = bounds.state(t);
            let sign = match (self.states[neuron], state) {
                (State::Open, State::Open) => 0.0,
                (State::Open, _) => -1.0,
                (_, State::Open) => 1.0,
                _ => 0.0,
            };
            self.states[neuron] = state;
            if sign == 0.0 {
                continue;
            }
            let through = self.through.chunks_mut(below.inputs.max(1));
            for ((through, ends), row) in through.zip(&mut self.ends).zip(layer.rows()) {
                let weight = sign * row[neuron];
                add_scaled(through, weight, below.row(neuron));
                ends[0] += weight * self.ways.start[neuron];
                ends[1] += weight * self.at_row[neuron];
            }
        }
    }

    /// Adds what the time between these two adds to the adjoints of the first layer.
    fn add_between(&mut self, from: f64, to: f64, sums: &mut [Interval]) {
        self.open_as_at(f64::midpoint(from, to));
        let [below, layer] = &self.ways.network.hidden[..] else {
            return;
        };
        // How much of what is not decided may come through.
        let reach = |neuron: &Neuron| neuron.high.at(from).max(neuron.high.at(to)).max(0.0);
        let undecided: Vec<(usize, f64)> = self
            .first
            .iter()
            .enumerate()
            .filter(|(neuron, _)| self.states[*neuron] == State::Either)
            .map(|(neuron, bounds)| (neuron, reach(bounds) + bounds.slack))
            .collect();
        let sizes: Vec<f64> = self
            .first
            .iter()
            .map(|neuron| {
                let ends = [neuron.low.at_0, neuron.low.at_1, neuron.high.at_1];
                ends.into_iter()
                    .fold(0.0, |most, value| value.abs().max(most))
            })
            .collect();
        let through = self.through.chunks(below.inputs.max(1));
        let rows = layer.rows().zip(&layer.bias).zip(through.zip(&self.ends));
        let length = to - from;
        let times: Vec<Interval> = rows
            .map(|((row, bias), (through, ends))| {
                let terms = || through.iter().copied().enumerate();
                let (mut less, mut more) = (0.0, 0.0);
                for &(neuron, reach) in &undecided {
                    let part = row[neuron] * reach;
                    less += part.min(0.0);
                    more += part.max(0.0);
                }
                let size: f64 = row.iter().zip(&sizes).map(|(w, size)| w.abs() * size).sum();
                let line = |at_0: f64, at_1: f64| Line {
                    at_0: at_0 + bias,
                    at_1: at_1 + bias,
                };
                let low = line(ends[0] + less, ends[1] + less - self.set.fall(terms()));
                let high = line(ends[0] + more, ends[1] + more + self.set.rise(terms()));
                let neuron = Neuron {
                    low,
                    high,
                    slack: SLACK * (size + bias.abs()),
                };
                neuron.open_time(from, to)
            })
            .collect();
        let score = &self.ways.score;
        for (neuron, sum) in sums.iter_mut().enumerate() {
            let state = self.states[neuron];
            if state == State::Closed {
                continue;
            }
            // Of the neurons behind: those that are open all the time, and what the others may add.
            let (mut low, mut high, mut always) = (0.0, 0.0, 0.0);
            let (mut less, mut more) = (0.0, 0.0);
            for ((row, time), score) in layer.rows().zip(&times).zip(score) {
                let weight = score * row[neuron];
                let part = ordered(weight * time.low, weight * time.high);
                low += part.low;
                high += part.high;
                if time.low >= length {
                    always += weight;
                } else if time.high > 0.0 {
                    less += weight.min(0.0);
                    more += weight.max(0.0);
                }
            }
            if state == State::Open {
                sum.low += low;
                sum.high += high;
            } else {
                // It may be open at any of the moments.
                sum.low += length * f64::min(always + less, 0.0);
                sum.high += length * f64::max(always + more, 0.0);
            }
        }
    }
}

impl Bounds for Ways<'_> {
    fn bound(&self, set: &MoveSet<'_>) -> Box<dyn PairBound + '_> {
        let features = self.network.features();
        let adjoints = self.adjoints(set);
        let mut gradient = if adjoints.is_empty() {
            self.score.clone()
        } else {
            vec![0.0; features]
        };
        let mut rest = Vec::new();
        if let Some(layer) = self.network.hidden.first() {
            for (row, adjoint) in layer.rows().zip(&adjoints) {
                add_scaled(&mut gradient, adjoint.middle(), row);
                if adjoint.rest() > 0.0 {
                    rest.push((adjoint.rest(), row));
                }
            }
        }
        Box::new(OverWays::new(self, set, gradient, rest))
    }
}

/// Contributions with a mean gradient that is known but for what single neurons add.
struct OverWays<'w> {
    groups: &'w [Vec<usize>],
    /// Of each column: its contribution in the middle, and what was added up for it.
    middle: Vec<(f64, f64)>,
    /// Of each pair of columns, the most that a move takes: computed from these.
    gradient: Vec<f64>,
    /// Of each neuron that is not known: by how much, its values along each column's way, and the most these move.
    rest: Vec<(f64, Vec<(f64, f64)>)>,
    set: OwnedSet,
}

struct OwnedSet {
    norm: super::MoveNorm,
    radius: f64,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl OwnedSet {
    fn borrowed(&self) -> MoveSet<'_> {
        MoveSet {
            x: &[],
            norm: self.norm,
            radius: self.radius,
            low: &self.low,
            high: &self.high,
        }
    }
}

impl<'w> OverWays<'w> {
    fn new(
        ways: &'w Ways<'_>,
        set: &MoveSet<'_>,
        gradient: Vec<f64>,
        rest: Vec<(f64, &[f64])>,
    ) -> Self {
        let way: Vec<f64> = set
            .x
            .iter()
            .zip(ways.reference)
            .map(|(x, b)| x - b)
            .collect();
        let middle = ways.groups.iter().map(|group| {
            let parts = group
                .iter()
                .map(|&feature| gradient[feature] * way[feature]);
            let (sum, size) = parts.fold((0.0, 0.0), |(sum, size), part: f64| {
                (sum + part, size + part.abs())
            });
            (sum, size)
        });
        let rest = rest.into_iter().map(|(by, row)| {
            let columns = ways.groups.iter().map(|group| {
                let along = group.iter().map(|&feature| row[feature] * way[feature]);
                let terms = || group.iter().map(|&feature| (feature, row[feature]));
                (along.sum::<f64>(), set.fall(terms()).max(set.rise(terms())))
            });
            (by, columns.collect())
        });
        Self {
            groups: ways.groups,
            middle: middle.collect(),
            rest: rest.collect(),
            gradient,
            set: OwnedSet {
                norm: set.norm,
                radius: set.radius,
                low: set.low.to_vec(),
                high: set.high.to_vec(),
            },
        }
    }
}

impl PairBound for OverWays<'_> {
    fn least(&self, ahead: usize, behind: usize) -> f64 {
        let of = |column: usize, sign: f64| {
            let group = self.groups[column].iter();
            group.map(move |&feature| (feature, sign * self.gradient[feature]))
        };
        let falls = self
            .set
            .borrowed()
            .fall(of(ahead, 1.0).chain(of(behind, -1.0)));
        let (mut rest, mut size) = (0.0, falls);
        for (by, columns) in &self.rest {
            let ((a, a_moves), (b, b_moves)) = (columns[ahead], columns[behind]);
            rest += by * ((a - b).abs() + a_moves + b_moves);
        }
        size += self.middle[ahead].1 + self.middle[behind].1 + rest;
        self.middle[ahead].0 - self.middle[behind].0 - falls - rest - SLACK * size
    }
}
