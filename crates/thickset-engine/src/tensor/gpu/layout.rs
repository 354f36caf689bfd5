//! Operations that move numbers and leave them as they are.

use std::ops::Range;

use burn_backend::Slice;
use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_wgpu::Wgpu;

use super::{Array, DType, Shape, array, filled, is_empty, shape_of, tensor};

/// Calls the operation of Burn that fits the type of the numbers.
macro_rules! by_kind {
    ($dtype:expr, $float:ident, $int:ident, $bool:ident, $($argument:expr),*) => {
        match $dtype {
            DType::F32 | DType::F64 => Wgpu::$float($($argument),*),
            DType::I32 => Wgpu::$int($($argument),*),
            DType::Bool => Wgpu::$bool($($argument),*),
        }
    };
}
pub(super) use by_kind;

/// Sizes of 1 stretched to those of `shape`.
pub(crate) fn expand(from: &Array, shape: Shape) -> Array {
    if is_empty(shape) {
        return filled(shape, 0.0, from.dtype());
    }
    let (values, size) = (tensor(from), shape_of(shape));
    let stretched = by_kind!(
        from.dtype(),
        float_expand,
        int_expand,
        bool_expand,
        values,
        size
    );
    array(stretched, shape, from.dtype())
}

/// Two axes exchanged.
pub(crate) fn swap_axes(from: &Array, first: usize, second: usize) -> Array {
    let values = tensor(from);
    let swapped = by_kind!(
        from.dtype(),
        float_swap_dims,
        int_swap_dims,
        bool_swap_dims,
        values,
        first,
        second
    );
    array(swapped, from.shape.swapped(first, second), from.dtype())
}

fn slices(ranges: &[Range<usize>]) -> Vec<Slice> {
    ranges.iter().cloned().map(Slice::from).collect()
}

/// A range of every axis.
pub(crate) fn slice(from: &Array, ranges: &[Range<usize>]) -> Array {
    let shape = ranges
        .iter()
        .map(ExactSizeIterator::len)
        .collect::<Vec<_>>()
        .into();
    if is_empty(shape) {
        return filled(shape, 0.0, from.dtype());
    }
    let (values, ranges) = (tensor(from), slices(ranges));
    let part = by_kind!(
        from.dtype(),
        float_slice,
        int_slice,
        bool_slice,
        values,
        &ranges
    );
    array(part, shape, from.dtype())
}

/// The adjoint of [`slice`]: the array at these ranges of zeros of this shape.
pub(crate) fn embed(from: &Array, shape: Shape, ranges: &[Range<usize>]) -> Array {
    let zeros = filled(shape, 0.0, from.dtype());
    if is_empty(from.shape) {
        return zeros;
    }
    let (values, ranges) = (tensor(from), slices(ranges));
    let whole = tensor(&zeros);
    drop(zeros);
    let embedded = by_kind!(
        from.dtype(),
        float_slice_assign,
        int_slice_assign,
        bool_slice_assign,
        whole,
        &ranges,
        values
    );
    array(embedded, shape, from.dtype())
}

/// Arrays one after the other along an axis.
pub(crate) fn concatenate(parts: &[Array], axis: usize) -> Array {
    let size = parts.iter().map(|part| part.shape.size(axis)).sum();
    let (shape, dtype) = (parts[0].shape.with_size(axis, size), parts[0].dtype());
    let parts: Vec<_> = parts
        .iter()
        .filter(|part| !is_empty(part.shape))
        .map(tensor)
        .collect();
    if parts.is_empty() {
        return filled(shape, 0.0, dtype);
    }
    let joined = by_kind!(dtype, float_cat, int_cat, bool_cat, parts, axis);
    array(joined, shape, dtype)
}
