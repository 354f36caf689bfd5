//! Softplus, `log(1 + exp(beta x)) / beta`, and its slope, the logistic function of `beta x`.
//!
//! Both rest on `e = exp(-|beta x|)` alone: the value is `max(x, 0) + log(1 + e) / beta`, the slope `1 / (1 + e)` or `e / (1 + e)`.
//! Neither overflows nor cancels. The value's derivative is the slope `s`, whose own is `beta s (1 - s)`.

#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use super::elementwise::map;
use super::real::Real;
use super::storage::{by_type, size};
use super::{composed, on_cpu};
use crate::tensor::{Array, Binary, Tensor, binary, scalar};

/// `log(1 + exp(beta x)) / beta` of every number.
#[must_use]
pub fn softplus(x: Tensor<2>, beta: f64) -> Tensor<2> {
    if !on_cpu(&x) {
        return composed::softplus(x, beta);
    }
    let (x, track) = x.into_parts();
    Tensor::recorded(value(&x, beta), vec![track], move |gradient, parents| {
        parents.give(0, binary(Binary::Multiply, gradient, slope(&x, beta)));
    })
}

/// `1 / (1 + exp(-beta x))` of every number: the slope of [`softplus`].
#[must_use]
pub fn softplus_slope(x: Tensor<2>, beta: f64) -> Tensor<2> {
    if !on_cpu(&x) {
        return composed::softplus_slope(x, beta);
    }
    let (x, track) = x.into_parts();
    Tensor::recorded(slope(&x, beta), vec![track], move |gradient, parents| {
        let slope = slope(&x, beta);
        // s (1 - s) = s - s^2
        let square = binary(Binary::Multiply, slope.clone(), slope.clone());
        let curvature = scalar(
            Binary::Multiply,
            binary(Binary::Subtract, slope, square),
            beta,
        );
        parents.give(0, binary(Binary::Multiply, gradient, curvature));
    })
}

/// Value and slope at a number; the chains of dense layers compute them in place. `shrink` is `1 / beta`.
#[inline(always)]
pub(crate) fn value_and_slope<T: Real>(x: T, beta: T, shrink: T) -> (T, T) {
    let zero = T::default();
    let positive = if x > zero { x } else { zero };
    let size = if x > zero { x } else { zero - x };
    let e = (beta * size).exp_of_minus();
    let slope = if x > zero { T::ONE } else { e } / (T::ONE + e);
    (positive + e.log_of_one_plus() * shrink, slope)
}

fn value(x: &Array, beta: f64) -> Array {
    by_type!(|x| values_of(x, beta), size(x))
}

fn slope(x: &Array, beta: f64) -> Array {
    by_type!(|x| slopes_of(x, beta), size(x))
}

fn values_of<T: Real>(x: &[T], beta: f64) -> Vec<T> {
    let beta = T::from_f64(beta);
    let shrink = T::ONE / beta;
    map(x, |x| value_and_slope(x, beta, shrink).0)
}

fn slopes_of<T: Real>(x: &[T], beta: f64) -> Vec<T> {
    let beta = T::from_f64(beta);
    let shrink = T::ONE / beta;
    map(x, |x| value_and_slope(x, beta, shrink).1)
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        bits, cases, check_smooth_gradients, cpu, on_threads, random, same, same_in_every_argument,
        values,
    };

    #[test]
    fn softplus_by_hand() {
        let x = TensorData::new(vec![0.0, 1.0, -1.0, 1000.0, -1000.0], [1, 5]);
        let x = Tensor::<2>::from_data(x, (&cpu(), DType::F64));
        let beta = 2.0;
        let tail = (-2.0_f64).exp().ln_1p() / beta;
        let expected = [2.0_f64.ln() / beta, 1.0 + tail, tail, 1000.0, 0.0];
        for (got, expected) in values(&softplus(x.clone(), beta)).iter().zip(expected) {
            assert!((got - expected).abs() < 1e-15, "{got} for {expected}");
        }
        let slope = 1.0 / (1.0 + (-2.0_f64).exp());
        let expected = [0.5, slope, 1.0 - slope, 1.0, 0.0];
        for (got, expected) in values(&softplus_slope(x, beta)).iter().zip(expected) {
            assert!((got - expected).abs() < 1e-15, "{got} for {expected}");
        }
    }

    proptest! {
        #![proptest_config(cases(20))]

        #[test]
        fn kernels_equal_the_composed_operations(
            rows in 1..300usize, features in 1..300usize, wide: bool, beta in 0.2..30.0f64, seed: u64,
        ) {
            let (dtype, tolerance) = if wide { (DType::F64, 1e-14) } else { (DType::F32, 1e-6) };
            let x = random([rows, features], seed, dtype) * 4.0;
            same(&softplus(x.clone(), beta), &composed::softplus(x.clone(), beta), tolerance);
            same(&softplus_slope(x.clone(), beta), &composed::softplus_slope(x, beta), tolerance);
        }

        #[test]
        fn every_gradient_equals_that_of_the_composed_operations(
            rows in 1..5usize, features in 1..9usize, beta in 0.2..4.0f64, seed: u64,
        ) {
            // Not sharper: where the slope is nearly one, so few digits are left of `1 - s` in either.
            let x = random([rows, features], seed, DType::F64);
            same_in_every_argument(
                std::slice::from_ref(&x),
                |t| softplus(t[0].clone(), beta),
                |t| composed::softplus(t[0].clone(), beta),
                1e-12,
            );
            same_in_every_argument(
                &[x],
                |t| softplus_slope(t[0].clone(), beta),
                |t| composed::softplus_slope(t[0].clone(), beta),
                1e-12,
            );
        }

        #[test]
        fn gradients_equal_central_differences(
            rows in 1..4usize, features in 1..6usize, beta in 0.2..4.0f64, seed: u64,
        ) {
            let x = random([rows, features], seed, DType::F64);
            check_smooth_gradients(std::slice::from_ref(&x), |t| softplus(t[0].clone(), beta));
            check_smooth_gradients(&[x], |t| softplus_slope(t[0].clone(), beta));
        }

        #[test]
        fn bits_do_not_depend_on_threads(rows in 1..300usize, features in 1..300usize, seed: u64) {
            let x = random([rows, features], seed, DType::F32);
            let work = || [bits(&softplus(x.clone(), 3.0)), bits(&softplus_slope(x.clone(), 3.0))];
            let one = on_threads(1, work);
            prop_assert!(one == on_threads(2, work) && one == on_threads(4, work));
        }
    }
}
