//! Numbers as elementwise functions see them.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::tensor::numbers::Element;

/// `f32` or `f64`, with the functions of the standard library.
pub(super) trait Floating:
    Element
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    /// `2 / sqrt(pi)`, the slope of the error function at zero.
    const ERF_SLOPE: Self;

    fn abs(self) -> Self;
    fn sign(self) -> Self;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    fn ln_1p(self) -> Self;
    fn sqrt(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tanh(self) -> Self;
    fn atan(self) -> Self;
    fn asinh(self) -> Self;
    fn erf(self) -> Self;
    fn powf(self, exponent: Self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! floating {
    ($number:ident, $erf:path, $erf_slope:expr, [$($function:ident),*]) => {
        impl Floating for $number {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const ERF_SLOPE: Self = $erf_slope;

            $(
                #[inline(always)]
                fn $function(self) -> Self {
                    <$number>::$function(self)
                }
            )*

            /// 0 for zero and for what is no number.
            #[inline(always)]
            fn sign(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            }

            #[inline(always)]
            fn erf(self) -> Self {
                $erf(self)
            }

            #[inline(always)]
            fn powf(self, exponent: Self) -> Self {
                <$number>::powf(self, exponent)
            }

            #[inline(always)]
            fn is_nan(self) -> bool {
                <$number>::is_nan(self)
            }
        }
    };
}

floating!(
    f32,
    libm::erff,
    std::f32::consts::FRAC_2_SQRT_PI,
    [abs, exp, ln, ln_1p, sqrt, sin, cos, tanh, atan, asinh]
);
floating!(
    f64,
    libm::erf,
    std::f64::consts::FRAC_2_SQRT_PI,
    [abs, exp, ln, ln_1p, sqrt, sin, cos, tanh, atan, asinh]
);

/// Runs one expression for whichever floating type the numbers have.
macro_rules! by_float {
    ($numbers:expr, |$values:ident| $result:expr) => {
        match $numbers {
            $crate::tensor::numbers::Numbers::F32($values) => {
                $crate::tensor::numbers::Numbers::F32($result)
            }
            $crate::tensor::numbers::Numbers::F64($values) => {
                $crate::tensor::numbers::Numbers::F64($result)
            }
            other => panic!(
                "numbers of type {:?} where floats are needed",
                other.dtype()
            ),
        }
    };
    ($left:expr, $right:expr, |$a:ident, $b:ident| $result:expr) => {
        match ($left, $right) {
            (
                $crate::tensor::numbers::Numbers::F32($a),
                $crate::tensor::numbers::Numbers::F32($b),
            ) => $crate::tensor::numbers::Numbers::F32($result),
            (
                $crate::tensor::numbers::Numbers::F64($a),
                $crate::tensor::numbers::Numbers::F64($b),
            ) => $crate::tensor::numbers::Numbers::F64($result),
            (a, b) => panic!(
                "an operation's tensors must have one floating type, got {:?} and {:?}",
                a.dtype(),
                b.dtype()
            ),
        }
    };
}
pub(super) use by_float;
