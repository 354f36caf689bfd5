//! Two-dimensional convolution and its two gradients, closed under differentiation.
//!
//! With L(x, w, g) = <conv2d(x, w), g>, the three operations are dL/dg = [`conv2d`], dL/dx = [`conv2d_input`] and
//! dL/dw = [`conv2d_weight`]. L is linear in each argument, so the derivative of any of the three is one of the others.

#[cfg(test)]
mod composed;
mod direct;
mod direct_weight;
mod joined;
mod patches;
mod rows;
mod shape;
mod winograd;

pub use joined::{JoinedConv, JoinedPool, conv2d_input_joined, conv2d_joined, joined_conv2d};
pub use shape::ConvShape;

use self::rows::{Images, Outputs};

use crate::kernel::adjoint::Bilinear;
use crate::kernel::simd::Number;
use crate::kernel::storage::{by_type, size};
use crate::tensor::{Array, Tensor};
#[cfg(feature = "gpu")]
use crate::tensor::{Device, gpu};

/// The convolution of each row of `x`, `[rows, in_features]`, with `w`, `[out_channels, fan_in]` (`PyTorch`'s layout,
/// flattened): `[rows, out_features]`. A row's result does not depend on the other rows.
///
/// # Panics
/// If the shape is not [`ConvShape::checked`] or a tensor does not have it.
#[must_use]
pub fn conv2d(x: Tensor<2>, w: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    check(&x, shape.in_features(), &shape);
    check_weight(&w, &shape);
    Bilinear {
        forward: output,
        left: input,
        right: weight,
        shape,
    }
    .apply(x, w)
}

/// The gradient of <conv2d(x, w), g> with respect to x, for `g` of `[rows, out_features]`: `[rows, in_features]`. A row's
/// result does not depend on the other rows.
///
/// # Panics
/// As [`conv2d`].
#[must_use]
pub fn conv2d_input(g: Tensor<2>, w: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    check(&g, shape.out_features(), &shape);
    check_weight(&w, &shape);
    Bilinear {
        forward: input,
        left: output,
        right: |g, gradient, shape| weight(gradient, g, shape),
        shape,
    }
    .apply(g, w)
}

/// The gradient of <conv2d(x, w), g> with respect to w, summed over the rows in a fixed order: `[out_channels, fan_in]`.
///
/// # Panics
/// As [`conv2d`].
#[must_use]
pub fn conv2d_weight(x: Tensor<2>, g: Tensor<2>, shape: ConvShape) -> Tensor<2> {
    check(&x, shape.in_features(), &shape);
    check(&g, shape.out_features(), &shape);
    assert_eq!(x.dims()[0], g.dims()[0], "rows of `x` and of `g`");
    Bilinear {
        forward: weight,
        left: |gradient, g, shape| input(g, gradient, shape),
        right: output,
        shape,
    }
    .apply(x, g)
}

fn check(tensor: &Tensor<2>, features: usize, shape: &ConvShape) {
    if let Err(error) = shape.checked() {
        panic!("{error}: {shape:?}");
    }
    assert_eq!(
        tensor.dims()[1],
        features,
        "features of a row for {shape:?}"
    );
}

fn check_weight(w: &Tensor<2>, shape: &ConvShape) {
    assert_eq!(
        w.dims(),
        [shape.out_channels, shape.fan_in()],
        "weights for {shape:?}"
    );
}

/// The three operations on rows of numbers in one group, by the algorithm that suits the type and the shape; the number of
/// rows has no say, so that a row's bits do not depend on it.
trait Algorithm: Number {
    /// Gives the images of `rows` rows to `outputs`.
    fn forward(x: &[Self], w: &[Self], shape: &ConvShape, outputs: Outputs<'_, Self>) {
        direct::forward(x, w, shape, outputs);
    }

    fn input(g: Images<'_, Self>, w: &[Self], shape: &ConvShape) -> Vec<Self> {
        direct::input(g, w, shape)
    }

    fn weight(x: &[Self], g: Images<'_, Self>, shape: &ConvShape) -> Vec<Self> {
        direct_weight::weight(x, g, shape)
    }
}

/// The three operations group by group: the channels of one group are gathered, convolved and put where they belong.
mod by_group {
    use super::joined::plain_forward;
    use super::{Algorithm, ConvShape, Images};

    pub(super) fn forward<T: Algorithm>(
        x: &[T],
        w: &[T],
        rows: usize,
        shape: &ConvShape,
    ) -> Vec<T> {
        if shape.groups == 1 {
            return plain_forward(x, w, rows, shape);
        }
        let group = shape.of_group();
        let mut out = vec![T::default(); rows * shape.out_features()];
        for (place, w) in w
            .chunks_exact(group.out_channels * group.fan_in())
            .enumerate()
        {
            let x = gathered(x, place, shape.in_features(), group.in_features());
            let part = plain_forward(&x, w, rows, &group);
            put(
                &part,
                place,
                group.out_features(),
                &mut out,
                shape.out_features(),
            );
        }
        out
    }

    pub(super) fn input<T: Algorithm>(g: &[T], w: &[T], rows: usize, shape: &ConvShape) -> Vec<T> {
        if shape.groups == 1 {
            return T::input(Images::plain(g, shape.out_features()), w, shape);
        }
        let group = shape.of_group();
        let mut out = vec![T::default(); rows * shape.in_features()];
        for (place, w) in w
            .chunks_exact(group.out_channels * group.fan_in())
            .enumerate()
        {
            let g = gathered(g, place, shape.out_features(), group.out_features());
            let part = T::input(Images::plain(&g, group.out_features()), w, &group);
            put(
                &part,
                place,
                group.in_features(),
                &mut out,
                shape.in_features(),
            );
        }
        out
    }

    pub(super) fn weight<T: Algorithm>(x: &[T], g: &[T], shape: &ConvShape) -> Vec<T> {
        if shape.groups == 1 {
            return T::weight(x, Images::plain(g, shape.out_features()), shape);
        }
        let group = shape.of_group();
        (0..shape.groups)
            .flat_map(|place| {
                let x = gathered(x, place, shape.in_features(), group.in_features());
                let g = gathered(g, place, shape.out_features(), group.out_features());
                T::weight(&x, Images::plain(&g, group.out_features()), &group)
            })
            .collect()
    }

    /// The numbers of one group of every row.
    fn gathered<T: Copy>(from: &[T], place: usize, row: usize, part: usize) -> Vec<T> {
        let rows = from.chunks_exact(row);
        rows.flat_map(|row| &row[place * part..(place + 1) * part])
            .copied()
            .collect()
    }

    /// Puts them back.
    fn put<T: Copy>(parts: &[T], place: usize, part: usize, to: &mut [T], row: usize) {
        for (from, to) in parts.chunks_exact(part).zip(to.chunks_exact_mut(row)) {
            to[place * part..(place + 1) * part].copy_from_slice(from);
        }
    }
}

/// Double precision is for checking, so it stays with the algorithm that loses no digits.
impl Algorithm for f64 {}

/// Whether a shape goes the shorter way, which the ablation can forbid.
fn by_winograd(shape: &ConvShape) -> bool {
    #[cfg(test)]
    if testing::IS_DIRECT.get() {
        return false;
    }
    winograd::pays(shape)
}

#[cfg(test)]
pub(super) use testing::without_winograd;

#[cfg(test)]
mod testing {
    use std::cell::Cell;

    thread_local! {
        pub(super) static IS_DIRECT: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `work` with direct convolutions alone.
    pub(in crate::kernel) fn without_winograd<R>(work: impl FnOnce() -> R) -> R {
        IS_DIRECT.set(true);
        let result = work();
        IS_DIRECT.set(false);
        result
    }
}

impl Algorithm for f32 {
    fn forward(x: &[f32], w: &[f32], shape: &ConvShape, outputs: Outputs<'_, f32>) {
        if by_winograd(shape) {
            winograd::forward(x, w, shape, outputs);
        } else {
            direct::forward(x, w, shape, outputs);
        }
    }

    fn input(g: Images<'_, f32>, w: &[f32], shape: &ConvShape) -> Vec<f32> {
        if by_winograd(shape) {
            winograd::input(g, w, shape)
        } else {
            direct::input(g, w, shape)
        }
    }

    fn weight(x: &[f32], g: Images<'_, f32>, shape: &ConvShape) -> Vec<f32> {
        if by_winograd(shape) {
            winograd::weight(x, g, shape)
        } else {
            direct_weight::weight(x, g, shape)
        }
    }
}

fn output(x: &Array, w: &Array, shape: ConvShape) -> Array {
    #[cfg(feature = "gpu")]
    if x.device() == Device::Gpu {
        return gpu::conv2d(x, w, &shape);
    }
    let [rows, _] = size(x);
    by_type!(
        |x, w| by_group::forward(x, w, rows, &shape),
        [rows, shape.out_features()]
    )
}

fn input(g: &Array, w: &Array, shape: ConvShape) -> Array {
    #[cfg(feature = "gpu")]
    if g.device() == Device::Gpu {
        return gpu::conv2d_input(g, w, &shape);
    }
    let [rows, _] = size(g);
    by_type!(
        |g, w| by_group::input(g, w, rows, &shape),
        [rows, shape.in_features()]
    )
}

fn weight(x: &Array, g: &Array, shape: ConvShape) -> Array {
    #[cfg(feature = "gpu")]
    if x.device() == Device::Gpu {
        return gpu::conv2d_weight(x, g, &shape);
    }
    by_type!(
        |x, g| by_group::weight(x, g, &shape),
        [shape.out_channels, shape.fan_in()]
    )
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::ShapeError;
    use crate::kernel::simd::{Instructions, with_instructions};
    use crate::kernel::testing::{
        alone, bits, cases, check_gradients, cpu, inner, on_threads, random, same,
        same_in_every_argument, values,
    };

    /// Single precision carries about seven digits; sums and transforms lose at most three of them.
    const TOLERANCE_F32: f64 = 1e-4;
    const TOLERANCE_F64: f64 = 1e-12;

    /// Every kernel, stride, padding, dilation and grouping on small images, and the three by three kernels of networks on
    /// larger ones.
    fn shapes() -> impl Strategy<Value = ConvShape> {
        let deep = (1..50usize, 1..20usize, 1..20usize, 1..50usize, 0..3usize)
            .prop_map(|(channels, height, width, outputs, padding)| {
                ConvShape::square([channels, height, width], outputs, 3, 1, padding)
            })
            .prop_filter_map("a kernel that does not fit", |shape| shape.checked().ok());
        prop_oneof![general(6, 12, 20), deep]
    }

    fn small_shapes() -> impl Strategy<Value = ConvShape> {
        general(3, 6, 4)
    }

    /// Shapes with sizes below these.
    fn general(channels: usize, side: usize, outputs: usize) -> impl Strategy<Value = ConvShape> {
        let image = (1..channels, 1..side, 1..side, 1..outputs, 1..4usize);
        let pair = |most: usize| [1..most, 1..most];
        let padding = [[0..4usize, 0..4usize], [0..4usize, 0..4usize]];
        (image, pair(5), pair(4), padding, pair(3))
            .prop_map(
                |(
                    (channels, in_height, in_width, outputs, groups),
                    kernel,
                    stride,
                    padding,
                    dilation,
                )| ConvShape {
                    in_channels: channels * groups,
                    in_height,
                    in_width,
                    out_channels: outputs * groups,
                    kernel,
                    stride,
                    padding,
                    dilation,
                    groups,
                },
            )
            .prop_filter_map("a kernel that does not fit", |shape| shape.checked().ok())
    }

    fn inputs(rows: usize, shape: ConvShape, seed: u64, dtype: DType) -> [Tensor<2>; 3] {
        [
            random([rows, shape.in_features()], seed, dtype),
            random([shape.out_channels, shape.fan_in()], seed ^ 1, dtype),
            random([rows, shape.out_features()], seed ^ 2, dtype),
        ]
    }

    /// The layers whose determinism is checked: both algorithms, several sizes, maps smaller than a register.
    fn layers() -> Vec<ConvShape> {
        let square = |in_channels, side, out_channels, kernel, stride, padding| {
            ConvShape::square(
                [in_channels, side, side],
                out_channels,
                kernel,
                stride,
                padding,
            )
        };
        vec![
            square(1, 28, 8, 3, 1, 1),
            square(3, 9, 5, 5, 2, 2),
            square(4, 4, 24, 1, 1, 0),
            square(32, 14, 48, 3, 1, 1),
            square(64, 4, 80, 3, 1, 1),
            square(16, 10, 16, 3, 1, 0),
            ConvShape {
                kernel: [3, 2],
                stride: [1, 2],
                padding: [[2, 0], [0, 1]],
                dilation: [2, 1],
                groups: 2,
                ..square(6, 9, 4, 3, 1, 1)
            },
        ]
    }

    #[test]
    fn a_two_by_two_kernel_by_hand() {
        let shape = ConvShape::square([1, 2, 3], 1, 2, 1, 0);
        let tensor = |values: Vec<f32>, size: [usize; 2]| {
            Tensor::<2>::from_data(TensorData::new(values, size), &cpu())
        };
        let x = tensor(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 6]);
        let w = tensor(vec![1.0, 10.0, 100.0, 1000.0], [1, 4]);
        let g = tensor(vec![1.0, -1.0], [1, 2]);
        assert_eq!(
            values(&conv2d(x.clone(), w.clone(), shape)),
            [5421.0, 6532.0]
        );
        assert_eq!(
            values(&conv2d_input(g.clone(), w, shape)),
            [1.0, 9.0, -10.0, 100.0, 900.0, -1000.0]
        );
        assert_eq!(values(&conv2d_weight(x, g, shape)), [-1.0; 4]);
    }

    #[test]
    fn shapes_that_cannot_be_convolved_are_refused() {
        let good = ConvShape::square([1, 4, 4], 1, 3, 1, 1);
        assert_eq!(good.checked(), Ok(good));
        assert_eq!(
            ConvShape {
                kernel: [3, 0],
                ..good
            }
            .checked(),
            Err(ShapeError::Zero { name: "kernel" })
        );
        assert_eq!(
            ConvShape {
                padding: [[0, 0], [0, 3]],
                ..good
            }
            .checked(),
            Err(ShapeError::Padding {
                padding: 3,
                window: 3
            })
        );
        assert_eq!(
            ConvShape { groups: 2, ..good }.checked(),
            Err(ShapeError::Groups {
                name: "in_channels",
                size: 1,
                groups: 2
            })
        );
        assert_eq!(
            ConvShape {
                dilation: [3, 1],
                ..good
            }
            .checked(),
            Err(ShapeError::Window {
                window: 7,
                name: "in_height",
                size: 6
            })
        );
        assert_eq!(
            ConvShape {
                in_width: 2,
                padding: [[0; 2]; 2],
                ..good
            }
            .checked(),
            Err(ShapeError::Window {
                window: 3,
                name: "in_width",
                size: 2
            })
        );
    }

    proptest! {
        #![proptest_config(cases(60))]

        #[test]
        fn kernels_equal_the_composed_operations(shape in shapes(), rows in 1..6usize, wide: bool, seed: u64) {
            let (dtype, tolerance) = if wide { (DType::F64, TOLERANCE_F64) } else { (DType::F32, TOLERANCE_F32) };
            let [x, w, g] = inputs(rows, shape, seed, dtype);
            let forward = conv2d(x.clone(), w.clone(), shape);
            same(&forward, &composed::conv2d(x.clone(), w.clone(), shape), tolerance);
            let input = conv2d_input(g.clone(), w.clone(), shape);
            same(&input, &composed::conv2d_input(g.clone(), w, shape), tolerance);
            let weight = conv2d_weight(x.clone(), g.clone(), shape);
            same(&weight, &composed::conv2d_weight(x, g, shape), tolerance);
        }

        #[test]
        fn the_three_operations_are_gradients_of_one_form(shape in shapes(), rows in 1..6usize, seed: u64) {
            let [x, w, g] = inputs(rows, shape, seed, DType::F64);
            let by_output = inner(&conv2d(x.clone(), w.clone(), shape), &g);
            let by_input = inner(&x, &conv2d_input(g.clone(), w.clone(), shape));
            let by_weight = inner(&w, &conv2d_weight(x.clone(), g.clone(), shape));
            let scale = 1.0 + by_output.abs();
            prop_assert!((by_output - by_input).abs() <= 1e-10 * scale, "{by_output} and {by_input}");
            prop_assert!((by_output - by_weight).abs() <= 1e-10 * scale, "{by_output} and {by_weight}");
        }

        #[test]
        fn every_gradient_equals_that_of_the_composed_operations(shape in small_shapes(), seed: u64) {
            let [x, w, g] = inputs(2, shape, seed, DType::F64);
            same_in_every_argument(
                &[x.clone(), w.clone()],
                |of| conv2d(of[0].clone(), of[1].clone(), shape),
                |of| composed::conv2d(of[0].clone(), of[1].clone(), shape),
                TOLERANCE_F64,
            );
            same_in_every_argument(
                &[g.clone(), w],
                |of| conv2d_input(of[0].clone(), of[1].clone(), shape),
                |of| composed::conv2d_input(of[0].clone(), of[1].clone(), shape),
                TOLERANCE_F64,
            );
            same_in_every_argument(
                &[x, g],
                |of| conv2d_weight(of[0].clone(), of[1].clone(), shape),
                |of| composed::conv2d_weight(of[0].clone(), of[1].clone(), shape),
                TOLERANCE_F64,
            );
        }

        #[test]
        fn gradients_equal_central_differences(shape in small_shapes(), seed: u64) {
            let [x, w, g] = inputs(2, shape, seed, DType::F64);
            check_gradients(&[x.clone(), w.clone()], |of| conv2d(of[0].clone(), of[1].clone(), shape));
            check_gradients(&[g.clone(), w], |of| conv2d_input(of[0].clone(), of[1].clone(), shape));
            check_gradients(&[x, g], |of| conv2d_weight(of[0].clone(), of[1].clone(), shape));
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_number_of_threads() {
        for shape in layers() {
            let [x, w, g] = inputs(21, shape, 5, DType::F32);
            let all = |threads| {
                on_threads(threads, || {
                    [
                        bits(&conv2d(x.clone(), w.clone(), shape)),
                        bits(&conv2d_input(g.clone(), w.clone(), shape)),
                        bits(&conv2d_weight(x.clone(), g.clone(), shape)),
                    ]
                })
            };
            let one = all(1);
            for threads in [2, 4] {
                assert!(all(threads) == one, "{threads} threads for {shape:?}");
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_in_any_batch() {
        for shape in layers() {
            for rows in [7, 100] {
                let [x, w, g] = inputs(rows, shape, 6, DType::F32);
                let forward = conv2d(x.clone(), w.clone(), shape);
                let input = conv2d_input(g.clone(), w.clone(), shape);
                for row in [0, 3, rows - 1] {
                    let alone_forward = conv2d(alone(&x, row), w.clone(), shape);
                    assert!(
                        bits(&alone_forward) == bits(&alone(&forward, row)),
                        "row {row} of {rows} for {shape:?}"
                    );
                    let alone_input = conv2d_input(alone(&g, row), w.clone(), shape);
                    assert!(
                        bits(&alone_input) == bits(&alone(&input, row)),
                        "row {row} of {rows} for {shape:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_width_of_registers() {
        for dtype in [DType::F32, DType::F64] {
            for shape in layers() {
                let [x, w, g] = inputs(5, shape, 7, dtype);
                let all = || {
                    [
                        bits(&conv2d(x.clone(), w.clone(), shape)),
                        bits(&conv2d_input(g.clone(), w.clone(), shape)),
                        bits(&conv2d_weight(x.clone(), g.clone(), shape)),
                    ]
                };
                let expected = with_instructions(Instructions::PortableFused, all);
                for instructions in Instructions::FUSED {
                    let got = with_instructions(*instructions, all);
                    assert!(
                        got.is_none() || got == expected,
                        "{instructions} for {shape:?} in {dtype:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_argument_that_is_not_tracked_is_a_constant() {
        let shape = layers()[1];
        let [x, w, g] = inputs(3, shape, 8, DType::F64);
        let tracked = |tensor: &Tensor<2>| {
            Tensor::<2>::from_data(tensor.to_data(), (&cpu().autodiff(), DType::F64)).require_grad()
        };
        let product = |left: Tensor<2>, right: &Tensor<2>| {
            left * Tensor::from_data(right.to_data(), (&cpu().autodiff(), DType::F64))
        };
        let by_weight = tracked(&w);
        let gradients = product(conv2d(x.clone(), by_weight.clone(), shape), &g)
            .sum()
            .backward();
        let expected = conv2d_weight(x.clone(), g.clone(), shape);
        same(
            &by_weight.grad(&gradients).unwrap(),
            &expected,
            TOLERANCE_F64,
        );
        let by_input = tracked(&x);
        let gradients = product(conv2d(by_input.clone(), w.clone(), shape), &g)
            .sum()
            .backward();
        same(
            &by_input.grad(&gradients).unwrap(),
            &conv2d_input(g, w, shape),
            TOLERANCE_F64,
        );
    }

    #[test]
    fn a_batch_of_no_rows_gives_no_rows() {
        let shape = layers()[0];
        let [x, w, g] = inputs(0, shape, 1, DType::F32);
        assert_eq!(
            conv2d(x.clone(), w.clone(), shape).dims(),
            [0, shape.out_features()]
        );
        assert_eq!(
            conv2d_input(g.clone(), w, shape).dims(),
            [0, shape.in_features()]
        );
        assert!(
            values(&conv2d_weight(x, g, shape))
                .iter()
                .all(|&value| value == 0.0)
        );
    }
}
