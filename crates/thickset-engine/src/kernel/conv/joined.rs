//! Convolution and what follows it in one pass: a scale and a shift of each channel, max pooling and ReLU.
//!
//! With fixed scales and fixed places of the maxima, L(x, w, s, g) = <pool(s conv2d(x, w)), g> is linear in each argument, and
//! its derivatives are again a closed family. Each job scales and pools its images while they are in its cache. The gradient in
//! the scale needs no image either: with D the gradient in the weights where the scale is one, dL/dw is `s D` and dL/ds is
//! `<w, D>`, output channel by output channel.
//!
//! The composed operations, [`conv2d`], [`channel_scale`], [`channel_shift`] and [`pool_gather`] or [`pool_scatter`], give the same
//! outputs and the same gradients up to rounding.

#![expect(unsafe_code, reason = "outputs written in parallel")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::rows::{Images, Outputs, Pooling};
use super::{Algorithm, ConvShape, check, check_weight, conv2d, conv2d_input};
use crate::kernel::buffer::{Shared, filled};
use crate::kernel::channel::{channel_scale, channel_shift, sums_by_channel};
use crate::kernel::elementwise::zip;
use crate::kernel::gate::gate;
use crate::kernel::max_pool::{Maxima, PoolShape, max_pool_indices, pool_gather, pool_scatter};
use crate::kernel::on_cpu;
use crate::kernel::simd::{Number, Task, Vector};
use crate::kernel::storage::{by_type, size};
use crate::tensor::{Array, Element, Int, Parents, Tensor};

/// A convolution and what follows it, where it ran.
#[derive(Clone, Debug)]
pub struct JoinedConv {
    conv: ConvShape,
    scale: Option<Tensor<2>>,
    /// The pooling and where the maxima lie; negative where a gate is closed.
    pool: Option<(PoolShape, Tensor<2, Int>)>,
    /// What decides which numbers pass, where the indices do not say it.
    decider: Option<Tensor<2>>,
}

/// Max pooling after a convolution.
#[derive(Clone, Copy, Debug)]
pub struct JoinedPool {
    /// Of the convolution's output.
    pub shape: PoolShape,
    /// Whether ReLU follows.
    pub gated: bool,
}

/// The same in arrays.
#[derive(Clone)]
struct Shape {
    conv: ConvShape,
    scale: Option<Array>,
    pool: Option<(PoolShape, Array)>,
}

/// The convolution of each row of `x` with `w`, times the scale and plus the shift of each channel, both `[1, out_channels]`, and max
/// pooling and ReLU of that.
///
/// # Panics
/// If the shapes are not checked, do not follow each other, or a tensor does not have them.
#[must_use]
pub fn joined_conv2d(
    x: Tensor<2>,
    w: Tensor<2>,
    [scale, shift]: [Option<Tensor<2>>; 2],
    conv: ConvShape,
    pool: Option<JoinedPool>,
) -> (Tensor<2>, JoinedConv) {
    check(&x, conv.in_features(), &conv);
    check_weight(&w, &conv);
    for numbers in [&scale, &shift].into_iter().flatten() {
        assert_eq!(numbers.dims(), [1, conv.out_channels], "one per channel");
    }
    if let Some(pool) = &pool {
        check_pool(&conv, &pool.shape);
    }
    if !is_joined(&x, &conv) {
        let mut image = conv2d(x, w, conv);
        if let Some(scale) = scale.clone() {
            image = channel_scale(image, scale, conv.out_channels);
        }
        if let Some(shift) = shift {
            image = channel_shift(image, shift, conv.out_channels);
        }
        let mut decider = None;
        let pool = pool.map(|JoinedPool { shape, gated }| {
            let indices = max_pool_indices(&image, shape);
            image = pool_gather(image.clone(), indices.clone(), shape);
            if gated {
                let pooled = image.clone().without_autodiff();
                image = gate(image.clone(), pooled.clone());
                decider = Some(pooled);
            }
            (shape, indices)
        });
        let at = JoinedConv {
            conv,
            scale,
            pool,
            decider,
        };
        return (image, at);
    }
    let [rows, _] = x.dims();
    let features = pool.map_or(conv.out_features(), |pool| pool.shape.out_features());
    let ((x, x_track), (w, w_track)) = (x.into_parts(), w.into_parts());
    let at_scale = scale.clone();
    let (scale, scale_track) = scale.map(Tensor::into_parts).unzip();
    let (shift, shift_track) = shift.map(Tensor::into_parts).unzip();
    let mut found = vec![0_i32; pool.map_or(0, |_| rows * features)];
    let result = {
        let affine = [scale.as_ref(), shift.as_ref()];
        let (x, w, indices) = (&x, &w, Shared(found.as_mut_ptr()));
        let pooling = match &pool {
            None => Pooling::None,
            Some(JoinedPool { shape, gated }) => Pooling::Find {
                shape,
                gated: *gated,
                indices,
            },
        };
        by_type!(
            |x, w| run(x, w, [rows, features], &conv, affine, pooling),
            [rows, features]
        )
    };
    let pool = pool.map(|pool| (pool.shape, Array::new(found, [rows, features])));
    let at = JoinedConv {
        conv,
        scale: at_scale,
        pool: pool
            .clone()
            .map(|(pool, indices)| (pool, Tensor::constant(indices))),
        decider: None,
    };
    let shape = Shape { conv, scale, pool };
    let tracks = vec![
        x_track,
        w_track,
        scale_track.flatten(),
        shift_track.flatten(),
    ];
    let output = Tensor::recorded(result, tracks, move |gradient, parents| {
        if parents.wants(0) {
            parents.give(0, input(&gradient, &w, &shape));
        }
        give_weights(parents, &x, &gradient, &w, &shape);
        if parents.wants(3) {
            let open = shape.open(gradient);
            parents.give(3, sums_by_channel(&open, shape.conv.out_channels));
        }
    });
    (output, at)
}

/// The convolution of each row of `x` with `w`, scaled as before and at the places of the maxima found before.
///
/// # Panics
/// If a tensor does not have the shapes.
#[must_use]
pub fn conv2d_joined(x: Tensor<2>, w: Tensor<2>, at: &JoinedConv) -> Tensor<2> {
    check(&x, at.conv.in_features(), &at.conv);
    check_weight(&w, &at.conv);
    if !is_joined(&x, &at.conv) {
        let mut image = conv2d(x, w, at.conv);
        if let Some(scale) = at.scale.clone() {
            image = channel_scale(image, scale, at.conv.out_channels);
        }
        if let Some((pool, indices)) = &at.pool {
            image = pool_gather(image, indices.clone(), *pool);
        }
        if let Some(decider) = &at.decider {
            image = gate(image, decider.clone());
        }
        return image;
    }
    let (shape, scale_track) = at.parts(x.dims()[0]);
    let ((x, x_track), (w, w_track)) = (x.into_parts(), w.into_parts());
    let result = output(&x, &w, &shape);
    let tracks = vec![x_track, w_track, scale_track];
    Tensor::recorded(result, tracks, move |gradient, parents| {
        if parents.wants(0) {
            parents.give(0, input(&gradient, &w, &shape));
        }
        give_weights(parents, &x, &gradient, &w, &shape);
    })
}

/// The gradient of <`conv2d_joined(x, w)`, g> with respect to x, for `g` of the output's shape: `[rows, in_features]`.
///
/// # Panics
/// If a tensor does not have the shapes.
#[must_use]
pub fn conv2d_input_joined(g: Tensor<2>, w: Tensor<2>, at: &JoinedConv) -> Tensor<2> {
    check_weight(&w, &at.conv);
    if !is_joined(&g, &at.conv) {
        let mut image = g;
        if let Some(decider) = &at.decider {
            image = gate(image, decider.clone());
        }
        if let Some((pool, indices)) = &at.pool {
            image = pool_scatter(image, indices.clone(), *pool);
        }
        if let Some(scale) = at.scale.clone() {
            image = channel_scale(image, scale, at.conv.out_channels);
        }
        return conv2d_input(image, w, at.conv);
    }
    let (shape, scale_track) = at.parts(g.dims()[0]);
    assert_eq!(g.dims()[1], shape.features(), "features of a row");
    let ((g, g_track), (w, w_track)) = (g.into_parts(), w.into_parts());
    let result = input(&g, &w, &shape);
    let tracks = vec![g_track, w_track, scale_track];
    Tensor::recorded(result, tracks, move |gradient, parents| {
        if parents.wants(0) {
            parents.give(0, output(&gradient, &w, &shape));
        }
        give_weights(parents, &gradient, &g, &w, &shape);
    })
}

impl JoinedConv {
    fn parts(&self, rows: usize) -> (Shape, crate::tensor::Track) {
        let (scale, track) = self.scale.clone().map(Tensor::into_parts).unzip();
        let pool = self.pool.as_ref().map(|(pool, indices)| {
            assert_eq!(rows, indices.dims()[0], "rows and rows of maxima");
            (*pool, indices.array().clone())
        });
        let shape = Shape {
            conv: self.conv,
            scale,
            pool,
        };
        (shape, track.flatten())
    }
}

impl Shape {
    /// Of an output row.
    fn features(&self) -> usize {
        let pooled = |(pool, _): &(PoolShape, Array)| pool.out_features();
        self.pool.as_ref().map_or(self.conv.out_features(), pooled)
    }

    /// What of the output's gradient reaches the pooled numbers.
    fn open(&self, gradient: Array) -> Array {
        let Some((_, indices)) = &self.pool else {
            return gradient;
        };
        let (gradient, indices, size) = (&gradient, indices.values::<i32>(), size(&gradient));
        by_type!(
            |gradient| zip(gradient, indices, |value, index| if index < 0 {
                Default::default()
            } else {
                value
            }),
            size
        )
    }

    fn maxima(&self) -> Option<Maxima<'_>> {
        let pool = self.pool.as_ref();
        pool.map(|(pool, indices)| Maxima::new(pool, indices.values()))
    }
}

/// Whether one pass does it all.
fn is_joined(x: &Tensor<2>, conv: &ConvShape) -> bool {
    on_cpu(x) && conv.groups == 1
}

fn check_pool(conv: &ConvShape, pool: &PoolShape) {
    if let Err(error) = pool.checked() {
        panic!("{error}: {pool:?}");
    }
    assert_eq!(
        [pool.channels, pool.height, pool.width],
        [conv.out_channels, conv.out_height(), conv.out_width()],
        "the pooled image for {conv:?}"
    );
}

/// The images of a convolution in one group, as they are.
pub(super) fn plain_forward<T: Algorithm>(
    x: &[T],
    w: &[T],
    rows: usize,
    shape: &ConvShape,
) -> Vec<T> {
    let features = shape.out_features();
    // SAFETY: a convolution gives every image, and the vector has room for all of them.
    unsafe {
        filled(rows * features, |out| {
            let outputs = Outputs::new(out, features, [None; 2], Pooling::None);
            T::forward(x, w, shape, outputs);
        })
    }
}

/// Convolved rows, scaled, shifted and pooled to so many features.
fn run<T: Algorithm + Element>(
    x: &[T],
    w: &[T],
    [rows, features]: [usize; 2],
    conv: &ConvShape,
    affine: [Option<&Array>; 2],
    pooling: Pooling<'_>,
) -> Vec<T> {
    let affine = affine.map(|numbers| numbers.map(Array::values));
    // SAFETY: a convolution gives every image, and the vectors have room for all of them once they are pooled.
    unsafe {
        filled(rows * features, |out| {
            let outputs = Outputs::new(out, conv.out_features(), affine, pooling);
            T::forward(x, w, conv, outputs);
        })
    }
}

fn output(x: &Array, w: &Array, shape: &Shape) -> Array {
    let size = [size(x)[0], shape.features()];
    let affine = [shape.scale.as_ref(), None];
    let pooling = shape.maxima().map_or(Pooling::None, Pooling::At);
    by_type!(|x, w| run(x, w, size, &shape.conv, affine, pooling), size)
}

fn input(g: &Array, w: &Array, shape: &Shape) -> Array {
    let (conv, maxima) = (&shape.conv, shape.maxima());
    let ([rows, _], features, scale) = (size(g), conv.out_features(), shape.scale.as_ref());
    by_type!(
        |g, w| Algorithm::input(
            Images::new(g, features, maxima, scale.map(Array::values)),
            w,
            conv
        ),
        [rows, conv.in_features()]
    )
}

/// Gives the gradients in the weights, parent 1, and in the scale, parent 2.
fn give_weights(parents: &mut Parents<'_>, x: &Array, g: &Array, w: &Array, shape: &Shape) {
    let with_scale = shape.scale.is_some() && parents.wants(2);
    if !parents.wants(1) && !with_scale {
        return;
    }
    let (conv, maxima) = (&shape.conv, shape.maxima());
    let (features, size) = (conv.out_features(), [conv.out_channels, conv.fan_in()]);
    let unscaled = by_type!(
        |x, g| Algorithm::weight(x, Images::new(g, features, maxima, None), conv),
        size
    );
    let Some(scale) = &shape.scale else {
        parents.give(1, unscaled);
        return;
    };
    if with_scale {
        let unscaled = &unscaled;
        let dots = by_type!(|w, unscaled| row_dots(w, unscaled, size[1]), [1, size[0]]);
        parents.give(2, dots);
    }
    if parents.wants(1) {
        let unscaled = &unscaled;
        let scaled = by_type!(|unscaled, scale| row_scaled(unscaled, scale), size);
        parents.give(1, scaled);
    }
}

/// The sum of the products of each row of two matrices.
fn row_dots<T: Number>(a: &[T], b: &[T], columns: usize) -> Vec<T> {
    let rows = a.par_chunks(columns).zip(b.par_chunks(columns));
    rows.map(|(a, b)| {
        let mut sum = T::default();
        T::vectorised(Dot {
            a,
            b,
            sum: &mut sum,
        });
        sum
    })
    .collect()
}

struct Dot<'a, T> {
    a: &'a [T],
    b: &'a [T],
    sum: &'a mut T,
}

impl<T: Number> Task<T> for Dot<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        // Sixteen sums side by side, added up in order.
        let mut sums = [T::default(); 16];
        let (a, b) = (self.a.chunks(16), self.b.chunks(16));
        for (a, b) in a.zip(b) {
            for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                *sum += a * b;
            }
        }
        for sum in sums {
            *self.sum += sum;
        }
    }
}

/// Each row of a matrix times its scale.
fn row_scaled<T: Number>(a: &[T], scale: &[T]) -> Vec<T> {
    let columns = a.len() / scale.len();
    // SAFETY: every row is written by its job.
    unsafe {
        filled(a.len(), |out: Shared<T>| {
            let rows = a.par_chunks(columns).zip(scale).enumerate();
            rows.for_each(|(row, (a, &scale))| {
                // SAFETY: there is room for every row, and no other job has this one.
                let out = std::slice::from_raw_parts_mut(out.at(row * columns), columns);
                for (out, &a) in out.iter_mut().zip(a) {
                    *out = a * scale;
                }
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::testing::{alone, bits, check_gradients, on_threads, random, same, values};
    use crate::tensor::DType;

    /// Direct and by Winograd, few tiles and many, whole windows and overlapping ones, even sides and odd ones, none at all.
    fn shapes() -> Vec<(ConvShape, Option<PoolShape>)> {
        let overlapping = PoolShape {
            window: [3; 2],
            stride: [2; 2],
            padding: [[1; 2]; 2],
            ..PoolShape::square([20, 9, 7], 1)
        };
        let deep = ConvShape::square([17, 14, 14], 20, 3, 1, 1);
        vec![
            (
                ConvShape::square([1, 8, 8], 5, 3, 1, 1),
                Some(PoolShape::square([5, 8, 8], 2)),
            ),
            (deep, Some(PoolShape::square([20, 14, 14], 2))),
            (deep, None),
            (
                ConvShape::square([18, 9, 7], 20, 3, 1, 1),
                Some(overlapping),
            ),
            (
                ConvShape::square([2, 9, 7], 3, 3, 2, 1),
                Some(PoolShape::square([3, 5, 4], 2)),
            ),
        ]
    }

    fn plain(pool: Option<PoolShape>) -> Option<JoinedPool> {
        let gated = false;
        pool.map(|shape| JoinedPool { shape, gated })
    }

    fn out_features(conv: &ConvShape, pool: Option<PoolShape>) -> usize {
        pool.map_or(conv.out_features(), |pool| pool.out_features())
    }

    #[test]
    fn one_pass_equals_the_composed_operations() {
        for (conv, pool) in shapes() {
            for (with_scale, gated) in [(false, false), (true, false), (false, true), (true, true)]
            {
                let leaf = |size, seed| random(size, seed, DType::F32).require_grad();
                let x = leaf([9, conv.in_features()], 1);
                let w = leaf([conv.out_channels, conv.fan_in()], 2);
                let shift = leaf([1, conv.out_channels], 3);
                let g = leaf([9, out_features(&conv, pool)], 4);
                let scale = with_scale.then(|| leaf([1, conv.out_channels], 5));

                let scaled = |image: Tensor<2>| match &scale {
                    Some(scale) => channel_scale(image, scale.clone(), conv.out_channels),
                    None => image,
                };
                let image = scaled(conv2d(x.clone(), w.clone(), conv));
                let shifted = channel_shift(image.clone(), shift.clone(), conv.out_channels);
                let indices = pool.map(|pool| (max_pool_indices(&shifted, pool), pool));
                let decider = indices.clone().filter(|_| gated).map(|(indices, pool)| {
                    pool_gather(shifted.clone(), indices, pool).without_autodiff()
                });
                let passed = |numbers: Tensor<2>| match &decider {
                    Some(decider) => gate(numbers, decider.clone()),
                    None => numbers,
                };
                let gathered = |image: Tensor<2>| match &indices {
                    Some((indices, pool)) => passed(pool_gather(image, indices.clone(), *pool)),
                    None => image,
                };
                let spread = match &indices {
                    Some((indices, pool)) => {
                        pool_scatter(passed(g.clone()), indices.clone(), *pool)
                    }
                    None => g.clone(),
                };
                let composed = [
                    gathered(shifted),
                    gathered(image),
                    conv2d_input(scaled(spread), w.clone(), conv),
                ];
                let affine = [scale.clone(), Some(shift.clone())];
                let pool = pool.map(|shape| JoinedPool { shape, gated });
                let (found, at) = joined_conv2d(x.clone(), w.clone(), affine, conv, pool);
                let joined = [
                    found,
                    conv2d_joined(x.clone(), w.clone(), &at),
                    conv2d_input_joined(g.clone(), w.clone(), &at),
                ];
                for (joined, composed) in joined.into_iter().zip(composed) {
                    assert_eq!(values(&joined), values(&composed), "{conv:?}");
                    let slopes = random(joined.dims(), 6, DType::F32);
                    let back = (joined * slopes.clone()).backward();
                    let expected = (composed * slopes).backward();
                    for tensor in [&x, &w, &shift, &g].into_iter().chain(&scale) {
                        match (tensor.grad(&back), tensor.grad(&expected)) {
                            (Some(back), Some(expected)) => same(&back, &expected, 1e-4),
                            (back, expected) => assert_eq!(back.is_some(), expected.is_some()),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_for_any_number_of_threads() {
        for (conv, pool) in shapes() {
            let x = random([7, conv.in_features()], 1, DType::F32);
            let w = random([conv.out_channels, conv.fan_in()], 2, DType::F32);
            let g = random([7, out_features(&conv, pool)], 3, DType::F32);
            let scale = random([1, conv.out_channels], 4, DType::F32);
            let all = |x: &Tensor<2>, g: &Tensor<2>| {
                let affine = [Some(scale.clone()), None];
                let (y, at) = joined_conv2d(x.clone(), w.clone(), affine, conv, plain(pool));
                [
                    y,
                    conv2d_joined(x.clone(), w.clone(), &at),
                    conv2d_input_joined(g.clone(), w.clone(), &at),
                ]
            };
            let expected = all(&x, &g);
            for threads in [1, 2, 4] {
                let got = on_threads(threads, || all(&x, &g));
                assert_eq!(got.each_ref().map(bits), expected.each_ref().map(bits));
            }
            for row in 0..7 {
                let got = all(&alone(&x, row), &alone(&g, row));
                let expected = expected.each_ref().map(|all| bits(&alone(all, row)));
                assert_eq!(got.each_ref().map(bits), expected, "row {row} of {conv:?}");
            }
        }
    }

    #[test]
    fn gradients_are_those_of_central_differences() {
        let conv = ConvShape::square([2, 5, 4], 3, 3, 1, 1);
        let pool = PoolShape::square([3, 5, 4], 2);
        let x = random([2, conv.in_features()], 1, DType::F64);
        let w = random([3, conv.fan_in()], 2, DType::F64);
        let g = random([2, pool.out_features()], 3, DType::F64);
        let scale = random([1, 3], 4, DType::F64);
        let (_, at) = joined_conv2d(x.clone(), w.clone(), [None, None], conv, plain(Some(pool)));
        let scaled = |scale: &Tensor<2>| JoinedConv {
            scale: Some(scale.clone()),
            ..at.clone()
        };
        check_gradients(&[x.clone(), w.clone(), scale.clone()], |of| {
            conv2d_joined(of[0].clone(), of[1].clone(), &scaled(&of[2]))
        });
        check_gradients(&[g, w.clone(), scale.clone()], |of| {
            conv2d_input_joined(of[0].clone(), of[1].clone(), &scaled(&of[2]))
        });
        let shift = random([1, 3], 5, DType::F64);
        check_gradients(&[x, w, scale, shift], |of| {
            let affine = [Some(of[2].clone()), Some(of[3].clone())];
            joined_conv2d(
                of[0].clone(),
                of[1].clone(),
                affine,
                conv,
                plain(Some(pool)),
            )
            .0
        });
    }
}
