//! Intervals for an AUC and for the difference of two models' AUCs on the same rows, after `DeLong` (1988).

use serde::Serialize;

use super::{Estimate, Interval, normal_p_value, normal_quantile};
use crate::metric::auc::Auc;
use crate::{Error, Result};

/// A difference of two AUCs and how surprising it would be for equal models.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// First minus second.
    pub estimate: Estimate,
    /// Two-sided p value; 1 when the models order the rows alike.
    pub p_value: f64,
}

/// The area with its normal interval, cut off at 0 and 1.
#[must_use]
pub fn estimate(auc: &Auc) -> Estimate {
    let interval = auc.standard_error.map(|error| {
        let half = normal_quantile() * error;
        Interval {
            low: (auc.value - half).max(0.0),
            high: (auc.value + half).min(1.0),
        }
    });
    Estimate {
        value: auc.value,
        interval,
        count: auc.deviations.len(),
    }
}

/// The difference of two AUCs on the same rows with the same labels.
///
/// # Errors
/// When the AUCs are of different numbers of rows.
pub fn difference(first: &Auc, second: &Auc) -> Result<Difference> {
    let (expected, got) = (first.deviations.len(), second.deviations.len());
    if expected != got {
        return Err(Error::LengthMismatch {
            what: "the second AUC's rows",
            expected,
            got,
        });
    }
    let value = first.value - second.value;
    let variance: f64 = first
        .deviations
        .iter()
        .zip(&second.deviations)
        .map(|(a, b)| (a - b).powi(2))
        .sum();
    let error = (first.standard_error.is_some() && second.standard_error.is_some())
        .then(|| variance.sqrt());
    let interval = error.map(|error| {
        let half = normal_quantile() * error;
        Interval {
            low: value - half,
            high: value + half,
        }
    });
    let p_value = match error {
        Some(error) if error > 0.0 => normal_p_value(value / error),
        Some(_) if value != 0.0 => 0.0,
        _ => 1.0,
    };
    Ok(Difference {
        estimate: Estimate {
            value,
            interval,
            count: expected,
        },
        p_value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::auc;

    const LABELS: [bool; 6] = [false, false, true, false, true, true];

    #[test]
    fn a_perfect_order_ends_at_one() {
        let perfect = auc::binary(&[0.1, 0.2, 0.7, 0.3, 0.8, 0.9], &LABELS)
            .unwrap()
            .unwrap();
        assert_eq!(
            estimate(&perfect).interval,
            Some(Interval {
                low: 1.0,
                high: 1.0
            })
        );
        let fair = auc::binary(&[0.1, 0.8, 0.7, 0.3, 0.2, 0.9], &LABELS)
            .unwrap()
            .unwrap();
        let interval = estimate(&fair).interval.unwrap();
        assert!(interval.low < fair.value && fair.value < interval.high && interval.high <= 1.0);
    }

    #[test]
    fn an_interval_and_a_difference_by_hand() {
        // Three of four comparisons right, with DeLong's error sqrt(1/8); the other model is perfect and has no error, so the
        // error of the difference is the same.
        let labels = [false, true, false, true];
        let fair = auc::binary(&[0.1, 0.4, 0.35, 0.2], &labels)
            .unwrap()
            .unwrap();
        let perfect = auc::binary(&[0.1, 0.8, 0.2, 0.9], &labels)
            .unwrap()
            .unwrap();
        let half = 1.959_963_985 * 0.125_f64.sqrt();
        let interval = estimate(&fair).interval.unwrap();
        assert!((interval.low - (0.75 - half)).abs() < 1e-8);
        assert!((interval.high - 1.0).abs() < 1e-15, "cut off at 1");
        let found = difference(&fair, &perfect).unwrap();
        assert!((found.estimate.value + 0.25).abs() < 1e-15);
        let interval = found.estimate.interval.unwrap();
        assert!((interval.high - (half - 0.25)).abs() < 1e-8);
        // z = -0.25 / sqrt(1/8) = -sqrt(1/2), beyond which a normal number lies with probability 0.4795.
        assert!((found.p_value - 0.479_500_122).abs() < 1e-8);
    }

    #[test]
    fn a_model_does_not_differ_from_itself() {
        let scores = [0.1, 0.8, 0.7, 0.3, 0.2, 0.9];
        let first = auc::binary(&scores, &LABELS).unwrap().unwrap();
        // Any increasing transform orders the rows alike.
        let second = auc::binary(&scores.map(|score| score * score), &LABELS)
            .unwrap()
            .unwrap();
        let found = difference(&first, &second).unwrap();
        assert!(found.estimate.value.abs() < 1e-15);
        assert!((found.p_value - 1.0).abs() < 1e-15);
    }

    #[test]
    fn different_rows_are_refused() {
        let first = auc::binary(&[0.1, 0.8], &[false, true]).unwrap().unwrap();
        let second = auc::binary(&[0.1, 0.8, 0.2], &[false, true, true])
            .unwrap()
            .unwrap();
        assert!(difference(&first, &second).is_err());
    }

    #[test]
    fn a_difference_of_which_one_error_is_unknown_has_no_interval() {
        let known = auc::binary(&[0.1, 0.8, 0.2, 0.9], &[false, true, false, true])
            .unwrap()
            .unwrap();
        // A single positive row.
        let unknown = auc::binary(&[0.1, 0.8, 0.2, 0.9], &[false, true, false, false])
            .unwrap()
            .unwrap();
        for (first, second) in [(&known, &unknown), (&unknown, &known)] {
            let found = difference(first, second).unwrap();
            assert_eq!(found.estimate.interval, None);
            assert!((found.p_value - 1.0).abs() < 1e-15);
        }
    }
}
