//! The mean with Student's 95% interval.
//!
//! `m ± t_{0.975, n-1} s / sqrt(n)`.

use super::{Estimate, Interval, check, student_quantile};
use crate::check::as_f64;
use crate::{Error, Result};

/// The mean of the rows' values; an interval from two rows on. Equal values have an interval of no width.
///
/// # Errors
/// When there is no value, or one is not finite.
pub fn estimate(values: &[f64]) -> Result<Estimate> {
    check("the values", values)?;
    Ok(Moments::of(values).estimate(values.len()))
}

/// The same of values that occur so many times each.
///
/// # Errors
/// When no value occurs, or one is not finite.
pub fn of_counts(counts: &[(f64, usize)]) -> Result<Estimate> {
    let values: Vec<f64> = counts.iter().map(|(value, _)| *value).collect();
    check("the values", &values)?;
    let count: usize = counts.iter().map(|(_, count)| count).sum();
    let Some((first, _)) = counts.iter().find(|(_, count)| *count > 0) else {
        return Err(Error::Empty { what: "the values" });
    };
    let over_all = |of: &dyn Fn(f64) -> f64| -> f64 {
        let terms = counts.iter();
        terms
            .map(|(value, count)| as_f64(*count) * of(*value))
            .sum()
    };
    let n = as_f64(count);
    let mean = first + over_all(&|value| value - first) / n;
    let squares = over_all(&|value| (value - mean).powi(2));
    let moments = Moments {
        mean,
        standard_error: (count > 1).then(|| (squares / (n - 1.0) / n).sqrt()),
    };
    Ok(moments.estimate(count))
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

    /// With Student's interval for so many values.
    fn estimate(&self, count: usize) -> Estimate {
        let interval = self.standard_error.map(|error| {
            let half = student_quantile(as_f64(count - 1)) * error;
            Interval {
                low: self.mean - half,
                high: self.mean + half,
            }
        });
        Estimate {
            value: self.mean,
            interval,
            count,
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
    fn an_interval_of_shares_stays_between_0_and_1() {
        let values = [1.0, 1.0, 0.5];
        let free = estimate(&values).unwrap().interval.unwrap();
        let cut = estimate(&values).unwrap().of_share().interval.unwrap();
        assert!(free.high > 1.0 && cut.high <= 1.0 && (cut.low - free.low).abs() < 1e-15);
        let low = estimate(&[0.0, 0.0, 0.5]).unwrap().of_share();
        assert!(low.interval.unwrap().low >= 0.0);
    }

    #[test]
    fn counting_equal_values_changes_nothing() {
        let listed = estimate(&[0.25, 0.5, 0.25, 1.0, 0.5, 0.25]).unwrap();
        let counted = of_counts(&[(0.0, 0), (0.25, 3), (0.5, 2), (1.0, 1)]).unwrap();
        assert_eq!(listed.count, counted.count);
        assert!((listed.value - counted.value).abs() < 1e-15);
        let (one, other) = (listed.interval.unwrap(), counted.interval.unwrap());
        assert!((one.low - other.low).abs() < 1e-14 && (one.high - other.high).abs() < 1e-14);
        assert!(of_counts(&[(0.5, 0)]).is_err());
    }

    #[test]
    fn nan_and_nothing_are_refused() {
        assert!(estimate(&[]).is_err());
        assert!(estimate(&[1.0, f64::NAN]).is_err());
    }

    #[test]
    fn a_value_that_occurs_once_has_no_interval() {
        assert_eq!(
            of_counts(&[(0.25, 0), (0.5, 1)]).unwrap(),
            Estimate {
                value: 0.5,
                interval: None,
                count: 1
            }
        );
    }
}
