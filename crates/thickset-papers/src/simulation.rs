//! Attributions drawn at random, for the claims about similarities that need no model.

use thickset::metric::{cosine, kendall, pearson};
use thickset::{Result, Stream};

use crate::count::as_f64;

/// Entries of an exponential distribution: positive, as the sizes of attributions are.
pub(crate) fn positive(count: usize, stream: &mut Stream) -> Vec<f64> {
    (0..count)
        .map(|_| -libm::log(1.0 - stream.uniform()))
        .collect()
}

/// How alike two vectors are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Similarity {
    pub(crate) cosine: f64,
    pub(crate) pearson: f64,
    pub(crate) kendall: f64,
}

impl Similarity {
    pub(crate) fn of(first: &[f64], second: &[f64]) -> Result<Self> {
        Ok(Self {
            cosine: cosine::score(first, second)?,
            pearson: pearson::score(first, second)?,
            kendall: kendall::score(first, second)?,
        })
    }
}

/// Pairs of attributions that grow apart: the second is the size of a mix of the first and an independent one, and `spread` is
/// how far the entries of both lie from a common level of 1.
pub(crate) fn pairs(
    draws: usize,
    features: usize,
    spread: f64,
    stream: &mut Stream,
) -> Result<Vec<Similarity>> {
    (0..draws)
        .map(|draw| {
            let share = as_f64(draw) / as_f64(draws.max(2) - 1);
            let first: Vec<f64> = (0..features)
                .map(|_| (1.0 + spread * stream.normal()).abs())
                .collect();
            let second: Vec<f64> = first
                .iter()
                .map(|value| {
                    let other = 1.0 + spread * stream.normal();
                    ((1.0 - share) * value + share * other).abs()
                })
                .collect();
            Similarity::of(&first, &second)
        })
        .collect()
}
