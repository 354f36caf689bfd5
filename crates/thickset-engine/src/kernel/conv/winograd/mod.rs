//! Convolution with three by three kernels of stride one by Winograd's minimal filtering, F(4x4, 3x3): 36 products where
//! the direct way has 144.
//!
//! A four by four tile of the output is `A' [(G w G') * (B' d B)] A`, summed over channels, where `d` is the six by six
//! tile of the input it depends on, `*` goes element by element and `'` is the transpose. So the sum over channels is, for
//! each of the 36 frequencies, a product of matrices: transformed weights by transformed tiles.
//!
//! Lanes are channels. Weights lie as `[frequency][block][step][lane]`, tiles as `[frequency][block][tile][lane]`.
//!
//! Many tiles and few weights: the weights are transformed once and each job takes some rows. Many weights and few tiles,
//! as deep in a network: the tiles are transformed once, and each job takes some outputs, whose transformed weights never
//! leave its cache. The bits are the same either way.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

mod filters;
mod points;
mod tiling;
mod weight;

pub(crate) use weight::weight;

use std::ops::Range;

use rayon::prelude::*;

use self::filters::{TransformWeights, Weights};
use self::points::{FREQUENCIES, OUT};
use self::tiling::{LANES, Spectrum, Tiling, TransformTiles, apart};
use crate::kernel::ConvShape;
use crate::kernel::buffer::{Scratch, Shared, filled};
use crate::kernel::register_tile::{REGISTERS, Target, Walk, columns, product};
use crate::kernel::simd::{Number, Task, Vector};

/// About how many bytes of transformed tiles one job keeps in its cache.
const JOB_BYTES: usize = 1 << 20;

/// How many tiles there may be for jobs to take outputs instead of rows, and how many blocks of outputs a job then takes.
const FEW_TILES: usize = 48;
const JOB_BLOCKS: usize = 2;

/// How many blocks of input channels such a job transforms weights of at a time.
const SLAB_BLOCKS: usize = 8;

/// Whether the tiles save enough multiplications to pay for the transforms.
pub(crate) fn pays(shape: &ConvShape) -> bool {
    let fits = |height: usize, width: usize| {
        // Four multiplications become one in a full tile; half of that saving must be left.
        2 * OUT * height.div_ceil(OUT) * width.div_ceil(OUT) <= height * width
    };
    let [[padding, _], _] = shape.padding;
    *shape
        == ConvShape {
            kernel: [3; 2],
            stride: [1; 2],
            padding: [[padding; 2]; 2],
            dilation: [1; 2],
            groups: 1,
            ..*shape
        }
        && shape.in_channels >= LANES
        && shape.out_channels >= LANES
        && fits(shape.out_height(), shape.out_width())
        && fits(shape.in_height, shape.in_width)
}

/// The convolution of `rows` images `x` with `w`.
pub(crate) fn forward(x: &[f32], w: &[f32], rows: usize, shape: &ConvShape) -> Vec<f32> {
    let weights = Weights {
        numbers: w,
        outputs: shape.out_channels,
        depth: shape.in_channels,
        output: shape.fan_in(),
        step: 9,
        flipped: false,
    };
    convolve(x, rows, Tiling::of_input(shape), weights)
}

/// The gradient of `<forward(x, w), g>` with respect to `x`.
pub(crate) fn input(g: &[f32], w: &[f32], rows: usize, shape: &ConvShape) -> Vec<f32> {
    let weights = Weights {
        numbers: w,
        outputs: shape.in_channels,
        depth: shape.out_channels,
        output: 9,
        step: shape.fan_in(),
        flipped: true,
    };
    convolve(g, rows, Tiling::of_output(shape), weights)
}

fn convolve(images: &[f32], rows: usize, tiling: Tiling, weights: Weights) -> Vec<f32> {
    let places = tiling.places();
    let out_places = tiling.out_places();
    let job = Job {
        images,
        tiling,
        places: &places,
        out_places: &out_places,
        weights,
    };
    // SAFETY: either way the jobs write every output of every row once.
    unsafe {
        filled(rows * weights.outputs * tiling.out_pixels(), |out| {
            if rows * tiling.tiles() <= FEW_TILES {
                by_outputs(job, rows, out);
            } else {
                by_rows(job, rows, out);
            }
        })
    }
}

/// What every job knows.
#[derive(Clone, Copy)]
struct Job<'a> {
    images: &'a [f32],
    tiling: Tiling,
    places: &'a [usize],
    out_places: &'a [usize],
    weights: Weights<'a>,
}

fn by_rows(job: Job, rows: usize, out: Shared<f32>) {
    let Job {
        images,
        tiling,
        weights,
        ..
    } = job;
    let depth = tiling.blocks() * LANES;
    let out_blocks = weights.outputs.div_ceil(LANES);
    let frequency = apart(out_blocks * depth);
    let mut transformed = Scratch::new(FREQUENCIES * frequency);
    let to = Shared(transformed.numbers().as_mut_ptr());
    (0..out_blocks).into_par_iter().for_each(|block| {
        let to = Spectrum {
            start: Shared(to.at(block * depth * LANES)),
            frequency,
        };
        // SAFETY: there is room for every block, and no other job has this one.
        let task = unsafe { TransformWeights::new(weights, block, 0..depth, to) };
        f32::vectorised(task);
    });
    let transformed = &*transformed.numbers();

    let job_rows = job_rows(rows, &tiling, weights.outputs);
    let jobs = images.par_chunks(job_rows * tiling.features()).enumerate();
    jobs.for_each(|(index, images)| {
        let out = Shared(out.at(index * job_rows * weights.outputs * tiling.out_pixels()));
        // SAFETY: the weights are there, and the outputs of these images are no other job's.
        let task =
            unsafe { ConvolveRows::new(Job { images, ..job }, (transformed, frequency), out) };
        f32::vectorised(task);
    });
}

/// How many rows one job takes: as many as its cache holds, but no fewer than make reading the weights worth while, and an
/// even share for every thread.
fn job_rows(rows: usize, tiling: &Tiling, outputs: usize) -> usize {
    let per_tile = FREQUENCIES * (tiling.channels + outputs) * size_of::<f32>();
    let weights = FREQUENCIES * tiling.channels * outputs * size_of::<f32>();
    let tiles = (JOB_BYTES.max(weights) / per_tile).max(1);
    let threads = rayon::current_num_threads();
    let jobs = (rows * tiling.tiles())
        .div_ceil(tiles)
        .next_multiple_of(threads);
    rows.div_ceil(jobs).max(1)
}

fn by_outputs(job: Job, rows: usize, out: Shared<f32>) {
    let Job {
        images,
        tiling,
        weights,
        ..
    } = job;
    // The last columns of a product may overhang by three tiles.
    let tiles = (rows * tiling.tiles()).next_multiple_of(4);
    let blocks = tiling.blocks();
    let frequency = apart(blocks * tiles);
    let mut transformed = Scratch::new(FREQUENCIES * frequency);
    let to = Shared(transformed.numbers().as_mut_ptr());
    (0..rows * blocks).into_par_iter().for_each(|index| {
        let (row, block) = (index / blocks, index % blocks);
        let start = Shared(to.at((block * tiles + row * tiling.tiles()) * LANES));
        let image = &images[row * tiling.features()..(row + 1) * tiling.features()];
        let to = Spectrum { start, frequency };
        // SAFETY: there is room for every row and block, and no other job has this one.
        let task = unsafe {
            TransformTiles::new(image, (tiling, job.places), block..block + 1, tiles, to)
        };
        f32::vectorised(task);
    });
    let transformed = &*transformed.numbers();

    let out_blocks = weights.outputs.div_ceil(LANES);
    (0..out_blocks.div_ceil(JOB_BLOCKS))
        .into_par_iter()
        .for_each(|index| {
            let out_blocks = index * JOB_BLOCKS..((index + 1) * JOB_BLOCKS).min(out_blocks);
            // SAFETY: the tiles are there, and these outputs of all rows are no other job's.
            let task = unsafe {
                ConvolveOutputs::new(job, rows, (transformed, frequency), out_blocks, out)
            };
            f32::vectorised(task);
        });
}

/// Multiplies transformed weights, `wide`, of a range of steps by transformed tiles, `narrow`, for one frequency: all blocks
/// of outputs that `wide` has by all tiles.
///
/// # Safety
/// The operands must hold `steps` blocks of sixteen steps; `wide` and `sums` must hold `out_blocks`; and `tiles`, the tiles
/// of one block, must be a multiple of four.
#[inline(always)]
unsafe fn multiply<V: Vector<Number = f32>>(
    (wide, out_blocks): (*const f32, usize),
    (narrow, tiles): (*const f32, usize),
    steps: usize,
    sums: *mut f32,
    keep: bool,
) {
    let walk = Walk {
        blocks: steps,
        inner: LANES,
        wide_register: steps * LANES * LANES,
        wide_step: LANES,
        narrow_step: 1,
        narrow_block: tiles * LANES,
    };
    for block in (0..out_blocks).step_by(REGISTERS) {
        let registers = REGISTERS.min(out_blocks - block);
        let mut tile = 0;
        while tile < tiles {
            let count = columns(tiles - tile);
            // SAFETY: the caller's promise; as tiles are a multiple of four, no column overhangs.
            unsafe {
                let to = sums.add((block * tiles + tile) * LANES);
                let target = Target {
                    to,
                    register: tiles * LANES,
                    column: LANES,
                };
                let wide = wide.add(block * walk.wide_register);
                product::<V, LANES>(
                    registers,
                    count,
                    &walk,
                    wide,
                    narrow.add(tile * LANES),
                    target,
                    keep,
                );
            }
            tile += count;
        }
    }
}

struct ConvolveRows<'a> {
    job: Job<'a>,
    /// The weights.
    transformed: &'a [f32],
    frequency: usize,
    out: Shared<f32>,
}

impl<'a> ConvolveRows<'a> {
    /// The images of a job by transformed weights, frequencies so far apart.
    ///
    /// # Safety
    /// The weights must be those of all blocks and steps. Until the task has run, `out` must be valid for the outputs of the
    /// images and used by nobody else.
    unsafe fn new(
        job: Job<'a>,
        (transformed, frequency): (&'a [f32], usize),
        out: Shared<f32>,
    ) -> Self {
        Self {
            job,
            transformed,
            frequency,
            out,
        }
    }
}

impl Task<f32> for ConvolveRows<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Job {
            images,
            tiling,
            places,
            out_places,
            weights,
            ..
        } = self.job;
        let rows = images.len() / tiling.features();
        let tiles = (rows * tiling.tiles()).next_multiple_of(4);
        let (blocks, out_blocks) = (tiling.blocks(), weights.outputs.div_ceil(LANES));
        let (frequency, sum_frequency) = (apart(blocks * tiles), apart(out_blocks * tiles));
        let size = FREQUENCIES * (frequency + sum_frequency) + tiling.padded();
        let mut scratch = Scratch::<f32>::new(size);
        let (transformed, rest) = scratch.numbers().split_at_mut(FREQUENCIES * frequency);
        let (sums, laid) = rest.split_at_mut(FREQUENCIES * sum_frequency);

        let to = Spectrum {
            start: Shared(transformed.as_mut_ptr()),
            frequency,
        };
        // SAFETY: the scratch has room for all blocks and is this task's own.
        unsafe { TransformTiles::new(images, (tiling, places), 0..blocks, tiles, to) }.run::<V>();
        for f in 0..FREQUENCIES {
            let wide = self.transformed[f * self.frequency..].as_ptr();
            let narrow = transformed[f * frequency..].as_ptr();
            let sums = sums[f * sum_frequency..].as_mut_ptr();
            // SAFETY: the weights hold all blocks and steps, the tiles all steps, the sums all blocks.
            unsafe { multiply::<V>((wide, out_blocks), (narrow, tiles), blocks, sums, false) };
        }
        for row in 0..rows {
            let out = self.out.at(row * weights.outputs * tiling.out_pixels());
            for block in 0..out_blocks {
                let start = sums[(block * tiles + row * tiling.tiles()) * LANES..].as_ptr();
                let from = Spectrum {
                    start,
                    frequency: sum_frequency,
                };
                let out = (out, weights.outputs);
                // SAFETY: the sums hold the row's tiles, and the row is one of this job's.
                unsafe { tiling.transform_back::<V>(from, out, block, out_places, laid) };
            }
        }
    }
}

struct ConvolveOutputs<'a> {
    job: Job<'a>,
    rows: usize,
    /// The tiles.
    transformed: &'a [f32],
    frequency: usize,
    out_blocks: Range<usize>,
    out: Shared<f32>,
}

impl<'a> ConvolveOutputs<'a> {
    /// Some blocks of outputs of `rows` images, whose transformed tiles are given, frequencies so far apart.
    ///
    /// # Safety
    /// The tiles must be those of all rows and blocks. Until the task has run, `out` must be valid for the outputs of the
    /// rows, and nobody else may use those of these blocks.
    unsafe fn new(
        job: Job<'a>,
        rows: usize,
        (transformed, frequency): (&'a [f32], usize),
        out_blocks: Range<usize>,
        out: Shared<f32>,
    ) -> Self {
        Self {
            job,
            rows,
            transformed,
            frequency,
            out_blocks,
            out,
        }
    }
}

impl Task<f32> for ConvolveOutputs<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Job {
            tiling,
            out_places,
            weights,
            ..
        } = self.job;
        let tiles = (self.rows * tiling.tiles()).next_multiple_of(4);
        let (blocks, out_blocks) = (tiling.blocks(), self.out_blocks.len());
        let (frequency, sum_frequency) = (
            apart(out_blocks * SLAB_BLOCKS * LANES),
            apart(out_blocks * tiles),
        );
        let size = FREQUENCIES * (frequency + sum_frequency) + tiling.padded();
        let mut scratch = Scratch::<f32>::new(size);
        let (slab, rest) = scratch.numbers().split_at_mut(FREQUENCIES * frequency);
        let (sums, laid) = rest.split_at_mut(FREQUENCIES * sum_frequency);

        for first in (0..blocks).step_by(SLAB_BLOCKS) {
            let depth = SLAB_BLOCKS.min(blocks - first);
            for (index, block) in self.out_blocks.clone().enumerate() {
                let start = Shared(slab[index * depth * LANES * LANES..].as_mut_ptr());
                let steps = first * LANES..(first + depth) * LANES;
                let to = Spectrum { start, frequency };
                // SAFETY: the slab has room for these steps of every block and is this task's own.
                unsafe { TransformWeights::new(weights, block, steps, to) }.run::<V>();
            }
            for f in 0..FREQUENCIES {
                let wide = slab[f * frequency..].as_ptr();
                let narrow =
                    self.transformed[f * self.frequency + first * tiles * LANES..].as_ptr();
                let sums = sums[f * sum_frequency..].as_mut_ptr();
                // SAFETY: the slab holds this job's blocks and these steps, the tiles these steps, the sums the blocks.
                unsafe {
                    multiply::<V>((wide, out_blocks), (narrow, tiles), depth, sums, first > 0);
                };
            }
        }
        for row in 0..self.rows {
            let out = self.out.at(row * weights.outputs * tiling.out_pixels());
            for (index, block) in self.out_blocks.clone().enumerate() {
                let start = sums[(index * tiles + row * tiling.tiles()) * LANES..].as_ptr();
                let from = Spectrum {
                    start,
                    frequency: sum_frequency,
                };
                let out = (out, weights.outputs);
                // SAFETY: the sums hold the row's tiles; no other job has these planes of the row.
                unsafe { tiling.transform_back::<V>(from, out, block, out_places, laid) };
            }
        }
    }
}
