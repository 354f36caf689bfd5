//! What an attack came to, row by row.

use serde::Serialize;

use super::moo::Ending;
use crate::check::as_f64;

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
    /// The first step, counted from 1, of the run that starts at the row itself after which the top-k set has changed while
    /// the prediction held; `None` if there is none, even where a random start found a worse point. A random search takes no
    /// steps and has none. Of a suite, its first member's, plain `ERAttack`.
    pub first_change: Option<usize>,
    /// The same for P@k below the bound of [`manipulation_epoch`](crate::metric::manipulation_epoch).
    pub manipulation_epoch: Option<usize>,
    /// Where the run that starts at the row itself ended; of a suite, its first member's.
    pub last: Last,
    /// How a search ended that decides itself when it is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
}

/// How a search ended that decides itself when it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Finish {
    /// Steps tried.
    pub iterations: usize,
    /// How it ended.
    pub ending: Ending,
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
    /// How many of the k features are lost at the worst point; none if the prediction changed there.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a P@k lies in 0..=1"
    )]
    pub fn lost(&self, k: usize) -> usize {
        let kept = (self.precision * as_f64(k)).round() as usize;
        if self.held { k - kept.min(k) } else { 0 }
    }

    /// The worse point of two for the defender: a prediction that held, then the lower P@k; the first of equals. The
    /// steps, and where the run ended, stay as they are.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let is_worse = (other.held && !self.held)
            || (other.held == self.held && other.precision < self.precision);
        if !is_worse {
            return self;
        }
        Self {
            attack: other.attack,
            perturbed: other.perturbed,
            precision: other.precision,
            held: other.held,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(attack: &'static str, precision: f64, held: bool) -> Attacked {
        Attacked {
            class: 0,
            attack,
            perturbed: vec![precision],
            precision,
            held,
            first_change: None,
            manipulation_epoch: None,
            last: Last {
                point: vec![7.0],
                precision: 1.0,
                held: true,
                stopped: false,
            },
            finish: None,
        }
    }

    #[test]
    fn what_was_lost_counts_only_where_the_prediction_held() {
        assert_eq!(found("a", 0.6, true).lost(5), 2);
        assert_eq!(found("a", 0.6, false).lost(5), 0);
        assert_eq!(found("a", 1.0, true).lost(5), 0);
    }

    #[test]
    fn the_worse_of_two_holds_the_prediction_then_has_the_lower_precision() {
        let worse = |first: (f64, bool), second: (f64, bool)| {
            let worse = found("first", first.0, first.1).worse(found("second", second.0, second.1));
            assert_eq!(worse.perturbed, [worse.precision]);
            assert_eq!(worse.last.point, [7.0]);
            worse.attack
        };
        assert_eq!(worse((0.5, true), (0.25, true)), "second");
        assert_eq!(worse((0.5, true), (0.5, true)), "first");
        assert_eq!(worse((0.25, true), (0.5, true)), "first");
        assert_eq!(worse((0.5, false), (1.0, true)), "second");
        assert_eq!(worse((1.0, true), (0.5, false)), "first");
        assert_eq!(worse((0.5, false), (0.25, false)), "second");
    }
}
