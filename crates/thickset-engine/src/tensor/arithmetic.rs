//! Arithmetic and functions of single numbers.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::array::Array;
use super::primitive::{
    Binary, Comparison, Kept, Unary, binary, compare_scalar, mask_fill, power, scalar, sum_to,
    unary, unary_gradient,
};
use super::{Int, Tensor};

/// From the gradient in a result and what was kept of the operands to the gradients in these, each given with its operand's place.
type OperandGradients = fn(Array, [Option<&Array>; 2], &mut dyn FnMut(usize, Array));

impl<const D: usize> Tensor<D> {
    #[must_use]
    pub fn abs(self) -> Self {
        self.unary(Unary::Absolute)
    }

    /// 1, -1, or 0 for zero and for what is no number. Its gradient is zero.
    #[must_use]
    pub fn sign(self) -> Self {
        self.unary(Unary::Sign)
    }

    #[must_use]
    pub fn exp(self) -> Self {
        self.unary(Unary::Exp)
    }

    /// The natural logarithm.
    #[must_use]
    pub fn log(self) -> Self {
        self.unary(Unary::Log)
    }

    /// `log(1 + x)`.
    #[must_use]
    pub fn log1p(self) -> Self {
        self.unary(Unary::LogOnePlus)
    }

    #[must_use]
    pub fn sqrt(self) -> Self {
        self.unary(Unary::SquareRoot)
    }

    /// `1 / x`.
    #[must_use]
    pub fn recip(self) -> Self {
        self.unary(Unary::Reciprocal)
    }

    #[must_use]
    pub fn sin(self) -> Self {
        self.unary(Unary::Sine)
    }

    #[must_use]
    pub fn cos(self) -> Self {
        self.unary(Unary::Cosine)
    }

    #[must_use]
    pub fn tanh(self) -> Self {
        self.unary(Unary::Tanh)
    }

    #[must_use]
    pub fn atan(self) -> Self {
        self.unary(Unary::Arctangent)
    }

    #[must_use]
    pub fn asinh(self) -> Self {
        self.unary(Unary::InverseSinh)
    }

    /// The error function.
    #[must_use]
    pub fn erf(self) -> Self {
        self.unary(Unary::Erf)
    }

    /// A whole power.
    #[must_use]
    pub fn powi_scalar(self, exponent: i32) -> Self {
        self.powf_scalar(f64::from(exponent))
    }

    /// A power.
    #[must_use]
    pub fn powf_scalar(self, exponent: f64) -> Self {
        let (x, track) = self.into_parts();
        let kept = track.is_some().then(|| x.clone());
        let y = power(x, exponent);
        Self::recorded(y, vec![track], move |gradient, parents| {
            if let Some(x) = kept.clone() {
                let slope = scalar(Binary::Multiply, power(x, exponent - 1.0), exponent);
                parents.give(0, binary(Binary::Multiply, gradient, slope));
            }
        })
    }

    /// Numbers below `least` become it; their gradient is zero.
    #[must_use]
    pub fn clamp_min(self, least: f64) -> Self {
        self.clamped(Comparison::Lower, least)
    }

    /// Numbers above `most` become it; their gradient is zero.
    #[must_use]
    pub fn clamp_max(self, most: f64) -> Self {
        self.clamped(Comparison::Greater, most)
    }

    /// Both.
    #[must_use]
    pub fn clamp(self, least: f64, most: f64) -> Self {
        self.clamp_min(least).clamp_max(most)
    }

    fn clamped(self, beyond: Comparison, limit: f64) -> Self {
        let (x, track) = self.into_parts();
        let mask = compare_scalar(beyond, &x, limit);
        let y = mask_fill(x, &mask, limit);
        Self::recorded(y, vec![track], move |gradient, parents| {
            parents.give(0, mask_fill(gradient, &mask, 0.0));
        })
    }

    pub(super) fn unary(self, function: Unary) -> Self {
        let (x, track) = self.into_parts();
        let keeps = |kept: Kept| track.is_some() && function.kept() == kept;
        let input = keeps(Kept::Input).then(|| x.clone());
        let y = unary(function, x);
        let kept = if keeps(Kept::Output) {
            Some(y.clone())
        } else {
            input
        };
        Self::recorded(y, vec![track], move |gradient, parents| {
            parents.give(0, unary_gradient(function, kept.clone(), gradient));
        })
    }

    /// A function of two tensors. `gradients` gives those in the result's shape, of the left and of the right operand, from that in
    /// the result and from the operand whose turn it is not.
    fn product_like(
        self,
        right: Self,
        function: Binary,
        gradients: OperandGradients,
        keeps: fn([bool; 2]) -> [bool; 2],
    ) -> Self {
        let ((a, a_track), (b, b_track)) = (self.into_parts(), right.into_parts());
        let shapes = [a.shape, b.shape];
        let [keep_a, keep_b] = keeps([a_track.is_some(), b_track.is_some()]);
        let kept = [keep_a.then(|| a.clone()), keep_b.then(|| b.clone())];
        let result = binary(function, a, b);
        Self::recorded(result, vec![a_track, b_track], move |gradient, parents| {
            let kept = [kept[0].as_ref(), kept[1].as_ref()];
            gradients(gradient, kept, &mut |place, gradient| {
                parents.give(place, sum_to(gradient, shapes[place]));
            });
        })
    }

    fn sum_like(self, right: Self, function: Binary) -> Self {
        let ((a, a_track), (b, b_track)) = (self.into_parts(), right.into_parts());
        let shapes = [a.shape, b.shape];
        let result = binary(function, a, b);
        Self::recorded(result, vec![a_track, b_track], move |gradient, parents| {
            if parents.wants(1) {
                let of_right = sum_to(gradient.clone(), shapes[1]);
                let of_right = match function {
                    Binary::Subtract => unary(Unary::Negate, of_right),
                    _ => of_right,
                };
                parents.give(1, of_right);
            }
            if parents.wants(0) {
                parents.give(0, sum_to(gradient, shapes[0]));
            }
        })
    }

    /// A function of every number and a constant, whose slope is a factor.
    fn with_scalar(self, function: Binary, by: f64) -> Self {
        self.linear(
            |x| scalar(function, x, by),
            move |gradient| match function {
                Binary::Add | Binary::Subtract => gradient,
                Binary::Multiply | Binary::Divide => scalar(function, gradient, by),
            },
        )
    }
}

/// `a b`: `g b` and `g a`.
fn product_gradients(
    gradient: Array,
    [a, b]: [Option<&Array>; 2],
    give: &mut dyn FnMut(usize, Array),
) {
    if let Some(a) = a {
        give(1, binary(Binary::Multiply, gradient.clone(), a.clone()));
    }
    if let Some(b) = b {
        give(0, binary(Binary::Multiply, gradient, b.clone()));
    }
}

/// `a / b`: `g / b` and `-g a / b²`.
fn quotient_gradients(
    gradient: Array,
    [a, b]: [Option<&Array>; 2],
    give: &mut dyn FnMut(usize, Array),
) {
    let Some(b) = b else { return };
    let of_left = binary(Binary::Divide, gradient, b.clone());
    if let Some(a) = a {
        let quotient = binary(Binary::Divide, a.clone(), b.clone());
        let of_right = binary(Binary::Multiply, of_left.clone(), quotient);
        give(1, unary(Unary::Negate, of_right));
    }
    give(0, of_left);
}

impl<const D: usize> Add for Tensor<D> {
    type Output = Self;

    fn add(self, right: Self) -> Self {
        self.sum_like(right, Binary::Add)
    }
}

impl<const D: usize> Sub for Tensor<D> {
    type Output = Self;

    fn sub(self, right: Self) -> Self {
        self.sum_like(right, Binary::Subtract)
    }
}

impl<const D: usize> Mul for Tensor<D> {
    type Output = Self;

    fn mul(self, right: Self) -> Self {
        // Each operand is needed for the other's gradient.
        self.product_like(right, Binary::Multiply, product_gradients, |[a, b]| [b, a])
    }
}

impl<const D: usize> Div for Tensor<D> {
    type Output = Self;

    fn div(self, right: Self) -> Self {
        // The divisor is needed for both gradients.
        self.product_like(right, Binary::Divide, quotient_gradients, |[_, b]| {
            [b, true]
        })
    }
}

impl<const D: usize> Neg for Tensor<D> {
    type Output = Self;

    fn neg(self) -> Self {
        self.unary(Unary::Negate)
    }
}

macro_rules! scalar_operator {
    ($operator:ident, $method:ident, $function:ident) => {
        impl<const D: usize> $operator<f64> for Tensor<D> {
            type Output = Self;

            fn $method(self, by: f64) -> Self {
                self.with_scalar(Binary::$function, by)
            }
        }
    };
}

scalar_operator!(Add, add, Add);
scalar_operator!(Sub, sub, Subtract);
scalar_operator!(Mul, mul, Multiply);
scalar_operator!(Div, div, Divide);

impl<const D: usize> Add for Tensor<D, Int> {
    type Output = Self;

    fn add(self, right: Self) -> Self {
        Self::constant(binary(Binary::Add, self.array, right.array))
    }
}
