//! Max pooling: where the maxima are, then a gather by those indices whose adjoint is a scatter by the same indices.
//!
//! The indices are fixed once found, so pooling is linear in what it gathers, and its derivative of every order is one of
//! the two operations.

#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

mod pairs;
mod shape;

use std::ops::Range;

pub use self::shape::PoolShape;
use super::buffer::by_row;
use super::simd::{Number, Task, Vector};
use super::storage::{by_type, size};
use super::{composed, on_cpu};
use crate::tensor::{Array, Int, Tensor};

/// For each window of each row, the index within the row of its maximum, `[rows, out_features]`; ties go to the lower index.
/// Not differentiable.
///
/// # Panics
/// If the shape is not [`PoolShape::checked`] or the tensor does not have it.
#[must_use]
pub fn max_pool_indices(x: &Tensor<2>, shape: PoolShape) -> Tensor<2, Int> {
    check(x.dims()[1], shape.in_features(), &shape);
    if on_cpu(x) {
        Tensor::constant(indices(x.array(), &shape))
    } else {
        composed::max_pool_indices(x, shape)
    }
}

/// The numbers of each row of `x` at `indices` of [`max_pool_indices`]: `[rows, out_features]`.
///
/// # Panics
/// If the tensors do not have the shape or an index lies outside a row.
#[must_use]
pub fn pool_gather(x: Tensor<2>, indices: Tensor<2, Int>, shape: PoolShape) -> Tensor<2> {
    check(x.dims()[1], shape.in_features(), &shape);
    check(indices.dims()[1], shape.out_features(), &shape);
    assert_eq!(
        x.dims()[0],
        indices.dims()[0],
        "rows of `x` and of the indices"
    );
    if on_cpu(&x) {
        let indices = indices.array().clone();
        let back = indices.clone();
        x.linear(
            |x| gathered(&x, &indices, &shape),
            move |gradient| scattered(&gradient, &back, &shape),
        )
    } else {
        composed::pool_gather(x, indices)
    }
}

/// The adjoint of [`pool_gather`]: each number of `g` added to zeros at its index, `[rows, in_features]`.
///
/// # Panics
/// If the tensors do not have the shape or an index lies outside a row.
#[must_use]
pub fn pool_scatter(g: Tensor<2>, indices: Tensor<2, Int>, shape: PoolShape) -> Tensor<2> {
    check(g.dims()[1], shape.out_features(), &shape);
    assert_eq!(g.dims(), indices.dims(), "sizes of `g` and of the indices");
    if on_cpu(&g) {
        let indices = indices.array().clone();
        let back = indices.clone();
        g.linear(
            |g| scattered(&g, &indices, &shape),
            move |gradient| gathered(&gradient, &back, &shape),
        )
    } else {
        composed::pool_scatter(g, indices, shape)
    }
}

fn check(features: usize, expected: usize, shape: &PoolShape) {
    if let Err(error) = shape.checked() {
        panic!("{error}: {shape:?}");
    }
    assert_eq!(features, expected, "features of a row for {shape:?}");
}

fn indices(x: &Array, shape: &PoolShape) -> Array {
    let [rows, _] = size(x);
    by_type!(|x| find(x, rows, shape), [rows, shape.out_features()])
}

fn gathered(x: &Array, indices: &Array, shape: &PoolShape) -> Array {
    let ([rows, _], indices) = (size(x), indices.values());
    by_type!(|x| gather(x, indices, shape), [rows, shape.out_features()])
}

fn scattered(g: &Array, indices: &Array, shape: &PoolShape) -> Array {
    let ([rows, _], indices) = (size(g), indices.values());
    by_type!(
        |g| scatter(g, indices, rows, shape),
        [rows, shape.in_features()]
    )
}

fn find<T: Number>(x: &[T], rows: usize, shape: &PoolShape) -> Vec<i32> {
    by_row(rows, shape.out_features(), |row, found| {
        let x = &x[row * shape.in_features()..][..shape.in_features()];
        T::vectorised(Find { x, shape, found });
    })
}

/// Finds the maxima of one row.
pub(super) struct Find<'a, T> {
    pub(super) x: &'a [T],
    pub(super) shape: &'a PoolShape,
    pub(super) found: &'a mut [i32],
}

impl<T: Number> Task<T> for Find<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self { x, shape, found } = self;
        let count = shape.out_width();
        if shape.has_pairs() {
            let lines = x.chunks_exact(2 * shape.width).enumerate();
            for ((line, pixels), found) in lines.zip(found.chunks_exact_mut(count)) {
                let corner = index(2 * line * shape.width);
                if V::find_windows(pixels, corner, found) {
                    continue;
                }
                let pixels = pixels.split_at(shape.width);
                if count < pairs::MANY {
                    pairs::find::<T, { pairs::FEW }>(pixels, corner, found);
                } else {
                    pairs::find::<T, { pairs::MANY }>(pixels, corner, found);
                }
            }
            return;
        }
        let channels = found.chunks_exact_mut(shape.out_pixels()).enumerate();
        for (channel, found) in channels {
            let first = channel * shape.height;
            for (y, found) in found.chunks_exact_mut(count).enumerate() {
                let rows = shape.covered(0, y);
                for (window, found) in found.iter_mut().enumerate() {
                    let rows = first + rows.start..first + rows.end;
                    *found = maximum(x, rows, shape.covered(1, window), shape.width);
                }
            }
        }
    }
}

/// The index of an element of a row. [`PoolShape::checked`] has seen to it that all of them fit.
#[inline(always)]
fn index(at: usize) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}

/// The index of the maximum of some rows and columns.
#[inline(always)]
fn maximum<T: Number>(x: &[T], rows: Range<usize>, columns: Range<usize>, width: usize) -> i32 {
    let corner = rows.start * width + columns.start;
    let (mut best, mut at) = (x[corner], corner);
    for y in rows {
        let first = y * width + columns.start;
        for (offset, &value) in x[first..y * width + columns.end].iter().enumerate() {
            if value > best {
                (best, at) = (value, first + offset);
            }
        }
    }
    index(at)
}

fn gather<T: Number>(x: &[T], indices: &[i32], shape: &PoolShape) -> Vec<T> {
    let (inputs, outputs) = (shape.in_features(), shape.out_features());
    let maxima = Maxima::new(shape, indices);
    by_row(indices.len() / outputs, outputs, |row, gathered| {
        maxima.gather(row, &x[row * inputs..][..inputs], gathered);
    })
}

fn scatter<T: Number>(g: &[T], indices: &[i32], rows: usize, shape: &PoolShape) -> Vec<T> {
    let outputs = shape.out_features();
    let maxima = Maxima::new(shape, indices);
    by_row(rows, shape.in_features(), |row, image| {
        maxima.scatter(
            row,
            0..shape.channels,
            &g[row * outputs..][..outputs],
            image,
        );
    })
}

/// Where the maxima of some rows lie: the indices of [`max_pool_indices`], negative where a window has none.
#[derive(Clone, Copy)]
pub(super) struct Maxima<'a> {
    pub(super) shape: &'a PoolShape,
    indices: &'a [i32],
}

impl<'a> Maxima<'a> {
    pub(super) fn new(shape: &'a PoolShape, indices: &'a [i32]) -> Self {
        Self { shape, indices }
    }

    /// Those of some of the rows.
    pub(super) fn part(&self, rows: Range<usize>) -> Self {
        let outputs = self.shape.out_features();
        Self {
            indices: &self.indices[rows.start * outputs..rows.end * outputs],
            ..*self
        }
    }

    fn of_row(&self, row: usize) -> &'a [i32] {
        let outputs = self.shape.out_features();
        &self.indices[row * outputs..(row + 1) * outputs]
    }

    /// Gathers the numbers of an image at the maxima of a row; zero where there is none.
    pub(super) fn gather<T: Number>(&self, row: usize, image: &[T], gathered: &mut [T]) {
        T::vectorised(Gather {
            shape: self.shape,
            indices: self.of_row(row),
            image: &image[..self.shape.in_features()],
            gathered,
        });
    }

    /// Writes some channels of the image that is zero but at the maxima of a row, where it has the row's numbers.
    pub(super) fn scatter<T: Number>(
        &self,
        row: usize,
        channels: Range<usize>,
        numbers: &[T],
        image: &mut [T],
    ) {
        let outputs = self.shape.out_pixels();
        let range = channels.start * outputs..channels.end * outputs;
        T::vectorised(Scatter {
            shape: self.shape,
            indices: &self.of_row(row)[range.clone()],
            numbers: &numbers[range],
            image: &mut image[..channels.len() * self.shape.in_pixels()],
            first: channels.start * self.shape.in_pixels(),
        });
    }
}

struct Gather<'a, T> {
    shape: &'a PoolShape,
    indices: &'a [i32],
    image: &'a [T],
    gathered: &'a mut [T],
}

impl<T: Number> Task<T> for Gather<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self { shape, image, .. } = self;
        if !shape.has_pairs() {
            for (value, &index) in self.gathered.iter_mut().zip(self.indices) {
                *value = image.get(position(index)).copied().unwrap_or_default();
            }
            return;
        }
        let (width, count) = (shape.width, shape.out_width());
        let of_line = self.gathered.chunks_exact_mut(count);
        let of_line = of_line.zip(self.indices.chunks_exact(count));
        let lines = image.chunks_exact(2 * width).zip(of_line).enumerate();
        for (line, (pixels, (gathered, indices))) in lines {
            let corner = index(2 * line * width);
            if V::gather_windows(pixels, corner, indices, gathered) {
                continue;
            }
            let pixels = pixels.split_at(width);
            if count < pairs::MANY {
                pairs::gather::<T, { pairs::FEW }>(pixels, corner, indices, gathered);
            } else {
                pairs::gather::<T, { pairs::MANY }>(pixels, corner, indices, gathered);
            }
        }
    }
}

struct Scatter<'a, T> {
    shape: &'a PoolShape,
    indices: &'a [i32],
    numbers: &'a [T],
    image: &'a mut [T],
    /// The image's first number's index.
    first: usize,
}

impl<T: Number> Task<T> for Scatter<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self {
            shape,
            image,
            numbers,
            indices,
            first,
        } = self;
        if shape.has_pairs() && scatter_pairs::<V>(shape, image, numbers, indices, first) {
            return;
        }
        image.fill(T::default());
        let numbers = numbers.iter().zip(indices);
        if shape.overlaps() {
            for (&value, &index) in numbers {
                if let Some(sum) = image.get_mut(position(index).wrapping_sub(first)) {
                    *sum += value;
                }
            }
        } else {
            for (&value, &index) in numbers {
                if let Some(place) = image.get_mut(position(index).wrapping_sub(first)) {
                    *place = value;
                }
            }
        }
    }
}

/// Scatters where registers have a quick way to; `false` where not.
#[inline(always)]
fn scatter_pairs<V: Vector>(
    shape: &PoolShape,
    image: &mut [V::Number],
    numbers: &[V::Number],
    indices: &[i32],
    first: usize,
) -> bool {
    let (width, count) = (shape.width, shape.out_width());
    let of_line = numbers.chunks_exact(count).zip(indices.chunks_exact(count));
    let mut lines = image.chunks_exact_mut(2 * width).zip(of_line).enumerate();
    lines.all(|(line, (pixels, (numbers, indices)))| {
        let corner = index(first + 2 * line * width);
        V::scatter_windows(pixels, corner, indices, numbers)
    })
}

/// A negative index becomes one that no row has.
#[inline]
fn position(index: i32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::ShapeError;
    use crate::kernel::testing::{
        alone, bits, cases, check_gradients, cpu, on_threads, random, same_in_every_argument,
    };

    fn shapes() -> impl Strategy<Value = PoolShape> {
        let image = (1..4usize, 1..9usize, 1..40usize);
        let pair = || [1..4usize, 1..4usize];
        let padding = [[0..3usize, 0..3usize], [0..3usize, 0..3usize]];
        let general = (image.clone(), pair(), pair(), padding).prop_map(
            |((channels, height, width), window, stride, padding)| PoolShape {
                channels,
                height,
                width,
                window,
                stride,
                padding,
            },
        );
        let tiling = (image, 1..4usize).prop_map(|((channels, height, width), window)| {
            PoolShape::square([channels, height, width], window)
        });
        prop_oneof![general, tiling].prop_filter_map("a window larger than the image", |shape| {
            shape.checked().ok()
        })
    }

    fn indices_of(x: &Tensor<2>, shape: PoolShape) -> Vec<i64> {
        max_pool_indices(x, shape)
            .into_data()
            .iter::<i64>()
            .collect()
    }

    #[test]
    fn a_two_by_two_window_finds_each_maximum_by_hand() {
        let shape = PoolShape::square([1, 2, 4], 2);
        let data = TensorData::new(vec![1.0f32, 5.0, 2.0, 0.0, 3.0, 4.0, 7.0, 6.0], [1, 8]);
        let x = Tensor::<2>::from_data(data, &cpu());
        assert_eq!(indices_of(&x, shape), [1, 6]);
        let pooled = pool_gather(x.clone(), max_pool_indices(&x, shape), shape);
        assert_eq!(
            pooled.into_data().iter::<f32>().collect::<Vec<_>>(),
            [5.0, 7.0]
        );
    }

    #[test]
    fn padding_never_wins_over_negative_numbers() {
        let shape = PoolShape {
            window: [3; 2],
            stride: [2; 2],
            padding: [[1; 2]; 2],
            ..PoolShape::square([1, 4, 4], 2)
        };
        let values: Vec<f32> = (0..16_u8).map(|place| -1.0 - f32::from(place)).collect();
        let x = Tensor::<2>::from_data(TensorData::new(values, [1, 16]), &cpu());
        assert_eq!(indices_of(&x, shape), [0, 1, 4, 5]);
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        let shape = PoolShape::square([1, 2, 2], 2);
        let x = Tensor::<2>::zeros([1, 4], &cpu());
        assert_eq!(indices_of(&x, shape), [0]);
    }

    #[test]
    fn windows_of_two_by_two_are_those_of_plain_loops_at_every_width() {
        for width in (8..=40_usize).step_by(2) {
            let shape = PoolShape::square([3, 4, width], 2);
            // Five values, so that there are many ties.
            let residue = |at: usize, modulus: u16| {
                f32::from(u16::try_from(at * 7919 % usize::from(modulus)).unwrap())
            };
            let x: Vec<f32> = (0..shape.in_features())
                .map(|at| residue(at, 5) - 2.0)
                .collect();
            let corner = |window: usize| {
                let (line, place) = (window / shape.out_width(), window % shape.out_width());
                2 * (line * width + place)
            };
            let expected: Vec<i32> = (0..shape.out_features())
                .map(|window| {
                    let first = corner(window);
                    let pixels = [first, first + 1, first + width, first + width + 1];
                    let most = pixels.iter().map(|at| x[*at]).fold(f32::MIN, f32::max);
                    index(*pixels.iter().find(|at| x[**at] >= most).unwrap())
                })
                .collect();
            let mut found = vec![0; shape.out_features()];
            f32::vectorised(Find {
                x: &x,
                shape: &shape,
                found: &mut found,
            });
            assert_eq!(found, expected, "{width}");

            // Every third gate is closed.
            for closed in found.iter_mut().step_by(3) {
                *closed = -1;
            }
            let at_index = |at: &i32| usize::try_from(*at).map_or(0.0, |at| x[at]);
            let gathered: Vec<f32> = found.iter().map(at_index).collect();
            let maxima = Maxima::new(&shape, &found);
            let mut room = vec![7.0; shape.out_features()];
            maxima.gather(0, &x, &mut room);
            assert_eq!(room, gathered, "{width}");

            let numbers: Vec<f32> = (0..shape.out_features())
                .map(|at| 1.0 + residue(at, 101))
                .collect();
            let mut image = vec![0.0; shape.in_features()];
            for (number, at) in numbers.iter().zip(&found) {
                if let Ok(at) = usize::try_from(*at) {
                    image[at] = *number;
                }
            }
            let mut room = vec![7.0; 2 * shape.in_pixels()];
            maxima.scatter(0, 1..3, &numbers, &mut room);
            assert_eq!(room, image[shape.in_pixels()..], "{width}");
        }
    }

    #[test]
    fn shapes_that_cannot_be_pooled_are_refused() {
        let good = PoolShape::square([1, 4, 4], 2);
        assert_eq!(good.checked(), Ok(good));
        assert_eq!(
            PoolShape {
                stride: [2, 0],
                ..good
            }
            .checked(),
            Err(ShapeError::Zero { name: "stride" })
        );
        assert_eq!(
            PoolShape {
                window: [5, 2],
                ..good
            }
            .checked(),
            Err(ShapeError::Window {
                window: 5,
                name: "height",
                size: 4
            })
        );
        assert_eq!(
            PoolShape {
                padding: [[0, 2], [0, 0]],
                ..good
            }
            .checked(),
            Err(ShapeError::Padding {
                padding: 2,
                window: 2
            })
        );
        assert!(matches!(
            PoolShape {
                channels: 1 << 30,
                ..good
            }
            .checked(),
            Err(ShapeError::TooLarge { .. })
        ));
    }

    proptest! {
        #![proptest_config(cases(40))]

        #[test]
        fn kernels_equal_the_composed_operations(shape in shapes(), rows in 1..5usize, seed: u64) {
            let x = random([rows, shape.in_features()], seed, DType::F64);
            let g = random([rows, shape.out_features()], seed ^ 1, DType::F64);
            let indices = max_pool_indices(&x, shape);
            let expected = composed::max_pool_indices(&x, shape);
            prop_assert_eq!(
                indices.clone().into_data().iter::<i64>().collect::<Vec<_>>(),
                expected.clone().into_data().iter::<i64>().collect::<Vec<_>>()
            );
            same_in_every_argument(
                &[x],
                |of| pool_gather(of[0].clone(), indices.clone(), shape),
                |of| composed::pool_gather(of[0].clone(), expected.clone()),
                1e-15,
            );
            same_in_every_argument(
                &[g],
                |of| pool_scatter(of[0].clone(), indices.clone(), shape),
                |of| composed::pool_scatter(of[0].clone(), expected.clone(), shape),
                1e-15,
            );
        }

        #[test]
        fn gather_and_scatter_have_each_other_as_gradients(shape in shapes(), seed: u64) {
            let x = random([2, shape.in_features()], seed, DType::F64);
            let g = random([2, shape.out_features()], seed ^ 1, DType::F64);
            let indices = max_pool_indices(&x, shape);
            check_gradients(&[x], |inputs| pool_gather(inputs[0].clone(), indices.clone(), shape));
            check_gradients(&[g], |inputs| pool_scatter(inputs[0].clone(), indices.clone(), shape));
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_for_any_number_of_threads() {
        let shape = PoolShape {
            channels: 3,
            height: 9,
            width: 8,
            window: [3; 2],
            stride: [2; 2],
            padding: [[0; 2]; 2],
        };
        let x = random([7, shape.in_features()], 1, DType::F32);
        let g = random([7, shape.out_features()], 2, DType::F32);
        let indices = max_pool_indices(&x, shape);
        let pooled = pool_gather(x.clone(), indices.clone(), shape);
        let spread = pool_scatter(g.clone(), indices.clone(), shape);
        for threads in [1, 2, 4] {
            on_threads(threads, || {
                assert_eq!(
                    bits(&pool_gather(x.clone(), indices.clone(), shape)),
                    bits(&pooled)
                );
                assert_eq!(
                    bits(&pool_scatter(g.clone(), indices.clone(), shape)),
                    bits(&spread)
                );
            });
        }
        for row in 0..7 {
            let (x, g) = (alone(&x, row), alone(&g, row));
            let indices = max_pool_indices(&x, shape);
            assert_eq!(
                bits(&pool_gather(x, indices.clone(), shape)),
                bits(&alone(&pooled, row))
            );
            assert_eq!(
                bits(&pool_scatter(g, indices, shape)),
                bits(&alone(&spread, row))
            );
        }
    }
}
