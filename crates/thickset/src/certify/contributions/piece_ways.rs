//! Contributions of networks that begin with two layers of [pieces](super::pieces) of single features, and have at most two hidden layers behind them.
//!
//! On the way from the reference to a moved row each feature goes along a line, and its units along pieces of lines, so time is cut where a
//! feature can reach a kink and where a gate behind can change. Between two such times the layer behind moves along lines in time and in the move
//! but for kinks that some moves reach and others do not; how far those bend it is added to its bounds. So each gate has a least and a
//! greatest time for which it is open, and the mean gradient is added up over all times, as in [`ways`](super::ways) over one.

mod behind;
mod timed;

use self::behind::Behind;
use self::timed::{AtTime, PieceSlopes, Timed};
use super::super::network::{DenseLayer, DenseNetwork};
use super::super::vector::{add_scaled, dot};
use super::gate_time::{Added, Interval, Line, Neuron, State};
use super::layer_behind::LayerBehind;
use super::move_set::MoveSet;
use super::over_ways::OverWays;
use super::pieces::{PieceRange, Pieces};
use super::{Bounds, PairBound};
use crate::explain::contributions::score_weights;

/// A network and a class, with the reference that ways begin at.
pub(in super::super) struct PieceWays<'a> {
    groups: &'a [Vec<usize>],
    reference: &'a [f64],
    pieces: Pieces,
    /// The layer behind the pieces, and the one behind that.
    first: &'a DenseLayer,
    second: Option<LayerBehind<'a>>,
    /// Before the gates of the first, at the reference.
    start: Vec<f64>,
    /// The score's weights of the last hidden layer.
    score: Vec<f64>,
}

/// How far beside a kink times are cut, so that rounding does not put it on the other side.
const BESIDE: f64 = 1e-7;

/// Where a gate is taken to be decided when times are cut, in units of its slack.
const CLEAR: f64 = 4.0;

impl<'a> PieceWays<'a> {
    /// `None` where the network is of another kind.
    pub(in super::super) fn new(
        network: &'a DenseNetwork,
        groups: &'a [Vec<usize>],
        reference: &'a [f64],
        class: usize,
    ) -> Option<Self> {
        let (first, second) = match &network.hidden[..] {
            [_, _, first] => (first, None),
            [_, _, first, second] => (first, Some(second)),
            _ => return None,
        };
        let pieces = Pieces::of(network)?;
        let mut score = vec![0.0; network.head.inputs];
        let weights = score_weights(class, network.classes());
        for (row, weight) in network.head.rows().zip(weights) {
            add_scaled(&mut score, weight, row);
        }
        Some(Self {
            groups,
            reference,
            start: pieces.values(first, reference),
            pieces,
            first,
            second: second.map(|layer| LayerBehind::new(layer, &score)),
            score,
        })
    }
}

impl Timed<'_> {
    /// The times at which something can change, with the first layer there.
    fn times(&self) -> Vec<AtTime> {
        let mut times = vec![0.0, 1.0];
        for &feature in &self.active {
            let (start, way) = (self.ways.reference[feature], self.way[feature]);
            let ends = [way - self.down[feature], way + self.up[feature]];
            for kink in self.ways.pieces.kinks(feature) {
                // A little before the first move reaches it, and a little after the last has.
                let [a, b] = ends.map(|end| (kink - start) / end);
                times.extend([a.min(b), a.max(b)].map(|t| t - BESIDE));
                times.extend([a.min(b), a.max(b)].map(|t| t + BESIDE));
            }
        }
        times.retain(|t| (0.0..=1.0).contains(t));
        times.sort_by(f64::total_cmp);
        times.dedup();
        let known: Vec<AtTime> = times.iter().map(|t| self.first_at(*t)).collect();
        let mut crossings: Vec<f64> = Vec::new();
        for pair in known.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            for neuron in 0..self.slack.len() {
                let clear = CLEAR * self.slack[neuron];
                let sides = [
                    (a.low[neuron], b.low[neuron], clear),
                    (a.high[neuron], b.high[neuron], -clear),
                ];
                for (from, to, level) in sides {
                    if (from > level) != (to > level) {
                        let share = (level - from) / (to - from);
                        crossings.push(a.t + share * (b.t - a.t));
                    }
                }
            }
        }
        let mut all = known;
        all.extend(crossings.into_iter().map(|t| self.first_at(t)));
        all.sort_by(|a, b| a.t.total_cmp(&b.t));
        all.dedup_by(|a, b| a.t <= b.t);
        all
    }

    /// The mean gradient in its middle, and what is left open of it.
    fn gradient(&self) -> (Vec<f64>, Vec<(f64, Vec<f64>)>) {
        let features = self.way.len();
        let mut found = Found {
            gradient: vec![0.0; features],
            doubt: vec![0.0; features],
            ranges: Vec::new(),
            open: vec![0.0; self.slack.len()],
            rest: Vec::new(),
        };
        let times = self.times();
        let second = self.ways.second.as_ref();
        let mut behind = second.map(|layer| Behind::new(self, layer));
        for pair in times.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            let slopes = &self.ways.pieces.slopes;
            let bent = self.bent(slopes, self.slack.len(), a.t, b.t);
            let neurons: Vec<Neuron> = (0..self.slack.len())
                .map(|one| neuron((a, b), one, bent[one], self.slack[one]))
                .collect();
            let added: Vec<Added> = match &mut behind {
                None => self.open_alone(&neurons, b.t - a.t),
                Some(behind) => behind.added(&neurons, a, b),
            };
            self.add(&added, a.t, b.t, &mut found);
        }
        self.close(&mut found);
        let mut rest = found.rest;
        for (feature, doubt) in found.doubt.into_iter().enumerate() {
            if doubt > 0.0 {
                let mut row = vec![0.0; features];
                row[feature] = 1.0;
                rest.push((doubt, row));
            }
        }
        (found.gradient, rest)
    }

    /// What neurons without a layer behind add.
    fn open_alone(&self, neurons: &[Neuron], length: f64) -> Vec<Added> {
        let score = self.ways.score.iter();
        neurons
            .iter()
            .zip(score)
            .map(|(neuron, score)| {
                let time = neuron.open_time(0.0, 1.0);
                let ends = [score * time.low * length, score * time.high * length];
                Added {
                    integral: Interval {
                        low: ends[0].min(ends[1]),
                        high: ends[0].max(ends[1]),
                    },
                    most: score.abs() * time.high * length,
                }
            })
            .collect()
    }

    /// Adds to the gradient what a time adds to the adjoints of the first layer.
    fn add(&self, added: &[Added], from: f64, to: f64, found: &mut Found) {
        let ranges: Vec<PieceRange> = self
            .active
            .iter()
            .map(|&feature| self.pieces(feature, from, to))
            .collect();
        if ranges != found.ranges {
            self.close(found);
            found.ranges = ranges;
        }
        let middle: Vec<f64> = added.iter().map(|one| one.integral.middle()).collect();
        let most: Vec<f64> = added.iter().map(|one| one.most).collect();
        let mut piece = PieceSlopes::default();
        for (&feature, range) in self.active.iter().zip(&found.ranges) {
            let slopes = &self.ways.pieces.slopes.0[feature];
            if range.first == range.last {
                found.gradient[feature] += dot(&middle, &slopes[range.first]);
                continue;
            }
            piece.set(slopes, *range);
            for ((least, greatest), (middle, most)) in piece.each().zip(middle.iter().zip(&most)) {
                found.gradient[feature] += middle * f64::midpoint(least, greatest);
                found.doubt[feature] += (greatest - least) / 2.0 * most;
            }
        }
        for (open, one) in found.open.iter_mut().zip(added) {
            *open += one.integral.rest();
        }
    }

    /// Writes down what neurons left open while no feature came to another piece.
    fn close(&self, found: &mut Found) {
        for (neuron, open) in found.open.iter_mut().enumerate() {
            if *open <= 0.0 {
                continue;
            }
            let mut row = vec![0.0; self.way.len()];
            for (&feature, range) in self.active.iter().zip(&found.ranges) {
                let slopes = &self.ways.pieces.slopes.0[feature][range.first..=range.last];
                let slopes = slopes.iter().map(|piece| piece[neuron]);
                let ends = slopes.fold(
                    (f64::INFINITY, f64::NEG_INFINITY),
                    |(least, most), slope| (least.min(slope), most.max(slope)),
                );
                row[feature] = f64::midpoint(ends.0, ends.1);
            }
            found.rest.push((*open, row));
            *open = 0.0;
        }
    }
}

/// What is gathered over all times.
struct Found {
    gradient: Vec<f64>,
    /// How far each feature's gradient may be off where its piece is not known.
    doubt: Vec<f64>,
    /// The pieces of the features at the last time, and what each neuron left open since they came to them.
    ranges: Vec<PieceRange>,
    open: Vec<f64>,
    rest: Vec<(f64, Vec<f64>)>,
}

/// One neuron between two times, which count as 0 and 1.
fn neuron((a, b): (&AtTime, &AtTime), neuron: usize, bent: f64, slack: f64) -> Neuron {
    Neuron {
        low: Line {
            at_0: a.low[neuron] - bent,
            at_1: b.low[neuron] - bent,
        },
        high: Line {
            at_0: a.high[neuron] + bent,
            at_1: b.high[neuron] + bent,
        },
        slack,
    }
}

/// Whether a neuron is open or closed from one time to the next.
fn state(neuron: &Neuron) -> State {
    match (neuron.state(0.0), neuron.state(1.0)) {
        (a, b) if a == b => a,
        _ => State::Either,
    }
}

impl Bounds for PieceWays<'_> {
    fn bound(&self, set: &MoveSet<'_>) -> Box<dyn PairBound + '_> {
        let (gradient, rest) = Timed::new(self, set).gradient();
        Box::new(OverWays::new(
            self.groups,
            self.reference,
            set,
            gradient,
            rest,
        ))
    }
}

#[cfg(test)]
mod tests;
