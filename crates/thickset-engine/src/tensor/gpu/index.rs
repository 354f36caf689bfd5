//! Reading and adding at places that another array names. A place outside its axis is not noticed here.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_backend::tensor::IndexingUpdateOp;
use burn_wgpu::Wgpu;

use super::layout::by_kind;
use super::{Array, DType, array, filled, floats, is_empty, tensor};

/// `out[b, k, a] = x[b, places[b, k, a], a]`, the axis being the middle one.
pub(crate) fn gather(from: &Array, axis: usize, places: &Array) -> Array {
    let (shape, dtype) = (places.shape, from.dtype());
    if is_empty(shape) {
        return filled(shape, 0.0, dtype);
    }
    let (x, places) = (tensor(from), tensor(places));
    let read = by_kind!(
        dtype,
        float_gather,
        int_gather,
        bool_gather,
        axis,
        x,
        places
    );
    array(read, shape, dtype)
}

/// The adjoint of [`gather`]: `x[b, places[b, k, a], a] += values[b, k, a]`.
pub(crate) fn scatter_add(to: Array, axis: usize, places: &Array, values: &Array) -> Array {
    if is_empty(places.shape) {
        return to;
    }
    let (places, values) = (tensor(places), tensor(values));
    let shape = to.shape;
    let x = owned(to);
    let add = IndexingUpdateOp::Add;
    floats(Wgpu::float_scatter(axis, x, places, values, add), shape)
}

/// Parts of an axis in the order that `places`, of one axis, name.
pub(crate) fn select(from: &Array, axis: usize, places: &Array) -> Array {
    let shape = from.shape.with_size(axis, places.shape.num_elements());
    let dtype = from.dtype();
    if is_empty(shape) {
        return filled(shape, 0.0, dtype);
    }
    let (x, places) = (tensor(from), tensor(places));
    let read = by_kind!(
        dtype,
        float_select,
        int_select,
        bool_select,
        x,
        axis,
        places
    );
    array(read, shape, dtype)
}

/// The adjoint of [`select`]: parts of `values` added to those of `to`.
pub(crate) fn select_add(to: Array, axis: usize, places: &Array, values: &Array) -> Array {
    if is_empty(values.shape) {
        return to;
    }
    let (places, values) = (tensor(places), tensor(values));
    let shape = to.shape;
    let x = owned(to);
    let add = IndexingUpdateOp::Add;
    floats(
        Wgpu::float_select_assign(x, axis, places, values, add),
        shape,
    )
}

/// The numbers of an array that may be written over where nobody else holds them.
fn owned(array: Array) -> super::Tensor {
    let values = tensor(&array);
    drop(array);
    values
}
