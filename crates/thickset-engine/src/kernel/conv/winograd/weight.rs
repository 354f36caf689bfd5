//! The weights' gradient of [`super`]'s convolution: its adjoint in the weights,
//! `G' [sum of (A g A') * (B' d B)] G`, where the sum over rows and tiles is, for each frequency, a product of matrices.
//!
//! The rows go in chunks. Within a chunk each job takes a frequency; its sums run over the rows in order, tile by tile,
//! whatever the number of threads and the size of the chunks.
//!
//! Deep in a network there are few tiles and many weights, and the sums of all frequencies are many times as large as the
//! tiles. There each job takes some weights and all frequencies, so that its sums never leave its cache. The bits are the same
//! either way.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::Range;

use rayon::prelude::*;

use super::filters::TransformBack;
use super::points::FREQUENCIES;
use super::tiling::{LANES, Spectrum, Tiling, TransformTiles, apart};
use crate::kernel::ConvShape;
use crate::kernel::buffer::{Scratch, Shared, filled};
use crate::kernel::conv::rows::Images;
use crate::kernel::register_tile::{REGISTERS, Target, Walk, product};
use crate::kernel::simd::{Number, Task, Vector};

/// About how many bytes of transformed tiles are held at a time, at least; and how many times the bytes of the sums, since
/// every chunk reads and writes those again.
const CHUNK_BYTES: usize = 2 << 20;
const CHUNK_SUMS: usize = 4;

/// How many tiles a product walks before it moves on: two registers and one narrow block of them stay in the first cache.
const DEPTH: usize = 128;

/// How many columns a product takes: half a block.
const COLUMNS: usize = 8;

/// How many blocks of outputs one job takes.
const JOB_BLOCKS: usize = 4;

/// How many tiles there may be for jobs to take weights instead of frequencies.
const FEW_TILES: usize = 96;

/// The gradient of `<forward(x, w), g>` with respect to `w`, `[out_channels, fan_in]`.
pub(crate) fn weight(x: &[f32], g: Images<'_, f32>, shape: &ConvShape) -> Vec<f32> {
    let rows = g.rows();
    let tiling = Tiling::of_input(shape);
    let (blocks, out_blocks) = (tiling.blocks(), shape.out_channels.div_ceil(LANES));
    let line = FREQUENCIES * LANES * size_of::<f32>();
    let bytes = CHUNK_BYTES.max(CHUNK_SUMS * line * out_blocks * blocks * LANES);
    let chunk_rows = bytes / (line * (blocks + out_blocks) * tiling.tiles());
    let chunk_rows = chunk_rows.clamp(1, rows.max(1));
    let mut tiles = Tiles::new(shape, chunk_rows);
    if rows == chunk_rows && rows * tiling.tiles() <= FEW_TILES {
        tiles.transform(x, g);
        return by_weights(&mut tiles);
    }
    let mut sums = Sums::new(shape);
    for (chunk, (x, g)) in tiles.chunks(x, g).enumerate() {
        tiles.transform(x, g);
        sums.add(&mut tiles, chunk > 0);
    }
    if rows == 0 {
        sums.numbers.numbers().fill(0.0);
    }
    sums.weights()
}

/// The weights of tiles that are all there, some blocks at a time.
fn by_weights(tiles: &mut Tiles) -> Vec<f32> {
    let (blocks, out_blocks, shape) = (tiles.blocks(), tiles.out_blocks(), tiles.shape);
    let (frequency, out_frequency) = (tiles.frequency(), tiles.out_frequency());
    let (room, count) = (tiles.room, tiles.count);
    let inputs = &*tiles.inputs.numbers();
    let gradients = &*tiles.gradients.numbers();
    let pairs = out_blocks.div_ceil(REGISTERS);
    // SAFETY: each job writes the weights of its blocks of outputs and inputs, and together they have all blocks.
    unsafe {
        filled(shape.out_channels * shape.fan_in(), |out| {
            (0..pairs * blocks).into_par_iter().for_each(|job| {
                let (first, block) = (job / blocks * REGISTERS, job % blocks);
                let task = MultiplyBack {
                    inputs: (&inputs[block * room * LANES..], frequency),
                    gradients: (gradients, out_frequency),
                    room,
                    count,
                    block,
                    out_blocks: first..(first + REGISTERS).min(out_blocks),
                    shape,
                    out,
                };
                f32::vectorised(task);
            });
        })
    }
}

/// Transformed tiles of the inputs and of the outputs' gradients, `[frequency][block][tile][lane]`.
struct Tiles<'a> {
    shape: &'a ConvShape,
    tiling: Tiling,
    places: Vec<usize>,
    out_places: Vec<usize>,
    /// From one block to the next.
    room: usize,
    /// How many tiles there are.
    count: usize,
    inputs: Scratch<f32>,
    gradients: Scratch<f32>,
}

impl<'a> Tiles<'a> {
    fn new(shape: &'a ConvShape, rows: usize) -> Self {
        let tiling = Tiling::of_input(shape);
        let room = rows * tiling.tiles();
        let size = |blocks| FREQUENCIES * apart(blocks * room);
        Self {
            shape,
            tiling,
            places: tiling.places(),
            out_places: tiling.out_places(),
            room,
            count: 0,
            inputs: Scratch::new(size(tiling.blocks())),
            gradients: Scratch::new(size(shape.out_channels.div_ceil(LANES))),
        }
    }

    fn blocks(&self) -> usize {
        self.tiling.blocks()
    }

    fn out_blocks(&self) -> usize {
        self.shape.out_channels.div_ceil(LANES)
    }

    fn frequency(&self) -> usize {
        apart(self.blocks() * self.room)
    }

    fn out_frequency(&self) -> usize {
        apart(self.out_blocks() * self.room)
    }

    /// Cuts `x` and `g` into as many rows as there is room for.
    fn chunks<'b>(
        &self,
        x: &'b [f32],
        g: Images<'b, f32>,
    ) -> impl Iterator<Item = (&'b [f32], Images<'b, f32>)> + use<'b> {
        let rows = self.room / self.tiling.tiles();
        let all = g.rows();
        x.chunks(rows * self.shape.in_features())
            .enumerate()
            .map(move |(chunk, x)| (x, g.part(chunk * rows..((chunk + 1) * rows).min(all))))
    }

    /// Transforms the rows of `x` and `g`, in parallel.
    fn transform(&mut self, x: &[f32], g: Images<'_, f32>) {
        let (blocks, out_blocks, room) = (self.blocks(), self.out_blocks(), self.room);
        let (frequency, out_frequency) = (self.frequency(), self.out_frequency());
        let inputs = Shared(self.inputs.numbers().as_mut_ptr());
        let gradients = Shared(self.gradients.numbers().as_mut_ptr());
        let (shape, tiling) = (self.shape, self.tiling);
        let (places, out_places) = (&self.places, &self.out_places);
        let rows = x.len() / shape.in_features();
        self.count = rows * tiling.tiles();
        (0..rows * (blocks + out_blocks))
            .into_par_iter()
            .for_each(|job| {
                let (row, block) = (job / (blocks + out_blocks), job % (blocks + out_blocks));
                let at = |block: usize| (block * room + row * tiling.tiles()) * LANES;
                if block < blocks {
                    let start = Shared(inputs.at(at(block)));
                    let image = &x[row * shape.in_features()..(row + 1) * shape.in_features()];
                    let image = Images::plain(image, shape.in_features());
                    let to = Spectrum { start, frequency };
                    // SAFETY: there is room for every row and block, and no other job has this one.
                    let task = unsafe {
                        TransformTiles::new(image, (tiling, places), block..block + 1, room, to)
                    };
                    f32::vectorised(task);
                } else {
                    let block = block - blocks;
                    let first = block * LANES;
                    let channels = first..(first + LANES).min(shape.out_channels);
                    let start = Shared(gradients.at(at(block)));
                    let to = Spectrum {
                        start,
                        frequency: out_frequency,
                    };
                    // SAFETY: as above.
                    let task = unsafe {
                        TransformGradient::new((tiling, out_places), (g, row), channels, to)
                    };
                    f32::vectorised(task);
                }
            });
    }
}

/// Sums over tiles, `[frequency][out block][step][lane]`.
struct Sums<'a> {
    shape: &'a ConvShape,
    blocks: usize,
    out_blocks: usize,
    frequency: usize,
    numbers: Scratch<f32>,
}

impl<'a> Sums<'a> {
    fn new(shape: &'a ConvShape) -> Self {
        let blocks = shape.in_channels.div_ceil(LANES);
        let out_blocks = shape.out_channels.div_ceil(LANES);
        let frequency = apart(out_blocks * blocks * LANES);
        let numbers = Scratch::new(FREQUENCIES * frequency);
        Self {
            shape,
            blocks,
            out_blocks,
            frequency,
            numbers,
        }
    }

    /// Adds the products of `tiles`, or sets them if nothing is to be kept.
    fn add(&mut self, tiles: &mut Tiles, keep: bool) {
        let (blocks, out_blocks) = (self.blocks, self.out_blocks);
        let (room, count) = (tiles.room, tiles.count);
        let (frequency, out_frequency) = (tiles.frequency(), tiles.out_frequency());
        let inputs = &*tiles.inputs.numbers();
        let gradients = &*tiles.gradients.numbers();
        let groups = out_blocks.div_ceil(JOB_BLOCKS);
        let (sums, sum_frequency) = (Shared(self.numbers.numbers().as_mut_ptr()), self.frequency);
        (0..FREQUENCIES * groups).into_par_iter().for_each(|job| {
            let (f, first) = (job / groups, job % groups * JOB_BLOCKS);
            let tiles = TilesOfFrequency {
                inputs: &inputs[f * frequency..][..frequency],
                gradients: &gradients[f * out_frequency..][..out_frequency],
                room,
                count,
                blocks,
            };
            let out_blocks = first..(first + JOB_BLOCKS).min(out_blocks);
            // SAFETY: the sums of one frequency have room for all blocks, no other job has these, and the first chunk has
            // set what later ones keep.
            let task = unsafe {
                Multiply::new(tiles, out_blocks, Shared(sums.at(f * sum_frequency)), keep)
            };
            f32::vectorised(task);
        });
    }

    /// Transforms the sums into weights.
    fn weights(&mut self) -> Vec<f32> {
        let Self {
            shape,
            blocks,
            out_blocks,
            frequency,
            ..
        } = *self;
        let sums = &*self.numbers.numbers();
        // SAFETY: each job writes all weights of its outputs, and together they have all outputs.
        unsafe {
            filled(shape.out_channels * shape.fan_in(), |out| {
                (0..out_blocks).into_par_iter().for_each(|out_block| {
                    let sums = (&sums[out_block * blocks * LANES * LANES..], frequency);
                    let channels = 0..shape.in_channels;
                    // SAFETY: the sums hold every channel of the block, whose weights no other job has.
                    let task = TransformBack::new(sums, out_block, channels, shape, out);
                    f32::vectorised(task);
                });
            })
        }
    }
}

struct TransformGradient<'a> {
    tiling: Tiling,
    gradient: (Images<'a, f32>, usize),
    channels: Range<usize>,
    out_places: &'a [usize],
    to: Spectrum<Shared<f32>>,
}

impl<'a> TransformGradient<'a> {
    /// One block of channels of a row of an output's gradient, whose tiling has these [`Tiling::out_places`].
    ///
    /// # Safety
    /// Until the task has run, `to` must be valid for the tiles of one image at each frequency and used by nobody else.
    unsafe fn new(
        (tiling, out_places): (Tiling, &'a [usize]),
        gradient: (Images<'a, f32>, usize),
        channels: Range<usize>,
        to: Spectrum<Shared<f32>>,
    ) -> Self {
        Self {
            tiling,
            gradient,
            channels,
            out_places,
            to,
        }
    }
}

impl Task<f32> for TransformGradient<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self {
            tiling,
            gradient: (images, row),
            channels,
            out_places,
            ..
        } = self;
        let mut laid = Scratch::new(tiling.padded() + images.room());
        let (laid, room) = laid.numbers().split_at_mut(tiling.padded());
        laid.fill(0.0);
        let gradient = (
            images.channels(row, channels.clone(), tiling.out_pixels(), room),
            channels.len(),
        );
        let to = Spectrum {
            start: self.to.start.at(0),
            frequency: self.to.frequency,
        };
        // SAFETY: the target has room for the row's tiles at each frequency.
        unsafe { tiling.transform_gradient::<V>(gradient, 0, out_places, laid, to) };
    }
}

/// The transformed tiles of one frequency: `count` of them, with `room` for more, in blocks of channels.
#[derive(Clone, Copy)]
struct TilesOfFrequency<'a> {
    inputs: &'a [f32],
    gradients: &'a [f32],
    room: usize,
    count: usize,
    /// Of the inputs.
    blocks: usize,
}

/// For one frequency, the sums over tiles of gradients by inputs.
struct Multiply<'a> {
    tiles: TilesOfFrequency<'a>,
    out_blocks: Range<usize>,
    sums: Shared<f32>,
    keep: bool,
}

impl<'a> Multiply<'a> {
    /// Sums for these blocks of outputs, added to what is there if `keep`.
    ///
    /// # Safety
    /// The tiles must hold their count for every block. Until the task has run, `sums` must be valid for every step of the
    /// blocks of outputs, used by nobody else, and initialised if `keep`.
    unsafe fn new(
        tiles: TilesOfFrequency<'a>,
        out_blocks: Range<usize>,
        sums: Shared<f32>,
        keep: bool,
    ) -> Self {
        Self {
            tiles,
            out_blocks,
            sums,
            keep,
        }
    }
}

impl Task<f32> for Multiply<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let TilesOfFrequency {
            inputs,
            gradients,
            room,
            count,
            blocks,
        } = self.tiles;
        let steps = blocks * LANES;
        for start in (0..count).step_by(DEPTH) {
            let walk = Walk {
                blocks: 1,
                inner: DEPTH.min(count - start),
                wide_register: room * LANES,
                wide_step: LANES,
                narrow_step: LANES,
                narrow_block: 0,
            };
            let keep = self.keep || start > 0;
            for out_block in self.out_blocks.clone().step_by(REGISTERS) {
                let registers = REGISTERS.min(self.out_blocks.end - out_block);
                let wide = gradients[(out_block * room + start) * LANES..].as_ptr();
                for step in (0..steps).step_by(COLUMNS) {
                    let tile = step / LANES * room + start;
                    let narrow = inputs[tile * LANES + step % LANES..].as_ptr();
                    let to = self.sums.at((out_block * steps + step) * LANES);
                    let target = Target {
                        to,
                        register: steps * LANES,
                        column: LANES,
                    };
                    // SAFETY: the walk stays within the tiles of the blocks, the columns within one block, and the sums
                    // have room for all steps of all blocks.
                    unsafe {
                        product::<V, 1>(registers, COLUMNS, &walk, wide, narrow, target, keep);
                    }
                }
            }
        }
    }
}

/// The weights of a pair of blocks of outputs by one block of inputs, over all frequencies.
struct MultiplyBack<'a> {
    /// Tiles of the block of inputs and of all gradients; frequencies so far apart.
    inputs: (&'a [f32], usize),
    gradients: (&'a [f32], usize),
    room: usize,
    count: usize,
    block: usize,
    out_blocks: Range<usize>,
    shape: &'a ConvShape,
    /// All weights, of which no other job has these.
    out: Shared<f32>,
}

impl Task<f32> for MultiplyBack<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let registers = self.out_blocks.len();
        let frequency = apart(REGISTERS * LANES);
        let mut scratch = Scratch::<f32>::new(FREQUENCIES * frequency);
        let sums = scratch.numbers();
        for f in 0..FREQUENCIES {
            let inputs = &self.inputs.0[f * self.inputs.1..][..self.count * LANES];
            let gradients = &self.gradients.0[f * self.gradients.1..];
            let gradients = &gradients[self.out_blocks.start * self.room * LANES..];
            assert!(gradients.len() >= ((registers - 1) * self.room + self.count) * LANES);
            for start in (0..self.count).step_by(DEPTH) {
                let walk = Walk {
                    blocks: 1,
                    inner: DEPTH.min(self.count - start),
                    wide_register: self.room * LANES,
                    wide_step: LANES,
                    narrow_step: LANES,
                    narrow_block: 0,
                };
                for column in (0..LANES).step_by(COLUMNS) {
                    let wide = gradients[start * LANES..].as_ptr();
                    let narrow = inputs[start * LANES + column..].as_ptr();
                    let target = Target {
                        to: sums[f * frequency + column * LANES..].as_mut_ptr(),
                        register: LANES * LANES,
                        column: LANES,
                    };
                    // SAFETY: the walk stays within the tiles of the blocks, whose length has been checked, the columns
                    // within one block, and the sums have room for all steps of a pair of blocks.
                    unsafe {
                        product::<V, 1>(registers, COLUMNS, &walk, wide, narrow, target, start > 0);
                    }
                }
            }
        }
        let first = self.block * LANES;
        let channels = first..(first + LANES).min(self.shape.in_channels);
        for (index, out_block) in self.out_blocks.enumerate() {
            let sums = (&sums[index * LANES * LANES..], frequency);
            // SAFETY: the sums hold every channel of the block, and the caller vouches that no other job has its weights.
            unsafe {
                TransformBack::new(sums, out_block, channels.clone(), self.shape, self.out)
                    .run::<V>();
            }
        }
    }
}
