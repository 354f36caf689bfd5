//! Dense layers with `ReLU`, at most two of them hidden: for how long each gate is open on the ways to all moved rows.

use super::super::network::DenseNetwork;
use super::super::vector::{add_scaled, dot};
use super::gate_time::{Interval, Line, Neuron, State, adjoint, ordered};
use super::move_set::MoveSet;
use super::over_ways::OverWays;
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
            let behind = layer.rows().zip(&times).zip(score);
            let behind = behind.map(|((row, time), score)| (score * row[neuron], *time));
            let added = adjoint(self.states[neuron], length, behind).integral;
            sum.low += added.low;
            sum.high += added.high;
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
        Box::new(OverWays::new(
            self.groups,
            self.reference,
            set,
            gradient,
            rest,
        ))
    }
}
