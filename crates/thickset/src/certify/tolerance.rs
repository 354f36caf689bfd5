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
        certified_radius::certify(&alone, most_nodes)
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
