//! What is done where nothing else is said: the one place for numbers that several parts share.

/// Salient features.
pub const K: usize = 8;

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
