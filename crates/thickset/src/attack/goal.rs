//! What a search lowers: a function of one row's importances.

use std::fmt::Debug;

use crate::Result;
use crate::metric::ranking::TopK;

/// The goals of an attack that steps down a gradient, one a row.
pub trait Goals: Debug + Send + Sync {
    /// Refuses explanations of so many importances that the goal does not fit.
    ///
    /// # Errors
    /// When it does not.
    fn check_width(&self, _importances: usize) -> Result<()> {
        Ok(())
    }

    /// What turns the goal into `g_0` of R2ET Eq. 57, which divergences are weighed against.
    fn objective_factor(&self, _top: &TopK) -> f64 {
        1.0
    }

    /// What one row's search lowers, given its importances at the start in the network that directions come from, and its
    /// top-k set.
    fn goal(&self, reference: &[f64], top: &TopK) -> Box<dyn Goal>;
}

/// A function of one row's importances, to be lowered.
pub trait Goal: Send {
    /// The value at a step, and its gradient in the importances.
    fn evaluate(&mut self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64;

    /// The gradient alone.
    fn slope(&mut self, step: usize, importance: &[f64], slope: &mut [f64]) {
        self.evaluate(step, importance, slope);
    }

    /// The gradient, where it is the same at every step and for all importances; `None` where it may differ.
    fn weights(&self) -> Option<&[f64]> {
        None
    }
}

/// A goal for importances as shares of their sum, `s_i = I_i / sum_j |I_j|`: their size, which on a binary network is mostly
/// the confidence, then neither helps nor hides.
pub(super) struct OfShares {
    goal: Box<dyn Goal>,
    shares: Vec<f64>,
}

/// Keeps the shares of an explanation of zeros finite.
const TINY: f64 = 1e-30;

/// Importances as shares of their sum, into `out`; returns the sum.
fn share_out(importance: &[f64], out: &mut Vec<f64>) -> f64 {
    let sum = importance.iter().map(|one| one.abs()).sum::<f64>() + TINY;
    out.clear();
    out.extend(importance.iter().map(|one| one / sum));
    sum
}

/// Importances as shares of their sum.
pub(super) fn shares(importance: &[f64]) -> Vec<f64> {
    let mut shares = Vec::with_capacity(importance.len());
    share_out(importance, &mut shares);
    shares
}

impl OfShares {
    pub(super) fn new(goal: Box<dyn Goal>) -> Self {
        Self {
            goal,
            shares: Vec::new(),
        }
    }
}

impl Goal for OfShares {
    fn evaluate(&mut self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        let sum = share_out(importance, &mut self.shares);
        let value = self.goal.evaluate(step, &self.shares, slope);
        let along: f64 = slope.iter().zip(&self.shares).map(|(u, s)| u * s).sum();
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
    fn evaluate(&mut self, step: usize, importance: &[f64], slope: &mut [f64]) -> f64 {
        self.slope(step, importance, slope);
        let terms = self.0.iter().zip(importance);
        terms.map(|(weight, importance)| weight * importance).sum()
    }

    fn slope(&mut self, _: usize, _: &[f64], slope: &mut [f64]) {
        slope.copy_from_slice(&self.0);
    }

    fn weights(&self) -> Option<&[f64]> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_parts_of_the_sum_of_sizes() {
        crate::toy::assert_close(&shares(&[3.0, -1.0, 0.0]), &[0.75, -0.25, 0.0]);
        crate::toy::assert_close(&shares(&[0.0, 0.0]), &[0.0, 0.0]);
    }

    #[test]
    fn the_slope_of_shares_is_that_of_central_differences() {
        let goal = || OfShares::new(Box::new(Weighted(vec![2.0, -1.0, 3.0])));
        let importance = [3.0, -1.0, 4.0];
        let mut slope = [0.0; 3];
        // Shares 3/8, -1/8 and 4/8.
        let value = goal().evaluate(0, &importance, &mut slope);
        assert!((value - 19.0 / 8.0).abs() < 1e-12);
        for feature in 0..3 {
            let at = |step: f64| {
                let mut moved = importance;
                moved[feature] += step;
                goal().evaluate(0, &moved, &mut [0.0; 3])
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope[feature] - difference).abs() < 1e-8, "{feature}");
        }
        // An importance of zero has no sign: only its own weight counts.
        goal().evaluate(0, &[1.0, 0.0, 1.0], &mut slope);
        crate::toy::assert_close(&slope, &[-0.25, -0.5, 0.25]);
    }

    #[test]
    fn weights_are_those_of_salient_and_of_other_features() {
        let top = TopK::of(&[1.0, 5.0, 4.0], 2).unwrap();
        let mut goal = Weighted::by_salience(&top, 0.5, -1.0);
        let mut slope = [0.0; 3];
        let value = goal.evaluate(0, &[1.0, 5.0, 4.0], &mut slope);
        assert!((value - 3.5).abs() < 1e-12);
        crate::toy::assert_close(&slope, &[-1.0, 0.5, 0.5]);
    }
}
