//! Operations that move numbers and leave them as they are.

use std::ops::Range;

use crate::tensor::array::Array;
use crate::tensor::numbers::{Element, Numbers};
use crate::tensor::shape::Shape;

/// Runs one expression for whichever type the numbers have.
macro_rules! by_any {
    ($array:expr, |$values:ident| $result:expr) => {
        match $array.numbers() {
            Numbers::F32($values) => Element::into_numbers($result),
            Numbers::F64($values) => Element::into_numbers($result),
            Numbers::I32($values) => Element::into_numbers($result),
            Numbers::Bool($values) => Element::into_numbers($result),
        }
    };
}
pub(super) use by_any;

/// Sizes of 1 stretched to those of `shape`.
///
/// # Panics
/// If another size differs.
pub(crate) fn expand(x: &Array, shape: Shape) -> Array {
    if x.shape == shape {
        return x.clone();
    }
    assert_eq!(
        x.shape.broadcast(shape),
        shape,
        "shape {:?} stretched to {shape:?}",
        x.shape
    );
    let numbers = by_any!(x, |values| stretched(values, x.shape, shape));
    Array::of(numbers, shape)
}

fn stretched<T: Copy>(values: &[T], from: Shape, to: Shape) -> Vec<T> {
    let mut numbers = values.to_vec();
    let mut shape = from;
    // The fastest axis first, so that what is repeated is one block after the other.
    for axis in (0..to.rank()).rev() {
        if shape.size(axis) == to.size(axis) {
            continue;
        }
        let [_, _, block] = shape.around(axis);
        let times = to.size(axis);
        let mut more = Vec::with_capacity(numbers.len() * times);
        for part in numbers.chunks_exact(block.max(1)) {
            for _ in 0..times {
                more.extend_from_slice(part);
            }
        }
        numbers = more;
        shape = shape.with_size(axis, times);
    }
    numbers
}

/// Two axes exchanged.
pub(crate) fn swap_axes(x: &Array, first: usize, second: usize) -> Array {
    let (first, second) = (first.min(second), first.max(second));
    let shape = x.shape.swapped(first, second);
    if x.shape.size(first) == 1 && x.shape.size(second) == 1 {
        return x.clone().reshaped(shape);
    }
    let [before, rows, _] = x.shape.around(first);
    let [_, columns, after] = x.shape.around(second);
    let between: usize = x.shape.as_slice()[first + 1..second].iter().product();
    let sizes = [before, rows, between, columns, after];
    Array::of(by_any!(x, |values| swapped(values, sizes)), shape)
}

/// The second and the fourth of five axes exchanged.
fn swapped<T: Copy>(values: &[T], [before, rows, between, columns, after]: [usize; 5]) -> Vec<T> {
    let mut out = Vec::with_capacity(values.len());
    let block = rows * between * columns * after;
    for start in (0..before).map(|place| place * block) {
        for column in 0..columns {
            for middle in 0..between {
                let at = start + (middle * columns + column) * after;
                let step = between * columns * after;
                if after == 1 {
                    out.extend((0..rows).map(|row| values[at + row * step]));
                } else {
                    for row in 0..rows {
                        out.extend_from_slice(&values[at + row * step..][..after]);
                    }
                }
            }
        }
    }
    out
}

/// A range of every axis.
///
/// # Panics
/// If a range goes beyond its axis.
pub(crate) fn slice(x: &Array, ranges: &[Range<usize>]) -> Array {
    let sizes: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
    let shape = Shape::from(sizes);
    check_ranges(x.shape, ranges);
    if x.shape == shape {
        return x.clone();
    }
    let numbers = by_any!(x, |values| {
        let mut out = Vec::with_capacity(shape.num_elements());
        for_each_run(x.shape, ranges, |run| out.extend_from_slice(&values[run]));
        out
    });
    Array::of(numbers, shape)
}

/// The adjoint of [`slice`]: `x` at these ranges of zeros of this shape.
///
/// # Panics
/// If a range goes beyond its axis or does not fit `x`.
pub(crate) fn embed(x: &Array, shape: Shape, ranges: &[Range<usize>]) -> Array {
    check_ranges(shape, ranges);
    if x.shape == shape {
        return x.clone();
    }
    let numbers = by_any!(x, |values| {
        let mut out = vec![Default::default(); shape.num_elements()];
        let mut rest = values.as_slice();
        for_each_run(shape, ranges, |run| {
            let (part, others) = rest.split_at(run.len());
            out[run].copy_from_slice(part);
            rest = others;
        });
        out
    });
    Array::of(numbers, shape)
}

fn check_ranges(shape: Shape, ranges: &[Range<usize>]) {
    let fits = |(range, size): (&Range<usize>, &usize)| range.end <= *size;
    assert!(
        ranges.len() == shape.rank() && ranges.iter().zip(shape.as_slice()).all(fits),
        "ranges {ranges:?} of shape {shape:?}"
    );
}

/// Calls `work` for every stretch of memory that the ranges of an array cover, in ascending order.
fn for_each_run(shape: Shape, ranges: &[Range<usize>], mut work: impl FnMut(Range<usize>)) {
    if ranges.iter().any(Range::is_empty) {
        return;
    }
    // Axes that are covered as a whole belong to the run.
    let is_whole = |axis: usize| ranges[axis].len() == shape.size(axis);
    let inner = (0..shape.rank())
        .rev()
        .find(|&axis| !is_whole(axis))
        .unwrap_or(0);
    let step = |axis: usize| -> usize { shape.as_slice()[axis + 1..].iter().product() };
    let length = ranges[inner].len() * step(inner);
    let outer: usize = ranges[..inner].iter().map(ExactSizeIterator::len).product();
    for place in 0..outer {
        let (mut rest, mut at) = (place, ranges[inner].start * step(inner));
        for axis in (0..inner).rev() {
            let size = ranges[axis].len();
            at += (ranges[axis].start + rest % size) * step(axis);
            rest /= size;
        }
        work(at..at + length);
    }
}

/// Arrays one after the other along an axis.
///
/// # Panics
/// If there are none, or another axis differs.
pub(crate) fn concatenate(parts: &[Array], axis: usize) -> Array {
    let Some(first) = parts.first() else {
        panic!("nothing to concatenate")
    };
    let size = parts.iter().map(|part| part.shape.size(axis)).sum();
    let shape = first.shape.with_size(axis, size);
    for part in parts {
        assert_eq!(
            part.shape.with_size(axis, size),
            shape,
            "shapes of what is concatenated along axis {axis}"
        );
    }
    let numbers = by_any!(first, |values| joined(&values[..0], parts, axis, shape));
    Array::of(numbers, shape)
}

/// `_like` tells the type.
fn joined<T: Element>(_like: &[T], parts: &[Array], axis: usize, shape: Shape) -> Vec<T> {
    let [before, _, after] = shape.around(axis);
    let parts: Vec<(&[T], usize)> = parts
        .iter()
        .map(|part| (part.values(), part.shape.size(axis) * after))
        .collect();
    let mut out = Vec::with_capacity(shape.num_elements());
    for block in 0..before {
        for (values, length) in &parts {
            out.extend_from_slice(&values[block * length..][..*length]);
        }
    }
    out
}
