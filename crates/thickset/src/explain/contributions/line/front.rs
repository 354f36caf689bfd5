//! What the first hidden layer reads of each feature: a line, or pieces of lines.
//!
//! A [binned model](crate::model::BinnedConfig) begins with two fixed layers whose units read one feature each. Behind them the next layer bends at known
//! values of single features and nowhere else, so a walk need not look at those units at all.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use super::matrix::Matrix;
use crate::certify::vector::add_scaled;
use crate::certify::{DenseNetwork, Pieces};

/// The hidden layers that walks go through, and how the first of them moves with each feature.
pub(super) struct Front {
    features: Vec<Feature>,
    /// Units of the layer behind.
    pub(super) width: usize,
    /// Hidden layers of the network that are pieces, and that no walk goes through.
    pub(super) skipped: usize,
}

struct Feature {
    /// Where its pieces meet, ascending.
    kinks: Vec<f64>,
    /// The slopes of the units on each piece, one piece more than there are kinks.
    slopes: Matrix,
    /// By how much they change at each kink, from below to above.
    changes: Matrix,
}

/// A feature comes to another of its pieces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crossing {
    pub(super) at: f64,
    pub(super) feature: usize,
    kink: usize,
    /// 1 if it rises, else -1.
    sign: f64,
}

impl Front {
    pub(super) fn new(network: &DenseNetwork) -> Self {
        let Some(first) = network.hidden.first() else {
            return Self {
                features: Vec::new(),
                width: 0,
                skipped: 0,
            };
        };
        if let Some(pieces) = Pieces::of(network) {
            let features = (0..network.features())
                .map(|feature| Feature::new(pieces.kinks(feature), pieces.slopes(feature)));
            return Self {
                features: features.collect(),
                width: network.hidden[2].outputs(),
                skipped: 2,
            };
        }
        let features = (0..first.inputs).map(|feature| {
            let slopes = first.rows().map(|row| row[feature]).collect();
            Feature::new(&[], &[slopes])
        });
        Self {
            features: features.collect(),
            width: first.outputs(),
            skipped: 0,
        }
    }

    /// The slopes of the units on the piece that a feature is on as it leaves a value in this direction.
    #[inline(always)]
    pub(super) fn slopes_from(&self, feature: usize, value: f64, way: f64) -> &[f64] {
        let feature = &self.features[feature];
        feature.slopes.row(feature.piece(value, way))
    }

    /// The slopes on the piece that it comes to a value on.
    #[inline(always)]
    pub(super) fn slopes_to(&self, feature: usize, value: f64, way: f64) -> &[f64] {
        self.slopes_from(feature, value, -way)
    }

    /// Puts the crossings between a value and another one into a list, as shares of the way.
    #[inline(always)]
    pub(super) fn cross(&self, feature: usize, from: f64, way: f64, to: &mut Vec<Crossing>) {
        let kinks = &self.features[feature].kinks;
        let sign = if way > 0.0 { 1.0 } else { -1.0 };
        for (kink, at) in kinks.iter().enumerate() {
            let at = (at - from) / way;
            // One that the way begins at counts where the way leaves it, one that it ends at is not crossed.
            if at > 0.0 && at < 1.0 {
                to.push(Crossing {
                    at,
                    feature,
                    kink,
                    sign,
                });
            }
        }
    }

    /// By how much the slopes change where a value rises through the kink.
    #[inline(always)]
    pub(super) fn rise(&self, crossing: &Crossing) -> &[f64] {
        self.features[crossing.feature].changes.row(crossing.kink)
    }
}

impl Crossing {
    /// 1 if the feature rises there, else -1.
    #[inline(always)]
    pub(super) fn sign(&self) -> f64 {
        self.sign
    }
}

impl Feature {
    fn new(kinks: &[f64], slopes: &[Vec<f64>]) -> Self {
        let width = slopes.first().map_or(0, Vec::len);
        let changes = slopes.windows(2).flat_map(|pair| {
            let mut change = pair[1].clone();
            add_scaled(&mut change, -1.0, &pair[0]);
            change
        });
        Self {
            kinks: kinks.to_vec(),
            changes: Matrix::new(changes.collect(), width),
            slopes: Matrix::new(slopes.concat(), width),
        }
    }

    /// The piece behind a value in a direction.
    #[inline(always)]
    fn piece(&self, value: f64, way: f64) -> usize {
        let below = |kink: &f64| {
            if way > 0.0 {
                *kink <= value
            } else {
                *kink < value
            }
        };
        self.kinks.partition_point(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn front() -> Front {
        let slopes = [vec![1.0, 0.0], vec![3.0, -1.0], vec![2.0, 5.0]];
        Front {
            features: vec![Feature::new(&[-1.0, 2.0], &slopes)],
            width: 2,
            skipped: 2,
        }
    }

    #[test]
    fn a_feature_at_a_kink_is_on_the_piece_that_it_goes_to() {
        let front = front();
        let slopes = |value: f64, way: f64| front.slopes_from(0, value, way)[0];
        let found = [
            slopes(-1.0, 1.0),
            slopes(-1.0, -1.0),
            slopes(0.0, 1.0),
            slopes(2.0, 0.5),
            slopes(2.0, -0.5),
        ];
        assert_eq!(found.to_vec(), [3.0, 1.0, 3.0, 2.0, 3.0]);
        assert_eq!(front.slopes_to(0, 2.0, 1.0), [3.0, -1.0]);
    }

    #[test]
    fn crossings_lie_strictly_between_the_ends_of_a_way() {
        let front = front();
        let crossings = |from: f64, way: f64| {
            let mut found = Vec::new();
            front.cross(0, from, way, &mut found);
            found.sort_by(|a, b| a.at.total_cmp(&b.at));
            found
        };
        let down = crossings(4.0, -10.0);
        let places: Vec<(f64, f64)> = down.iter().map(|one| (one.at, one.sign())).collect();
        assert_eq!(places, [(0.2, -1.0), (0.5, -1.0)]);
        assert_eq!(front.rise(&down[0]), [-1.0, 6.0]);
        assert_eq!(front.rise(&down[1]), [2.0, -1.0]);
        assert_eq!(crossings(-1.0, 3.0), []);
        assert_eq!(crossings(-1.0, 4.0).len(), 1);
    }
}
