//! How far each feature of a row may move alone before its top-k set changes: the radius of moves of one feature in one direction.

use serde::Serialize;

use super::ball::MoveNorm;
use super::case::{Case, Moves};
use super::certified_radius;
use super::stepped::Stepped;

/// What is certified of moves of one feature, in encoded units, up to the radius and the limits that were asked about.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// The feature.
    pub feature: usize,
    /// No move down that is smaller changes the top-k set.
    pub down: f64,
    /// No move up that is smaller.
    pub up: f64,
}

/// The tolerances of the features that can move, with at most so many parts of the search for each direction.
pub(super) fn certify(case: &Case<'_>, most_nodes: usize) -> Vec<Tolerance> {
    let alone = |feature: usize, low: f64, high: f64| {
        let count = case.x.len();
        let mut moves = Moves {
            low: vec![0.0; count],
            high: vec![0.0; count],
            ..case.moves.clone()
        };
        (moves.low[feature], moves.high[feature]) = (low, high);
        let limit = high.max(-low).min(case.moves.radius);
        if limit <= 0.0 {
            return 0.0;
        }
        let alone = Case::new(
            case.network,
            case.explained,
            case.deployed,
            &moves,
            case.x,
            case.class,
            case.salient.clone(),
        );
        certified_radius::certify(&alone, most_nodes, alone.moves.radius)
            .certified
            .min(limit)
    };
    case.moving
        .iter()
        .map(|&feature| Tolerance {
            feature,
            down: alone(feature, case.moves.low[feature], 0.0),
            up: alone(feature, 0.0, case.moves.high[feature]),
        })
        .collect()
}

impl Stepped for Vec<Tolerance> {
    /// What is certified without steps holds with them.
    fn only_in(self, _: usize, _: &dyn Fn(&[f64]) -> bool) -> Self {
        self
    }

    fn around(self, _: MoveNorm, _: f64) -> Self {
        self
    }

    /// One feature alone changes no category.
    fn and(self, _: Self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::explained::{Explained, Ranked};
    use super::super::network::{DenseLayer, DenseNetwork};
    use super::super::rounding::Arithmetic;
    use super::super::tests::{free_moves, with_case};
    use super::*;

    #[test]
    fn a_feature_alone_moves_up_to_its_kink_or_its_limit() {
        // The margin is `max(0, 3 x1 + 10) + max(0, 4 x2 - 2)`: from (0, 0.3) the second overtakes where x2 goes beyond 0.5, and never below.
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: 2,
        };
        let network = DenseNetwork {
            hidden: vec![layer(&[3.0, 0.0, 0.0, 4.0], &[10.0, -2.0])],
            head: layer(&[1.0, 1.0, 0.0, 0.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let mut moves = free_moves(MoveNorm::L2, 0.6, 2, false);
        (moves.low[0], moves.high[0], moves.low[1]) = (-0.25, 0.0, -0.125);
        let found = with_case(&network, &explained, &moves, &[0.0, 0.3], 1, |case| {
            certify(case, 1000)
        });
        let numbers = found.iter().map(|one| (one.feature, [one.down, one.up]));
        for ((feature, sides), expected) in numbers.zip([(0, [0.25, 0.0]), (1, [0.125, 0.2])]) {
            assert_eq!(feature, expected.0);
            for (side, expected) in sides.iter().zip(expected.1) {
                assert!((side - expected).abs() < 1e-6, "{found:?}");
            }
        }
        assert_eq!(found.len(), 2);
    }
}
