//! Functions of single numbers and of two, comparisons, and matrix products.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_wgpu::Wgpu;

use super::{Array, DType, Tensor, array, filled, floats, is_empty, number, tensor, truth};
use crate::kernel::Side;
use crate::tensor::primitive::{Binary, Comparison, Unary, product_shape};

/// The largest whole exponent that is computed by products.
const MOST_FACTORS: f64 = 64.0;
/// Below this size `log(1 + x)` is a series: four terms are exact to 2e-8 there, and the shader's logarithm, which may be off by 2^-21 near 1, to
/// 2e-6 beyond.
const NEAR_ZERO: f64 = 0.25;

/// The function of every number.
pub(crate) fn unary(function: Unary, from: Array) -> Array {
    let x = tensor(&from);
    let value = match function {
        Unary::Negate => Wgpu::float_neg(x),
        Unary::Absolute => Wgpu::float_abs(x),
        Unary::Sign => Wgpu::float_sign(x),
        Unary::Exp => Wgpu::float_exp(x),
        Unary::Log => Wgpu::float_log(x),
        Unary::LogOnePlus => log_one_plus(x),
        Unary::SquareRoot => Wgpu::float_sqrt(x),
        Unary::Reciprocal => Wgpu::float_recip(x),
        Unary::Sine => Wgpu::float_sin(x),
        Unary::Cosine => Wgpu::float_cos(x),
        Unary::Tanh => Wgpu::float_tanh(x),
        Unary::Arctangent => Wgpu::float_atan(x),
        Unary::InverseSinh => Wgpu::float_asinh(x),
        Unary::Erf => Wgpu::float_erf(x),
        Unary::Sigmoid => sigmoid(x),
    };
    floats(value, from.shape)
}

/// `1 / (1 + exp(-x))`; an exponential that overflows gives 0.
fn sigmoid(x: Tensor) -> Tensor {
    let grown = Wgpu::float_exp(Wgpu::float_neg(x));
    Wgpu::float_recip(Wgpu::float_add_scalar(grown, number(1.0)))
}

/// `log(1 + x)`, also where `1 + x` rounds to 1: Burn's own is the logarithm of that sum. Near zero it is `2 artanh(s)` with
/// `s = x / (2 + x)`, by `s + s^3 / 3 + s^5 / 5 + s^7 / 7`.
fn log_one_plus(x: Tensor) -> Tensor {
    let plus = |x: Tensor, by: f64| Wgpu::float_add_scalar(x, number(by));
    let near = Wgpu::float_lower_elem(Wgpu::float_abs(x.clone()), number(NEAR_ZERO), truth());
    let far = Wgpu::float_log(plus(x.clone(), 1.0));
    let s = Wgpu::float_div(x.clone(), plus(x, 2.0));
    let square = Wgpu::float_mul(s.clone(), s.clone());
    let sum = plus(
        Wgpu::float_mul_scalar(square.clone(), number(1.0 / 7.0)),
        1.0 / 5.0,
    );
    let sum = plus(Wgpu::float_mul(sum, square.clone()), 1.0 / 3.0);
    let sum = plus(Wgpu::float_mul(sum, square), 1.0);
    let series = Wgpu::float_mul_scalar(Wgpu::float_mul(s, sum), number(2.0));
    Wgpu::float_mask_where(far, near, series)
}

/// The function of every pair of numbers; sizes of 1 are stretched.
pub(crate) fn binary(function: Binary, left: Array, right: Array) -> Array {
    let shape = left.shape.broadcast(right.shape);
    let (a, b) = (tensor(&left), tensor(&right));
    if left.dtype() == DType::I32 {
        return match function {
            Binary::Add => array(Wgpu::int_add(a, b), shape, DType::I32),
            other => panic!("{other:?} of whole numbers"),
        };
    }
    let value = match function {
        Binary::Add => Wgpu::float_add(a, b),
        Binary::Subtract => Wgpu::float_sub(a, b),
        Binary::Multiply => Wgpu::float_mul(a, b),
        Binary::Divide => Wgpu::float_div(a, b),
    };
    floats(value, shape)
}

/// The function of every number and one more, to its right.
pub(crate) fn scalar(function: Binary, from: Array, by: f64) -> Array {
    let (x, by) = (tensor(&from), number(by));
    let value = match function {
        Binary::Add => Wgpu::float_add_scalar(x, by),
        Binary::Subtract => Wgpu::float_sub_scalar(x, by),
        Binary::Multiply => Wgpu::float_mul_scalar(x, by),
        Binary::Divide => Wgpu::float_div_scalar(x, by),
    };
    floats(value, from.shape)
}

/// Every number to a power; whole powers are products, since shaders know no power of a negative number.
pub(crate) fn power(from: Array, exponent: f64) -> Array {
    if exponent == 0.0 {
        return filled(from.shape, 1.0, DType::F32);
    }
    let x = tensor(&from);
    if exponent.fract() != 0.0 || exponent.abs() > MOST_FACTORS {
        return floats(Wgpu::float_powf_scalar(x, number(exponent)), from.shape);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number of at most 64"
    )]
    let factors = exponent.abs() as u32;
    let product = whole_power(x, factors);
    let value = if exponent < 0.0 {
        Wgpu::float_recip(product)
    } else {
        product
    };
    floats(value, from.shape)
}

/// By squares; the exponent is positive.
fn whole_power(x: Tensor, exponent: u32) -> Tensor {
    if exponent == 1 {
        return x;
    }
    let half = whole_power(x.clone(), exponent / 2);
    let square = Wgpu::float_mul(half.clone(), half);
    if exponent.is_multiple_of(2) {
        square
    } else {
        Wgpu::float_mul(square, x)
    }
}

/// Where the relation holds between two arrays of one shape.
pub(crate) fn compare(relation: Comparison, left: &Array, right: &Array) -> Array {
    assert_eq!(left.shape, right.shape, "shapes of a comparison");
    let (a, b) = (tensor(left), tensor(right));
    let holds = match relation {
        Comparison::Equal => Wgpu::float_equal(a, b, truth()),
        Comparison::Lower => Wgpu::float_lower(a, b, truth()),
        Comparison::LowerEqual => Wgpu::float_lower_equal(a, b, truth()),
        Comparison::Greater => Wgpu::float_greater(a, b, truth()),
        Comparison::GreaterEqual => Wgpu::float_greater_equal(a, b, truth()),
    };
    array(holds, left.shape, DType::Bool)
}

/// Where the relation holds between a number and `than`.
pub(crate) fn compare_scalar(relation: Comparison, from: &Array, than: f64) -> Array {
    let (x, than) = (tensor(from), number(than));
    let holds = match relation {
        Comparison::Equal => Wgpu::float_equal_elem(x, than, truth()),
        Comparison::Lower => Wgpu::float_lower_elem(x, than, truth()),
        Comparison::LowerEqual => Wgpu::float_lower_equal_elem(x, than, truth()),
        Comparison::Greater => Wgpu::float_greater_elem(x, than, truth()),
        Comparison::GreaterEqual => Wgpu::float_greater_equal_elem(x, than, truth()),
    };
    array(holds, from.shape, DType::Bool)
}

/// Every truth value turned round.
pub(crate) fn not(from: &Array) -> Array {
    array(Wgpu::bool_not(tensor(from)), from.shape, DType::Bool)
}

/// `x`, and `value` where the mask holds.
pub(crate) fn mask_fill(from: Array, mask: &Array, value: f64) -> Array {
    assert_eq!(from.shape, mask.shape, "shapes of numbers and mask");
    let filled = Wgpu::float_mask_fill(tensor(&from), tensor(mask), number(value));
    floats(filled, from.shape)
}

/// `x`, and `other` where the mask holds.
pub(crate) fn mask_where(from: Array, mask: &Array, other: &Array) -> Array {
    assert_eq!(from.shape, mask.shape, "shapes of numbers and mask");
    assert_eq!(from.shape, other.shape, "shapes of both choices");
    let chosen = Wgpu::float_mask_where(tensor(&from), tensor(mask), tensor(other));
    floats(chosen, from.shape)
}

/// The products of the matrices in the last two axes, each factor as it is stored or transposed.
pub(crate) fn matrix_product(left: (&Array, Side), right: (&Array, Side)) -> Array {
    let shape = product_shape(left, right);
    if is_empty(left.0.shape) || is_empty(right.0.shape) {
        return filled(shape, 0.0, DType::F32);
    }
    let factor = |(from, side): (&Array, Side)| {
        let rank = from.shape.rank();
        match side {
            Side::Plain => tensor(from),
            Side::Transposed => Wgpu::float_swap_dims(tensor(from), rank - 2, rank - 1),
        }
    };
    floats(Wgpu::float_matmul(factor(left), factor(right)), shape)
}
