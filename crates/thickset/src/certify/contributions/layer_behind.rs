//! The second hidden layer, and what it makes of the adjoints of the first one over some time.
//!
//! Every sum goes over the neurons of the second layer, ascending. What is done side by side are the neurons of the first.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::super::network::DenseLayer;
use super::gate_time::{Added, Interval, State};

/// A layer with its weights as ways need them.
pub(super) struct LayerBehind<'a> {
    pub(super) layer: &'a DenseLayer,
    /// Its weights, one neuron of the first layer after the other.
    by_first: Vec<f64>,
    /// Its weights times the score's, one of its own neurons after the other.
    scored: Vec<f64>,
}

impl<'a> LayerBehind<'a> {
    pub(super) fn new(layer: &'a DenseLayer, score: &[f64]) -> Self {
        let columns = (0..layer.inputs).flat_map(|first| layer.rows().map(move |row| row[first]));
        let rows = layer.rows().zip(score);
        let scored = rows.flat_map(|(row, score)| row.iter().map(move |weight| score * weight));
        Self {
            layer,
            by_first: columns.collect(),
            scored: scored.collect(),
        }
    }

    /// What each of its neurons takes of one neuron of the first layer.
    #[inline]
    pub(super) fn weights_of(&self, first: usize) -> &[f64] {
        let outputs = self.layer.outputs();
        &self.by_first[first * outputs..][..outputs]
    }
}

/// Sums over the layer behind, for each neuron of the first layer.
pub(super) struct Adjoints {
    /// The least and the greatest integral while the neuron itself is open.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Of those that are open all the time, and the least and the most that the others may add.
    always: Vec<f64>,
    less: Vec<f64>,
    more: Vec<f64>,
    length: f64,
}

impl Adjoints {
    pub(super) fn new(neurons: usize) -> Self {
        let zeros = || vec![0.0; neurons];
        Self {
            low: zeros(),
            high: zeros(),
            always: zeros(),
            less: zeros(),
            more: zeros(),
            length: 0.0,
        }
    }

    /// Sums over a time of this length, for so much of which each neuron of the layer behind is open.
    pub(super) fn sum(&mut self, behind: &LayerBehind<'_>, times: &[Interval], length: f64) {
        self.length = length;
        vectorised(Sum {
            adjoints: self,
            scored: &behind.scored,
            times,
        });
    }

    /// What that time adds to the adjoint of a neuron in this state.
    pub(super) fn added(&self, neuron: usize, state: State) -> Added {
        if state == State::Closed {
            return Added::default();
        }
        let least = self.always[neuron] + self.less[neuron];
        let most = self.always[neuron] + self.more[neuron];
        let integral = match state {
            State::Open => Interval {
                low: self.low[neuron],
                high: self.high[neuron],
            },
            // It may be open at any of the moments.
            _ => Interval {
                low: self.length * f64::min(least, 0.0),
                high: self.length * f64::max(most, 0.0),
            },
        };
        Added {
            integral,
            most: self.length * f64::max(least.abs(), most.abs()),
        }
    }
}

struct Sum<'a> {
    adjoints: &'a mut Adjoints,
    scored: &'a [f64],
    times: &'a [Interval],
}

impl VectorLoop for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Adjoints {
            low,
            high,
            always,
            less,
            more,
            length,
        } = self.adjoints;
        for sums in [&mut *low, high, always, less, more] {
            sums.fill(0.0);
        }
        let rows = self.scored.chunks_exact(low.len().max(1));
        // Those that are never open add nothing.
        for (row, time) in rows.zip(self.times).filter(|(_, time)| time.high > 0.0) {
            for ((low, high), weight) in low.iter_mut().zip(high.iter_mut()).zip(row) {
                let (a, b) = (weight * time.low, weight * time.high);
                *low += a.min(b);
                *high += a.max(b);
            }
            if time.low >= *length {
                for (always, weight) in always.iter_mut().zip(row) {
                    *always += weight;
                }
            } else {
                for ((less, more), weight) in less.iter_mut().zip(more.iter_mut()).zip(row) {
                    *less += weight.min(0.0);
                    *more += weight.max(0.0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjoint_is_least_where_what_it_takes_most_off_is_open_longest() {
        // One neuron in front of two, with weights 2 and -3, each open for a quarter to a half of the time.
        let layer = DenseLayer {
            weight: vec![2.0, -3.0],
            bias: vec![0.0, 0.0],
            inputs: 1,
        };
        let behind = LayerBehind::new(&layer, &[1.0, 1.0]);
        let time = Interval {
            low: 0.25,
            high: 0.5,
        };
        let mut adjoints = Adjoints::new(1);
        adjoints.sum(&behind, &[time, time], 1.0);
        let integral = adjoints.added(0, State::Open).integral;
        // 2/4 - 3/2 and 2/2 - 3/4.
        assert!((integral.low + 1.0).abs() < 1e-15, "{integral:?}");
        assert!((integral.high - 0.25).abs() < 1e-15, "{integral:?}");
    }

    #[test]
    fn what_a_time_adds_depends_on_what_is_open_all_of_it() {
        // Two neurons in front of three. The first behind is always open, the second never, the third for a part of the time of 2.
        let layer = DenseLayer {
            weight: vec![1.0, 2.0, 10.0, 20.0, -3.0, 4.0],
            bias: vec![0.0; 3],
            inputs: 2,
        };
        let behind = LayerBehind::new(&layer, &[5.0, 1.0, 2.0]);
        assert_eq!(behind.weights_of(0), [1.0, 10.0, -3.0]);
        assert_eq!(behind.weights_of(1), [2.0, 20.0, 4.0]);
        let times = [(2.0, 2.0), (0.0, 0.0), (0.5, 1.0)].map(|(low, high)| Interval { low, high });
        let mut adjoints = Adjoints::new(2);
        for _ in 0..2 {
            // Sums begin anew each time.
            adjoints.sum(&behind, &times, 2.0);
            let numbers = |neuron, state| {
                let added = adjoints.added(neuron, state);
                vec![added.integral.low, added.integral.high, added.most]
            };
            // 5 * 2, less 6 for 0.5 to 1; at any moment between 5 - 6 and 5.
            assert_eq!(numbers(0, State::Open), [10.0 - 6.0, 10.0 - 3.0, 10.0]);
            assert_eq!(numbers(0, State::Either), [-2.0, 10.0, 10.0]);
            assert_eq!(numbers(0, State::Closed), [0.0; 3]);
            assert_eq!(numbers(1, State::Open), [20.0 + 4.0, 20.0 + 8.0, 36.0]);
            assert_eq!(numbers(1, State::Either), [0.0, 36.0, 36.0]);
        }
    }
}
