//! Numbers that say how good a model is, and how stable and how faithful its explanations are.
//!
//! Every function here takes plain slices of one row, or of one column of rows. What they share:
//!
//! - NaN and infinity are refused ([`Error::NotFinite`]), and so are lists that do not fit each other.
//! - An explanation without any order (all features equal, or all zero) is *like itself and like nothing else*: the
//!   similarity of two such explanations is 1, that of one such and an ordinary one is 0. Where other software answers
//!   NaN, a mean over rows would be lost to one saturated row.
//! - What has no value at all, such as an AUC of rows of one class, is `None`.

pub mod accuracy;
pub mod ranking;
pub mod sensitivity;

use crate::{Error, Result};

/// Refuses an empty list.
fn check_not_empty<T>(what: &'static str, values: &[T]) -> Result<()> {
    if values.is_empty() {
        Err(Error::Empty { what })
    } else {
        Ok(())
    }
}

/// Refuses a list of another length.
fn check_length<T>(what: &'static str, values: &[T], expected: usize) -> Result<()> {
    if values.len() == expected {
        Ok(())
    } else {
        Err(Error::LengthMismatch {
            what,
            expected,
            got: values.len(),
        })
    }
}

/// Refuses NaN and infinity.
fn check_finite(what: &'static str, values: &[f64]) -> Result<()> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite {
            what,
            index,
            value: values[index],
        }),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of rows and features stay far below 2^53"
)]
const fn as_f64(count: usize) -> f64 {
    count as f64
}
