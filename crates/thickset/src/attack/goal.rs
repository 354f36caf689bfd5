//! What a search lowers: a function of one row's importances.

use crate::metric::ranking::TopK;

/// A function of one row's importances, to be lowered.
pub(super) trait Goal: Send {
    /// The value at a step, and its gradient in the importances.
    fn evaluate(&self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64;
}

/// A weighted sum.
pub(super) struct Weighted(pub(super) Vec<f64>);

impl Weighted {
    /// One weight for the salient importances and one for the others.
    pub(super) fn by_salience(top: &TopK, salient: f64, other: f64) -> Self {
        let weight = |feature: usize| {
            if top.contains(feature) {
                salient
            } else {
                other
            }
        };
        Self((0..top.features()).map(weight).collect())
    }
}

impl Goal for Weighted {
    fn evaluate(&self, _: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        slope.copy_from_slice(&self.0);
        let terms = self.0.iter().zip(importance);
        terms.map(|(weight, importance)| weight * importance).sum()
    }
}
