//! Reading and adding at places that another array names.

use super::layout::by_any;
use super::number::{Floating, by_float};
use crate::tensor::array::Array;
use crate::tensor::numbers::{Element, Numbers};
use crate::tensor::shape::Shape;

/// `out[b, k, a] = x[b, places[b, k, a], a]`, the axis being the middle one.
///
/// # Panics
/// If the shapes do not fit or a place lies outside the axis.
pub(crate) fn gather(x: &Array, axis: usize, places: &Array) -> Array {
    check(x.shape, axis, places.shape);
    let ([_, size, after], [_, count, _]) = (x.shape.around(axis), places.shape.around(axis));
    let at = places.values::<i32>();
    let numbers = by_any!(x, |values| {
        let mut out = Vec::with_capacity(at.len());
        for (number, &place) in at.iter().enumerate() {
            let block = number / (count * after).max(1);
            out.push(values[(block * size + within(place, size)) * after + number % after]);
        }
        out
    });
    Array::of(numbers, places.shape)
}

/// The adjoint of [`gather`]: `x[b, places[b, k, a], a] += values[b, k, a]`.
///
/// # Panics
/// If the shapes do not fit or a place lies outside the axis.
pub(crate) fn scatter_add(x: Array, axis: usize, places: &Array, values: &Array) -> Array {
    check(x.shape, axis, places.shape);
    assert_eq!(places.shape, values.shape, "shapes of places and values");
    let ([_, size, after], [_, count, _]) = (x.shape.around(axis), places.shape.around(axis));
    let (shape, at) = (x.shape, places.values::<i32>());
    let numbers = by_float!(x.into_numbers(), values.numbers(), |x, values| {
        let mut x = x;
        let out = std::sync::Arc::make_mut(&mut x);
        for ((number, &place), &value) in at.iter().enumerate().zip(values.iter()) {
            let block = number / (count * after).max(1);
            let to = (block * size + within(place, size)) * after + number % after;
            out[to] += value;
        }
        x
    });
    Array::of(numbers, shape)
}

/// Parts of an axis in the order that `places`, of one axis, name.
///
/// # Panics
/// If a place lies outside the axis.
pub(crate) fn select(x: &Array, axis: usize, places: &Array) -> Array {
    let [before, size, after] = x.shape.around(axis);
    let at = places.values::<i32>();
    let shape = x.shape.with_size(axis, at.len());
    let numbers = by_any!(x, |values| {
        let mut out = Vec::with_capacity(shape.num_elements());
        for block in 0..before {
            let values = &values[block * size * after..][..size * after];
            if after == 1 {
                out.extend(at.iter().map(|&place| values[within(place, size)]));
            } else {
                for &place in at {
                    out.extend_from_slice(&values[within(place, size) * after..][..after]);
                }
            }
        }
        out
    });
    Array::of(numbers, shape)
}

/// The adjoint of [`select`]: parts of `values` added to those of `x`.
///
/// # Panics
/// If the shapes do not fit or a place lies outside the axis.
pub(crate) fn select_add(x: Array, axis: usize, places: &Array, values: &Array) -> Array {
    let shape = x.shape;
    let (around, at) = (shape.around(axis), places.values::<i32>());
    assert_eq!(
        shape.with_size(axis, at.len()),
        values.shape,
        "shape of what is added"
    );
    let numbers = by_float!(x.into_numbers(), values.numbers(), |x, values| {
        let mut x = x;
        let out = std::sync::Arc::make_mut(&mut x).as_mut_slice();
        add_parts(out, around, at, values);
        x
    });
    Array::of(numbers, shape)
}

fn add_parts<T: Floating>(out: &mut [T], [_, size, after]: [usize; 3], at: &[i32], values: &[T]) {
    let blocks = out.chunks_exact_mut((size * after).max(1));
    for (out, values) in blocks.zip(values.chunks_exact((at.len() * after).max(1))) {
        for (&place, values) in at.iter().zip(values.chunks_exact(after.max(1))) {
            let out = &mut out[within(place, size) * after..][..after];
            for (out, &value) in out.iter_mut().zip(values) {
                *out = *out + value;
            }
        }
    }
}

fn check(shape: Shape, axis: usize, places: Shape) {
    assert_eq!(
        shape.with_size(axis, 0),
        places.with_size(axis, 0),
        "shapes of numbers and places along axis {axis}"
    );
}

fn within(place: i32, size: usize) -> usize {
    match usize::try_from(place) {
        Ok(at) if at < size => at,
        _ => panic!("place {place} of an axis of {size}"),
    }
}
