//! What an attack came to, row by row.

use serde::Serialize;

/// One row after an attack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attacked {
    /// The class predicted before.
    pub class: usize,
    /// The registry's id of the attack that found the worst point.
    pub attack: &'static str,
    /// The worst point: the first of those with the least P@k. Unless the attack ignores predictions, it keeps them.
    pub perturbed: Vec<f64>,
    /// P@k there.
    pub precision: f64,
    /// Whether the prediction is the same there.
    pub held: bool,
    /// The step at which the top-k set first changed while the prediction held, counted from 1; the earliest over all runs.
    pub first_change: Option<usize>,
    /// Where the first run ended.
    pub last: Last,
}

/// Where a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Last {
    /// The point.
    pub point: Vec<f64>,
    /// P@k there.
    pub precision: f64,
    /// Whether the prediction is the same there.
    pub held: bool,
    /// Whether the run was stopped because the next step would have changed the prediction.
    pub stopped: bool,
}

impl Attacked {
    /// The worse of two for the defender: a prediction that held, then the lower P@k; the first of equals.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let first_change = match (self.first_change, other.first_change) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let is_worse = (other.held && !self.held)
            || (other.held == self.held && other.precision < self.precision);
        let worse = if is_worse { other } else { self };
        Self {
            first_change,
            ..worse
        }
    }
}
