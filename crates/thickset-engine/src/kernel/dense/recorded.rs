//! The operations of a chain and their backwards.

use std::sync::Arc;

use super::run::{Kept, Ways};
use crate::kernel::storage::{Stored, size};
use crate::tensor::{Array, Parents, Tensor, Track};

/// The outputs of a chain; the tensors are the rows, the weights and the biases.
pub(super) fn record_output<'t, T: Stored>(
    tensors: impl Iterator<Item = &'t Tensor<2>>,
    kept: Arc<Kept<T>>,
) -> Tensor<2> {
    let output = Array::new(kept.last_values(), [kept.rows(), kept.outputs()]);
    Tensor::recorded(output, tracks(tensors), move |gradient, parents| {
        let maps = kept.maps();
        let (adjoints, input) = kept.down(gradient.values(), parents.wants(0));
        if let Some(input) = input {
            parents.give(0, Array::new(input, [kept.rows(), kept.features()]));
        }
        if any(parents, 1, maps) {
            hand_out(parents, 1, kept.weights(&[kept.as_run(&adjoints)]));
        }
        if any(parents, 1 + maps, maps) {
            hand_out(parents, 1 + maps, kept.biases(&adjoints, None));
        }
    })
}

/// The adjoint of the input, for that of the outputs.
pub(super) fn record_pull_back<T: Stored>(
    kept: Arc<Kept<T>>,
    weights: &[Tensor<2>],
    seed: Tensor<2>,
) -> Tensor<2> {
    let (adjoints, input) = kept.down(seed.array().values(), true);
    let input = Array::new(input.unwrap_or_default(), [kept.rows(), kept.features()]);
    let tensors = std::iter::once(&seed).chain(weights);
    Tensor::recorded(input, tracks(tensors), move |gradient, parents| {
        let changes = kept.up(gradient.values());
        if parents.wants(0) {
            let seed = Array::new(changes.last(), [kept.rows(), kept.outputs()]);
            parents.give(0, seed);
        }
        if any(parents, 1, kept.maps()) {
            let weights = kept.weights(&[Ways {
                adjoints: &adjoints,
                input: gradient.values(),
                between: &changes,
            }]);
            hand_out(parents, 1, weights);
        }
    })
}

/// The change of the outputs along a direction of the rows.
pub(super) fn record_tangent<T: Stored>(
    kept: Arc<Kept<T>>,
    weights: &[Tensor<2>],
    direction: Tensor<2>,
) -> Tensor<2> {
    let changes = kept.up(direction.array().values());
    let output = Array::new(changes.last(), [kept.rows(), kept.outputs()]);
    let tracks = tracks(std::iter::once(&direction).chain(weights));
    let direction = direction.array().clone();
    Tensor::recorded(output, tracks, move |gradient, parents| {
        let (adjoints, input) = kept.down(gradient.values(), parents.wants(0));
        if let Some(input) = input {
            parents.give(0, Array::new(input, [kept.rows(), kept.features()]));
        }
        if any(parents, 1, kept.maps()) {
            let weights = kept.weights(&[Ways {
                adjoints: &adjoints,
                input: direction.values(),
                between: &changes,
            }]);
            hand_out(parents, 1, weights);
        }
    })
}

/// A loss of a chain whose gradients in the parents, the weights and the biases, are known.
pub(super) fn record_loss<T: Stored>(
    parents: &[Tensor<2>],
    gradients: Vec<Array>,
    value: f64,
) -> Tensor<1> {
    let value = Array::new(vec![<T as crate::kernel::Real>::from_f64(value)], [1]);
    Tensor::recorded(value, tracks(parents.iter()), move |slope, parents| {
        let slope = slope.values::<T>()[0];
        for (place, gradient) in gradients.iter().enumerate() {
            let gradient = if slope == T::ONE {
                gradient.clone()
            } else {
                let numbers = gradient.values::<T>().iter();
                Array::new(numbers.map(|it| *it * slope).collect(), size(gradient))
            };
            parents.give(place, gradient);
        }
    })
}

fn tracks<'t>(tensors: impl Iterator<Item = &'t Tensor<2>>) -> Vec<Track> {
    tensors
        .map(|tensor| tensor.clone().into_parts().1)
        .collect()
}

/// Whether one of so many parents from a first one on wants a gradient.
fn any(parents: &Parents<'_>, first: usize, count: usize) -> bool {
    (first..first + count).any(|place| parents.wants(place))
}

/// Hands gradients to the parents from a first one on.
fn hand_out(parents: &mut Parents<'_>, first: usize, gradients: Vec<Array>) {
    for (place, gradient) in gradients.into_iter().enumerate() {
        parents.give(first + place, gradient);
    }
}
