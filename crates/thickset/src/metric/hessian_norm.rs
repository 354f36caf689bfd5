//! Hessian norm: how fast the gradient explanation turns as the input moves.
//!
//! `||H||_F` of the input Hessian of `f_c`, or its cheap estimate along one direction z of length 1,
//! `||H z|| ~ ||g(x + h z) - g(x)|| / h` (R2ET Eq. 6 and section 6.3). The values come from a model; this file is their
//! norms.

use super::norm;
use crate::check::{check_finite, check_length, check_not_empty};
use crate::registry::{Direction, Family, Info};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "hessian-norm",
    label: "Hessian norm",
    family: Family::Metric,
    summary: "Norm of the input Hessian of the predicted probability",
    formula: "||H||_F, or ||H z|| along one direction z of length 1",
    source: "R2ET, Eq. 6, section 6.3 and B.2.1",
    direction: Some(Direction::Lower),
    cost: "one Hessian-vector product a row and direction; n of them for the exact norm",
    defaults: &[],
};

/// The Frobenius norm of a Hessian given by its entries, or the length of a product H z given by its components; 0 or
/// more, lower is more stable.
///
/// # Errors
/// When there is no value, or one is not finite.
pub fn score(values: &[f64]) -> Result<f64> {
    check_not_empty("the Hessian", values)?;
    check_finite("the Hessian", values)?;
    Ok(norm(values))
}

/// The finite-difference estimate from the gradients at `x` and at `x + step * z`, with z of length 1.
///
/// # Errors
/// When the gradients are empty, differ in length or are not finite, or the step is not positive.
pub fn estimate(gradient: &[f64], moved: &[f64], step: f64) -> Result<f64> {
    check_length("the moved gradient", moved, gradient.len())?;
    if !(step > 0.0 && step.is_finite()) {
        return Err(Error::OutOfRange {
            what: "the finite-difference step",
            expected: "positive and finite",
            got: step,
        });
    }
    let change: Vec<f64> = gradient
        .iter()
        .zip(moved)
        .map(|(before, after)| after - before)
        .collect();
    Ok(score(&change)? / step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_and_four_make_five() {
        assert!((score(&[3.0, 0.0, 0.0, -4.0]).unwrap() - 5.0).abs() < 1e-15);
        assert!((estimate(&[1.0, 1.0], &[1.3, 1.4], 0.1).unwrap() - 5.0).abs() < 1e-12);
    }

    #[test]
    fn a_linear_model_has_none() {
        assert!(score(&[0.0; 9]).unwrap().abs() < 1e-300);
    }

    #[test]
    fn a_step_that_is_not_positive_is_refused() {
        let message = estimate(&[1.0], &[1.0], 0.0).unwrap_err().to_string();
        assert_eq!(
            message,
            "the finite-difference step must be positive and finite, got 0"
        );
    }
}
