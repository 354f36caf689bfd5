//! What is done where nothing else is said: the one place for numbers that several parts share.

use crate::explain::ExplainConfig;

/// Salient features.
pub const K: usize = 8;

/// Reasons that a person is given.
pub const REASONS: usize = 4;

/// Radius of the l2 ball, in encoded units, in which a row may move.
pub const RADIUS: f64 = 0.5;

/// The size of the salient set of so many importances: the given one, or [`K`] and at most half of them; at least 1, and where
/// there are two or more, not all of them.
#[must_use]
pub fn salient(given: Option<usize>, importances: usize) -> usize {
    given
        .unwrap_or(K.min(importances / 2))
        .min(importances.saturating_sub(1))
        .max(1)
}

/// The size of the salient set that belongs to an explanation, given the data's own: contributions are reasons, of which a person is
/// given [`REASONS`]; the data's is that of the papers' explanations.
#[must_use]
pub fn salient_of(explain: &ExplainConfig, of_data: Option<usize>) -> Option<usize> {
    match explain.explanation.behaviour().contributions() {
        Some(_) => Some(REASONS),
        None => of_data,
    }
}

/// How many of so many importances are named where nothing is said: [`REASONS`] contributions, else [`K`]; all if there are fewer.
#[must_use]
pub fn named(explain: &ExplainConfig, importances: usize) -> usize {
    salient_of(explain, Some(K)).unwrap_or(K).min(importances)
}
