//! Moves single weights, for gradients by central differences.

use thickset_engine::{DType, Device, Network, Tensor, TensorData};

/// Adds to one number of one parameter; weights are tracked afterwards.
pub fn shift(network: &mut Network, place: usize, entry: usize, change: f64) {
    {
        let mut parameters = network.parameters_mut();
        let value = &mut parameters[place].value;
        let data = value.clone().without_autodiff().into_data();
        let mut numbers: Vec<f64> = data.iter::<f64>().collect();
        numbers[entry] += change;
        let data = TensorData::new(numbers, value.dims());
        *value = Tensor::from_data(data, (&Device::cpu(), DType::F64));
    }
    network.track();
}
