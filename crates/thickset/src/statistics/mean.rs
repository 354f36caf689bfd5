//! The mean with Student's 95% interval.
//!
//! `m ± t_{0.975, n-1} s / sqrt(n)`.

use super::{Estimate, Interval, check, student_quantile};
use crate::Result;
use crate::check::as_f64;

/// The mean of the rows' values; an interval from two rows on. Equal values have an interval of no width.
///
/// # Errors
/// When there is no value, or one is not finite.
pub fn estimate(values: &[f64]) -> Result<Estimate> {
    check("the values", values)?;
    let moments = Moments::of(values);
    let interval = moments.standard_error.map(|error| {
        let half = student_quantile(as_f64(values.len() - 1)) * error;
        Interval {
            low: moments.mean - half,
            high: moments.mean + half,
        }
    });
    Ok(Estimate {
        value: moments.mean,
        interval,
        count: values.len(),
    })
}

/// The mean and its standard error.
pub(super) struct Moments {
    pub(super) mean: f64,
    /// `None` for a single value.
    pub(super) standard_error: Option<f64>,
}

impl Moments {
    /// Of at least one finite value.
    pub(super) fn of(values: &[f64]) -> Self {
        let count = as_f64(values.len());
        let first = values[0];
        // Deviations from the first value, so that a constant list has exactly its value as mean and no spread.
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let standard_error = (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt());
        Self {
            mean,
            standard_error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_to_five_by_hand() {
        // s^2 = 2.5, n = 5, t_{0.975, 4} = 2.776445105: 3 ± 2.776445105 * sqrt(0.5).
        let found = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let interval = found.interval.unwrap();
        assert!((found.value - 3.0).abs() < 1e-15);
        assert!((interval.high - (3.0 + 2.776_445_105 * 0.5_f64.sqrt())).abs() < 1e-8);
        assert!((interval.low + interval.high - 6.0).abs() < 1e-12);
    }

    #[test]
    fn equal_values_are_sure_and_a_single_one_says_nothing() {
        let equal = estimate(&[0.1; 7]).unwrap();
        assert_eq!(
            equal.interval,
            Some(Interval {
                low: 0.1,
                high: 0.1
            })
        );
        assert_eq!(
            estimate(&[0.3]).unwrap(),
            Estimate {
                value: 0.3,
                interval: None,
                count: 1
            }
        );
    }

    #[test]
    fn nan_and_nothing_are_refused() {
        assert!(estimate(&[]).is_err());
        assert!(estimate(&[1.0, f64::NAN]).is_err());
    }
}
