//! Optimisers: they take the gradients of one `backward` and change the weights in place. What they remember between steps
//! can be taken out and put back, so that a run that was stopped goes on to the same bits.

mod adam;
mod adamw;
mod sgd;

pub use adam::Adam;
pub use adamw::AdamW;
pub use sgd::Sgd;

use crate::tensor::{DType, Element, Gradients, Tensor, TensorData};

use crate::network::Network;
use crate::parameter::Role;
use crate::{Error, Result};

/// Changes a network's weights along the gradients of a loss.
pub trait Optimizer {
    /// One step. The weights stay tracked; a weight that the loss does not reach stays as it is.
    fn step(&mut self, network: &mut Network, gradients: Gradients);

    /// Changes the step size, for a schedule.
    fn set_rate(&mut self, rate: f64);

    /// All that it remembers between steps, beside its settings.
    fn state(&self) -> State;

    /// Takes up where the optimiser of this state stood.
    ///
    /// # Errors
    /// If the state is not of this kind of optimiser.
    fn restore(&mut self, state: State) -> Result<()>;
}

/// What an optimiser remembers between steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Steps taken.
    pub steps: u32,
    /// Numbers per weight, such as running moments, by name; one dimension each.
    pub tensors: Vec<(String, TensorData)>,
}

/// One list of numbers for each weight, in the weights' type; empty before a weight's first step.
#[derive(Clone, Debug, Default)]
struct Memory(Vec<TensorData>);

impl Memory {
    /// The numbers of the weight at `place`, zero before its first step.
    fn of(&mut self, place: usize, length: usize, dtype: DType) -> &mut TensorData {
        while self.0.len() <= place {
            self.0.push(zeros(0, dtype));
        }
        if self.0[place].shape().num_elements() != length || self.0[place].dtype() != dtype {
            self.0[place] = zeros(length, dtype);
        }
        &mut self.0[place]
    }

    fn store(&self, name: &str, tensors: &mut Vec<(String, TensorData)>) {
        for (place, numbers) in self.0.iter().enumerate() {
            tensors.push((format!("{name}.{place}"), numbers.clone()));
        }
    }

    /// Takes its numbers, which are stored in the order of the weights, out of the list.
    fn restore(name: &str, tensors: &mut Vec<(String, TensorData)>) -> Self {
        let mut numbers = Vec::new();
        while let Some(at) = tensors
            .iter()
            .position(|(stored, _)| *stored == format!("{name}.{}", numbers.len()))
        {
            numbers.push(tensors.swap_remove(at).1);
        }
        Self(numbers)
    }
}

/// Refuses what is left of a state when an optimiser has taken its part.
fn finished(tensors: &[(String, TensorData)]) -> Result<()> {
    match tensors.first() {
        None => Ok(()),
        Some((name, _)) => Err(Error::ExtraTensor {
            name: name.clone(),
            count: tensors.len(),
        }),
    }
}

fn zeros(length: usize, dtype: DType) -> TensorData {
    match dtype {
        DType::F64 => TensorData::new(vec![0.0_f64; length], [length]),
        _ => TensorData::new(vec![0.0_f32; length], [length]),
    }
}

/// Scales all gradients down so that their common Euclidean length is at most `most`; returns the length before. The sum
/// is in `f64` and in the order of the parameters, so that it is the same on every run.
pub fn clip(network: &Network, gradients: &mut Gradients, most: f64) -> f64 {
    let parameters = network.parameters();
    let mut square = 0.0;
    for parameter in &parameters {
        if let Some(gradient) = weight_gradient(parameter, gradients) {
            square += gradient
                .into_data()
                .iter::<f64>()
                .map(|entry| entry * entry)
                .sum::<f64>();
        }
    }
    let length = square.sqrt();
    if length > most {
        for parameter in parameters {
            if let Some(gradient) = weight_gradient(parameter, gradients) {
                let scaled = gradient * (most / length);
                parameter.value.grad_replace(gradients, scaled);
            }
        }
    }
    length
}

fn weight_gradient(parameter: &crate::Parameter, gradients: &Gradients) -> Option<Tensor<2>> {
    (parameter.role == Role::Weight)
        .then(|| parameter.value.grad(gradients))
        .flatten()
}

/// Runs `update(place, weights, gradient)` over each tracked weight that has a gradient.
fn for_each_weight(
    network: &mut Network,
    mut gradients: Gradients,
    mut update: impl FnMut(usize, Numbers<'_>),
) {
    let parameters = network.parameters_mut().into_iter();
    let weights = parameters.filter(|parameter| parameter.role == Role::Weight);
    // What stands in a weight's place while it is changed, so that its numbers have one owner and need no copy.
    let mut released = None;
    for (place, parameter) in weights.enumerate() {
        let Some(gradient) = parameter.value.grad_remove(&mut gradients) else {
            continue;
        };
        let device = gradient.device();
        let released = released.get_or_insert_with(|| Tensor::<2>::zeros([0, 0], &device));
        let value = std::mem::replace(&mut parameter.value, released.clone()).without_autodiff();
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
