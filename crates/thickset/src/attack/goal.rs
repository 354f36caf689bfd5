//! What a search lowers: a function of one row's importances.

use crate::metric::ranking::TopK;

/// A function of one row's importances, to be lowered.
pub(super) trait Goal: Send {
    /// The value at a step, and its gradient in the importances.
    fn evaluate(&self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64;

    /// Whether the gradient is the same at every point.
    fn is_linear(&self) -> bool {
        false
    }
}

/// A goal for importances as shares of their sum, `s_i = I_i / sum_j |I_j|`: their size, which on a binary network is mostly
/// the confidence, then neither helps nor hides.
pub(super) struct OfShares(pub(super) Box<dyn Goal>);

/// Keeps the shares of an explanation of zeros finite.
const TINY: f64 = 1e-30;

/// Importances as shares of their sum.
pub(super) fn shares(importance: &[f64]) -> Vec<f64> {
    let sum = importance.iter().map(|one| one.abs()).sum::<f64>() + TINY;
    importance.iter().map(|one| one / sum).collect()
}

impl Goal for OfShares {
    fn evaluate(&self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        let sum = importance.iter().map(|one| one.abs()).sum::<f64>() + TINY;
        let shares = shares(importance);
        let value = self.0.evaluate(step, &shares, slope);
        let along: f64 = slope.iter().zip(&shares).map(|(u, s)| u * s).sum();
        for (slope, importance) in slope.iter_mut().zip(importance) {
            let sign = if *importance == 0.0 {
                0.0
            } else {
                importance.signum()
            };
            *slope = (*slope - sign * along) / sum;
        }
        value
    }
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

    fn is_linear(&self) -> bool {
        true
    }
}
