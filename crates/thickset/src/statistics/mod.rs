//! How sure a number is: intervals for means, medians and AUCs, and paired comparisons of two models on the same rows.
//!
//! Everything is exact or in closed form; nothing here draws random numbers. NaN and infinity are refused.

pub mod auc;
pub mod mean;
pub mod median;
pub mod paired;
pub mod t_test;
pub mod wilcoxon;

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::Result;
use crate::check::{check_finite, check_length, check_not_empty};

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// The probability below the upper end of a two-sided interval.
const UPPER: f64 = f64::midpoint(1.0, CONFIDENCE);

/// A number with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number itself.
    pub value: f64,
    /// The interval; `None` when there are too few rows for one.
    pub interval: Option<Interval>,
    /// How many rows it comes from.
    pub count: usize,
}

impl Estimate {
    /// The same of a value that lies in `[0, 1]`, such as P@k: the interval is cut off there.
    #[must_use]
    pub fn of_share(self) -> Self {
        self.of_part(1.0)
    }

    /// The same of a value that lies between 0 and a whole, such as a percentage.
    #[must_use]
    pub fn of_part(self, whole: f64) -> Self {
        self.within([0.0, whole])
    }

    /// The same of a value that lies in this range, such as a correlation: the interval is cut off at its ends.
    #[must_use]
    pub fn within(self, [least, most]: [f64; 2]) -> Self {
        let cut = |interval: Interval| Interval {
            low: interval.low.max(least),
            high: interval.high.min(most),
        };
        Self {
            interval: self.interval.map(cut),
            ..self
        }
    }
}

/// An interval that covers the true value in 95 of 100 repetitions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Refuses a list that is empty or holds a value that is not finite.
fn check(what: &'static str, values: &[f64]) -> Result<()> {
    check_not_empty(what, values)?;
    check_finite(what, values)
}

/// The differences `first - second` of finite values of one length. Those that are rounding error of equal values are
/// exactly 0, so that they count as ties.
fn differences(first: &[f64], second: &[f64]) -> Result<Vec<f64>> {
    check("the first model's values", first)?;
    check("the second model's values", second)?;
    check_length("the second model's values", second, first.len())?;
    let difference = |(a, b): (&f64, &f64)| {
        if (a - b).abs() <= ROUNDING * a.abs().max(b.abs()) {
            0.0
        } else {
            a - b
        }
    };
    Ok(first.iter().zip(second).map(difference).collect())
}

/// Relative difference up to which two values are taken to be the same number computed in two ways. Shares such as P@k
/// differ by 1/k or not at all, but 0.9 - 0.8 and 0.4 - 0.3 are not the same double.
const ROUNDING: f64 = 1e-12;

/// The standard normal distribution's probability above |z|, twice.
fn normal_p_value(z: f64) -> f64 {
    // Both parameters are valid constants, so there is a distribution to ask.
    Normal::new(0.0, 1.0).map_or(f64::NAN, |normal| (2.0 * normal.sf(z.abs())).min(1.0))
}

/// The quantile of the standard normal distribution that closes a 95% interval.
fn normal_quantile() -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |normal| normal.inverse_cdf(UPPER))
}

/// Student's t distribution's probability beyond |t| on both sides.
fn student_p_value(t: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom)
        .map_or(f64::NAN, |student| (2.0 * student.sf(t.abs())).min(1.0))
}

/// The quantile of Student's t distribution that closes a 95% interval.
fn student_quantile(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |student| student.inverse_cdf(UPPER))
}
