//! One number per channel: scale and shift, and the sums that are their adjoints.
//!
//! With L(x, s, g) = `<channel_scale(x, s), g>`, scale is dL/dg and dL/dx, and [`channel_dot`] is dL/ds: a closed family, like
//! convolution. [`channel_sum`] and [`channel_broadcast`] are each other's adjoints, and [`channel_shift`] adds a broadcast.

mod planes;

use self::planes::{each, repeated, sums};
use super::adjoint::Bilinear;
use super::storage::{by_type, size};
use super::{composed, on_cpu};
use crate::tensor::{Array, Tensor};

/// Each row of `x`, `[rows, features]`, with every channel multiplied by its number in `s`, `[1, channels]`.
///
/// # Panics
/// If the features are not a multiple of the channels or `s` has another size.
#[must_use]
pub fn channel_scale(x: Tensor<2>, s: Tensor<2>, channels: usize) -> Tensor<2> {
    check(&x, channels);
    assert_eq!(s.dims(), [1, channels], "one scale per channel");
    if on_cpu(&x) {
        Bilinear {
            forward: scaled,
            left: scaled,
            right: dots,
            shape: channels,
        }
        .apply(x, s)
    } else {
        composed::channel_scale(x, s, channels)
    }
}

/// Per channel the sum of `x * g` over rows and pixels, in a fixed order: `[1, channels]`.
///
/// # Panics
/// If the features are not a multiple of the channels or the sizes differ.
#[must_use]
pub fn channel_dot(x: Tensor<2>, g: Tensor<2>, channels: usize) -> Tensor<2> {
    check(&x, channels);
    assert_eq!(x.dims(), g.dims(), "sizes of `x` and `g`");
    if on_cpu(&x) {
        Bilinear {
            forward: dots,
            left: |gradient, g, channels| scaled(g, gradient, channels),
            right: scaled,
            shape: channels,
        }
        .apply(x, g)
    } else {
        composed::channel_dot(x, g, channels)
    }
}

/// Each row of `x`, `[rows, features]`, with the channel's number in `b`, `[1, channels]`, added to every channel.
///
/// # Panics
/// If the features are not a multiple of the channels or `b` has another size.
#[must_use]
pub fn channel_shift(x: Tensor<2>, b: Tensor<2>, channels: usize) -> Tensor<2> {
    check(&x, channels);
    assert_eq!(b.dims(), [1, channels], "one shift per channel");
    if on_cpu(&x) {
        shifted(x, b, channels)
    } else {
        composed::channel_shift(x, b, channels)
    }
}

/// Per channel the sum over rows and pixels, in a fixed order: `[1, channels]`.
///
/// # Panics
/// If the features are not a multiple of the channels.
#[must_use]
pub fn channel_sum(x: Tensor<2>, channels: usize) -> Tensor<2> {
    check(&x, channels);
    if on_cpu(&x) {
        let [rows, features] = x.dims();
        x.linear(
            |x| sums_by_channel(&x, channels),
            move |gradient| broadcast(&gradient, rows, features),
        )
    } else {
        composed::channel_sum(x, channels)
    }
}

/// The adjoint of [`channel_sum`]: each channel's number in `b`, `[1, channels]`, repeated for every row and pixel.
///
/// # Panics
/// If the features are not a multiple of the channels.
#[must_use]
pub fn channel_broadcast(b: Tensor<2>, rows: usize, features: usize) -> Tensor<2> {
    let [one, channels] = b.dims();
    assert!(
        one == 1 && channels > 0 && features.is_multiple_of(channels),
        "{features} features by {channels} channels"
    );
    if on_cpu(&b) {
        b.linear(
            |b| broadcast(&b, rows, features),
            move |gradient| sums_by_channel(&gradient, channels),
        )
    } else {
        composed::channel_broadcast(b, rows, features)
    }
}

fn check(x: &Tensor<2>, channels: usize) {
    let [_, features] = x.dims();
    assert!(
        channels > 0 && features.is_multiple_of(channels),
        "{features} features by {channels} channels"
    );
}

fn scaled(x: &Array, s: &Array, _channels: usize) -> Array {
    let size = size(x);
    by_type!(|x, s| each(x, s, size[1], |x, s| x * s), size)
}

fn dots(x: &Array, g: &Array, channels: usize) -> Array {
    let [rows, features] = size(x);
    by_type!(
        |x, g| sums(x, Some(g), rows, features, channels),
        [1, channels]
    )
}

/// Per channel the sum over rows and pixels.
pub(super) fn sums_by_channel(x: &Array, channels: usize) -> Array {
    let [rows, features] = size(x);
    by_type!(|x| sums(x, None, rows, features, channels), [1, channels])
}

fn broadcast(b: &Array, rows: usize, features: usize) -> Array {
    let [_, channels] = size(b);
    by_type!(|b| repeated(b, rows, features / channels), [rows, features])
}

/// The shift is linear in both arguments at once, so it keeps nothing.
fn shifted(x: Tensor<2>, b: Tensor<2>, channels: usize) -> Tensor<2> {
    let ((x, x_track), (b, b_track)) = (x.into_parts(), b.into_parts());
    let (size, x, b) = (size(&x), &x, &b);
    let result = by_type!(|x, b| each(x, b, size[1], |x, b| x + b), size);
    Tensor::recorded(result, vec![x_track, b_track], move |gradient, parents| {
        if parents.wants(1) {
            parents.give(1, sums_by_channel(&gradient, channels));
        }
        parents.give(0, gradient);
    })
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        alone, bits, cases, check_gradients, cpu, on_threads, random, same, same_in_every_argument,
        values,
    };

    #[test]
    fn two_channels_of_two_pixels_by_hand() {
        let tensor = |values: Vec<f32>, size: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(values, size), &cpu())
        };
        let x = tensor(vec![1.0, 2.0, 3.0, 4.0], [1, 4]);
        let pair = tensor(vec![10.0, -1.0], [1, 2]);
        assert_eq!(
            values(&channel_scale(x.clone(), pair.clone(), 2)),
            [10.0, 20.0, -3.0, -4.0]
        );
        assert_eq!(
            values(&channel_shift(x.clone(), pair.clone(), 2)),
            [11.0, 12.0, 2.0, 3.0]
        );
        assert_eq!(values(&channel_sum(x.clone(), 2)), [3.0, 7.0]);
        assert_eq!(values(&channel_dot(x.clone(), x, 2)), [5.0, 25.0]);
        assert_eq!(
            values(&channel_broadcast(pair, 1, 4)),
            [10.0, 10.0, -1.0, -1.0]
        );
    }

    proptest! {
        #![proptest_config(cases(40))]

        #[test]
        fn kernels_equal_the_composed_operations(
            rows in 1..40usize, channels in 1..6usize, plane in 1..40usize, wide: bool, seed: u64,
        ) {
            let (dtype, tolerance) = if wide { (DType::F64, 1e-13) } else { (DType::F32, 1e-5) };
            let x = random([rows, channels * plane], seed, dtype);
            let g = random([rows, channels * plane], seed ^ 1, dtype);
            let s = random([1, channels], seed ^ 2, dtype);
            let scaled = channel_scale(x.clone(), s.clone(), channels);
            same(&scaled, &composed::channel_scale(x.clone(), s.clone(), channels), 0.0);
            let shifted = channel_shift(x.clone(), s.clone(), channels);
            same(&shifted, &composed::channel_shift(x.clone(), s.clone(), channels), 0.0);
            let broadcast = channel_broadcast(s.clone(), rows, channels * plane);
            same(&broadcast, &composed::channel_broadcast(s, rows, channels * plane), 0.0);
            // A sum may cancel, so its error is measured against the numbers added.
            let size = Tensor::<2>::ones([1, 1], (&cpu(), DType::F64)) * f64::from(u32::try_from(rows * plane).unwrap());
            let off = |left: Tensor<2>, right: Tensor<2>| (left - right).cast(DType::F64).abs().max_dim(1) / size.clone();
            let dot = off(channel_dot(x.clone(), g.clone(), channels), composed::channel_dot(x.clone(), g, channels));
            let sum = off(channel_sum(x.clone(), channels), composed::channel_sum(x, channels));
            prop_assert!(values(&dot)[0] <= tolerance && values(&sum)[0] <= tolerance);
        }

        #[test]
        fn every_gradient_equals_that_of_the_composed_operations(
            rows in 1..6usize, channels in 1..4usize, plane in 1..20usize, seed: u64,
        ) {
            let features = channels * plane;
            let x = random([rows, features], seed, DType::F64) + 2.0;
            let g = random([rows, features], seed ^ 1, DType::F64) + 2.0;
            let s = random([1, channels], seed ^ 2, DType::F64) + 2.0;
            let pair = [x.clone(), s.clone()];
            same_in_every_argument(
                &pair,
                |t| channel_scale(t[0].clone(), t[1].clone(), channels),
                |t| composed::channel_scale(t[0].clone(), t[1].clone(), channels),
                1e-12,
            );
            same_in_every_argument(
                &pair,
                |t| channel_shift(t[0].clone(), t[1].clone(), channels),
                |t| composed::channel_shift(t[0].clone(), t[1].clone(), channels),
                1e-12,
            );
            same_in_every_argument(
                &[x.clone(), g],
                |t| channel_dot(t[0].clone(), t[1].clone(), channels),
                |t| composed::channel_dot(t[0].clone(), t[1].clone(), channels),
                1e-12,
            );
            same_in_every_argument(
                &[x],
                |t| channel_sum(t[0].clone(), channels),
                |t| composed::channel_sum(t[0].clone(), channels),
                1e-12,
            );
            same_in_every_argument(
                &[s],
                |t| channel_broadcast(t[0].clone(), rows, features),
                |t| composed::channel_broadcast(t[0].clone(), rows, features),
                1e-12,
            );
        }

        #[test]
        fn gradients_equal_central_differences(rows in 1..4usize, channels in 1..4usize, plane in 1..5usize, seed: u64) {
            let features = channels * plane;
            let x = random([rows, features], seed, DType::F64);
            let g = random([rows, features], seed ^ 1, DType::F64);
            let s = random([1, channels], seed ^ 2, DType::F64);
            let pair = [x.clone(), s.clone()];
            check_gradients(&pair, |inputs| channel_scale(inputs[0].clone(), inputs[1].clone(), channels));
            check_gradients(&pair, |inputs| channel_shift(inputs[0].clone(), inputs[1].clone(), channels));
            check_gradients(&[x.clone(), g], |inputs| channel_dot(inputs[0].clone(), inputs[1].clone(), channels));
            check_gradients(&[x], |inputs| channel_sum(inputs[0].clone(), channels));
            check_gradients(&[s], |inputs| channel_broadcast(inputs[0].clone(), rows, features));
        }
    }

    #[test]
    fn bits_depend_neither_on_threads_nor_on_other_rows() {
        let x = random([100, 5 * 49], 1, DType::F32);
        let g = random([100, 5 * 49], 2, DType::F32);
        let s = random([1, 5], 3, DType::F32);
        let scaled = channel_scale(x.clone(), s.clone(), 5);
        let shifted = channel_shift(x.clone(), s.clone(), 5);
        let (sum, dot) = (
            channel_sum(x.clone(), 5),
            channel_dot(x.clone(), g.clone(), 5),
        );
        for threads in [1, 2, 4] {
            on_threads(threads, || {
                assert_eq!(bits(&channel_scale(x.clone(), s.clone(), 5)), bits(&scaled));
                assert_eq!(
                    bits(&channel_shift(x.clone(), s.clone(), 5)),
                    bits(&shifted)
                );
                assert_eq!(bits(&channel_sum(x.clone(), 5)), bits(&sum));
                assert_eq!(bits(&channel_dot(x.clone(), g.clone(), 5)), bits(&dot));
            });
        }
        for row in [0, 6, 99] {
            let x = alone(&x, row);
            assert_eq!(
                bits(&channel_scale(x.clone(), s.clone(), 5)),
                bits(&alone(&scaled, row))
            );
            assert_eq!(
                bits(&channel_shift(x, s.clone(), 5)),
                bits(&alone(&shifted, row))
            );
        }
    }
}
