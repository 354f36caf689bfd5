//! The linear map and its two adjoints, a closed family under differentiation.
//!
//! With `L(x, w, g) = <x wᵀ, g>`: `linear = dL/dg = x wᵀ`, `linear_input = dL/dx = g w` and
//! `linear_weight = dL/dw = gᵀ x`. `x` is `[rows, in]`, `w` is `[out, in]` as in PyTorch, `g` is
//! `[rows, out]`.

use super::adjoint::Bilinear;
use super::channel::sums_by_channel;
use super::matrix_product::{Side, multiply, multiply_onto};
use super::{composed, on_cpu};
use crate::tensor::{Array, Tensor};

/// `x wᵀ`, `[rows, out]`.
#[must_use]
pub fn linear(x: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&x) {
        return composed::linear(x, w);
    }
    Bilinear {
        forward: |x, w, ()| output(x, w),
        left: |gradient, w, ()| input(gradient, w),
        right: |x, gradient, ()| weight(x, gradient),
        shape: (),
    }
    .apply(x, w)
}

/// `x wᵀ + b` with `b` `[1, out]`, in one pass.
#[must_use]
pub fn affine(x: Tensor<2>, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&x) {
        return composed::affine(x, w, b);
    }
    let [(x, x_track), (w, w_track), (b, b_track)] = [x, w, b].map(Tensor::into_parts);
    let [out_features, _] = w.shape.dims();
    let result = multiply_onto(&b, &x, Side::Plain, &w, Side::Transposed);
    let x = w_track.is_some().then_some(x);
    let w = x_track.is_some().then_some(w);
    let tracks = vec![x_track, w_track, b_track];
    Tensor::recorded(result, tracks, move |gradient, parents| {
        if let Some(w) = &w {
            parents.give(0, input(&gradient, w));
        }
        if let Some(x) = &x {
            parents.give(1, weight(x, &gradient));
        }
        if parents.wants(2) {
            parents.give(2, sums_by_channel(&gradient, out_features));
        }
    })
}

/// `g w`, `[rows, in]`: the gradient of `<x wᵀ, g>` in `x`.
#[must_use]
pub fn linear_input(g: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&g) {
        return composed::linear_input(g, w);
    }
    Bilinear {
        forward: |g, w, ()| input(g, w),
        left: |gradient, w, ()| output(gradient, w),
        right: |g, gradient, ()| weight(gradient, g),
        shape: (),
    }
    .apply(g, w)
}

/// `gᵀ x`, `[out, in]`: the gradient of `<x wᵀ, g>` in `w`.
#[must_use]
pub fn linear_weight(x: Tensor<2>, g: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&x) {
        return composed::linear_weight(x, g);
    }
    Bilinear {
        forward: |x, g, ()| weight(x, g),
        left: |gradient, g, ()| input(g, gradient),
        right: |x, gradient, ()| output(x, gradient),
        shape: (),
    }
    .apply(x, g)
}

fn output(x: &Array, w: &Array) -> Array {
    multiply(x, Side::Plain, w, Side::Transposed)
}

fn input(g: &Array, w: &Array) -> Array {
    multiply(g, Side::Plain, w, Side::Plain)
}

fn weight(x: &Array, g: &Array) -> Array {
    multiply(g, Side::Transposed, x, Side::Plain)
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::simd::{Instructions, with_instructions};
    use crate::kernel::testing::{
        alone, bits, cases, check_gradients, cpu, on_threads, random, same, same_in_every_argument,
        values,
    };

    #[test]
    fn an_affine_map_by_hand() {
        let tensor = |values: Vec<f32>, size: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(values, size), &cpu())
        };
        let x = tensor(vec![1.0, 2.0, 3.0, 4.0], [2, 2]);
        let w = tensor(vec![1.0, 0.0, 1.0, 1.0, 0.0, -1.0], [3, 2]);
        let b = tensor(vec![10.0, 20.0, 30.0], [1, 3]);
        assert_eq!(
            values(&affine(x, w, b)),
            [11.0, 23.0, 28.0, 13.0, 27.0, 26.0]
        );
    }

    #[test]
    fn an_empty_batch_has_no_rows_and_no_gradient() {
        let (x, g) = (random([0, 3], 1, DType::F32), random([0, 2], 2, DType::F32));
        let w = random([2, 3], 3, DType::F32);
        assert_eq!(linear(x.clone(), w).dims(), [0, 2]);
        assert_eq!(values(&linear_weight(x, g)), [0.0; 6]);
    }

    #[test]
    fn bits_do_not_depend_on_the_width_of_registers() {
        for dtype in [DType::F32, DType::F64] {
            let x = random([45, 300], 1, dtype);
            let w = random([37, 300], 2, dtype);
            let g = random([45, 37], 3, dtype);
            let all = || {
                [
                    linear(x.clone(), w.clone()),
                    linear_input(g.clone(), w.clone()),
                    linear_weight(x.clone(), g.clone()),
                ]
                .map(|part| bits(&part))
            };
            let expected = with_instructions(Instructions::PortableFused, all);
            for instructions in Instructions::FUSED {
                let got = with_instructions(*instructions, all);
                assert!(
                    got.is_none() || got == expected,
                    "{instructions} in {dtype:?}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(cases(60))]

        #[test]
        fn kernels_equal_the_composed_operations(
            rows in 1..70usize, inputs in 1..300usize, outputs in 1..70usize, wide: bool, seed: u64,
        ) {
            let (dtype, tolerance) = if wide { (DType::F64, 1e-12) } else { (DType::F32, 1e-4) };
            let x = random([rows, inputs], seed, dtype);
            let w = random([outputs, inputs], seed ^ 1, dtype);
            let g = random([rows, outputs], seed ^ 2, dtype);
            let b = random([1, outputs], seed ^ 3, dtype) + 2.0;
            let y = affine(x.clone(), w.clone(), b.clone());
            same(&y, &composed::affine(x.clone(), w.clone(), b), tolerance);
            // A sum may cancel, so a common part is added that does not.
            let (x, w, g) = (x + 1.0, w + 1.0, g + 1.0);
            same(&linear(x.clone(), w.clone()), &composed::linear(x.clone(), w.clone()), tolerance);
            same(&linear_input(g.clone(), w.clone()), &composed::linear_input(g.clone(), w), tolerance);
            same(&linear_weight(x.clone(), g.clone()), &composed::linear_weight(x, g), tolerance);
        }

        #[test]
        fn every_gradient_equals_that_of_the_composed_operations(
            rows in 1..9usize, inputs in 1..20usize, outputs in 1..20usize, seed: u64,
        ) {
            let x = random([rows, inputs], seed, DType::F64) + 2.0;
            let w = random([outputs, inputs], seed ^ 1, DType::F64) + 2.0;
            let g = random([rows, outputs], seed ^ 2, DType::F64) + 2.0;
            let b = random([1, outputs], seed ^ 3, DType::F64);
            same_in_every_argument(
                &[x.clone(), w.clone(), b],
                |t| affine(t[0].clone(), t[1].clone(), t[2].clone()),
                |t| composed::affine(t[0].clone(), t[1].clone(), t[2].clone()),
                1e-12,
            );
            same_in_every_argument(
                &[x.clone(), w.clone()],
                |t| linear(t[0].clone(), t[1].clone()),
                |t| composed::linear(t[0].clone(), t[1].clone()),
                1e-12,
            );
            same_in_every_argument(
                &[g.clone(), w],
                |t| linear_input(t[0].clone(), t[1].clone()),
                |t| composed::linear_input(t[0].clone(), t[1].clone()),
                1e-12,
            );
            same_in_every_argument(
                &[x, g],
                |t| linear_weight(t[0].clone(), t[1].clone()),
                |t| composed::linear_weight(t[0].clone(), t[1].clone()),
                1e-12,
            );
        }

        #[test]
        fn gradients_equal_central_differences(
            rows in 1..4usize, inputs in 1..5usize, outputs in 1..5usize, seed: u64,
        ) {
            let x = random([rows, inputs], seed, DType::F64);
            let w = random([outputs, inputs], seed ^ 1, DType::F64);
            let g = random([rows, outputs], seed ^ 2, DType::F64);
            let b = random([1, outputs], seed ^ 3, DType::F64);
            check_gradients(&[x.clone(), w.clone()], |t| linear(t[0].clone(), t[1].clone()));
            check_gradients(&[g.clone(), w.clone()], |t| linear_input(t[0].clone(), t[1].clone()));
            check_gradients(&[x.clone(), g], |t| linear_weight(t[0].clone(), t[1].clone()));
            check_gradients(&[x, w, b], |t| affine(t[0].clone(), t[1].clone(), t[2].clone()));
        }

        #[test]
        fn a_row_has_the_same_bits_alone_and_for_any_number_of_threads(
            rows in 1..200usize, inputs in 1..600usize, outputs in 1..40usize, seed: u64,
        ) {
            let x = random([rows, inputs], seed, DType::F32);
            let w = random([outputs, inputs], seed ^ 1, DType::F32);
            let g = random([rows, outputs], seed ^ 2, DType::F32);
            let work = || {
                [
                    linear(x.clone(), w.clone()),
                    linear_input(g.clone(), w.clone()),
                    linear_weight(x.clone(), g.clone()),
                ]
                .map(|part| bits(&part))
            };
            let one = on_threads(1, work);
            prop_assert!(one == on_threads(2, work) && one == on_threads(4, work));
            let row = rows / 2;
            let y = alone(&linear(x.clone(), w.clone()), row);
            prop_assert_eq!(bits(&linear(alone(&x, row), w)), bits(&y));
        }
    }
}
