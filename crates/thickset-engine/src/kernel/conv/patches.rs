//! The patches of an image that a convolution multiplies: laid out for products, and added back.

#![expect(unsafe_code, reason = "vector copies that overlap")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use super::shape::ConvShape;
use crate::kernel::register_tile::REGISTERS;
use crate::kernel::simd::{Number, Vector};

/// The most lanes a register has.
const MOST_LANES: usize = 16;

/// Images padded with zeros, and one patch of them for every pixel of an output image; of a convolution in one group.
#[derive(Clone, Copy)]
pub(crate) struct Patches {
    shape: ConvShape,
    padded_height: usize,
    padded_width: usize,
}

impl Patches {
    pub(crate) fn new(shape: &ConvShape) -> Self {
        Self {
            shape: *shape,
            padded_height: shape.padded()[0],
            padded_width: shape.padded()[1],
        }
    }

    /// Numbers from one padded image to the next: whole lines of the cache, so that what follows is aligned.
    pub(crate) fn padded(&self) -> usize {
        (self.shape.in_channels * self.padded_height * self.padded_width)
            .next_multiple_of(MOST_LANES)
    }

    /// Copies one image into a padded one, zeros included.
    pub(crate) fn pad<T: Number>(&self, image: &[T], padded: &mut [T]) {
        padded.fill(T::default());
        for (row, at) in image.chunks_exact(self.shape.in_width).zip(self.lines()) {
            padded[at..at + self.shape.in_width].copy_from_slice(row);
        }
    }

    /// Copies one image out of a padded one.
    pub(crate) fn crop<T: Number>(&self, padded: &[T], image: &mut [T]) {
        for (row, at) in image
            .chunks_exact_mut(self.shape.in_width)
            .zip(self.lines())
        {
            row.copy_from_slice(&padded[at..at + self.shape.in_width]);
        }
    }

    /// Where in a padded image each row of pixels begins, channel by channel.
    fn lines(&self) -> impl Iterator<Item = usize> + use<> {
        let Self {
            shape,
            padded_height,
            padded_width,
        } = *self;
        let [[top, _], [left, _]] = shape.padding;
        (0..shape.in_channels).flat_map(move |channel| {
            (0..shape.in_height)
                .map(move |y| (channel * padded_height + y + top) * padded_width + left)
        })
    }

    /// Where the patch of each of `pixels` output pixels begins, over padded images that lie one after another.
    pub(crate) fn starts(&self, pixels: usize) -> Vec<usize> {
        let (per_image, width) = (self.shape.out_pixels(), self.shape.out_width());
        (0..pixels)
            .map(|pixel| {
                let (row, pixel) = (pixel / per_image, pixel % per_image);
                let (y, x) = (pixel / width, pixel % width);
                let [down, across] = self.shape.stride;
                row * self.padded() + y * down * self.padded_width + x * across
            })
            .collect()
    }

    /// Where within a patch each of its numbers lies: channel by channel, row by row.
    pub(crate) fn steps(&self) -> Vec<usize> {
        let ([_, columns], taps) = (self.shape.kernel, self.shape.taps());
        let [down, across] = self.shape.dilation;
        (0..self.shape.fan_in())
            .map(|step| {
                let (channel, tap) = (step / taps, step % taps);
                let (y, x) = (tap / columns * down, tap % columns * across);
                (channel * self.padded_height + y) * self.padded_width + x
            })
            .collect()
    }

    /// Lays out the patches that begin at `starts`, at most one panel of them, as `panel[step][pixel]`; missing pixels are
    /// zero.
    ///
    /// # Safety
    /// `padded` must be readable for `LANES` numbers after the last patch, and `panel` writable for `LANES` numbers after
    /// the last step.
    #[inline(always)]
    pub(crate) unsafe fn panel<V: Vector>(
        padded: *const V::Number,
        starts: &[usize],
        steps: &[usize],
        panel: *mut V::Number,
    ) {
        // Whole registers are copied even for shorter runs of neighbours: the next copy overwrites what is too much.
        let mut copies = [(0, 0); REGISTERS * MOST_LANES];
        let mut count = 0;
        let mut covered = (0, 0);
        for (lane, &start) in starts.iter().enumerate() {
            if lane == 0 || lane == covered.1 || start - starts[covered.0] != lane - covered.0 {
                copies[count] = (lane, start);
                count += 1;
                covered = (lane, lane + V::LANES);
            }
        }
        let width = REGISTERS * V::LANES;
        for (index, &step) in steps.iter().enumerate() {
            // SAFETY: a patch's step lies within the padded images, and the caller vouches for what the registers overhang.
            unsafe {
                let row = panel.add(index * width);
                for &(lane, start) in &copies[..count] {
                    V::load(padded.add(start + step)).store(row.add(lane));
                }
                for lane in (starts.len()..width).step_by(V::LANES) {
                    V::splat(V::Number::default()).store(row.add(lane));
                }
            }
        }
    }

    /// Adds number `step` of every patch of one image, `values[pixel]`, to where it came from.
    #[inline(always)]
    pub(crate) fn add_back<T: Number>(&self, step: usize, values: &[T], padded: &mut [T]) {
        let (width, [down, across]) = (self.shape.out_width(), self.shape.stride);
        for (y, values) in values.chunks_exact(width).enumerate() {
            let line = &mut padded[step + y * down * self.padded_width..];
            if across == 1 {
                for (sum, &value) in line[..width].iter_mut().zip(values) {
                    *sum += value;
                }
            } else {
                for (sum, &value) in line.iter_mut().step_by(across).zip(values) {
                    *sum += value;
                }
            }
        }
    }
}
