//! Optimisers: they take the gradients of one `backward` and change the weights in place.

mod adam;

pub use adam::Adam;

use burn::tensor::{DType, Element, Gradients, Tensor, TensorData};

use crate::network::Network;
use crate::parameter::Role;

/// Changes a network's weights along the gradients of a loss.
pub trait Optimizer {
    /// One step. The weights stay tracked; a weight that the loss does not reach stays as it is.
    fn step(&mut self, network: &mut Network, gradients: Gradients);
}

/// Runs `update(place, weights, gradient)` over each tracked weight that has a gradient.
fn for_each_weight(
    network: &mut Network,
    mut gradients: Gradients,
    mut update: impl FnMut(usize, Numbers<'_>),
) {
    let parameters = network.parameters_mut().into_iter();
    let weights = parameters.filter(|parameter| parameter.role == Role::Weight);
    for (place, parameter) in weights.enumerate() {
        let Some(gradient) = parameter.value.grad_remove(&mut gradients) else {
            continue;
        };
        let device = gradient.device();
        let released = Tensor::<2>::empty([0, 0], &device);
        let value = std::mem::replace(&mut parameter.value, released).without_autodiff();
        let mut weights = value.into_data();
        let gradient = gradient.into_data();
        let dtype = weights.dtype();
        match dtype {
            DType::F64 => update(
                place,
                Numbers::F64(slice_mut(&mut weights), slice(&gradient)),
            ),
            _ => update(
                place,
                Numbers::F32(slice_mut(&mut weights), slice(&gradient)),
            ),
        }
        parameter.value = Tensor::from_data(weights, (&device, dtype))
            .autodiff()
            .require_grad();
    }
}

/// One weight and its gradient, in the network's type.
enum Numbers<'a> {
    F32(&'a mut [f32], &'a [f32]),
    F64(&'a mut [f64], &'a [f64]),
}

fn slice_mut<T: Element>(data: &mut TensorData) -> &mut [T] {
    data.as_mut_slice()
        .expect("weights have the network's type")
}

fn slice<T: Element>(data: &TensorData) -> &[T] {
    data.as_slice().expect("gradients have the network's type")
}
