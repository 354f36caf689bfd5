//! Counts among real numbers.

/// A count as a real number.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of rows, seeds and methods stay far below 2^53"
)]
pub(crate) const fn as_f64(count: usize) -> f64 {
    count as f64
}
