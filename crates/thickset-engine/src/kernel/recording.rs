//! Between the tensors of networks and what operations of many tensors are recorded by, on the device of the kernels.

use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::ops::{Backward, NodeGuard, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::{Autodiff, Flex};
use burn::tensor::Tensor;

/// Whether what is done with the tensor is recorded.
pub(super) fn is_recorded(tensor: &Tensor<2>) -> bool {
    tensor.is_autodiff()
}

/// The tensor's numbers.
///
/// # Panics
/// If it is not on the device of the kernels.
pub(super) fn plain(tensor: &Tensor<2>) -> FlexTensor {
    let plain = tensor.clone().without_autodiff();
    let Ok(numbers) = plain.try_into_primitive::<Flex>() else {
        panic!("a tensor on the device of the kernels")
    };
    numbers
}

/// A tensor of numbers that nothing is recorded of.
pub(super) fn of_plain(numbers: FlexTensor) -> Tensor<2> {
    Tensor::from_primitive::<Flex>(numbers)
}

/// Records an operation of `parents` that gave `output`. `backward` needs as many parents as there are.
pub(super) fn record<O: Backward<Flex, N>, const N: usize, const D: usize>(
    operation: O,
    parents: Vec<Tensor<2>>,
    state: O::State,
    output: FlexTensor,
) -> Tensor<D> {
    let nodes: Vec<NodeGuard> = parents.into_iter().map(node).collect();
    let Ok(nodes) = <[NodeGuard; N]>::try_from(nodes) else {
        unreachable!("as many parents as the operation has")
    };
    let prepared = operation.prepare::<NoCheckpointing>(nodes);
    let output = match prepared.compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(state, output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

fn node(tensor: Tensor<2>) -> NodeGuard {
    let recorded = tensor.autodiff();
    let Ok(tensor) = recorded.try_into_primitive::<Autodiff<Flex>>() else {
        panic!("a tensor on the device of the kernels")
    };
    tensor.into_parts().1
}
