//! Refusals that many functions share: lists that are empty, of the wrong length, or hold NaN or infinity.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::kernel::{VectorLoop, vectorised};

use crate::{Error, Result};

/// Refuses an empty list.
pub(crate) fn check_not_empty<T>(what: &'static str, values: &[T]) -> Result<()> {
    if values.is_empty() {
        Err(Error::Empty { what })
    } else {
        Ok(())
    }
}

/// Refuses a list of another length.
pub(crate) fn check_length<T>(what: &'static str, values: &[T], expected: usize) -> Result<()> {
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
pub(crate) fn check_finite(what: &'static str, values: &[f64]) -> Result<()> {
    if vectorised(AreFinite(values)) {
        return Ok(());
    }
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NotFinite {
            what,
            index,
            value: values[index],
        }),
    }
}

/// Whether no value is NaN or infinite. A loop without a way out is far quicker than one that looks for the first.
struct AreFinite<'a>(&'a [f64]);

impl VectorLoop for AreFinite<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let mut all = true;
        for value in self.0 {
            all &= value.is_finite();
        }
        all
    }
}

/// Refuses what is not finite and positive.
pub(crate) fn check_positive(what: &'static str, got: f64) -> Result<()> {
    if got.is_finite() && got > 0.0 {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        expected: "finite and positive",
        got,
    })
}

/// Refuses what is not finite or is negative.
pub(crate) fn check_weight(what: &'static str, got: f64) -> Result<()> {
    if got.is_finite() && got >= 0.0 {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        expected: "finite and not negative",
        got,
    })
}

/// A count as a real number.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of rows and features stay far below 2^53"
)]
pub(crate) const fn as_f64(count: usize) -> f64 {
    count as f64
}
