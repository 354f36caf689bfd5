//! The operations that layers are made of, each differentiable to any order in every tensor it takes.
//!
//! On the CPU they are kernels of our own, elsewhere composed of tensor operations. Each one's backward calls
//! others of the same family, so a pullback written with them can be differentiated again.

use crate::tensor::{Device, Tensor};

#[cfg(test)]
mod ablation;
mod adjoint;
mod batch_product;
mod buffer;
mod channel;
mod composed;
mod conv;
mod dense;
pub(crate) mod elementwise;
mod gate;
mod head;
mod linear;
mod margin_product;
pub(crate) mod matrix_product;
mod max_pool;
mod node_scale;
mod real;
mod register_tile;
mod row_tile;
mod simd;
mod softplus;
mod storage;
#[cfg(test)]
pub(crate) mod testing;
mod triangle;

pub(crate) use buffer::Scratch;
pub(crate) use composed::most_probable;
pub(crate) use dense::{Dense, input_search, path_step, training_step};
pub(crate) use head::Softmax as RowSoftmax;
pub(crate) use margin_product::margin_product;
pub(crate) use matrix_product::Side;
pub(crate) use real::Real;
pub(crate) use row_tile::{
    Activation, ActivationState, PackedMatrix, boundary_numbers, multiply, pack_rows, tile_numbers,
    tile_rows, unpack_rows,
};

pub use batch_product::{Factor, batch_product};
pub use channel::{channel_broadcast, channel_dot, channel_scale, channel_shift, channel_sum};
pub use conv::{
    ConvShape, JoinedConv, JoinedPool, conv2d, conv2d_input, conv2d_input_joined, conv2d_joined,
    conv2d_weight, joined_conv2d,
};
pub use gate::gate;
pub use head::{cross_entropy, loss_seed, probability_seed, probability_seed_tangent};
pub use linear::{affine, linear, linear_input, linear_weight};
pub use max_pool::{PoolShape, max_pool_indices, pool_gather, pool_scatter};
pub use node_scale::{node_column_dot, node_row_dot, node_scale};
pub use simd::{
    Instructions, VectorLoop, instructions, requested_instructions, sum_of_pairs, vectorised,
};
pub use softplus::{softplus, softplus_slope};
pub use triangle::{matrix_to_triangle, triangle_to_matrix};

/// A shape that no image can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error("`{name}` must be positive, got 0")]
    Zero { name: &'static str },
    #[error("padding must be smaller than the window, {window}, got {padding}")]
    Padding { padding: usize, window: usize },
    #[error("`{name}` must be a multiple of the groups, {groups}, got {size}")]
    Groups {
        name: &'static str,
        size: usize,
        groups: usize,
    },
    #[error("a window of {window} does not fit into `{name}`, {size} with its padding")]
    Window {
        window: usize,
        name: &'static str,
        size: usize,
    },
    #[error("`{name}` must be at most {MOST_NUMBERS} numbers")]
    TooLarge { name: &'static str },
}

/// The most numbers of a row or of a layer's weights: their indices have 32 bits.
const MOST_NUMBERS: usize = i32::MAX as usize;

/// Refuses a size whose factors multiply to more numbers than can be indexed.
fn bounded(name: &'static str, factors: &[usize]) -> Result<(), ShapeError> {
    let product = factors
        .iter()
        .try_fold(1_usize, |product, &factor| product.checked_mul(factor));
    match product {
        Some(numbers) if numbers <= MOST_NUMBERS => Ok(()),
        _ => Err(ShapeError::TooLarge { name }),
    }
}

/// Whether the kernels of this module run on the tensor's device.
pub(crate) fn on_cpu(tensor: &Tensor<2>) -> bool {
    matches!(tensor.device(), Device::Cpu)
}
