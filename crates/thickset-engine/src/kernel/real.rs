//! Numbers as formulas see them: exponential and logarithm as sums of few products, which registers do for all their lanes
//! at once. No step is fused, so every processor gives the same bits.

#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::{Div, Sub};

use super::simd::Number;

/// `f32` or `f64` with the functions that layers need.
pub(crate) trait Real: Number + Sub<Output = Self> + Div<Output = Self> {
    const ONE: Self;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;

    /// `exp(-self)` for what is not negative; where that is less than the smallest normal numbers, about those.
    fn exp_of_minus(self) -> Self;

    /// `log(1 + self)` for what lies in `0..=1`.
    fn log_of_one_plus(self) -> Self;
}

macro_rules! real {
    (
        $number:ident, exp_terms: $exp_terms:literal, log_terms: $log_terms:literal, most: $most:literal,
        shift: $shift:literal, mantissa: $mantissa:literal, ln_2: $ln_2:expr, from: $from:expr
    ) => {
        impl Real for $number {
            const ONE: Self = 1.0;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                $from(value)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }

            #[inline(always)]
            fn exp_of_minus(self) -> Self {
                /// `1 / i!`
                const SERIES: [$number; $exp_terms] = {
                    let mut series = [1.0; $exp_terms];
                    let mut place = 1;
                    while place < $exp_terms {
                        series[place] = series[place - 1] / whole(place) as $number;
                        place += 1;
                    }
                    series
                };
                /// Adding it leaves the nearest whole number in the last bits.
                const SHIFT: $number = $shift;
                /// A part with so few bits that its products are exact, and what is left.
                const LN_2: [$number; 2] = $ln_2;
                let y = if self > $most { $most } else { self };
                let shifted = y * -std::$number::consts::LOG2_E + SHIFT;
                let powers = shifted - SHIFT;
                let rest = (-y - powers * LN_2[0]) - powers * LN_2[1];
                let one = Self::to_bits(1.0);
                let scale = (shifted.to_bits() << $mantissa).wrapping_add(one);
                polynomial(rest, &SERIES) * Self::from_bits(scale)
            }

            #[inline(always)]
            fn log_of_one_plus(self) -> Self {
                /// `1 / (2i + 1)`
                const SERIES: [$number; $log_terms] = {
                    let mut series = [1.0; $log_terms];
                    let mut place = 1;
                    while place < $log_terms {
                        series[place] = 1.0 / whole(2 * place + 1) as $number;
                        place += 1;
                    }
                    series
                };
                // 2 artanh(s), with s at most a third.
                let s = self / (2.0 + self);
                2.0 * s * polynomial(s * s, &SERIES)
            }
        }
    };
}

real!(
    f32, exp_terms: 8, log_terms: 8, most: 87.0, shift: 12_582_912.0, mantissa: 23,
    ln_2: [0.693_359_4, -2.121_944_4e-4], from: single
);
real!(
    f64, exp_terms: 15, log_terms: 17, most: 708.0, shift: 6_755_399_441_055_744.0, mantissa: 52,
    ln_2: [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10], from: std::convert::identity
);

#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    reason = "networks of this type compute in it"
)]
fn single(value: f64) -> f32 {
    value as f32
}

/// A small number that any type holds.
const fn whole(number: usize) -> u8 {
    assert!(number < 256);
    number.to_le_bytes()[0]
}

/// `sum of series[i] x^i`
#[inline(always)]
fn polynomial<T: Real, const TERMS: usize>(x: T, series: &[T; TERMS]) -> T {
    let mut sum = series[TERMS - 1];
    for term in series[..TERMS - 1].iter().rev() {
        sum = sum * x + *term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_and_logarithm_are_right_to_the_last_bits() {
        for step in 0..=20_000_u32 {
            let y = f64::from(step) * 0.004;
            let exact = (-y).exp();
            let got = y.exp_of_minus();
            assert!((got - exact).abs() <= 5e-16 * exact, "exp(-{y}) = {got}");
            let got = exact.log_of_one_plus();
            assert!(
                (got - exact.ln_1p()).abs() <= 5e-16 * got,
                "log(1 + {exact})"
            );

            let (y, e) = (single(y), single(exact));
            let (got, exact) = (f64::from(y.exp_of_minus()), (-f64::from(y)).exp());
            assert!((got - exact).abs() <= 2.5e-7 * exact, "exp(-{y}) = {got}");
            let (got, exact) = (f64::from(e.log_of_one_plus()), f64::from(e).ln_1p());
            assert!(
                (got - exact).abs() <= 2.5e-7 * exact,
                "log(1 + {e}) = {got}"
            );
        }
    }

    #[test]
    fn the_exponential_of_anything_is_defined() {
        assert!(f64::INFINITY.exp_of_minus() < 1e-300 && 1e30_f32.exp_of_minus() < 1e-37);
        assert!(f64::NAN.exp_of_minus().is_nan() && f32::NAN.exp_of_minus().is_nan());
    }
}
