//! Several copies of a batch, one after the other, run as one; and their sum, in one fixed order.

use thickset_engine::Tensor;

/// Copies run at once, which fills the processor for a small batch and bounds the memory for a large one.
const TOGETHER: usize = 10;

/// The numbers of copies to run at once, in order, with sum `count`. It depends on the count alone, so the order of
/// additions does too.
pub(super) fn groups(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..count)
        .step_by(TOGETHER)
        .map(move |start| start..(start + TOGETHER).min(count))
}

/// The sum of `copies` batches that stand one after the other.
pub(super) fn sum(stacked: &Tensor<2>, copies: usize) -> Tensor<2> {
    let [all, width] = stacked.dims();
    let rows = all / copies;
    let part = |copy: usize| {
        stacked
            .clone()
            .slice([copy * rows..(copy + 1) * rows, 0..width])
    };
    (1..copies).fold(part(0), |sum, copy| sum + part(copy))
}

/// Adds to a sum that may not have begun.
pub(super) fn add(sum: &mut Option<Tensor<2>>, more: Tensor<2>) {
    *sum = Some(match sum.take() {
        Some(sum) => sum + more,
        None => more,
    });
}
