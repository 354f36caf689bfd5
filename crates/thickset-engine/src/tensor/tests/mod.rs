//! Every operation by hand and by central differences, the tape, and that no operation changes what another handle reads.

mod by_hand;
mod gradients;
mod sharing;
mod tape;

use super::{Device, Tensor, TensorData};

/// A matrix of these rows.
fn matrix<const R: usize, const C: usize>(rows: [[f64; C]; R]) -> Tensor<2> {
    let data = TensorData::new(rows.concat(), [R, C]);
    Tensor::from_data(data, (&Device::cpu(), super::DType::F64))
}

fn numbers<const D: usize>(tensor: &Tensor<D>) -> Vec<f64> {
    tensor.to_data().iter().collect()
}
