//! The operations of a chain where they are recorded, and what their backwards do.

use std::marker::PhantomData;
use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops};
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use super::MOST_MAPS;
use super::run::{Between, Kept, Ways};
use crate::kernel::recording::record;
use crate::kernel::storage::{Stored, size};

/// Calls a function of a constant for each number of maps that a chain may have.
macro_rules! by_maps {
    ($maps:expr, $operation:expr, $arguments:tt, [$($count:literal => $parents:literal),*]) => {
        match $maps {
            $($count => by_maps!(@call $operation, $parents, $arguments),)*
            maps => unreachable!("a chain of at most {MOST_MAPS} maps, got {maps}"),
        }
    };
    (@call $operation:expr, $parents:literal, ($tensors:expr, $state:expr, $output:expr)) => {
        record::<_, $parents, _>($operation, $tensors, $state, $output)
    };
}

/// Records the outputs of a chain; the parents are the rows, the weights and the biases.
pub(super) fn record_output<T: Stored>(parents: Vec<Tensor<2>>, kept: &Arc<Kept<T>>) -> Tensor<2> {
    let output = kept.output();
    by_maps!(
        kept.maps(),
        Output(PhantomData),
        (parents, kept.clone(), output),
        [1 => 3, 2 => 5, 3 => 7, 4 => 9, 5 => 11, 6 => 13]
    )
}

/// Records an adjoint of the input; the parents are that of the outputs and the weights.
pub(super) fn record_pull_back<T: Stored>(
    parents: Vec<Tensor<2>>,
    kept: &Arc<Kept<T>>,
    adjoints: Between<T>,
    output: FlexTensor,
) -> Tensor<2> {
    by_maps!(
        kept.maps(),
        PullBack(PhantomData),
        (parents, (kept.clone(), Arc::new(adjoints)), output),
        [1 => 2, 2 => 3, 3 => 4, 4 => 5, 5 => 6, 6 => 7]
    )
}

/// Records a change of the outputs; the parents are the direction and the weights.
pub(super) fn record_tangent<T: Stored>(
    parents: Vec<Tensor<2>>,
    kept: &Arc<Kept<T>>,
    direction: FlexTensor,
    changes: Between<T>,
    output: FlexTensor,
) -> Tensor<2> {
    by_maps!(
        kept.maps(),
        Tangent(PhantomData),
        (parents, (kept.clone(), direction, Arc::new(changes)), output),
        [1 => 2, 2 => 3, 3 => 4, 4 => 5, 5 => 6, 6 => 7]
    )
}

/// Records a loss of a chain whose gradients are known; the parents are the weights and the biases.
pub(super) fn record_loss<T: Stored>(
    parents: Vec<Tensor<2>>,
    gradients: Vec<FlexTensor>,
    value: f64,
) -> Tensor<1> {
    let value = T::number(T::from_f64(value));
    by_maps!(
        parents.len() / 2,
        Loss(PhantomData::<T>),
        (parents, gradients, value),
        [1 => 2, 2 => 4, 3 => 6, 4 => 8, 5 => 10, 6 => 12]
    )
}

/// The parents that want a gradient.
fn wanted<S, const N: usize>(ops: &Ops<S, N>) -> Vec<Option<NodeId>> {
    let parents = ops.parents.iter();
    parents
        .map(|node| node.as_ref().map(|node| node.id))
        .collect()
}

/// Hands gradients to the parents that want one.
fn hand_out(grads: &mut Gradients, nodes: &[Option<NodeId>], values: Vec<FlexTensor>) {
    for (node, value) in nodes.iter().zip(values) {
        if let Some(node) = node {
            grads.register::<Flex>(*node, value);
        }
    }
}

fn any(nodes: &[Option<NodeId>]) -> bool {
    nodes.iter().any(Option::is_some)
}

#[derive(Debug)]
struct Output<T>(PhantomData<T>);

impl<T: Stored, const N: usize> Backward<Flex, N> for Output<T> {
    type State = Arc<Kept<T>>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let nodes = wanted(&ops);
        let gradient = grads.consume::<Flex>(&ops.node);
        output_backward(&ops.state, &gradient, &nodes, grads);
    }
}

fn output_backward<T: Stored>(
    kept: &Kept<T>,
    gradient: &FlexTensor,
    nodes: &[Option<NodeId>],
    grads: &mut Gradients,
) {
    let (of_input, of_maps) = nodes.split_at(1);
    let (of_weights, of_biases) = of_maps.split_at(kept.maps());
    let gradient = gradient.to_contiguous();
    let (adjoints, input) = kept.down(T::numbers(&gradient), any(of_input));
    if let Some(input) = input {
        let input = T::tensor(input, [kept.rows(), kept.features()]);
        hand_out(grads, of_input, vec![input]);
    }
    if any(of_weights) {
        hand_out(grads, of_weights, kept.weights(&[kept.as_run(&adjoints)]));
    }
    if any(of_biases) {
        hand_out(grads, of_biases, kept.biases(&adjoints));
    }
}

#[derive(Debug)]
struct PullBack<T>(PhantomData<T>);

impl<T: Stored, const N: usize> Backward<Flex, N> for PullBack<T> {
    type State = (Arc<Kept<T>>, Arc<Between<T>>);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let nodes = wanted(&ops);
        let gradient = grads.consume::<Flex>(&ops.node);
        let (kept, adjoints) = &ops.state;
        pull_back_backward(kept, adjoints, &gradient, &nodes, grads);
    }
}

fn pull_back_backward<T: Stored>(
    kept: &Kept<T>,
    adjoints: &Between<T>,
    gradient: &FlexTensor,
    nodes: &[Option<NodeId>],
    grads: &mut Gradients,
) {
    let (of_seed, of_weights) = nodes.split_at(1);
    let gradient = gradient.to_contiguous();
    let changes = kept.up(T::numbers(&gradient));
    if any(of_seed) {
        let seed = T::tensor(changes.last(), [kept.rows(), kept.outputs()]);
        hand_out(grads, of_seed, vec![seed]);
    }
    if any(of_weights) {
        let weights = kept.weights(&[Ways {
            adjoints,
            input: T::numbers(&gradient),
            between: &changes,
        }]);
        hand_out(grads, of_weights, weights);
    }
}

#[derive(Debug)]
struct Tangent<T>(PhantomData<T>);

impl<T: Stored, const N: usize> Backward<Flex, N> for Tangent<T> {
    type State = (Arc<Kept<T>>, FlexTensor, Arc<Between<T>>);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let nodes = wanted(&ops);
        let gradient = grads.consume::<Flex>(&ops.node);
        let (kept, direction, changes) = &ops.state;
        tangent_backward(kept, (direction, changes), &gradient, &nodes, grads);
    }
}

fn tangent_backward<T: Stored>(
    kept: &Kept<T>,
    (direction, changes): (&FlexTensor, &Between<T>),
    gradient: &FlexTensor,
    nodes: &[Option<NodeId>],
    grads: &mut Gradients,
) {
    let (of_direction, of_weights) = nodes.split_at(1);
    let gradient = gradient.to_contiguous();
    let (adjoints, input) = kept.down(T::numbers(&gradient), any(of_direction));
    if let Some(input) = input {
        let input = T::tensor(input, [kept.rows(), kept.features()]);
        hand_out(grads, of_direction, vec![input]);
    }
    if any(of_weights) {
        let weights = kept.weights(&[Ways {
            adjoints: &adjoints,
            input: T::numbers(direction),
            between: changes,
        }]);
        hand_out(grads, of_weights, weights);
    }
}

#[derive(Debug)]
struct Loss<T>(PhantomData<T>);

impl<T: Stored, const N: usize> Backward<Flex, N> for Loss<T> {
    type State = Vec<FlexTensor>;

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let nodes = wanted(&ops);
        let slope = grads.consume::<Flex>(&ops.node).to_contiguous();
        let slope = T::numbers(&slope)[0];
        let gradients = if slope == T::ONE {
            ops.state
        } else {
            let scaled = |gradient: FlexTensor| {
                let numbers = T::numbers(&gradient).iter();
                T::tensor(numbers.map(|it| *it * slope).collect(), size(&gradient))
            };
            ops.state.into_iter().map(scaled).collect()
        };
        hand_out(grads, &nodes, gradients);
    }
}
