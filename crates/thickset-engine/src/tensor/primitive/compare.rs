//! Comparisons, and what is done where they hold.

use std::sync::Arc;

use super::number::{Floating, by_float};
use crate::kernel::elementwise::{map, zip, zip_onto};
use crate::tensor::array::Array;
use crate::tensor::numbers::{Element, Numbers};

/// A relation of two numbers. None holds for what is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Lower,
    LowerEqual,
    Greater,
    GreaterEqual,
}

/// Where the relation holds between two arrays of one shape.
///
/// # Panics
/// If the shapes or types differ.
pub(crate) fn compare(relation: Comparison, left: &Array, right: &Array) -> Array {
    assert_eq!(left.shape, right.shape, "shapes of a comparison");
    let holds = match (left.numbers(), right.numbers()) {
        (Numbers::F32(a), Numbers::F32(b)) => pairs(relation, a, b),
        (Numbers::F64(a), Numbers::F64(b)) => pairs(relation, a, b),
        (a, b) => panic!("a comparison of {:?} and {:?}", a.dtype(), b.dtype()),
    };
    Array::new(holds, left.shape)
}

/// Where the relation holds between a number and `than`.
///
/// # Panics
/// If the numbers are no floats.
pub(crate) fn compare_scalar(relation: Comparison, x: &Array, than: f64) -> Array {
    let holds = match x.numbers() {
        Numbers::F32(x) => each(relation, x, Element::nearest(than)),
        Numbers::F64(x) => each(relation, x, than),
        _ => panic!("a comparison of {:?} and a number", x.dtype()),
    };
    Array::new(holds, x.shape)
}

fn pairs<T: Floating>(relation: Comparison, a: &[T], b: &[T]) -> Vec<bool> {
    match relation {
        Comparison::Equal => zip(a, b, |a, b| a == b),
        Comparison::Lower => zip(a, b, |a, b| a < b),
        Comparison::LowerEqual => zip(a, b, |a, b| a <= b),
        Comparison::Greater => zip(a, b, |a, b| a > b),
        Comparison::GreaterEqual => zip(a, b, |a, b| a >= b),
    }
}

fn each<T: Floating>(relation: Comparison, x: &[T], than: T) -> Vec<bool> {
    match relation {
        Comparison::Equal => map(x, |x| x == than),
        Comparison::Lower => map(x, |x| x < than),
        Comparison::LowerEqual => map(x, |x| x <= than),
        Comparison::Greater => map(x, |x| x > than),
        Comparison::GreaterEqual => map(x, |x| x >= than),
    }
}

/// Every truth value turned round.
pub(crate) fn not(x: &Array) -> Array {
    Array::new(map(x.values::<bool>(), |x| !x), x.shape)
}

/// `x`, and `value` where the mask holds.
///
/// # Panics
/// If the mask has another shape.
pub(crate) fn mask_fill(x: Array, mask: &Array, value: f64) -> Array {
    assert_eq!(x.shape, mask.shape, "shapes of numbers and mask");
    let (shape, mask) = (x.shape, mask.values::<bool>());
    let numbers = by_float!(x.into_numbers(), |values| fill(
        values,
        mask,
        Element::nearest(value)
    ));
    Array::of(numbers, shape)
}

fn fill<T: Floating>(mut x: Arc<Vec<T>>, mask: &[bool], value: T) -> Arc<Vec<T>> {
    let filled = |x: T, holds: bool| if holds { value } else { x };
    match Arc::get_mut(&mut x) {
        Some(alone) => {
            zip_onto(alone, mask, filled);
            x
        }
        None => Arc::new(zip(&x, mask, filled)),
    }
}

/// `x`, and `other` where the mask holds.
///
/// # Panics
/// If the shapes or types differ.
pub(crate) fn mask_where(x: Array, mask: &Array, other: &Array) -> Array {
    assert_eq!(x.shape, mask.shape, "shapes of numbers and mask");
    assert_eq!(x.shape, other.shape, "shapes of both choices");
    let (shape, mask) = (x.shape, mask.values::<bool>());
    let numbers = by_float!(x.into_numbers(), other.numbers(), |x, other| choose(
        x, mask, other
    ));
    Array::of(numbers, shape)
}

fn choose<T: Floating>(mut x: Arc<Vec<T>>, mask: &[bool], other: &[T]) -> Arc<Vec<T>> {
    let values = Arc::make_mut(&mut x);
    for ((x, &holds), &other) in values.iter_mut().zip(mask).zip(other) {
        *x = if holds { other } else { *x };
    }
    x
}
