//! Convolution as a product of weights and image patches, for every kernel, stride and type.
//!
//! - The output: weights by patches.
//! - The gradient in the input: transposed weights by the output's gradient, each number of each patch added back.
//! - The gradient in the weights: the output's gradient by transposed patches, summed in [`PARTS`] parts of the rows.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::buffer::{Scratch, Shared, filled};
use super::conv_shape::ConvShape;
use super::patches::{Patches, REGISTERS};
use super::simd::{Number, Task, Vector};
use super::tile::{Target, Walk, columns, product};

/// Into how many parts the rows are cut when the weights' gradient is summed: enough to keep the cores of a large machine
/// busy. It does not depend on the machine, so neither do the bits.
const PARTS: usize = 16;

/// About how many output pixels one job multiplies at a time.
const JOB_PIXELS: usize = 512;

/// How many panels of patches the weights' gradient holds in cache at a time.
const WEIGHT_PANELS: usize = 8;

/// The most columns a tile has.
const MOST_COLUMNS: usize = 12;

/// The convolution of `rows` images `x` with `w`, `[out_channels, fan_in]`.
pub(crate) fn forward<T: Number>(x: &[T], w: &[T], rows: usize, shape: &ConvShape) -> Vec<T> {
    let (depth, outputs, pixels) = (shape.fan_in(), shape.out_channels, shape.out_pixels());
    let mut groups = Scratch::new(outputs.next_multiple_of(4) * depth);
    grouped(outputs, depth, groups.numbers(), |row, step| {
        w[row * depth + step]
    });
    let groups = &*groups.numbers();
    let job_rows = JOB_PIXELS.div_ceil(pixels);
    let patches = Patches::new(shape);
    let (starts, steps) = (patches.starts(job_rows * pixels), patches.steps());
    // SAFETY: the jobs write every output of every row once.
    unsafe {
        filled(rows * shape.out_features(), |out| {
            x.par_chunks(job_rows * shape.in_features())
                .enumerate()
                .for_each(|(job, images)| {
                    let out = Shared(out.at(job * job_rows * shape.out_features()));
                    let (starts, steps) = (&starts, &steps);
                    T::vectorised(Forward {
                        images,
                        patches,
                        shape,
                        starts,
                        steps,
                        groups,
                        out,
                    });
                });
        })
    }
}

/// The gradient of `<forward(x, w), g>` with respect to `x`.
pub(crate) fn input<T: Number>(g: &[T], w: &[T], rows: usize, shape: &ConvShape) -> Vec<T> {
    let (depth, outputs) = (shape.fan_in(), shape.out_channels);
    let mut groups = Scratch::new(depth.next_multiple_of(4) * outputs);
    grouped(depth, outputs, groups.numbers(), |step, output| {
        w[output * depth + step]
    });
    let groups = &*groups.numbers();
    let patches = Patches::new(shape);
    let steps = patches.steps();
    let mut result = vec![T::default(); rows * shape.in_features()];
    result
        .par_chunks_mut(shape.in_features())
        .zip(g.par_chunks(shape.out_features()))
        .for_each(|(out, g)| {
            T::vectorised(Input {
                g,
                patches,
                shape,
                steps: &steps,
                groups,
                out,
            });
        });
    result
}

/// The gradient of `<forward(x, w), g>` with respect to `w`, `[out_channels, fan_in]`.
pub(crate) fn weight<T: Number>(x: &[T], g: &[T], rows: usize, shape: &ConvShape) -> Vec<T> {
    let patches = Patches::new(shape);
    let (depth, outputs) = (shape.fan_in(), shape.out_channels);
    // A part is laid out as registers of output channels: `[block of lanes][step][lane]`.
    let sum_depth = depth.next_multiple_of(4);
    let part_size = outputs.next_multiple_of(T::LANES) * sum_depth;
    let part_rows = rows.div_ceil(PARTS).max(1);
    let mut sums = Scratch::new(rows.div_ceil(part_rows) * part_size);
    let sums = sums.numbers();
    let (starts, steps) = (patches.starts(shape.out_pixels()), patches.steps());
    sums.par_chunks_mut(part_size)
        .enumerate()
        .for_each(|(part, sums)| {
            let (from, to) = (part * part_rows, rows.min((part + 1) * part_rows));
            let x = &x[from * shape.in_features()..to * shape.in_features()];
            let g = &g[from * shape.out_features()..to * shape.out_features()];
            let (starts, steps) = (&starts, &steps);
            T::vectorised(Weight {
                x,
                g,
                patches,
                shape,
                starts,
                steps,
                sums,
            });
        });
    let sums = &*sums;
    let mut result = vec![T::default(); outputs * depth];
    result
        .par_chunks_mut(depth)
        .enumerate()
        .for_each(|(output, result)| {
            let (block, lane) = (output / T::LANES, output % T::LANES);
            for part in sums.chunks_exact(part_size) {
                let block = &part[block * sum_depth * T::LANES..];
                for (value, lanes) in result.iter_mut().zip(block.chunks_exact(T::LANES)) {
                    *value += lanes[lane];
                }
            }
        });
    result
}

/// Weights in groups of columns, `groups[first row of the group * depth ..][step][column]`, rows beyond the last zero; the
/// number of them is `rows` rounded up to four.
fn grouped<T: Number>(
    rows: usize,
    depth: usize,
    groups: &mut [T],
    weight: impl Fn(usize, usize) -> T + Sync,
) {
    struct Group<'a, T, F>(usize, usize, &'a mut [T], F);
    impl<T: Number, F: Fn(usize, usize) -> T> Task<T> for Group<'_, T, F> {
        #[inline(always)]
        fn run<V: Vector<Number = T>>(self) {
            let Self(rows, depth, mut groups, weight) = self;
            let mut first = 0;
            while first < rows {
                let width = columns::<V>(rows - first);
                let (group, rest) = groups.split_at_mut(depth * width);
                for (step, numbers) in group.chunks_exact_mut(width).enumerate() {
                    for (column, number) in numbers.iter_mut().enumerate() {
                        let present = first + column < rows;
                        *number = if present {
                            weight(first + column, step)
                        } else {
                            T::default()
                        };
                    }
                }
                groups = rest;
                first += width;
            }
        }
    }
    // Jobs of whole groups, whatever their width: 24 rows are two of twelve, three of eight or six of four.
    groups
        .par_chunks_mut(2 * MOST_COLUMNS * depth)
        .enumerate()
        .for_each(|(job, groups)| {
            let first = job * 2 * MOST_COLUMNS;
            let rows = (rows - first).min(2 * MOST_COLUMNS);
            T::vectorised(Group(rows, depth, groups, |row, step| {
                weight(first + row, step)
            }));
        });
}

/// One panel, `panel[step][pixel]`, times one group of `count` columns, into `target`.
///
/// # Safety
/// The panel and the group must have `depth` steps, and the target `count` columns of a panel's pixels.
#[inline(always)]
unsafe fn panel_by_group<V: Vector>(
    depth: usize,
    count: usize,
    panel: *const V::Number,
    group: *const V::Number,
    target: Target<V::Number>,
) {
    let walk = Walk {
        blocks: 1,
        inner: depth,
        wide_register: V::LANES,
        wide_step: REGISTERS * V::LANES,
        narrow_step: count,
        narrow_block: 0,
    };
    for register in (0..REGISTERS).step_by(V::TILE.0) {
        let registers = V::TILE.0.min(REGISTERS - register);
        // SAFETY: the caller's promise; the registers left are those of the panel.
        unsafe {
            let target = Target {
                to: target.to.add(register * V::LANES),
                ..target
            };
            let panel = panel.add(register * V::LANES);
            product::<V, 1>(registers, count, &walk, panel, group, target, false);
        }
    }
}

struct Forward<'a, T> {
    images: &'a [T],
    patches: Patches,
    shape: &'a ConvShape,
    starts: &'a [usize],
    steps: &'a [usize],
    groups: &'a [T],
    out: Shared<T>,
}

impl<T: Number> Task<T> for Forward<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self {
            images,
            patches,
            shape,
            out,
            ..
        } = self;
        let (depth, outputs, pixels) = (shape.fan_in(), shape.out_channels, shape.out_pixels());
        let rows = images.len() / shape.in_features();
        let width = REGISTERS * V::LANES;
        let padded = patches.padded();
        let mut scratch =
            Scratch::new(rows * padded + (depth + MOST_COLUMNS) * width + 2 * V::LANES);
        let (padded_images, scratch) = scratch.numbers().split_at_mut(rows * padded + V::LANES);
        let (panel, edge) = scratch.split_at_mut(depth * width + V::LANES);
        for (image, padded) in images
            .chunks_exact(shape.in_features())
            .zip(padded_images.chunks_exact_mut(padded))
        {
            patches.pad(image, padded);
        }
        for (index, starts) in self.starts[..rows * pixels].chunks(width).enumerate() {
            // SAFETY: both buffers have a register's slack.
            unsafe {
                Patches::panel::<V>(
                    padded_images.as_ptr(),
                    starts,
                    self.steps,
                    panel.as_mut_ptr(),
                );
            }
            let (row, pixel) = (index * width / pixels, index * width % pixels);
            let inside = starts.len() == width && pixel + width <= pixels;
            let mut first = 0;
            while first < outputs {
                let count = columns::<V>(outputs - first);
                let direct = inside && first + count <= outputs;
                let target = if direct {
                    let to = out.at((row * outputs + first) * pixels + pixel);
                    Target {
                        to,
                        register: V::LANES,
                        column: pixels,
                    }
                } else {
                    Target {
                        to: edge.as_mut_ptr(),
                        register: V::LANES,
                        column: width,
                    }
                };
                // SAFETY: the panel and the group have `depth` steps, and the target is a panel inside one image or the
                // edge buffer.
                unsafe {
                    let group = self.groups[first * depth..].as_ptr();
                    panel_by_group::<V>(depth, count, panel.as_ptr(), group, target);
                }
                if !direct {
                    for column in 0..count.min(outputs - first) {
                        // The panel's pixels may belong to several images.
                        let (mut row, mut pixel, mut lane) = (row, pixel, 0);
                        while lane < starts.len() {
                            let run = (pixels - pixel).min(starts.len() - lane);
                            let from = &edge[column * width + lane..][..run];
                            let to = out.at((row * outputs + first + column) * pixels + pixel);
                            // SAFETY: a run of pixels of one of this job's rows.
                            unsafe { to.copy_from_nonoverlapping(from.as_ptr(), run) };
                            (row, pixel, lane) = (row + 1, 0, lane + run);
                        }
                    }
                }
                first += count;
            }
        }
    }
}

struct Input<'a, T> {
    g: &'a [T],
    patches: Patches,
    shape: &'a ConvShape,
    steps: &'a [usize],
    groups: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Task<T> for Input<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self {
            g, patches, shape, ..
        } = self;
        let (depth, pixels) = (shape.out_channels, shape.out_pixels());
        let width = REGISTERS * V::LANES;
        let panels = pixels.div_ceil(width);
        let mut scratch = Scratch::new(patches.padded() + (depth + MOST_COLUMNS) * panels * width);
        let (padded, scratch) = scratch.numbers().split_at_mut(patches.padded());
        let (packed, values) = scratch.split_at_mut(depth * panels * width);
        for (output, plane) in g.chunks_exact(pixels).enumerate() {
            for (panel, plane) in plane.chunks(width).enumerate() {
                let lanes = &mut packed[(panel * depth + output) * width..][..width];
                lanes[..plane.len()].copy_from_slice(plane);
                lanes[plane.len()..].fill(T::default());
            }
        }
        padded.fill(T::default());
        let mut first = 0;
        while first < self.steps.len() {
            let count = columns::<V>(self.steps.len() - first);
            for panel in 0..panels {
                let to = values[panel * width..].as_mut_ptr();
                let target = Target {
                    to,
                    register: V::LANES,
                    column: panels * width,
                };
                // SAFETY: the panel and the group have a step for every output channel, and `values` a column of all panels
                // for every column of the group.
                unsafe {
                    let packed = packed[panel * depth * width..].as_ptr();
                    let group = self.groups[first * depth..].as_ptr();
                    panel_by_group::<V>(depth, count, packed, group, target);
                }
            }
            for (&step, values) in self.steps[first..]
                .iter()
                .zip(values.chunks_exact(panels * width))
                .take(count)
            {
                patches.add_back(step, &values[..pixels], padded);
            }
            first += count;
        }
        patches.crop(padded, self.out);
    }
}

struct Weight<'a, T> {
    x: &'a [T],
    g: &'a [T],
    patches: Patches,
    shape: &'a ConvShape,
    starts: &'a [usize],
    steps: &'a [usize],
    sums: &'a mut [T],
}

impl<T: Number> Task<T> for Weight<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self {
            x,
            g,
            patches,
            shape,
            sums,
            ..
        } = self;
        let (depth, outputs, pixels) = (shape.fan_in(), shape.out_channels, shape.out_pixels());
        let (lanes, width) = (V::LANES, REGISTERS * V::LANES);
        let (blocks, held) = (outputs.div_ceil(lanes), WEIGHT_PANELS * width);
        let sum_depth = depth.next_multiple_of(4);
        let padded = patches.padded() + lanes;
        // The last tile of columns may read past the last step of the last panel: `MOST_COLUMNS` steps more.
        let panels_size = (WEIGHT_PANELS * depth + MOST_COLUMNS) * width;
        sums.fill(T::default());
        let mut scratch = Scratch::new(padded + panels_size + blocks * lanes * held);
        let (padded, scratch) = scratch.numbers().split_at_mut(padded);
        let (panels, wide) = scratch.split_at_mut(panels_size);
        for (x, g) in x
            .chunks_exact(shape.in_features())
            .zip(g.chunks_exact(outputs * pixels))
        {
            patches.pad(x, &mut padded[..patches.padded()]);
            for (chunk, starts) in self.starts.chunks(held).enumerate() {
                let count = starts.len().div_ceil(width);
                for (starts, panel) in starts
                    .chunks(width)
                    .zip(panels.chunks_exact_mut(depth * width))
                {
                    // SAFETY: the image has a register's slack, and after each panel come the next or the slack of the last.
                    unsafe {
                        Patches::panel::<V>(
                            padded.as_ptr(),
                            starts,
                            self.steps,
                            panel.as_mut_ptr(),
                        );
                    }
                }
                for block in 0..blocks {
                    let wide = &mut wide[block * held * lanes..][..count * width * lanes];
                    let g = &g[block * lanes * pixels..];
                    turn::<V>(
                        g,
                        outputs - block * lanes,
                        pixels,
                        chunk * held..chunk * held + starts.len(),
                        wide,
                    );
                }
                let walk = Walk {
                    blocks: count,
                    inner: width,
                    wide_register: held * lanes,
                    wide_step: lanes,
                    narrow_step: 1,
                    narrow_block: depth * width,
                };
                for block in (0..blocks).step_by(V::TILE.0) {
                    let registers = V::TILE.0.min(blocks - block);
                    let mut first = 0;
                    while first < depth {
                        let columns = columns::<V>(depth - first);
                        let wide = wide[block * held * lanes..].as_ptr();
                        let narrow = panels[first * width..].as_ptr();
                        let target = Target {
                            to: sums[(block * sum_depth + first) * lanes..].as_mut_ptr(),
                            register: sum_depth * lanes,
                            column: lanes,
                        };
                        // SAFETY: the walk covers `count` panels; columns past the depth read the next panel or the slack
                        // after the last, and land in the rounded-up rows of the sums.
                        unsafe {
                            if V::LANES == 16 {
                                product::<V, 32>(
                                    registers, columns, &walk, wide, narrow, target, true,
                                );
                            } else {
                                product::<V, 16>(
                                    registers, columns, &walk, wide, narrow, target, true,
                                );
                            }
                        }
                        first += columns;
                    }
                }
            }
        }
    }
}

/// Turns a range of pixels of up to a register of planes, or the `planes` there are, into `wide[pixel][lane]`; missing
/// planes and pixels are zero.
#[inline(always)]
fn turn<V: Vector>(
    g: &[V::Number],
    planes: usize,
    pixels: usize,
    range: std::ops::Range<usize>,
    wide: &mut [V::Number],
) {
    let lanes = V::LANES;
    let (mut from_rows, mut to_rows) = ([0; 16], [0; 16]);
    for lane in 0..lanes {
        from_rows[lane] = lane * pixels;
        to_rows[lane] = lane * lanes;
    }
    let whole = if planes >= lanes {
        range.len() / lanes * lanes
    } else {
        0
    };
    assert!(whole == 0 || from_rows[lanes - 1] + range.start + whole <= g.len());
    assert!(whole * lanes <= wide.len());
    for pixel in (0..whole).step_by(lanes) {
        // SAFETY: the last of the rows and of the pixels have just been checked.
        unsafe {
            let (from, to) = (
                g.as_ptr().add(range.start + pixel),
                wide.as_mut_ptr().add(pixel * lanes),
            );
            V::transpose(from, &from_rows, to, &to_rows);
        }
    }
    for (pixel, wide) in wide.chunks_exact_mut(lanes).enumerate().skip(whole) {
        wide.fill(V::Number::default());
        if pixel < range.len() {
            for (lane, wide) in wide.iter_mut().enumerate().take(planes) {
                *wide = g[lane * pixels + range.start + pixel];
            }
        }
    }
}
