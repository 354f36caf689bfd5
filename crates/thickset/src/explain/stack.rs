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

/// The sum of `copies` batches that stand one after the other, added in their order.
pub(super) fn sum(stacked: &Tensor<2>, copies: usize) -> Tensor<2> {
    let [all, width] = stacked.dims();
    let rows = all / copies;
    let sum = stacked.clone().reshape([copies, rows, width]).sum_dim(0);
    sum.reshape([rows, width])
}

/// Adds to a sum that may not have begun.
pub(super) fn add(sum: &mut Option<Tensor<2>>, more: Tensor<2>) {
    *sum = Some(match sum.take() {
        Some(sum) => sum + more,
        None => more,
    });
}

#[cfg(test)]
mod tests {
    use thickset_engine::{Device, TensorData};

    use super::*;
    use crate::host::read;

    #[test]
    fn copies_are_added_one_after_the_other_to_the_bit() {
        let (copies, rows, width) = (10, 7, 37);
        let mut stream = crate::Seed::new(1).stream("copies");
        #[expect(
            clippy::cast_possible_truncation,
            reason = "any f32 of both signs will do"
        )]
        let values: Vec<f32> = (0..copies * rows * width)
            .map(|_| (stream.normal() * (4.0 * stream.normal()).exp()) as f32)
            .collect();
        let data = TensorData::new(values.clone(), [copies * rows, width]);
        let stacked = Tensor::<2>::from_data(data, &Device::cpu());
        let got = read(sum(&stacked, copies));
        for (place, got) in got.iter().enumerate() {
            let one_by_one = (0..copies)
                .map(|copy| values[copy * rows * width + place])
                .fold(0.0_f32, |sum, value| sum + value);
            assert_eq!(got.to_bits(), f64::from(one_by_one).to_bits());
        }
    }
}
