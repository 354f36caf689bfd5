//! The second layer behind the pieces.

use super::super::super::network::DenseLayer;
use super::super::SLACK;
use super::super::gate_time::{Added, Interval, Line, Neuron, State, adjoint};
use super::super::pieces::Slopes;
use super::state;
use super::timed::{AtTime, Timed};

/// The second layer behind the pieces, through the gates of the first that are open.
pub(super) struct Behind<'t> {
    timed: &'t Timed<'t>,
    layer: &'t DenseLayer,
    states: Vec<State>,
    /// How its neurons move with the features through the open gates.
    slopes: Slopes,
}

impl<'t> Behind<'t> {
    pub(super) fn new(timed: &'t Timed<'t>, layer: &'t DenseLayer) -> Self {
        Self {
            timed,
            layer,
            states: vec![State::Closed; layer.inputs],
            slopes: timed.ways.pieces.slopes.zeros(layer.outputs()),
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
            for (slopes, first) in self.slopes.0.iter_mut().zip(&first.0) {
                for (slopes, first) in slopes.iter_mut().zip(first) {
                    let by = sign * first[neuron];
                    if by != 0.0 {
                        for (slope, row) in slopes.iter_mut().zip(self.layer.rows()) {
                            *slope += by * row[neuron];
                        }
                    }
                }
            }
        }
        self.states = states;
    }

    /// What the time between two adds to the adjoints of the first layer.
    pub(super) fn added(&mut self, first: &[Neuron], a: &AtTime, b: &AtTime) -> Vec<Added> {
        self.open(first.iter().map(state).collect());
        let (timed, outputs, length) = (self.timed, self.layer.outputs(), b.t - a.t);
        let moved = [a, b].map(|at| timed.moved(&self.slopes, outputs, at.t));
        let bent = timed.bent(&self.slopes, outputs, a.t, b.t);
        let times: Vec<Interval> = self
            .layer
            .rows()
            .zip(&self.layer.bias)
            .enumerate()
            .map(|(output, (row, bias))| {
                let (mut less, mut more, mut size) = (0.0, 0.0, bias.abs());
                let mut middle = [*bias; 2];
                for (place, (weight, neuron)) in row.iter().zip(first).enumerate() {
                    let reach = neuron.high.at_0.max(neuron.high.at_1).max(0.0) + neuron.slack;
                    match self.states[place] {
                        State::Closed => {}
                        State::Open => {
                            middle[0] += weight * a.middle[place];
                            middle[1] += weight * b.middle[place];
                        }
                        State::Either => {
                            less += (weight * reach).min(0.0);
                            more += (weight * reach).max(0.0);
                        }
                    }
                    size += weight.abs() * (reach + neuron.low.at_0.abs() + neuron.low.at_1.abs());
                }
                let line = |by: [f64; 2]| Line {
                    at_0: middle[0] + by[0],
                    at_1: middle[1] + by[1],
                };
                let (low, high) = (less - bent[output], more + bent[output]);
                let neuron = Neuron {
                    low: line([low - moved[0].0[output], low - moved[1].0[output]]),
                    high: line([high + moved[0].1[output], high + moved[1].1[output]]),
                    slack: SLACK * size,
                };
                let time = neuron.open_time(0.0, 1.0);
                Interval {
                    low: time.low * length,
                    high: time.high * length,
                }
            })
            .collect();
        let score = &timed.ways.score;
        (0..first.len())
            .map(|neuron| {
                let behind = self.layer.rows().zip(&times).zip(score);
                let behind = behind.map(|((row, time), score)| (score * row[neuron], *time));
                adjoint(self.states[neuron], length, behind)
            })
            .collect()
    }
}
