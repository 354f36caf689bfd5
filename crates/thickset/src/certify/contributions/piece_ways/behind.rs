//! The second layer behind the pieces.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::super::super::vector::{add_scaled, dot};
use super::super::SLACK;
use super::super::gate_time::{Added, Interval, Line, Neuron, State};
use super::super::layer_behind::{Adjoints, LayerBehind};
use super::super::pieces::Slopes;
use super::state;
use super::timed::{AtTime, Timed};

/// The second layer behind the pieces, through the gates of the first that are open.
pub(super) struct Behind<'t> {
    timed: &'t Timed<'t>,
    second: &'t LayerBehind<'t>,
    /// Absolute weights, row by row.
    sizes: Vec<f64>,
    states: Vec<State>,
    /// How its neurons move through the open gates with the features that are felt.
    slopes: Slopes,
    felt: Vec<usize>,
    adjoints: Adjoints,
}

impl<'t> Behind<'t> {
    pub(super) fn new(timed: &'t Timed<'t>, second: &'t LayerBehind<'t>) -> Self {
        let felt = timed.active.iter().copied();
        let felt: Vec<usize> = felt.filter(|&feature| timed.is_felt(feature)).collect();
        let slopes = &timed.ways.pieces.slopes;
        Self {
            timed,
            second,
            sizes: second.layer.weight.iter().map(|one| one.abs()).collect(),
            states: vec![State::Closed; second.layer.inputs],
            slopes: slopes.zeros(second.layer.outputs(), &felt),
            felt,
            adjoints: Adjoints::new(second.layer.inputs),
        }
    }

    /// Opens and closes gates of the first layer.
    fn open(&mut self, states: Vec<State>) {
        let first = &self.timed.ways.pieces.slopes;
        for (neuron, (before, after)) in self.states.iter().zip(&states).enumerate() {
            let sign = match (*before == State::Open, *after == State::Open) {
                (false, true) => 1.0,
                (true, false) => -1.0,
                _ => continue,
            };
            let weights = self.second.weights_of(neuron);
            for &feature in &self.felt {
                let range = self.timed.all_pieces(feature);
                for piece in range.first..=range.last {
                    let by = sign * first.0[feature][piece][neuron];
                    if by != 0.0 {
                        add_scaled(&mut self.slopes.0[feature][piece], by, weights);
                    }
                }
            }
        }
        self.states = states;
    }

    /// What the time between two adds to the adjoints of the first layer.
    pub(super) fn added(&mut self, first: &[Neuron], a: &AtTime, b: &AtTime) -> Vec<Added> {
        self.open(first.iter().map(state).collect());
        let (timed, layer, length) = (self.timed, self.second.layer, b.t - a.t);
        let outputs = layer.outputs();
        let moved = [a, b].map(|at| timed.moved(&self.slopes, outputs, at.t));
        let bent = timed.bent(&self.slopes, outputs, a.t, b.t);
        // What comes through the open gates at both times, and how much may come through those that are not decided.
        let through = |at: &AtTime| -> Vec<f64> {
            let middle = at.middle.iter().zip(&self.states);
            let open =
                middle.map(|(value, state)| if *state == State::Open { *value } else { 0.0 });
            open.collect()
        };
        let through = [through(a), through(b)];
        let reach =
            |neuron: &Neuron| neuron.high.at_0.max(neuron.high.at_1).max(0.0) + neuron.slack;
        let (mut less, mut more) = (vec![0.0; outputs], vec![0.0; outputs]);
        for (place, neuron) in first.iter().enumerate() {
            if self.states[place] == State::Either {
                let reach = reach(neuron);
                let weights = self.second.weights_of(place);
                for ((less, more), weight) in less.iter_mut().zip(&mut more).zip(weights) {
                    *less += (weight * reach).min(0.0);
                    *more += (weight * reach).max(0.0);
                }
            }
        }
        let most = |neuron: &Neuron| reach(neuron) + neuron.low.at_0.abs() + neuron.low.at_1.abs();
        let most: Vec<f64> = first.iter().map(most).collect();
        let products = vectorised(Products {
            inputs: layer.inputs.max(1),
            weights: &layer.weight,
            sizes: &self.sizes,
            through: &through,
            most: &most,
        });
        let rows = products.into_iter().zip(&layer.bias).enumerate();
        let times: Vec<Interval> = rows
            .map(|(output, ((through, most), bias))| {
                let middle = through.map(|through| bias + through);
                let line = |by: [f64; 2]| Line {
                    at_0: middle[0] + by[0],
                    at_1: middle[1] + by[1],
                };
                let (low, high) = (less[output] - bent[output], more[output] + bent[output]);
                let neuron = Neuron {
                    low: line([low - moved[0].0[output], low - moved[1].0[output]]),
                    high: line([high + moved[0].1[output], high + moved[1].1[output]]),
                    slack: SLACK * (bias.abs() + most),
                };
                let time = neuron.open_time(0.0, 1.0);
                Interval {
                    low: time.low * length,
                    high: time.high * length,
                }
            })
            .collect();
        self.adjoints.sum(self.second, &times, length);
        let states = self.states.iter().enumerate();
        states
            .map(|(neuron, state)| self.adjoints.added(neuron, *state))
            .collect()
    }
}

/// What each neuron of the layer takes of the first layer at both times, and the most that is added up for it.
struct Products<'a> {
    inputs: usize,
    weights: &'a [f64],
    sizes: &'a [f64],
    through: &'a [Vec<f64>; 2],
    most: &'a [f64],
}

impl VectorLoop for Products<'_> {
    type Output = Vec<([f64; 2], f64)>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let [a, b] = self.through;
        let sizes = self.sizes.chunks(self.inputs);
        let rows = self.weights.chunks(self.inputs).zip(sizes);
        rows.map(|(row, sizes)| ([dot(row, a), dot(row, b)], dot(sizes, self.most)))
            .collect()
    }
}
