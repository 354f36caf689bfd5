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

mod recorded;
mod row;

pub(crate) use row::{Shape, Softmax};

use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Tensor, TensorData};

use super::storage::{Numbers, numbers, size};
use super::{composed, on_flex};

/// The mean over rows of the cross-entropy of `logits` with `classes`, `[rows, classes]` both.
#[must_use]
pub fn cross_entropy(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<1> {
    if on_flex(&logits) {
        return Tensor::from_dispatch(<Dispatch as HeadBackend>::cross_entropy(
            logits.into_dispatch(),
            classes.into_dispatch(),
        ));
    }
    composed::cross_entropy(logits, classes)
}

/// The gradient in the logits of each row's cross-entropy with `classes`, whose rows sum to one.
#[must_use]
pub fn loss_seed(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if on_flex(&logits) {
        return Tensor::from_dispatch(<Dispatch as HeadBackend>::loss_seed(
            logits.into_dispatch(),
            classes.into_dispatch(),
        ));
    }
    composed::loss_seed(logits, classes)
}

/// The gradient in the logits of the probability that `classes` picks in each row.
#[must_use]
pub fn probability_seed(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if on_flex(&logits) {
        return Tensor::from_dispatch(<Dispatch as HeadBackend>::probability_seed(
            logits.into_dispatch(),
            classes.into_dispatch(),
        ));
    }
    composed::probability_seed(logits, classes)
}

/// The change of [`probability_seed`] when the logits move along `v`.
#[must_use]
pub fn probability_seed_tangent(logits: Tensor<2>, v: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if on_flex(&logits) {
        return Tensor::from_dispatch(<Dispatch as HeadBackend>::probability_seed_tangent(
            logits.into_dispatch(),
            v.into_dispatch(),
            classes.into_dispatch(),
        ));
    }
    composed::probability_seed_tangent(logits, v, classes)
}

/// The operations on a backend's own tensors.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait HeadBackend: Backend {
    fn cross_entropy(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self>;
    fn loss_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self>;
    fn probability_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self>;
    fn probability_seed_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

/// The gradients that the backwards of [`HeadBackend`] need; they are not differentiated again.
pub(crate) trait HeadGradients: Backend {
    /// Of the cross-entropy in `z`, times the one number in `g`.
    fn cross_entropy_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        g: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    /// Of the cross-entropy in `c`, times the one number in `g`: `-log p` over the number of rows.
    fn cross_entropy_class_gradient(
        z: FloatTensor<Self>,
        g: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    /// Of `<seed, h>` in `z`.
    fn seed_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    /// The change of [`Self::seed_gradient`] when `z` moves along `v`.
    fn seed_gradient_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

impl HeadBackend for Flex {
    fn cross_entropy(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        let [rows, classes] = size(&z);
        let (like, z, c) = (z.clone(), values(&z), values(&c));
        let mut sum = 0.0;
        let mut p = vec![0.0; classes];
        for (z, c) in z.chunks(classes).zip(c.chunks(classes)) {
            let surprises = Softmax::new(z, &mut p).surprises(z);
            sum += surprises.zip(c).map(|(one, c)| c * one).sum::<f64>();
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "batches are far below 2^53 rows"
        )]
        tensor(vec![sum / rows as f64], &[1], &like)
    }

    fn loss_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        by_row(&[&z, &c], |[z, c], p, out| {
            Softmax::new(z, p).residual(c, 1.0, out);
        })
    }

    fn probability_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        by_row(&[&z, &c], |[z, c], p, out| Softmax::new(z, p).tilt(c, out))
    }

    fn probability_seed_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let mut q = vec![0.0; size(&z)[1]];
        by_row(&[&z, &v, &c], |[z, v, c], p, out| {
            Softmax::new(z, p).tilt_tangent(v, c, &mut q, out);
        })
    }
}

#[expect(
    clippy::many_single_char_names,
    reason = "the names of the formulas above"
)]
impl HeadGradients for Flex {
    fn cross_entropy_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        g: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let share = row_share(&g, size(&z)[0]);
        by_row(&[&z, &c], |[z, c], p, out| {
            Softmax::new(z, p).residual(c, c.iter().sum(), out);
            for out in out {
                *out *= share;
            }
        })
    }

    fn cross_entropy_class_gradient(
        z: FloatTensor<Self>,
        g: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let share = row_share(&g, size(&z)[0]);
        by_row(&[&z], |[z], p, out| {
            let surprises = Softmax::new(z, p).surprises(z);
            for (out, surprise) in out.iter_mut().zip(surprises) {
                *out = share * surprise;
            }
        })
    }

    fn seed_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let mut r = vec![0.0; size(&z)[1]];
        by_row(&[&z, &c, &h], |[z, c, h], p, out| {
            Softmax::new(z, p).covariance_gradient(c, h, &mut r, out);
        })
    }

    fn seed_gradient_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [mut q, mut r, mut change] = [const { Vec::new() }; 3];
        for room in [&mut q, &mut r, &mut change] {
            room.resize(size(&z)[1], 0.0);
        }
        by_row(&[&z, &v, &c, &h], |[z, v, c, h], p, out| {
            let room = [&mut q[..], &mut r, &mut change];
            Softmax::new(z, p).covariance_gradient_tangent(v, c, h, room, out);
        })
    }
}

/// What one of so many rows has of the one number in `g`.
#[expect(
    clippy::cast_precision_loss,
    reason = "batches are far below 2^53 rows"
)]
fn row_share(g: &FlexTensor, rows: usize) -> f64 {
    values(g)[0] / rows as f64
}

/// Runs `work(rows of each tensor, room for probabilities, output row)` over rows.
fn by_row<const N: usize>(
    tensors: &[&FlexTensor; N],
    mut work: impl FnMut([&[f64]; N], &mut [f64], &mut [f64]),
) -> FlexTensor {
    let [rows, classes] = size(tensors[0]);
    let all = tensors.map(values);
    let mut p = vec![0.0; classes];
    let mut out = vec![0.0; rows * classes];
    for (row, out) in out.chunks_mut(classes).enumerate() {
        let place = row * classes..(row + 1) * classes;
        work(
            std::array::from_fn(|tensor| &all[tensor][place.clone()]),
            &mut p,
            out,
        );
    }
    tensor(out, &[rows, classes], tensors[0])
}

fn values(tensor: &FlexTensor) -> Vec<f64> {
    let tensor = tensor.to_contiguous();
    match numbers(&tensor) {
        Numbers::F32(values) => values.iter().copied().map(f64::from).collect(),
        Numbers::F64(values) => values.to_vec(),
    }
}

/// A tensor of the type of `like`.
fn tensor(values: Vec<f64>, size: &[usize], like: &FlexTensor) -> FlexTensor {
    let data = TensorData::new(values, size.to_vec());
    FlexTensor::from_data(data.convert_dtype(like.dtype()))
}

#[cfg(test)]
mod tests {
    use burn::tensor::DType;
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        cases, check_smooth_gradients, flex, random, same, same_in_every_argument, values,
    };

    fn one_hot(rows: usize, classes: usize, seed: u64, dtype: DType) -> Tensor<2> {
        let first = usize::try_from(seed >> 1).unwrap_or_default();
        let picked: Vec<usize> = (0..rows)
            .map(|row| first.wrapping_add(row * 7) % classes)
            .collect();
        crate::one_hot(&picked, classes, dtype, &flex())
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
                let z = Tensor::<2>::from_data(z, (&flex(), dtype));
                let c = crate::one_hot(&[0, 1], 3, dtype, &flex());
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
                let expected = Tensor::<2>::from_data(expected, (&flex(), DType::F64));
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
                let expected = Tensor::<2>::from_data(expected, (&flex(), DType::F64));
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
        let z = Tensor::<2>::from_data(z, &flex());
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
