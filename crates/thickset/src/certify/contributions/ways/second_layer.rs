//! The second hidden layer on the ways to all moved rows, between two times at which gates of the first one change.
//!
//! Every sum has the order of the definition: over features, over neurons of the first layer or over those of the second, each
//! ascending. What is done side by side are the neurons that the sums belong to.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use super::super::super::vector::dot;
use super::super::gate_time::{Interval, Line, Neuron, State};
use super::super::layer_behind::{Adjoints, LayerBehind};
use super::super::move_set::MoveSet;
use super::super::{MoveNorm, SLACK};
use super::Ways;

pub(super) struct SecondLayer<'s> {
    ways: &'s Ways<'s>,
    behind: &'s LayerBehind<'s>,
    first: &'s [Neuron],
    states: Vec<State>,
    norm: MoveNorm,
    radius: f64,
    /// The features that can move, and how far down and up.
    moving: Vec<(usize, [f64; 2])>,
    /// For each feature that can move, the weight of it that each neuron has through the open gates.
    through: Vec<f64>,
    /// Each neuron's value through the open gates, at the reference and at the row.
    ends: [Vec<f64>; 2],
    /// What rounding can do to each neuron.
    slack: Vec<f64>,
    /// The ends of the first layer at the row.
    at_row: Vec<f64>,
    /// For each neuron what gates that are not decided may take from it and add to it.
    undecided: [Vec<f64>; 2],
    /// For each neuron the squares and the limited sizes of the weights along which it can fall, and rise.
    reach: [[Vec<f64>; 2]; 2],
    /// For how long each neuron is open.
    times: Vec<Interval>,
    adjoints: Adjoints,
}

impl<'s> SecondLayer<'s> {
    /// `None` where there is no second hidden layer.
    pub(super) fn new(ways: &'s Ways<'s>, set: &MoveSet<'_>, first: &'s [Neuron]) -> Option<Self> {
        let (below, behind) = (ways.network.hidden.first()?, ways.behind.as_ref()?);
        let layer = behind.layer;
        let sizes: Vec<f64> = first
            .iter()
            .map(|neuron| {
                let ends = [neuron.low.at_0, neuron.low.at_1, neuron.high.at_1];
                ends.into_iter()
                    .fold(0.0, |most, value| value.abs().max(most))
            })
            .collect();
        let slack = layer.rows().zip(&layer.bias).map(|(row, bias)| {
            let size: f64 = row.iter().zip(&sizes).map(|(w, size)| w.abs() * size).sum();
            SLACK * (size + bias.abs())
        });
        let moving: Vec<(usize, [f64; 2])> = set
            .moving()
            .map(|feature| (feature, [-set.low[feature], set.high[feature]]))
            .collect();
        let outputs = layer.outputs();
        let rows = below.rows().zip(&below.bias);
        let zeros = || vec![0.0; outputs];
        Some(Self {
            ways,
            behind,
            first,
            states: vec![State::Closed; first.len()],
            norm: set.norm,
            radius: set.radius,
            through: vec![0.0; moving.len() * outputs],
            moving,
            ends: [zeros(), zeros()],
            slack: slack.collect(),
            at_row: rows.map(|(row, bias)| dot(row, set.x) + bias).collect(),
            undecided: [zeros(), zeros()],
            reach: [[zeros(), zeros()], [zeros(), zeros()]],
            times: Vec::with_capacity(outputs),
            adjoints: Adjoints::new(first.len()),
        })
    }

    /// Adds what the time between these two adds to the adjoints of the first layer.
    pub(super) fn add_between(&mut self, from: f64, to: f64, sums: &mut [Interval]) {
        vectorised(OpenTimes {
            second: self,
            from,
            to,
        });
        self.adjoints.sum(self.behind, &self.times, to - from);
        for (neuron, sum) in sums.iter_mut().enumerate() {
            let added = self.adjoints.added(neuron, self.states[neuron]).integral;
            sum.low += added.low;
            sum.high += added.high;
        }
    }

    /// Opens and closes gates of the first layer as they are at a time.
    #[inline(always)]
    fn open_as_at(&mut self, t: f64) {
        let ways = self.ways;
        let Some(below) = ways.network.hidden.first() else {
            return;
        };
        let outputs = self.slack.len();
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
            let weights = self.behind.weights_of(neuron);
            let row = below.row(neuron);
            let through = self.through.chunks_exact_mut(outputs.max(1));
            for (through, (feature, _)) in through.zip(&self.moving) {
                let factor = row[*feature];
                for (through, weight) in through.iter_mut().zip(weights) {
                    *through += sign * weight * factor;
                }
            }
            let values = [ways.start[neuron], self.at_row[neuron]];
            for (ends, value) in self.ends.iter_mut().zip(values) {
                for (end, weight) in ends.iter_mut().zip(weights) {
                    *end += sign * weight * value;
                }
            }
        }
    }

    /// How much of what is not decided may come through, between two times.
    #[inline(always)]
    fn sum_undecided(&mut self, from: f64, to: f64) {
        let [less, more] = &mut self.undecided;
        less.fill(0.0);
        more.fill(0.0);
        for (neuron, bounds) in self.first.iter().enumerate() {
            if self.states[neuron] != State::Either {
                continue;
            }
            let reach = bounds.high.at(from).max(bounds.high.at(to)).max(0.0) + bounds.slack;
            let weights = self.behind.weights_of(neuron);
            for ((less, more), weight) in less.iter_mut().zip(more.iter_mut()).zip(weights) {
                let part = weight * reach;
                *less += part.min(0.0);
                *more += part.max(0.0);
            }
        }
    }

    /// How far moves take each neuron through the open gates.
    #[inline(always)]
    fn sum_moves(&mut self) {
        let outputs = self.slack.len();
        let [[fall_square, fall_size], [rise_square, rise_size]] = &mut self.reach;
        for sums in [&mut *fall_square, fall_size, rise_square, rise_size] {
            sums.fill(0.0);
        }
        let radius = self.radius;
        let through = self.through.chunks_exact(outputs.max(1));
        for (through, (_, [down, up])) in through.zip(&self.moving) {
            // A limit that allows no move leaves the sums as they are.
            let allowed = |limit: f64| if limit > 0.0 { 1.0 } else { 0.0 };
            let [down, up] = [*down, *up].map(|limit| (allowed(limit), limit.min(radius)));
            let falls = fall_square.iter_mut().zip(fall_size.iter_mut());
            let rises = rise_square.iter_mut().zip(rise_size.iter_mut());
            for ((q, fall), rise) in through.iter().zip(falls).zip(rises) {
                let (square, size) = (q * q, q.abs());
                let fall_by = if *q > 0.0 { down } else { up };
                let rise_by = if -*q > 0.0 { down } else { up };
                *fall.0 += square * fall_by.0;
                *fall.1 += size * fall_by.1 * fall_by.0;
                *rise.0 += square * rise_by.0;
                *rise.1 += size * rise_by.1 * rise_by.0;
            }
        }
    }

    /// The least and the greatest time in which a neuron is open between two times.
    #[inline(always)]
    fn open_time(&self, neuron: usize, bias: f64, from: f64, to: f64) -> Interval {
        let most = |[square, size]: &[Vec<f64>; 2]| match self.norm {
            MoveNorm::L2 => f64::min(size[neuron], self.radius * f64::sqrt(square[neuron])),
            MoveNorm::Linf => size[neuron],
        };
        let [fall, rise] = [most(&self.reach[0]), most(&self.reach[1])];
        let [less, more] = [self.undecided[0][neuron], self.undecided[1][neuron]];
        let [start, end] = [self.ends[0][neuron], self.ends[1][neuron]];
        let line = |at_0: f64, at_1: f64| Line {
            at_0: at_0 + bias,
            at_1: at_1 + bias,
        };
        let neuron = Neuron {
            low: line(start + less, end + less - fall),
            high: line(start + more, end + more + rise),
            slack: self.slack[neuron],
        };
        neuron.open_time(from, to)
    }
}

struct OpenTimes<'a, 's> {
    second: &'a mut SecondLayer<'s>,
    from: f64,
    to: f64,
}

impl VectorLoop for OpenTimes<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { second, from, to } = self;
        second.open_as_at(f64::midpoint(from, to));
        second.sum_undecided(from, to);
        second.sum_moves();
        let mut times = std::mem::take(&mut second.times);
        times.clear();
        let bias = second.behind.layer.bias.iter().enumerate();
        times.extend(bias.map(|(neuron, bias)| second.open_time(neuron, *bias, from, to)));
        second.times = times;
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::network::{DenseLayer, DenseNetwork};
    use super::super::super::super::rounding::Arithmetic;
    use super::*;

    #[test]
    fn what_rounding_can_add_comes_through_a_gate_that_is_not_decided() {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        let network = DenseNetwork {
            hidden: vec![layer(&[1.0], &[0.0]), layer(&[2.0], &[0.0])],
            head: layer(&[0.0, 1.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        };
        let groups = vec![vec![0]];
        let ways = Ways::new(&network, &groups, &[0.0], 1).unwrap();
        let set = MoveSet {
            x: &[1.0],
            norm: MoveNorm::Linf,
            radius: 0.1,
            low: &[-0.1],
            high: &[0.1],
        };
        let always = |value: f64| Line {
            at_0: value,
            at_1: value,
        };
        // Up to 1, or 1.5 by rounding, which counts twice.
        let first = [Neuron {
            low: always(-1.0),
            high: always(1.0),
            slack: 0.5,
        }];
        let mut second = SecondLayer::new(&ways, &set, &first).unwrap();
        second.open_as_at(0.5);
        second.sum_undecided(0.0, 1.0);
        assert_eq!(second.undecided, [vec![0.0], vec![3.0]]);
    }

    /// Runs something on two layers of two neurons, of which the first is open all the time of the way from (0, 0) to (1, 1), and the second from its middle on.
    fn with_second(norm: MoveNorm, run: impl FnOnce(&mut SecondLayer<'_>)) {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: 2,
        };
        let network = DenseNetwork {
            hidden: vec![
                layer(&[1.0, 2.0, -1.0, 1.0], &[0.0, 0.0]),
                layer(&[3.0, -1.0, 2.0, 4.0], &[0.5, -0.5]),
            ],
            head: layer(&[0.0, 0.0, 1.0, 1.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        };
        let groups = vec![vec![0], vec![1]];
        let ways = Ways::new(&network, &groups, &[0.0, 0.0], 1).unwrap();
        let set = MoveSet {
            x: &[1.0, 1.0],
            norm,
            radius: 0.25,
            low: &[-0.1, 0.0],
            high: &[0.2, 0.3],
        };
        let line = |at_0: f64, at_1: f64| Line { at_0, at_1 };
        let neuron = |line: Line| Neuron {
            low: line,
            high: line,
            slack: 0.0,
        };
        let first = [neuron(line(4.0, 4.0)), neuron(line(-1.0, 1.0))];
        run(&mut SecondLayer::new(&ways, &set, &first).unwrap());
    }

    #[test]
    fn gates_of_the_first_layer_that_open_or_close_add_or_take_off_what_comes_through_them() {
        with_second(MoveNorm::L2, |second| {
            let moving = [(0, [0.1, 0.2]), (1, [-0.0, 0.3])];
            assert_eq!(second.moving, moving);
            assert_eq!(second.at_row, [3.0, 0.0]);
            for (slack, size) in second.slack.iter().zip([13.5, 12.5]) {
                assert!((slack / (SLACK * size) - 1.0).abs() < 1e-9, "{slack}");
            }
            for _ in 0..2 {
                second.open_as_at(0.25);
                assert_eq!(second.states, [State::Open, State::Closed]);
                assert_eq!(second.through, [3.0, 2.0, 6.0, 4.0]);
                assert_eq!(second.ends, [vec![0.0, 0.0], vec![9.0, 6.0]]);
                second.open_as_at(0.75);
                assert_eq!(second.states, [State::Open; 2]);
                assert_eq!(second.through, [4.0, -2.0, 5.0, 8.0]);
                assert_eq!(second.ends, [vec![0.0, 0.0], vec![9.0, 6.0]]);
            }
        });
    }

    #[test]
    fn moves_take_a_neuron_of_the_second_layer_as_far_as_limits_and_ball_allow() {
        for (norm, rise) in [
            (MoveNorm::L2, 0.25 * 41.0_f64.sqrt()),
            (MoveNorm::Linf, 2.05),
        ] {
            with_second(norm, |second| {
                second.open_as_at(0.75);
                second.sum_moves();
                let sums = second.reach.iter().flatten().flatten();
                // Falling and rising: squares and sizes. The first feature moves by 0.1 and 0.2, the second only up, by 0.25.
                let expected = [16.0, 4.0, 0.4, 0.4, 41.0, 68.0, 0.8 + 1.25, 0.2 + 2.0];
                for (found, expected) in sums.zip(expected) {
                    assert!((found - expected).abs() < 1e-12, "{:?}", second.reach);
                }
                // Of a bias of -2 the first goes from -2 to 7, down by 0.4 and up by as much as moves allow.
                let time = second.open_time(0, -2.0, 0.0, 1.0);
                assert!((time.low - 6.6 / 8.6).abs() < 1e-7, "{time:?}");
                assert!(
                    (time.high - (7.0 + rise) / (9.0 + rise)).abs() < 1e-7,
                    "{time:?}"
                );
                // What is not decided takes 1 from it or adds 1, at both ends.
                second.undecided = [vec![-1.0, 0.0], vec![1.0, 0.0]];
                let time = second.open_time(0, -2.0, 0.0, 1.0);
                assert!((time.low - 5.6 / 8.6).abs() < 1e-7, "{time:?}");
                assert!(
                    (time.high - (8.0 + rise) / (9.0 + rise)).abs() < 1e-7,
                    "{time:?}"
                );
            });
        }
    }

    #[test]
    fn a_time_adds_the_scores_of_what_is_open_behind() {
        with_second(MoveNorm::L2, |second| {
            // From 0.8 on all is open: the scores are 1 - 0 of both, so 5 and 3 a unit of time.
            let mut sums = [Interval::default(); 2];
            second.add_between(0.8, 1.0, &mut sums);
            for (sum, expected) in sums.iter().zip([1.0, 0.6]) {
                assert!((sum.low - expected).abs() < 1e-9, "{sums:?}");
                assert!((sum.high - expected).abs() < 1e-9, "{sums:?}");
            }
            // Before its middle the second neuron is closed.
            second.add_between(0.3, 0.4, &mut sums);
            assert!(
                (sums[0].low - 1.5).abs() < 1e-9 && (sums[1].low - 0.6).abs() < 1e-9,
                "{sums:?}"
            );
        });
    }

    #[test]
    fn a_limit_that_allows_no_rise_leaves_the_sums_of_rising_as_they_are() {
        with_second(MoveNorm::L2, |second| {
            second.moving = vec![(0, [0.1, 0.0]), (1, [0.2, 0.0])];
            second.open_as_at(0.75);
            second.sum_moves();
            // The weights are 4 and 5, and -2 and 8: only the -2 can rise, where the first feature falls.
            let [falls, rises] = &second.reach;
            assert_eq!(rises[0], [0.0, 4.0]);
            assert_eq!(falls[0], [41.0, 64.0]);
            assert!(rises[1][0].abs() < 1e-12 && (rises[1][1] - 0.2).abs() < 1e-12);
        });
    }
}
