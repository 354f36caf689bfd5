//! The images of a convolution row by row, as they are, scaled by channel or pooled.
//!
//! What follows a convolution reads each image that the convolution writes, and its adjoint writes each image that
//! the convolution's adjoints read. Done row by row within their jobs, the image between the two never leaves the cache.

#![expect(unsafe_code, reason = "outputs written in parallel")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::Range;

use crate::kernel::buffer::Shared;
use crate::kernel::max_pool::{Find, Maxima, PoolShape};
use crate::kernel::simd::{Number, Task, Vector};

/// Images that a kernel reads: as they are, or zero but for one number a pooling window; and each channel times its scale.
#[derive(Clone, Copy)]
pub(crate) struct Images<'a, T> {
    numbers: &'a [T],
    features: usize,
    maxima: Option<Maxima<'a>>,
    scale: Option<&'a [T]>,
}

impl<'a, T: Number> Images<'a, T> {
    /// Images as they are, of so many numbers each.
    pub(crate) fn plain(numbers: &'a [T], features: usize) -> Self {
        Self::new(numbers, features, None, None)
    }

    /// Images of so many numbers each; numbers of pooled images belong where the maxima are.
    pub(crate) fn new(
        numbers: &'a [T],
        features: usize,
        maxima: Option<Maxima<'a>>,
        scale: Option<&'a [T]>,
    ) -> Self {
        Self {
            numbers,
            features,
            maxima,
            scale,
        }
    }

    /// How many numbers there are of each image.
    fn stored(&self) -> usize {
        let of_pooling = |maxima: Maxima<'_>| maxima.shape.out_features();
        self.maxima.map_or(self.features, of_pooling)
    }

    pub(crate) fn rows(&self) -> usize {
        self.numbers.len() / self.stored()
    }

    /// Some of the rows.
    pub(crate) fn part(&self, rows: Range<usize>) -> Self {
        let stored = self.stored();
        Self {
            numbers: &self.numbers[rows.start * stored..rows.end * stored],
            maxima: self.maxima.map(|maxima| maxima.part(rows)),
            ..*self
        }
    }

    /// How many numbers of scratch a row needs.
    pub(crate) fn room(&self) -> usize {
        if self.maxima.is_some() || self.scale.is_some() {
            self.features
        } else {
            0
        }
    }

    /// The whole image of a row, in `room` where it has to be put together.
    #[inline]
    pub(crate) fn row<'b>(&self, row: usize, room: &'b mut [T]) -> &'b [T]
    where
        'a: 'b,
    {
        let channels = match (self.maxima, self.scale) {
            (Some(maxima), _) => maxima.shape.channels,
            (_, Some(scale)) => scale.len(),
            (None, None) => 1,
        };
        self.channels(row, 0..channels, self.features / channels, room)
    }

    /// Some of an image's channels, each of `pixels` numbers.
    #[inline]
    pub(crate) fn channels<'b>(
        &self,
        row: usize,
        channels: Range<usize>,
        pixels: usize,
        room: &'b mut [T],
    ) -> &'b [T]
    where
        'a: 'b,
    {
        let stored = self.stored();
        let numbers = &self.numbers[row * stored..(row + 1) * stored];
        let range = channels.start * pixels..channels.end * pixels;
        let Some(maxima) = self.maxima else {
            let Some(scale) = self.scale else {
                return &numbers[range];
            };
            let image = &mut room[..range.len()];
            let (numbers, scale) = (&numbers[range], &scale[channels]);
            T::vectorised(ScaledCopy {
                numbers,
                scale,
                image: &mut *image,
            });
            return image;
        };
        let image = &mut room[..range.len()];
        maxima.scatter(row, channels.clone(), numbers, image);
        if let Some(scale) = self.scale {
            let scale = &scale[channels];
            T::vectorised(Affine {
                image: &mut *image,
                scale: Some(scale),
                shift: None,
                channels: scale.len(),
            });
        }
        image
    }
}

struct ScaledCopy<'a, T> {
    numbers: &'a [T],
    scale: &'a [T],
    image: &'a mut [T],
}

impl<T: Number> Task<T> for ScaledCopy<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let pixels = self.image.len() / self.scale.len();
        let planes = self.image.chunks_exact_mut(pixels);
        for ((to, from), &scale) in planes
            .zip(self.numbers.chunks_exact(pixels))
            .zip(self.scale)
        {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = from * scale;
            }
        }
    }
}

/// What happens to an image that a convolution has given.
#[derive(Clone, Copy)]
pub(crate) enum Pooling<'a> {
    None,
    /// Only the numbers at these places are kept.
    At(Maxima<'a>),
    /// Only the largest number of each window is kept; where it was is written down. Where `gated`, only positive ones are.
    Find {
        shape: &'a PoolShape,
        gated: bool,
        indices: Shared<i32>,
    },
}

/// Where the images go that a convolution gives, each number times its channel's scale plus its channel's shift.
#[derive(Clone, Copy)]
pub(crate) struct Outputs<'a, T> {
    to: Shared<T>,
    /// Of an image before it is pooled.
    features: usize,
    scale: Option<&'a [T]>,
    shift: Option<&'a [T]>,
    pooling: Pooling<'a>,
}

impl<'a, T: Number> Outputs<'a, T> {
    /// Images of so many numbers each, before they are pooled.
    ///
    /// # Safety
    /// As long as the value is used, `to` and the indices of the pooling must be valid for all rows and used by nobody else.
    pub(crate) unsafe fn new(
        to: Shared<T>,
        features: usize,
        [scale, shift]: [Option<&'a [T]>; 2],
        pooling: Pooling<'a>,
    ) -> Self {
        Self {
            to,
            features,
            scale,
            shift,
            pooling,
        }
    }

    /// How many numbers of scratch a row needs.
    pub(crate) fn room(&self) -> usize {
        match self.pooling {
            Pooling::None => 0,
            _ => self.features,
        }
    }

    /// Where the convolution's images go, from this row on: one after the other.
    #[inline]
    pub(crate) fn target(&self, row: usize, room: &mut [T]) -> *mut T {
        match self.pooling {
            Pooling::None => self.to.at(row * self.features),
            _ => room.as_mut_ptr(),
        }
    }

    /// Scales, shifts and pools the images of some rows, which have been written to their target.
    ///
    /// # Safety
    /// The images must have been written, and nobody else may use these rows meanwhile.
    pub(crate) unsafe fn finish(&self, rows: Range<usize>, room: &mut [T]) {
        let channels = self.scale.or(self.shift).map(<[T]>::len);
        if channels.is_none() && matches!(self.pooling, Pooling::None) {
            return;
        }
        let to = self.target(rows.start, room);
        for (index, row) in rows.enumerate() {
            // SAFETY: the image has been written, to the output or to the scratch.
            let image = unsafe {
                std::slice::from_raw_parts_mut(to.add(index * self.features), self.features)
            };
            if let Some(channels) = channels {
                let (scale, shift) = (self.scale, self.shift);
                T::vectorised(Affine {
                    image: &mut *image,
                    scale,
                    shift,
                    channels,
                });
            }
            match self.pooling {
                Pooling::None => {}
                Pooling::At(maxima) => {
                    let pooled = maxima.shape.out_features();
                    // SAFETY: the output has room for every row, and the caller vouches that nobody else uses this one.
                    let pooled =
                        unsafe { std::slice::from_raw_parts_mut(self.to.at(row * pooled), pooled) };
                    maxima.gather(row, image, pooled);
                }
                Pooling::Find {
                    shape,
                    gated,
                    indices,
                } => {
                    let count = shape.out_features();
                    // SAFETY: as above, for the numbers and for their places, which are plain data.
                    let (pooled, found) = unsafe {
                        (
                            std::slice::from_raw_parts_mut(self.to.at(row * count), count),
                            std::slice::from_raw_parts_mut(indices.at(row * count), count),
                        )
                    };
                    let x = &*image;
                    let found: &mut [i32] = found;
                    T::vectorised(Find {
                        x,
                        shape,
                        found: &mut *found,
                    });
                    Maxima::new(shape, &*found).gather(0, x, pooled);
                    if gated {
                        T::vectorised(Gate { pooled, found });
                    }
                }
            }
        }
    }
}

/// Scales and shifts each channel of an image.
struct Affine<'a, T> {
    image: &'a mut [T],
    scale: Option<&'a [T]>,
    shift: Option<&'a [T]>,
    channels: usize,
}

impl<T: Number> Task<T> for Affine<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let pixels = self.image.len() / self.channels;
        for (channel, plane) in self.image.chunks_exact_mut(pixels).enumerate() {
            match (self.scale, self.shift) {
                (Some(scale), Some(shift)) => {
                    let (scale, shift) = (scale[channel], shift[channel]);
                    for value in plane {
                        *value = *value * scale + shift;
                    }
                }
                (Some(scale), None) => {
                    let scale = scale[channel];
                    for value in plane {
                        *value = *value * scale;
                    }
                }
                (None, Some(shift)) => {
                    let shift = shift[channel];
                    for value in plane {
                        *value += shift;
                    }
                }
                (None, None) => {}
            }
        }
    }
}

/// Lets positive numbers pass; the others become zero, and their indices negative.
struct Gate<'a, T> {
    pooled: &'a mut [T],
    found: &'a mut [i32],
}

impl<T: Number> Task<T> for Gate<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        for (value, index) in self.pooled.iter_mut().zip(self.found) {
            let open = *value > T::default();
            *value = if open { *value } else { T::default() };
            *index = if open { *index } else { -1 };
        }
    }
}
