//! Images cut into overlapping tiles, sixteen channels to a register, and put together again.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::Range;

use super::points::{GradientPoints, IN, InputPoints, OUT, OutputFromPoints, load, square, store};
use crate::kernel::ConvShape;
use crate::kernel::buffer::{Scratch, Shared};
use crate::kernel::conv::rows::Images;
use crate::kernel::simd::{Task, Vector};

/// Channels of a block: the lanes of a register of `f32`.
pub(crate) const LANES: usize = 16;

/// An image, the zeros around it and the tiles that cover its convolution.
#[derive(Clone, Copy)]
pub(crate) struct Tiling {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    /// Rows and columns of zeros before the image.
    pub before: usize,
    pub out_height: usize,
    pub out_width: usize,
}

/// Where tiles lie at each frequency: frequencies `frequency` numbers apart, and tiles next to each other.
#[derive(Clone, Copy)]
pub(crate) struct Spectrum<P> {
    pub start: P,
    pub frequency: usize,
}

/// Numbers from one frequency to the next for `lines` registers: one line of the cache more, so that the frequencies of a
/// tile do not compete for the same lines.
pub(crate) fn apart(lines: usize) -> usize {
    (lines + 1) * LANES
}

impl Tiling {
    /// The convolution's input.
    pub(crate) fn of_input(shape: &ConvShape) -> Self {
        Self {
            channels: shape.in_channels,
            height: shape.in_height,
            width: shape.in_width,
            before: shape.padding[0][0],
            out_height: shape.out_height(),
            out_width: shape.out_width(),
        }
    }

    /// The output's gradient, whose convolution with the flipped weights is the input's gradient.
    pub(crate) fn of_output(shape: &ConvShape) -> Self {
        Self {
            channels: shape.out_channels,
            height: shape.out_height(),
            width: shape.out_width(),
            before: shape.kernel[0] - 1 - shape.padding[0][0],
            out_height: shape.in_height,
            out_width: shape.in_width,
        }
    }

    /// Numbers in a row.
    pub(crate) fn features(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Pixels of an output image.
    pub(crate) fn out_pixels(&self) -> usize {
        self.out_height * self.out_width
    }

    /// Blocks of sixteen channels, the last filled up with zeros.
    pub(crate) fn blocks(&self) -> usize {
        self.channels.div_ceil(LANES)
    }

    /// Tiles of one image.
    pub(crate) fn tiles(&self) -> usize {
        self.down() * self.across()
    }

    fn down(&self) -> usize {
        self.out_height.div_ceil(OUT)
    }

    fn across(&self) -> usize {
        self.out_width.div_ceil(OUT)
    }

    /// Pixels from one line of a padded image to the next, and of whole output tiles.
    fn padded_pitch(&self) -> usize {
        OUT * self.across() + IN - OUT
    }

    fn out_pitch(&self) -> usize {
        OUT * self.across()
    }

    /// Numbers of one block of a padded image, which is also enough for one block of whole output tiles.
    pub(crate) fn padded(&self) -> usize {
        (OUT * self.down() + IN - OUT) * self.padded_pitch() * LANES
    }

    /// Where in a padded block each pixel of the image goes.
    pub(crate) fn places(&self) -> Vec<usize> {
        places(self.height, self.width, self.before, self.padded_pitch())
    }

    /// Where in a block of whole output tiles each pixel of the output goes.
    pub(crate) fn out_places(&self) -> Vec<usize> {
        places(self.out_height, self.out_width, 0, self.out_pitch())
    }

    /// Transforms the tiles of one block of `image`; `padded` has zeros around the image's [`Tiling::places`].
    ///
    /// # Safety
    /// `to` must be valid for the tiles of one image.
    #[inline(always)]
    unsafe fn transform<V: Vector<Number = f32>>(
        &self,
        image: &[f32],
        block: usize,
        places: &[usize],
        padded: &mut [f32],
        to: Spectrum<*mut f32>,
    ) {
        assert!(padded.len() >= self.padded());
        spread::<V>(image, self.channels, block, places, padded);
        let pitch = self.padded_pitch();
        for tile in 0..self.tiles() {
            let (y, x) = (tile / self.across(), tile % self.across());
            // SAFETY: six by six registers from the tile's corner lie within the padded block, and the caller vouches for
            // `to`.
            unsafe {
                let corner = padded.as_ptr().add((y * pitch + x) * OUT * LANES);
                let d = load::<V, IN>(corner, pitch * LANES, LANES);
                let points = square::<InputPoints, V, IN, IN>(&d);
                store(
                    &points,
                    to.start.add(tile * LANES),
                    IN * to.frequency,
                    to.frequency,
                );
            }
        }
    }

    /// Transforms the tiles of one block of an output's gradient of `channels` channels; `laid` has zeros beside the
    /// [`Tiling::out_places`].
    ///
    /// # Safety
    /// `to` must be valid for the tiles of one image.
    #[inline(always)]
    pub(crate) unsafe fn transform_gradient<V: Vector<Number = f32>>(
        &self,
        (gradient, channels): (&[f32], usize),
        block: usize,
        out_places: &[usize],
        laid: &mut [f32],
        to: Spectrum<*mut f32>,
    ) {
        assert!(laid.len() >= self.padded());
        spread::<V>(gradient, channels, block, out_places, laid);
        let pitch = self.out_pitch();
        for tile in 0..self.tiles() {
            let (y, x) = (tile / self.across(), tile % self.across());
            // SAFETY: four by four registers from the tile's corner lie within the laid block, and the caller vouches for
            // `to`.
            unsafe {
                let corner = laid.as_ptr().add((y * pitch + x) * OUT * LANES);
                let g = load::<V, OUT>(corner, pitch * LANES, LANES);
                let points = square::<GradientPoints, V, OUT, IN>(&g);
                store(
                    &points,
                    to.start.add(tile * LANES),
                    IN * to.frequency,
                    to.frequency,
                );
            }
        }
    }

    /// Transforms the tiles of one block of one output image of `channels` channels back into pixels, by way of `laid`, and
    /// writes them to the block's planes of `out`.
    ///
    /// # Safety
    /// `from` must be valid for the tiles of one image and `out` for the image.
    #[inline(always)]
    pub(crate) unsafe fn transform_back<V: Vector<Number = f32>>(
        &self,
        from: Spectrum<*const f32>,
        (out, channels): (*mut f32, usize),
        block: usize,
        out_places: &[usize],
        laid: &mut [f32],
    ) {
        assert!(laid.len() >= self.padded());
        let pitch = self.out_pitch();
        for tile in 0..self.tiles() {
            let (y, x) = (tile / self.across(), tile % self.across());
            // SAFETY: the caller vouches for the tiles; four by four registers from the corner lie within the laid block.
            unsafe {
                let points = load::<V, IN>(
                    from.start.add(tile * LANES),
                    IN * from.frequency,
                    from.frequency,
                );
                let pixels = square::<OutputFromPoints, V, IN, OUT>(&points);
                let corner = laid.as_mut_ptr().add((y * pitch + x) * OUT * LANES);
                store(&pixels, corner, pitch * LANES, LANES);
            }
        }
        // SAFETY: the caller vouches for the image, and this block has planes in it.
        unsafe {
            let out = out.add(block * LANES * self.out_pixels());
            gather::<V>(laid, out_places, LANES.min(channels - block * LANES), out);
        }
    }
}

/// Transforms some blocks of some images: `[frequency][block][tile][lane]`.
pub(crate) struct TransformTiles<'a> {
    images: Images<'a, f32>,
    tiling: Tiling,
    places: &'a [usize],
    blocks: Range<usize>,
    /// From one block to the next.
    tiles: usize,
    /// Of the first block.
    to: Spectrum<Shared<f32>>,
}

impl<'a> TransformTiles<'a> {
    /// Blocks of whole images, whose tiling has these [`Tiling::places`]; the target's blocks are `tiles` tiles apart.
    ///
    /// # Safety
    /// Until the task has run, `to` must be valid for the tiles of all images and blocks at each frequency, and used by
    /// nobody else.
    pub(crate) unsafe fn new(
        images: Images<'a, f32>,
        (tiling, places): (Tiling, &'a [usize]),
        blocks: Range<usize>,
        tiles: usize,
        to: Spectrum<Shared<f32>>,
    ) -> Self {
        Self {
            images,
            tiling,
            places,
            blocks,
            tiles,
            to,
        }
    }
}

impl Task<f32> for TransformTiles<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self {
            images,
            tiling,
            places,
            ..
        } = self;
        let mut padded = Scratch::new(tiling.padded() + images.room());
        let (padded, room) = padded.numbers().split_at_mut(tiling.padded());
        padded.fill(0.0);
        for row in 0..images.rows() {
            let image = images.row(row, room);
            for (index, block) in self.blocks.clone().enumerate() {
                let tile = index * self.tiles + row * tiling.tiles();
                let start = self.to.start.at(tile * LANES);
                let to = Spectrum {
                    start,
                    frequency: self.to.frequency,
                };
                // SAFETY: the target has room for the tiles at each frequency.
                unsafe { tiling.transform::<V>(image, block, places, padded, to) };
            }
        }
    }
}

fn places(height: usize, width: usize, before: usize, pitch: usize) -> Vec<usize> {
    (0..height * width)
        .map(|pixel| ((pixel / width + before) * pitch + pixel % width + before) * LANES)
        .collect()
}

/// Where each of sixteen planes begins.
#[inline(always)]
fn plane_starts(pixels: usize) -> [usize; LANES] {
    let mut starts = [0; LANES];
    for (channel, start) in starts.iter_mut().enumerate() {
        *start = channel * pixels;
    }
    starts
}

/// Spreads one block of an image of `channels` channels into lanes, pixel `p` at `places[p]`; missing channels are zero.
#[inline(always)]
fn spread<V: Vector<Number = f32>>(
    image: &[f32],
    channels: usize,
    block: usize,
    places: &[usize],
    laid: &mut [f32],
) {
    let pixels = places.len();
    let present = LANES.min(channels - block * LANES);
    let image = &image[block * LANES * pixels..(block * LANES + present) * pixels];
    let starts = plane_starts(pixels);
    let whole = if present == LANES {
        pixels / LANES * LANES
    } else {
        0
    };
    for pixel in (0..whole).step_by(LANES) {
        let places = &places[pixel..pixel + LANES];
        assert!(places.iter().all(|place| place + LANES <= laid.len()));
        // SAFETY: there are sixteen planes and sixteen pixels of each left; the places have just been checked.
        unsafe {
            V::transpose(
                image.as_ptr().add(pixel),
                &starts,
                laid.as_mut_ptr(),
                places,
            );
        }
    }
    for pixel in whole..pixels {
        let lanes = &mut laid[places[pixel]..places[pixel] + LANES];
        lanes.fill(0.0);
        for (lane, plane) in lanes.iter_mut().zip(image.chunks_exact(pixels)) {
            *lane = plane[pixel];
        }
    }
}

/// Gathers the lanes of a block, pixel `p` at `places[p]`, into `present` planes.
///
/// # Safety
/// `out` must be valid for the planes.
#[inline(always)]
unsafe fn gather<V: Vector<Number = f32>>(
    laid: &[f32],
    places: &[usize],
    present: usize,
    out: *mut f32,
) {
    let pixels = places.len();
    let starts = plane_starts(pixels);
    let whole = if present == LANES {
        pixels / LANES * LANES
    } else {
        0
    };
    for pixel in (0..whole).step_by(LANES) {
        let places = &places[pixel..pixel + LANES];
        assert!(places.iter().all(|place| place + LANES <= laid.len()));
        // SAFETY: the places have just been checked, and the caller vouches for sixteen planes.
        unsafe { V::transpose(laid.as_ptr(), places, out.add(pixel), &starts) };
    }
    for pixel in whole..pixels {
        let lanes = &laid[places[pixel]..places[pixel] + present];
        for (&value, start) in lanes.iter().zip(starts) {
            // SAFETY: a pixel of one of the caller's planes.
            unsafe { *out.add(start + pixel) = value };
        }
    }
}
