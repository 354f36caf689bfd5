//! Functions of two numbers, over two arrays with stretched axes or an array and one number.

use std::sync::Arc;

use super::number::{Floating, by_float};
use crate::kernel::elementwise::{map, map_onto, zip, zip_onto, zip_stretched};
use crate::tensor::array::Array;
use crate::tensor::numbers::{Element, Numbers};
use crate::tensor::shape::Shape;

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// The function of every pair of numbers; sizes of 1 are stretched.
///
/// # Panics
/// If shapes or types do not fit.
pub(crate) fn binary(function: Binary, left: Array, right: Array) -> Array {
    let shape = left.shape.broadcast(right.shape);
    let shapes = [left.shape, right.shape];
    match (left.into_numbers(), right.into_numbers()) {
        (Numbers::I32(left), Numbers::I32(right)) => {
            let sums = match function {
                Binary::Add => zip_stretched(&left, &right, shapes, |a, b| a + b),
                other => panic!("{other:?} of whole numbers"),
            };
            Array::new(sums, shape)
        }
        (left, right) => Array::of(
            by_float!(left, right, |left, right| apply(
                function, left, right, shapes
            )),
            shape,
        ),
    }
}

/// The function of every number and one more, to its right.
pub(crate) fn scalar(function: Binary, x: Array, by: f64) -> Array {
    let shape = x.shape;
    let numbers = by_float!(x.into_numbers(), |values| apply_scalar(
        function,
        values,
        Element::nearest(by)
    ));
    Array::of(numbers, shape)
}

/// Every number to a power. Powers that are products of few factors are computed so.
pub(crate) fn power(x: Array, exponent: f64) -> Array {
    let shape = x.shape;
    let numbers = by_float!(x.into_numbers(), |values| to_power(values, exponent));
    Array::of(numbers, shape)
}

/// The function of both, over one of them where nobody else holds it and the result fits.
fn apply<T: Floating>(
    function: Binary,
    left: Arc<Vec<T>>,
    right: Arc<Vec<T>>,
    shapes: [Shape; 2],
) -> Arc<Vec<T>> {
    match function {
        Binary::Add => combine(left, right, shapes, |a, b| a + b),
        Binary::Subtract => combine(left, right, shapes, |a, b| a - b),
        Binary::Multiply => combine(left, right, shapes, |a, b| a * b),
        Binary::Divide => combine(left, right, shapes, |a, b| a / b),
    }
}

fn combine<T: Floating>(
    mut left: Arc<Vec<T>>,
    mut right: Arc<Vec<T>>,
    shapes: [Shape; 2],
    function: impl Fn(T, T) -> T + Sync,
) -> Arc<Vec<T>> {
    if shapes[0] != shapes[1] {
        return Arc::new(zip_stretched(&left, &right, shapes, function));
    }
    if let Some(alone) = Arc::get_mut(&mut left) {
        zip_onto(alone, &right, function);
        return left;
    }
    if let Some(alone) = Arc::get_mut(&mut right) {
        zip_onto(alone, &left, |b, a| function(a, b));
        return right;
    }
    Arc::new(zip(&left, &right, function))
}

fn apply_scalar<T: Floating>(function: Binary, x: Arc<Vec<T>>, by: T) -> Arc<Vec<T>> {
    match function {
        Binary::Add => each(x, |x| x + by),
        Binary::Subtract => each(x, |x| x - by),
        Binary::Multiply => each(x, |x| x * by),
        Binary::Divide => each(x, |x| x / by),
    }
}

fn each<T: Floating>(mut x: Arc<Vec<T>>, function: impl Fn(T) -> T + Sync) -> Arc<Vec<T>> {
    match Arc::get_mut(&mut x) {
        Some(alone) => {
            map_onto(alone, function);
            x
        }
        None => Arc::new(map(&x, function)),
    }
}

#[expect(clippy::float_cmp, reason = "these exponents are exact")]
fn to_power<T: Floating>(x: Arc<Vec<T>>, exponent: f64) -> Arc<Vec<T>> {
    if exponent == 0.0 {
        each(x, |_| T::ONE)
    } else if exponent == 1.0 {
        x
    } else if exponent == 2.0 {
        each(x, |x| x * x)
    } else if exponent == -1.0 {
        each(x, |x| T::ONE / x)
    } else if exponent == -2.0 {
        each(x, |x| T::ONE / (x * x))
    } else {
        let exponent = T::nearest(exponent);
        each(x, |x| x.powf(exponent))
    }
}
