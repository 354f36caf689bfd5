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
use super::rows::{Images, Outputs, Pooling};
use crate::kernel::ConvShape;
use crate::kernel::buffer::{Scratch, Shared, filled};
use crate::kernel::register_tile::{REGISTERS, Target, Walk, columns, product};
use crate::kernel::simd::{Number, Task, Vector};

/// About how many bytes of transformed tiles one job keeps in its cache.
const JOB_BYTES: usize = 1 << 20;

/// How many tiles there may be for jobs to take outputs instead of rows, and how many blocks of outputs a job then takes.
const FEW_TILES: usize = 96;
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

/// The convolution of images `x` with `w`.
pub(crate) fn forward(x: &[f32], w: &[f32], shape: &ConvShape, outputs: Outputs<'_, f32>) {
    let weights = Weights {
        numbers: w,
        outputs: shape.out_channels,
        depth: shape.in_channels,
        output: shape.fan_in(),
        step: 9,
        flipped: false,
    };
    let x = Images::plain(x, shape.in_features());
    convolve(x, Tiling::of_input(shape), weights, outputs);
}

/// The gradient of `<forward(x, w), g>` with respect to `x`.
pub(crate) fn input(g: Images<'_, f32>, w: &[f32], shape: &ConvShape) -> Vec<f32> {
    let weights = Weights {
        numbers: w,
        outputs: shape.in_channels,
        depth: shape.out_channels,
        output: 9,
        step: shape.fan_in(),
        flipped: true,
    };
    let features = shape.in_features();
    // SAFETY: the convolution gives every image, and the vector has room for all of them.
    unsafe {
        filled(g.rows() * features, |out| {
            let outputs = Outputs::new(out, features, [None; 2], Pooling::None);
            convolve(g, Tiling::of_output(shape), weights, outputs);
        })
    }
}

fn convolve(images: Images<'_, f32>, tiling: Tiling, weights: Weights, outputs: Outputs<'_, f32>) {
    let places = tiling.places();
    let out_places = tiling.out_places();
    let job = Job {
        images,
        tiling,
        places: &places,
        out_places: &out_places,
        weights,
    };
    let rows = images.rows();
    if rows * tiling.tiles() > FEW_TILES {
        by_rows(job, outputs);
        return;
    }
    let mut room = Scratch::new(rows * images.room());
    let mut images = images;
    if images.room() > 0 {
        let whole = room.numbers();
        for (row, room) in whole.chunks_exact_mut(images.room()).enumerate() {
            images.row(row, room);
        }
        images = Images::plain(whole, tiling.features());
    }
    let mut out_room = Scratch::new(rows * outputs.room());
    let out_room = out_room.numbers();
    let out = Shared(outputs.target(0, out_room));
    by_outputs(Job { images, ..job }, out);
    // SAFETY: the jobs have written every output of every row.
    unsafe { outputs.finish(0..rows, out_room) };
}

/// What every job knows.
#[derive(Clone, Copy)]
struct Job<'a> {
    images: Images<'a, f32>,
    tiling: Tiling,
    places: &'a [usize],
    out_places: &'a [usize],
    weights: Weights<'a>,
}

fn by_rows(job: Job, outputs: Outputs<'_, f32>) {
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

    let rows = images.rows();
    let job_rows = job_rows(rows, &tiling, weights.outputs);
    (0..rows.div_ceil(job_rows))
        .into_par_iter()
        .for_each(|index| {
            let rows = index * job_rows..((index + 1) * job_rows).min(rows);
            // SAFETY: the weights are there, and no other job has these rows.
            let task = unsafe { ConvolveRows::new(job, rows, (transformed, frequency), outputs) };
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

fn by_outputs(job: Job, out: Shared<f32>) {
    let Job {
        images,
        tiling,
        weights,
        ..
    } = job;
    let rows = images.rows();
    // The last columns of a product may overhang by three tiles.
    let tiles = (rows * tiling.tiles()).next_multiple_of(4);
    let blocks = tiling.blocks();
    let frequency = apart(blocks * tiles);
    let mut transformed = Scratch::new(FREQUENCIES * frequency);
    let to = Shared(transformed.numbers().as_mut_ptr());
    (0..rows * blocks).into_par_iter().for_each(|index| {
        let (row, block) = (index / blocks, index % blocks);
        let start = Shared(to.at((block * tiles + row * tiling.tiles()) * LANES));
        let image = images.part(row..row + 1);
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
            let task =
                unsafe { ConvolveOutputs::new(job, (transformed, frequency), out_blocks, out) };
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
    rows: Range<usize>,
    /// The weights.
    transformed: &'a [f32],
    frequency: usize,
    outputs: Outputs<'a, f32>,
}

impl<'a> ConvolveRows<'a> {
    /// Some of a job's images by transformed weights, frequencies so far apart.
    ///
    /// # Safety
    /// The weights must be those of all blocks and steps. Until the task has run, nobody else may use the outputs of the rows.
    unsafe fn new(
        job: Job<'a>,
        rows: Range<usize>,
        (transformed, frequency): (&'a [f32], usize),
        outputs: Outputs<'a, f32>,
    ) -> Self {
        Self {
            job,
            rows,
            transformed,
            frequency,
            outputs,
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
        let rows = self.rows.len();
        let tiles = (rows * tiling.tiles()).next_multiple_of(4);
        let (blocks, out_blocks) = (tiling.blocks(), weights.outputs.div_ceil(LANES));
        let (frequency, sum_frequency) = (apart(blocks * tiles), apart(out_blocks * tiles));
        let size = FREQUENCIES * (frequency + sum_frequency) + tiling.padded();
        let mut scratch = Scratch::<f32>::new(size + self.outputs.room());
        let (transformed, rest) = scratch.numbers().split_at_mut(FREQUENCIES * frequency);
        let (sums, rest) = rest.split_at_mut(FREQUENCIES * sum_frequency);
        let (laid, room) = rest.split_at_mut(tiling.padded());

        let to = Spectrum {
            start: Shared(transformed.as_mut_ptr()),
            frequency,
        };
        let images = images.part(self.rows.clone());
        // SAFETY: the scratch has room for all blocks and is this task's own.
        unsafe { TransformTiles::new(images, (tiling, places), 0..blocks, tiles, to) }.run::<V>();
        for f in 0..FREQUENCIES {
            let wide = self.transformed[f * self.frequency..].as_ptr();
            let narrow = transformed[f * frequency..].as_ptr();
            let sums = sums[f * sum_frequency..].as_mut_ptr();
            // SAFETY: the weights hold all blocks and steps, the tiles all steps, the sums all blocks.
            unsafe { multiply::<V>((wide, out_blocks), (narrow, tiles), blocks, sums, false) };
        }
        for (index, row) in self.rows.enumerate() {
            let out = self.outputs.target(row, room);
            for block in 0..out_blocks {
                let start = sums[(block * tiles + index * tiling.tiles()) * LANES..].as_ptr();
                let from = Spectrum {
                    start,
                    frequency: sum_frequency,
                };
                let out = (out, weights.outputs);
                // SAFETY: the sums hold the row's tiles, and the row is one of this job's.
                unsafe { tiling.transform_back::<V>(from, out, block, out_places, laid) };
            }
            // SAFETY: every channel of the row has been written.
            unsafe { self.outputs.finish(row..row + 1, room) };
        }
    }
}

struct ConvolveOutputs<'a> {
    job: Job<'a>,
    /// The tiles.
    transformed: &'a [f32],
    frequency: usize,
    out_blocks: Range<usize>,
    out: Shared<f32>,
}

impl<'a> ConvolveOutputs<'a> {
    /// Some blocks of outputs of a job's images, whose transformed tiles are given, frequencies so far apart.
    ///
    /// # Safety
    /// The tiles must be those of all rows and blocks. Until the task has run, `out` must be valid for the outputs of the
    /// rows, and nobody else may use those of these blocks.
    unsafe fn new(
        job: Job<'a>,
        (transformed, frequency): (&'a [f32], usize),
        out_blocks: Range<usize>,
        out: Shared<f32>,
    ) -> Self {
        Self {
            job,
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
        let rows = self.job.images.rows();
        let tiles = (rows * tiling.tiles()).next_multiple_of(4);
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
        for row in 0..rows {
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
