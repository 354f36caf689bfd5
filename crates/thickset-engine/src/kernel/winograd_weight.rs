//! The weights' gradient of [`super::winograd`]'s convolution: its adjoint in the weights,
//! `G' [sum of (A g A') * (B' d B)] G`, where the sum over rows and tiles is, for each frequency, a product of matrices.
//!
//! Each sum runs over the rows in order, tile by tile, whatever the number of threads.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::buffer::{Scratch, Shared, filled};
use super::conv_shape::ConvShape;
use super::simd::{Number, Task, Vector};
use super::tile::{Target, Walk, product};
use super::winograd::{
    A, A2, B, B2, FREQUENCIES, LANES, Matrix, OUT, SCALE_0, SCALE_A, SCALE_B, Tiling, lay,
    load_square, square, store_square,
};

/// About how many bytes of transformed tiles are held at a time.
const CHUNK_BYTES: usize = 16 << 20;

/// How many tiles a product walks before it moves on: two registers and one narrow block of them stay in the first cache.
const DEPTH: usize = 256;

/// How many columns a product takes: half a block.
const COLUMNS: usize = 8;

/// How many blocks of outputs one job takes.
const JOB_BLOCKS: usize = 4;

/// `A`: a column of an output tile's gradient at the six points.
struct GradientPoints;

impl Matrix<4, 6> for GradientPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(g: [V; 4]) -> [V; 6] {
        let even_a = g[2].mul_add(V::splat(A2), g[0]);
        let even_b = g[2].mul_add(V::splat(B2), g[0]);
        let odd_a = g[3].mul_add(V::splat(A * A2), g[1].mul(V::splat(A)));
        let odd_b = g[3].mul_add(V::splat(B * B2), g[1].mul(V::splat(B)));
        [
            g[0],
            even_a.add(odd_a),
            even_a.sub(odd_a),
            even_b.add(odd_b),
            even_b.sub(odd_b),
            g[3],
        ]
    }
}

/// `G'`: a column of the weights' gradient from its values at the six points.
struct TapsFromPoints;

impl Matrix<6, 3> for TapsFromPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(m: [V; 6]) -> [V; 3] {
        let (sum_a, difference_a) = (m[1].add(m[2]), m[1].sub(m[2]));
        let (sum_b, difference_b) = (m[3].add(m[4]), m[3].sub(m[4]));
        [
            m[0].mul_add(
                V::splat(SCALE_0),
                sum_a.mul_add(V::splat(SCALE_A), sum_b.mul(V::splat(SCALE_B))),
            ),
            difference_a.mul_add(
                V::splat(A * SCALE_A),
                difference_b.mul(V::splat(B * SCALE_B)),
            ),
            sum_a.mul_add(
                V::splat(A2 * SCALE_A),
                sum_b.mul_add(V::splat(B2 * SCALE_B), m[5]),
            ),
        ]
    }
}

/// The gradient of `<forward(x, w), g>` with respect to `w`, `[out_channels, fan_in]`.
pub(crate) fn weight(x: &[f32], g: &[f32], rows: usize, shape: &ConvShape) -> Vec<f32> {
    let tiling = Tiling::of_input(shape);
    let (blocks, out_blocks) = (tiling.blocks(), shape.out_channels.div_ceil(LANES));
    let per_row = FREQUENCIES * (blocks + out_blocks) * LANES * tiling.tiles();
    let chunk_rows = (CHUNK_BYTES / size_of::<f32>() / per_row).clamp(1, rows.max(1));
    let tiles = chunk_rows * tiling.tiles();
    // One line more than a power of two apart, so that frequencies do not compete for the same lines of the cache.
    let frequency = blocks * tiles * LANES + LANES;
    let out_frequency = out_blocks * tiles * LANES + LANES;
    let sum_frequency = out_blocks * blocks * LANES * LANES + LANES;

    let mut scratch = Scratch::new(FREQUENCIES * (frequency + out_frequency + sum_frequency));
    let (inputs, rest) = scratch.numbers().split_at_mut(FREQUENCIES * frequency);
    let (gradients, sums) = rest.split_at_mut(FREQUENCIES * out_frequency);
    if rows == 0 {
        sums.fill(0.0);
    }
    let places = tiling.places();
    let gradient_places = gradient_places(&tiling);
    let chunks = x
        .chunks(chunk_rows * shape.in_features())
        .zip(g.chunks(chunk_rows * shape.out_features()));
    for (chunk, (x, g)) in chunks.enumerate() {
        let rows = x.len() / shape.in_features();
        let (to, gradients_to) = (Shared(inputs.as_mut_ptr()), Shared(gradients.as_mut_ptr()));
        (0..rows * (blocks + out_blocks))
            .into_par_iter()
            .for_each(|job| {
                let (row, block) = (job / (blocks + out_blocks), job % (blocks + out_blocks));
                let tile = row * tiling.tiles();
                if block < blocks {
                    f32::vectorised(TransformInput {
                        tiling,
                        image: &x[row * shape.in_features()..(row + 1) * shape.in_features()],
                        block,
                        places: &places,
                        to: Shared(to.at((block * tiles + tile) * LANES)),
                        frequency,
                    });
                } else {
                    let block = block - blocks;
                    f32::vectorised(TransformGradient {
                        tiling,
                        gradient: &g[row * shape.out_features()..(row + 1) * shape.out_features()],
                        channels: shape.out_channels,
                        block,
                        places: &gradient_places,
                        to: Shared(gradients_to.at((block * tiles + tile) * LANES)),
                        frequency: out_frequency,
                    });
                }
            });
        let (inputs, gradients) = (&*inputs, &*gradients);
        let to = Shared(sums.as_mut_ptr());
        let groups = out_blocks.div_ceil(JOB_BLOCKS);
        (0..FREQUENCIES * groups).into_par_iter().for_each(|job| {
            let (f, group) = (job / groups, job % groups);
            let from = group * JOB_BLOCKS;
            f32::vectorised(Multiply {
                inputs: &inputs[f * frequency..(f + 1) * frequency],
                gradients: &gradients[f * out_frequency..(f + 1) * out_frequency],
                tiles,
                depth: rows * tiling.tiles(),
                blocks,
                out_blocks: from..(from + JOB_BLOCKS).min(out_blocks),
                sums: Shared(to.at(f * sum_frequency)),
                keep: chunk > 0,
            });
        });
    }

    let sums = &*sums;
    // SAFETY: the jobs write all weights of their outputs, and together they have all outputs.
    unsafe {
        filled(shape.out_channels * shape.fan_in(), |out| {
            (0..out_blocks).into_par_iter().for_each(|block| {
                f32::vectorised(TransformBack {
                    sums,
                    frequency: sum_frequency,
                    blocks,
                    block,
                    shape,
                    out: Shared(out.at(block * LANES * shape.fan_in())),
                });
            });
        })
    }
}

/// Where each pixel of the output's gradient goes in a block of whole tiles.
fn gradient_places(tiling: &Tiling) -> Vec<usize> {
    (0..tiling.out_height * tiling.out_width)
        .map(|pixel| {
            let (y, x) = (pixel / tiling.out_width, pixel % tiling.out_width);
            (y * OUT * tiling.across() + x) * LANES
        })
        .collect()
}

struct TransformInput<'a> {
    tiling: Tiling,
    image: &'a [f32],
    block: usize,
    places: &'a [usize],
    to: Shared<f32>,
    frequency: usize,
}

impl Task<f32> for TransformInput<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let mut padded = Scratch::<f32>::new(self.tiling.padded());
        let padded = padded.numbers();
        padded.fill(0.0);
        // SAFETY: the row's tiles lie within its block of each frequency.
        unsafe {
            self.tiling.transform::<V>(
                self.image,
                self.block,
                self.places,
                padded,
                self.to.at(0),
                self.frequency,
            );
        }
    }
}

struct TransformGradient<'a> {
    tiling: Tiling,
    gradient: &'a [f32],
    channels: usize,
    block: usize,
    places: &'a [usize],
    to: Shared<f32>,
    frequency: usize,
}

impl Task<f32> for TransformGradient<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self { tiling, block, .. } = self;
        let mut laid = Scratch::<f32>::new(tiling.tiles() * OUT * OUT * LANES);
        let laid = laid.numbers();
        laid.fill(0.0);
        let plane = self.places.len();
        lay::<V>(
            &self.gradient[block * LANES * plane..],
            self.channels - block * LANES,
            self.places,
            laid,
        );
        let pitch = OUT * tiling.across();
        for y in 0..tiling.down() {
            for x in 0..tiling.across() {
                // SAFETY: four by four registers from here lie within the laid block, and the tile within its block of each
                // frequency.
                unsafe {
                    let corner = laid.as_ptr().add((y * pitch + x) * OUT * LANES);
                    let mut g = [[V::splat(0.0); OUT]; OUT];
                    for (i, row) in g.iter_mut().enumerate() {
                        for (j, number) in row.iter_mut().enumerate() {
                            *number = V::load(corner.add((i * pitch + j) * LANES));
                        }
                    }
                    let to = self.to.at((y * tiling.across() + x) * LANES);
                    store_square(&square::<GradientPoints, _, 4, 6>(&g), to, self.frequency);
                }
            }
        }
    }
}

struct Multiply<'a> {
    inputs: &'a [f32],
    gradients: &'a [f32],
    /// From one block to the next.
    tiles: usize,
    /// How many tiles there are.
    depth: usize,
    blocks: usize,
    out_blocks: std::ops::Range<usize>,
    sums: Shared<f32>,
    keep: bool,
}

impl Task<f32> for Multiply<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        for start in (0..self.depth).step_by(DEPTH) {
            let walk = Walk {
                blocks: 1,
                inner: DEPTH.min(self.depth - start),
                wide_register: self.tiles * LANES,
                wide_step: LANES,
                narrow_step: LANES,
                narrow_block: 0,
            };
            let mut block = self.out_blocks.start;
            while block < self.out_blocks.end {
                let registers = V::TILE.0.min(self.out_blocks.end - block);
                let wide = self.gradients[(block * self.tiles + start) * LANES..].as_ptr();
                for column in (0..self.blocks * LANES).step_by(COLUMNS.min(V::TILE.1)) {
                    let narrow = &self.inputs
                        [(column / LANES * self.tiles + start) * LANES + column % LANES..];
                    let target = Target {
                        to: self.sums.at((block * self.blocks * LANES + column) * LANES),
                        register: self.blocks * LANES * LANES,
                        column: LANES,
                    };
                    // SAFETY: the walk stays within the tiles of the blocks, and the columns within one block.
                    unsafe {
                        product::<V, 1>(
                            registers,
                            COLUMNS.min(V::TILE.1),
                            &walk,
                            wide,
                            narrow.as_ptr(),
                            target,
                            self.keep || start > 0,
                        );
                    }
                }
                block += registers;
            }
        }
    }
}

struct TransformBack<'a> {
    sums: &'a [f32],
    frequency: usize,
    blocks: usize,
    block: usize,
    shape: &'a ConvShape,
    out: Shared<f32>,
}

impl Task<f32> for TransformBack<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self {
            shape,
            blocks,
            block,
            ..
        } = self;
        let depth = blocks * LANES;
        let mut taps = Scratch::<f32>::new(depth * 9 * LANES);
        let taps = taps.numbers();
        for step in 0..depth {
            let from = self.sums[(block * depth + step) * LANES..].as_ptr();
            // SAFETY: the step lies within this block of each frequency, and its nine taps within the scratch.
            unsafe {
                let m = load_square::<V>(from, self.frequency);
                let w = square::<TapsFromPoints, _, 6, 3>(&m);
                for (i, row) in w.iter().enumerate() {
                    for (j, tap) in row.iter().enumerate() {
                        tap.store(taps.as_mut_ptr().add((step * 9 + 3 * i + j) * LANES));
                    }
                }
            }
        }
        let fan_in = shape.fan_in();
        let outputs = LANES.min(shape.out_channels - block * LANES);
        let whole = if outputs == LANES {
            fan_in / LANES * LANES
        } else {
            0
        };
        let (mut from_rows, mut to_rows) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            from_rows[lane] = lane * LANES;
            to_rows[lane] = lane * fan_in;
        }
        for tap in (0..whole).step_by(LANES) {
            // SAFETY: sixteen taps of the scratch, and of sixteen outputs of the result.
            unsafe {
                V::transpose(
                    taps.as_ptr().add(tap * LANES),
                    &from_rows,
                    self.out.at(tap),
                    &to_rows,
                );
            }
        }
        for tap in whole..fan_in {
            for (output, &value) in taps[tap * LANES..(tap + 1) * LANES]
                .iter()
                .enumerate()
                .take(outputs)
            {
                // SAFETY: a weight of one of this block's outputs.
                unsafe { *self.out.at(output * fan_in + tap) = value };
            }
        }
    }
}
