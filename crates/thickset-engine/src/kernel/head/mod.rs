//! A network's head in single passes: cross-entropy, and the probability's gradient in the logits
//! with its tangent.
//!
//! On a table these are a few hundred numbers, and what they cost when composed is not arithmetic
//! but three dozen recorded operations. With `p = softmax(z)` and class weights `c` (one-hot):
//!
//! - `cross_entropy`: `-mean over rows of <c, log p>`.
//! - `loss_seed`: `p - c`, the gradient of a row's cross-entropy in `z`; its tangent is the probability's seed of the direction.
//! - `probability_seed`: `s = p (c - <p, c>)`, the gradient of `<p, c>` in `z`.
//! - `probability_seed_tangent`: the change of `s` when `z` moves along `v`:
//!   `q (c - <p, c>) - p <q, c>` with `q = p (v - <p, v>)`.
//!
//! The gradient of `<s, h>` in `z` is `p (r - <p, r>)` with `r = h c - c <p, h> - h <p, c>`; it is
//! also the gradient of `<s tangent, h>` in `v`, whose gradient in `z` is its change along `v`. Both
//! `s` and its tangent are linear in `c` and their own adjoints.
//! Rows are computed in `f64` whatever the tensor's type, by the formulas of [`row`].

mod row;
mod rows;

pub(crate) use row::{Shape, Softmax};

use self::rows::{
    entropy, entropy_class_gradient, entropy_gradient, residuals, seed_gradient,
    seed_gradient_tangent, seeds, seeds_tangent,
};
use super::{composed, on_cpu};
use crate::tensor::{Tensor, Unary, unary};

/// The mean over rows of the cross-entropy of `logits` with `classes`, `[rows, classes]` both.
#[must_use]
pub fn cross_entropy(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<1> {
    if !on_cpu(&logits) {
        return composed::cross_entropy(logits, classes);
    }
    let [(z, z_track), (c, c_track)] = [logits, classes].map(Tensor::into_parts);
    let result = entropy(&z, &c);
    Tensor::recorded(result, vec![z_track, c_track], move |g, parents| {
        if parents.wants(1) {
            parents.give(1, entropy_class_gradient(&z, &g));
        }
        if parents.wants(0) {
            parents.give(0, entropy_gradient(&z, &c, &g));
        }
    })
}

/// The gradient in the logits of each row's cross-entropy with `classes`, whose rows sum to one.
#[must_use]
pub fn loss_seed(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&logits) {
        return composed::loss_seed(logits, classes);
    }
    let [(z, z_track), (c, c_track)] = [logits, classes].map(Tensor::into_parts);
    let result = residuals(&z, &c);
    Tensor::recorded(result, vec![z_track, c_track], move |h, parents| {
        if parents.wants(0) {
            // The softmax has a symmetric Jacobian.
            parents.give(0, seeds(&z, &h));
        }
        if parents.wants(1) {
            parents.give(1, unary(Unary::Negate, h));
        }
    })
}

/// The gradient in the logits of the probability that `classes` picks in each row.
#[must_use]
pub fn probability_seed(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&logits) {
        return composed::probability_seed(logits, classes);
    }
    let [(z, z_track), (c, c_track)] = [logits, classes].map(Tensor::into_parts);
    let result = seeds(&z, &c);
    Tensor::recorded(result, vec![z_track, c_track], move |h, parents| {
        if parents.wants(1) {
            // The seed is linear in the classes, and its own adjoint.
            parents.give(1, seeds(&z, &h));
        }
        if parents.wants(0) {
            parents.give(0, seed_gradient(&z, &c, &h));
        }
    })
}

/// The change of [`probability_seed`] when the logits move along `v`.
#[must_use]
pub fn probability_seed_tangent(logits: Tensor<2>, v: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&logits) {
        return composed::probability_seed_tangent(logits, v, classes);
    }
    let [(z, z_track), (v, v_track), (c, c_track)] = [logits, v, classes].map(Tensor::into_parts);
    let result = seeds_tangent(&z, &v, &c);
    let tracks = vec![z_track, v_track, c_track];
    Tensor::recorded(result, tracks, move |h, parents| {
        if parents.wants(1) {
            parents.give(1, seed_gradient(&z, &c, &h));
        }
        if parents.wants(2) {
            // As the seed itself.
            parents.give(2, seeds_tangent(&z, &v, &h));
        }
        if parents.wants(0) {
            parents.give(0, seed_gradient_tangent(&z, &v, &c, &h));
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        cases, check_smooth_gradients, cpu, random, same, same_in_every_argument, values,
    };

    fn one_hot(rows: usize, classes: usize, seed: u64, dtype: DType) -> Tensor<2> {
        let first = usize::try_from(seed >> 1).unwrap_or_default();
        let picked: Vec<usize> = (0..rows)
            .map(|row| first.wrapping_add(row * 7) % classes)
            .collect();
        crate::one_hot(&picked, classes, dtype, &cpu())
    }

    proptest! {
        #![proptest_config(cases(40))]

        #[test]
        fn kernels_equal_the_composed_operations(
            rows in 1..40usize, classes in 2..12usize, wide: bool, seed: u64,
        ) {
            let (dtype, tolerance) = if wide { (DType::F64, 1e-12) } else { (DType::F32, 1e-4) };
            let z = random([rows, classes], seed, dtype) * 4.0;
            let v = random([rows, classes], seed ^ 1, dtype);
            let c = one_hot(rows, classes, seed, dtype);
            let flat = |scalar: Tensor<1>| scalar.reshape([1, 1]);
            let entropy = flat(cross_entropy(z.clone(), c.clone()));
            same(&entropy, &flat(composed::cross_entropy(z.clone(), c.clone())), tolerance);
            let of_loss = loss_seed(z.clone(), c.clone());
            same(&of_loss, &composed::loss_seed(z.clone(), c.clone()), tolerance);
            let seeds = probability_seed(z.clone(), c.clone());
            same(&seeds, &composed::probability_seed(z.clone(), c.clone()), tolerance);
            let tangents = probability_seed_tangent(z.clone(), v.clone(), c.clone());
            same(&tangents, &composed::probability_seed_tangent(z, v, c), tolerance);
        }

        #[test]
        fn every_gradient_equals_that_of_the_composed_operations(
            rows in 1..5usize, classes in 2..6usize, seed: u64,
        ) {
            let dtype = DType::F64;
            let [z, v, c] = [0, 1, 2].map(|place| random([rows, classes], seed ^ place, dtype));
            same_in_every_argument(
                &[z.clone(), c.clone()],
                |t| cross_entropy(t[0].clone(), t[1].clone()).reshape([1, 1]),
                |t| composed::cross_entropy(t[0].clone(), t[1].clone()).reshape([1, 1]),
                1e-10,
            );
            same_in_every_argument(
                &[z.clone(), c.clone()],
                |t| loss_seed(t[0].clone(), t[1].clone()),
                |t| composed::loss_seed(t[0].clone(), t[1].clone()),
                1e-10,
            );
            same_in_every_argument(
                &[z.clone(), c.clone()],
                |t| probability_seed(t[0].clone(), t[1].clone()),
                |t| composed::probability_seed(t[0].clone(), t[1].clone()),
                1e-10,
            );
            same_in_every_argument(
                &[z, v, c],
                |t| probability_seed_tangent(t[0].clone(), t[1].clone(), t[2].clone()),
                |t| composed::probability_seed_tangent(t[0].clone(), t[1].clone(), t[2].clone()),
                1e-10,
            );
        }

        #[test]
        fn gradients_equal_central_differences(rows in 1..4usize, classes in 2..5usize, seed: u64) {
            let [z, v, c] = [0, 1, 2].map(|place| random([rows, classes], seed ^ place, DType::F64));
            check_smooth_gradients(&[z.clone(), c.clone()], |t| {
                cross_entropy(t[0].clone(), t[1].clone()).reshape([1, 1])
            });
            check_smooth_gradients(&[z.clone(), c.clone()], |t| {
                loss_seed(t[0].clone(), t[1].clone())
            });
            check_smooth_gradients(&[z.clone(), c.clone()], |t| {
                probability_seed(t[0].clone(), t[1].clone())
            });
            check_smooth_gradients(&[z, v, c], |t| {
                probability_seed_tangent(t[0].clone(), t[1].clone(), t[2].clone())
            });
        }
    }

    /// Equal number by number, whatever the size of the others, where `f32` holds it.
    fn same_digits(got: &Tensor<2>, expected: &Tensor<2>, tolerance: f64) {
        let least = f64::from(f32::MIN_POSITIVE);
        for (got, expected) in values(got).iter().zip(values(expected)) {
            assert!(
                (got - expected).abs() <= (tolerance * expected.abs()).max(least),
                "got {got}, expected {expected}"
            );
        }
    }

    #[test]
    fn rows_that_are_sure_lose_no_digits() {
        for (dtype, tolerance) in [(DType::F64, 1e-13), (DType::F32, 1e-5)] {
            for margin in [1.0, 9.0, 25.0, 37.0, 69.0, 80.0] {
                // The class that is sure, and another one, explained.
                let z = TensorData::new([margin, 0.0, -1.5].repeat(2), [2, 3]);
                let z = Tensor::<2>::from_data(z, (&cpu(), dtype));
                let c = crate::one_hot(&[0, 1], 3, dtype, &cpu());
                // Of other classes than the top, p itself; of the top, the sum of the others.
                let e: [f64; 2] = [-margin, -margin - 1.5].map(f64::exp);
                let sum = 1.0 + e[0] + e[1];
                let [top, second, third] = [1.0, e[0], e[1]].map(|e| e / sum);
                let expected = [
                    top * (second + third),
                    -top * second,
                    -top * third,
                    -second * top,
                    second * (top + third),
                    -second * third,
                ];
                let expected = TensorData::new(expected.to_vec(), [2, 3]);
                let expected = Tensor::<2>::from_data(expected, (&cpu(), DType::F64));
                same_digits(
                    &probability_seed(z.clone(), c.clone()),
                    &expected,
                    tolerance,
                );
                same_digits(
                    &composed::probability_seed(z.clone(), c.clone()),
                    &expected,
                    tolerance,
                );
                let expected = [-(second + third), second, third, top, -(top + third), third];
                let expected = TensorData::new(expected.to_vec(), [2, 3]);
                let expected = Tensor::<2>::from_data(expected, (&cpu(), DType::F64));
                same_digits(&loss_seed(z.clone(), c.clone()), &expected, tolerance);
                same_digits(
                    &composed::loss_seed(z.clone(), c.clone()),
                    &expected,
                    tolerance,
                );
                // Tangents by the composed path, whose formula is another one.
                let v = random([2, 3], 5, dtype);
                same_digits(
                    &probability_seed_tangent(z.clone(), v.clone(), c.clone()),
                    &composed::probability_seed_tangent(z, v, c),
                    10.0 * tolerance,
                );
            }
        }
    }

    #[test]
    fn classes_that_alone_are_recorded_get_their_gradient() {
        let z = random([3, 4], 1, DType::F64);
        let c = random([3, 4], 2, DType::F64).autodiff().require_grad();
        let gradients = probability_seed(z.clone(), c.clone())
            .powi_scalar(2)
            .sum()
            .backward();
        let got = c.grad(&gradients).expect("a gradient in the classes");
        let plain = c.clone().without_autodiff();
        let expected = probability_seed(z.clone(), probability_seed(z, plain)) * 2.0;
        same(&got, &expected, 1e-12);
    }

    #[test]
    fn logits_of_any_size_give_finite_results() {
        let z = TensorData::new(vec![1e30_f32, -1e30, 0.0, -800.0], [2, 2]);
        let z = Tensor::<2>::from_data(z, &cpu());
        let c = one_hot(2, 2, 0, DType::F32);
        let finite = |tensor: &Tensor<2>| values(tensor).iter().all(|value| value.is_finite());
        assert!(finite(&probability_seed(z.clone(), c.clone())));
        assert!(finite(&probability_seed_tangent(
            z.clone(),
            z.ones_like(),
            c
        )));
    }
}
