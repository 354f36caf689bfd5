//! The paired t-test: whether the mean of the rows' differences is zero.
//!
//! `t = m / (s / sqrt(n))` with n - 1 degrees of freedom, two-sided.

use serde::Serialize;

use super::mean::Moments;
use super::{differences, student_p_value};
use crate::Result;
use crate::check::as_f64;

/// The test's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TTest {
    /// The statistic; `None` when the differences do not vary, or there is only one.
    pub statistic: Option<f64>,
    /// Degrees of freedom.
    pub freedom: usize,
    /// Two-sided p value. Differences that do not vary: 1 when they are zero, 0 when not. One row: 1.
    pub p_value: f64,
}

/// The test of `first - second`, row by row.
///
/// # Errors
/// When the lists are empty, differ in length, or hold a value that is not finite.
pub fn paired(first: &[f64], second: &[f64]) -> Result<TTest> {
    Ok(of_differences(&differences(first, second)?))
}

/// The test of at least one finite difference.
pub(super) fn of_differences(differences: &[f64]) -> TTest {
    let moments = Moments::of(differences);
    let freedom = differences.len() - 1;
    let (statistic, p_value) = match moments.standard_error {
        Some(error) if error > 0.0 => {
            let t = moments.mean / error;
            (Some(t), student_p_value(t, as_f64(freedom)))
        }
        Some(_) if moments.mean != 0.0 => (None, 0.0),
        _ => (None, 1.0),
    };
    TTest {
        statistic,
        freedom,
        p_value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_differences_by_hand() {
        // Differences 1 and 3: mean 2, s^2 = 2, t = 2. With one degree of freedom (Cauchy): p = 1 - 2 atan(2) / pi.
        let found = paired(&[2.0, 5.0], &[1.0, 2.0]).unwrap();
        assert!((found.statistic.unwrap() - 2.0).abs() < 1e-15);
        assert!(
            (found.p_value - (1.0 - 2.0 * 2.0_f64.atan() / std::f64::consts::PI)).abs() < 1e-12
        );
    }

    #[test]
    fn differences_that_do_not_vary_have_an_answer() {
        let same = paired(&[1.0, 2.0], &[1.0, 2.0]).unwrap();
        assert_eq!(
            (same.statistic, same.p_value.to_bits()),
            (None, 1.0_f64.to_bits())
        );
        let shifted = paired(&[2.0, 3.0], &[1.0, 2.0]).unwrap();
        assert_eq!(
            (shifted.statistic, shifted.p_value.to_bits()),
            (None, 0.0_f64.to_bits())
        );
        let single = paired(&[2.0], &[1.0]).unwrap();
        assert_eq!(
            (single.statistic, single.p_value.to_bits()),
            (None, 1.0_f64.to_bits())
        );
    }
}
