//! Functions of single numbers, and their gradients.

use std::sync::Arc;

use super::number::{Floating, by_float};
use crate::kernel::elementwise::{map, map_onto, zip_onto};
use crate::tensor::array::Array;

/// A function that is applied to every number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Negate,
    Absolute,
    /// 1, -1, or 0 for zero and for what is no number; its slope is zero.
    Sign,
    Exp,
    Log,
    LogOnePlus,
    SquareRoot,
    Reciprocal,
    Sine,
    Cosine,
    Tanh,
    Arctangent,
    InverseSinh,
    Erf,
    Sigmoid,
}

/// What a function's slope is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    Input,
    Output,
}

impl Unary {
    /// What [`unary_gradient`] needs.
    pub(crate) fn kept(self) -> Kept {
        match self {
            Self::Negate | Self::Sign => Kept::Nothing,
            Self::Exp | Self::SquareRoot | Self::Reciprocal | Self::Tanh | Self::Sigmoid => {
                Kept::Output
            }
            _ => Kept::Input,
        }
    }
}

/// The function of every number.
pub(crate) fn unary(function: Unary, x: Array) -> Array {
    let shape = x.shape;
    let numbers = by_float!(x.into_numbers(), |values| apply(function, values));
    Array::of(numbers, shape)
}

/// The gradient in the function's input, given that in its output and what [`Unary::kept`] asks for.
///
/// # Panics
/// If what it needs is not given.
pub(crate) fn unary_gradient(function: Unary, kept: Option<Array>, gradient: Array) -> Array {
    match function {
        Unary::Negate => return unary(Unary::Negate, gradient),
        Unary::Sign => {
            return super::full(gradient.shape, 0.0, gradient.dtype(), gradient.device());
        }
        _ => {}
    }
    let Some(kept) = kept else {
        panic!("the gradient of {function:?} needs what was kept of it")
    };
    let shape = gradient.shape;
    let numbers = by_float!(
        gradient.into_numbers(),
        kept.into_numbers(),
        |gradient, kept| times_slope(function, gradient, &kept)
    );
    Array::of(numbers, shape)
}

/// The values of a function, over its argument where nobody else holds it.
fn over<T: Floating>(mut values: Arc<Vec<T>>, function: impl Fn(T) -> T + Sync) -> Arc<Vec<T>> {
    match Arc::get_mut(&mut values) {
        Some(alone) => {
            map_onto(alone, function);
            values
        }
        None => Arc::new(map(&values, function)),
    }
}

fn apply<T: Floating>(function: Unary, x: Arc<Vec<T>>) -> Arc<Vec<T>> {
    match function {
        Unary::Negate => over(x, |x| -x),
        Unary::Absolute => over(x, T::abs),
        Unary::Sign => over(x, T::sign),
        Unary::Exp => over(x, T::exp),
        Unary::Log => over(x, T::ln),
        Unary::LogOnePlus => over(x, T::ln_1p),
        Unary::SquareRoot => over(x, T::sqrt),
        Unary::Reciprocal => over(x, |x| T::ONE / x),
        Unary::Sine => over(x, T::sin),
        Unary::Cosine => over(x, T::cos),
        Unary::Tanh => over(x, T::tanh),
        Unary::Arctangent => over(x, T::atan),
        Unary::InverseSinh => over(x, T::asinh),
        Unary::Erf => over(x, T::erf),
        Unary::Sigmoid => over(x, sigmoid),
    }
}

/// `1 / (1 + exp(-x))` without an exponential that overflows.
fn sigmoid<T: Floating>(x: T) -> T {
    if x >= T::ZERO {
        T::ONE / (T::ONE + (-x).exp())
    } else {
        let e = x.exp();
        e / (T::ONE + e)
    }
}

/// `gradient * slope`, the slope being a function of what was kept.
fn times_slope<T: Floating>(function: Unary, gradient: Arc<Vec<T>>, kept: &[T]) -> Arc<Vec<T>> {
    let mut gradient = gradient;
    let g = Arc::make_mut(&mut gradient);
    match function {
        Unary::Absolute => zip_onto(g, kept, |g, x| g * x.sign()),
        Unary::Exp => zip_onto(g, kept, |g, y| g * y),
        Unary::Log => zip_onto(g, kept, |g, x| g / x),
        Unary::LogOnePlus => zip_onto(g, kept, |g, x| g / (T::ONE + x)),
        Unary::SquareRoot => zip_onto(g, kept, |g, y| g / (y + y)),
        Unary::Reciprocal => zip_onto(g, kept, |g, y| -(g * y * y)),
        Unary::Sine => zip_onto(g, kept, |g, x| g * x.cos()),
        Unary::Cosine => zip_onto(g, kept, |g, x| -(g * x.sin())),
        Unary::Tanh => zip_onto(g, kept, |g, y| g * (T::ONE - y * y)),
        Unary::Arctangent => zip_onto(g, kept, |g, x| g / (T::ONE + x * x)),
        Unary::InverseSinh => zip_onto(g, kept, |g, x| g / (T::ONE + x * x).sqrt()),
        Unary::Erf => zip_onto(g, kept, |g, x| g * (T::ERF_SLOPE * (-(x * x)).exp())),
        Unary::Sigmoid => zip_onto(g, kept, |g, y| g * y * (T::ONE - y)),
        Unary::Negate | Unary::Sign => unreachable!("its gradient needs nothing"),
    }
    gradient
}
