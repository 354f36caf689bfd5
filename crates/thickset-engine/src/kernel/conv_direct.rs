//! Convolution as a product of weights and image patches, for every kernel, stride and type.
//!
//! The patches of a few rows at a time are laid out in panels of two registers of pixels, the weights in groups of columns,
//! and [`product`] multiplies them. The gradient with respect to the input is the convolution of the output's gradient,
//! spread out by the stride, with the flipped weights. The gradient with respect to the weights sums over pixels, in
//! [`PARTS`] parts of the rows that are added in order.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::buffer::{Scratch, Shared, filled};
use super::conv_shape::ConvShape;
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

/// Registers in a panel.
const REGISTERS: usize = 2;

/// A stride-wise walk over images padded by zeros: what to read for each output pixel.
#[derive(Clone, Copy)]
struct Patches {
    channels: usize,
    /// Of the image before padding.
    height: usize,
    width: usize,
    /// Rows and columns of zeros before the image, and the gap between neighbouring pixels of it once spread.
    before: usize,
    spread: usize,
    padded_height: usize,
    padded_width: usize,
    kernel: usize,
    stride: usize,
    out_height: usize,
    out_width: usize,
}

impl Patches {
    fn of_input(shape: &ConvShape) -> Self {
        Self {
            channels: shape.in_channels,
            height: shape.in_height,
            width: shape.in_width,
            before: shape.padding,
            spread: 1,
            padded_height: shape.in_height + 2 * shape.padding,
            padded_width: shape.in_width + 2 * shape.padding,
            kernel: shape.kernel,
            stride: shape.stride,
            out_height: shape.out_height(),
            out_width: shape.out_width(),
        }
    }

    /// Patches of the output's gradient whose product with the flipped weights is the input's gradient.
    fn of_output(shape: &ConvShape) -> Self {
        Self {
            channels: shape.out_channels,
            height: shape.out_height(),
            width: shape.out_width(),
            before: shape.kernel - 1 - shape.padding,
            spread: shape.stride,
            padded_height: shape.in_height + shape.kernel - 1,
            padded_width: shape.in_width + shape.kernel - 1,
            kernel: shape.kernel,
            stride: 1,
            out_height: shape.in_height,
            out_width: shape.in_width,
        }
    }

    fn features(&self) -> usize {
        self.channels * self.height * self.width
    }

    fn pixels(&self) -> usize {
        self.out_height * self.out_width
    }

    fn depth(&self) -> usize {
        self.channels * self.kernel * self.kernel
    }

    fn padded_features(&self) -> usize {
        self.channels * self.padded_height * self.padded_width
    }

    /// Copies one image into zeros.
    fn pad<T: Number>(&self, image: &[T], padded: &mut [T]) {
        padded.fill(T::default());
        for (rows, padded) in image
            .chunks_exact(self.height * self.width)
            .zip(padded.chunks_exact_mut(self.padded_height * self.padded_width))
        {
            for (y, row) in rows.chunks_exact(self.width).enumerate() {
                let start = (self.before + y * self.spread) * self.padded_width + self.before;
                if self.spread == 1 {
                    padded[start..start + self.width].copy_from_slice(row);
                } else {
                    for (x, &value) in row.iter().enumerate() {
                        padded[start + x * self.spread] = value;
                    }
                }
            }
        }
    }

    /// Where the patch of each of `pixels` output pixels begins, counted over padded images that lie one after another.
    fn starts(&self, pixels: usize) -> Vec<usize> {
        (0..pixels)
            .map(|pixel| {
                let (row, pixel) = (pixel / self.pixels(), pixel % self.pixels());
                let (y, x) = (pixel / self.out_width, pixel % self.out_width);
                row * self.padded_features() + (y * self.padded_width + x) * self.stride
            })
            .collect()
    }

    /// Where, within a patch, each of its numbers lies: channel by channel, row by row.
    fn steps(&self) -> impl Iterator<Item = usize> + use<> {
        let Self {
            channels,
            kernel,
            padded_height,
            padded_width,
            ..
        } = *self;
        (0..channels * kernel * kernel).map(move |step| {
            let (channel, tap) = (step / (kernel * kernel), step % (kernel * kernel));
            (channel * padded_height + tap / kernel) * padded_width + tap % kernel
        })
    }

    /// Lays out the patches that start at `starts`, at most one panel of them, as `panel[step][pixel]`; missing pixels are
    /// zero.
    #[inline(always)]
    fn panel<V: Vector>(&self, padded: &[V::Number], starts: &[usize], panel: &mut [V::Number]) {
        let lanes = V::LANES;
        let whole = starts
            .chunks(lanes)
            .map(|run| run.len() == lanes && run[lanes - 1] - run[0] == lanes - 1);
        let mut contiguous = [false; REGISTERS];
        for (flag, value) in contiguous.iter_mut().zip(whole) {
            *flag = value;
        }
        for (step, panel) in self.steps().zip(panel.chunks_exact_mut(REGISTERS * lanes)) {
            for (register, panel) in panel.chunks_exact_mut(lanes).enumerate() {
                let run = &starts
                    [starts.len().min(register * lanes)..starts.len().min((register + 1) * lanes)];
                if contiguous[register] {
                    panel.copy_from_slice(&padded[run[0] + step..run[0] + step + lanes]);
                } else {
                    for (value, &start) in panel.iter_mut().zip(run) {
                        *value = padded[start + step];
                    }
                    panel[run.len()..].fill(V::Number::default());
                }
            }
        }
    }
}

/// The weights of `rows` outputs in groups of columns, `groups[first row of the group * depth ..][step][column]`, rows
/// beyond the last zero; the number of them is `rows` rounded up to four.
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
                        *number = if first + column < rows {
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

/// The convolution of `rows` images `x` with `w`, `[out_channels, fan_in]`.
pub(crate) fn forward<T: Number>(x: &[T], w: &[T], rows: usize, shape: &ConvShape) -> Vec<T> {
    let depth = shape.fan_in();
    multiply(
        x,
        rows,
        Patches::of_input(shape),
        shape.out_channels,
        |row, step| w[row * depth + step],
    )
}

/// The gradient of `<forward(x, w), g>` with respect to `x`.
pub(crate) fn input<T: Number>(g: &[T], w: &[T], rows: usize, shape: &ConvShape) -> Vec<T> {
    let (depth, taps) = (shape.fan_in(), shape.kernel * shape.kernel);
    multiply(
        g,
        rows,
        Patches::of_output(shape),
        shape.in_channels,
        |channel, step| w[step / taps * depth + channel * taps + (taps - 1 - step % taps)],
    )
}

fn multiply<T: Number>(
    images: &[T],
    rows: usize,
    patches: Patches,
    outputs: usize,
    weight: impl Fn(usize, usize) -> T + Sync,
) -> Vec<T> {
    let (depth, pixels) = (patches.depth(), patches.pixels());
    let mut groups = Scratch::new(outputs.next_multiple_of(4) * depth);
    grouped(outputs, depth, groups.numbers(), weight);
    let groups = &*groups.numbers();
    let rows_per_job = JOB_PIXELS.div_ceil(pixels);
    let starts = patches.starts(rows_per_job * pixels);
    // SAFETY: the jobs write every output of every row once.
    unsafe {
        filled(rows * outputs * pixels, |out: Shared<T>| {
            images
                .par_chunks(rows_per_job * patches.features())
                .enumerate()
                .for_each(|(job, images)| {
                    let out = Shared(out.at(job * rows_per_job * outputs * pixels));
                    T::vectorised(Multiply {
                        images,
                        patches,
                        starts: &starts,
                        groups,
                        outputs,
                        out,
                    });
                });
        })
    }
}

struct Multiply<'a, T> {
    images: &'a [T],
    patches: Patches,
    starts: &'a [usize],
    groups: &'a [T],
    outputs: usize,
    out: Shared<T>,
}

impl<T: Number> Task<T> for Multiply<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self {
            images,
            patches,
            outputs,
            groups,
            out,
            ..
        } = self;
        let (depth, pixels, padded) =
            (patches.depth(), patches.pixels(), patches.padded_features());
        let rows = images.len() / patches.features();
        let width = REGISTERS * V::LANES;
        let mut scratch = Scratch::new(rows * padded + (depth + MOST_COLUMNS) * width);
        let (images_padded, scratch) = scratch.numbers().split_at_mut(rows * padded);
        let (panel, edge) = scratch.split_at_mut(depth * width);
        for (image, padded) in images
            .chunks_exact(patches.features())
            .zip(images_padded.chunks_exact_mut(padded))
        {
            patches.pad(image, padded);
        }
        for (index, starts) in self.starts[..rows * pixels].chunks(width).enumerate() {
            patches.panel::<V>(images_padded, starts, panel);
            let (row, pixel) = (index * width / pixels, index * width % pixels);
            let inside = starts.len() == width && pixel + width <= pixels;
            let mut first = 0;
            while first < outputs {
                let count = columns::<V>(outputs - first);
                let direct = inside && first + count <= outputs;
                let target = if direct {
                    Target {
                        to: out.at((row * outputs + first) * pixels + pixel),
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
                let mut register = 0;
                while register < REGISTERS {
                    let registers = V::TILE.0.min(REGISTERS);
                    let walk = Walk {
                        blocks: 1,
                        inner: depth,
                        wide_register: V::LANES,
                        wide_step: width,
                        narrow_step: count,
                        narrow_block: 0,
                    };
                    // SAFETY: the panel holds `depth` steps of `width` pixels, the group `depth` steps of `count`
                    // columns, and the target `count` columns of `width` pixels: a panel inside one image, or the edge
                    // buffer.
                    unsafe {
                        product::<V, 1>(
                            registers,
                            count,
                            &walk,
                            panel.as_ptr().add(register * V::LANES),
                            groups.as_ptr().add(first * depth),
                            Target {
                                to: target.to.add(register * V::LANES),
                                ..target
                            },
                            false,
                        );
                    }
                    register += registers;
                }
                if !direct {
                    for (column, edge) in edge
                        .chunks_exact(width)
                        .take(count.min(outputs - first))
                        .enumerate()
                    {
                        for (lane, &value) in edge[..starts.len()].iter().enumerate() {
                            let flat = index * width + lane;
                            let (row, pixel) = (flat / pixels, flat % pixels);
                            // SAFETY: a pixel of this job's rows.
                            unsafe {
                                *out.at((row * outputs + first + column) * pixels + pixel) = value;
                            }
                        }
                    }
                }
                first += count;
            }
        }
    }
}

/// The gradient of `<forward(x, w), g>` with respect to `w`, `[out_channels, fan_in]`.
pub(crate) fn weight<T: Number>(x: &[T], g: &[T], rows: usize, shape: &ConvShape) -> Vec<T> {
    let patches = Patches::of_input(shape);
    let (depth, outputs) = (patches.depth(), shape.out_channels);
    // A part is laid out as registers of output channels: `[block of lanes][step][lane]`.
    let part_size = outputs.next_multiple_of(T::LANES) * depth.next_multiple_of(4);
    let rows_per_part = rows.div_ceil(PARTS).max(1);
    let parts = rows.div_ceil(rows_per_part);
    let mut sums = Scratch::new(parts * part_size);
    let sums = sums.numbers();
    let starts = patches.starts(patches.pixels());
    sums.par_chunks_mut(part_size)
        .enumerate()
        .for_each(|(part, sums)| {
            let (from, to) = (part * rows_per_part, rows.min((part + 1) * rows_per_part));
            let x = &x[from * shape.in_features()..to * shape.in_features()];
            let g = &g[from * shape.out_features()..to * shape.out_features()];
            T::vectorised(Weigh {
                x,
                g,
                patches,
                starts: &starts,
                outputs,
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
                let block = &part[block * depth.next_multiple_of(4) * T::LANES..];
                for (value, lanes) in result.iter_mut().zip(block.chunks_exact(T::LANES)) {
                    *value += lanes[lane];
                }
            }
        });
    result
}

struct Weigh<'a, T> {
    x: &'a [T],
    g: &'a [T],
    patches: Patches,
    starts: &'a [usize],
    outputs: usize,
    sums: &'a mut [T],
}

impl<T: Number> Task<T> for Weigh<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let Self {
            x,
            g,
            patches,
            starts,
            outputs,
            sums,
        } = self;
        let (depth, pixels, padded) =
            (patches.depth(), patches.pixels(), patches.padded_features());
        let (lanes, width) = (V::LANES, REGISTERS * V::LANES);
        let (blocks, held) = (outputs.div_ceil(lanes), WEIGHT_PANELS * width);
        let sum_depth = depth.next_multiple_of(4);
        // The last tile of columns may read past the last step of the last panel: `MOST_COLUMNS` steps more.
        let panels_size = (WEIGHT_PANELS * depth + MOST_COLUMNS) * width;
        sums.fill(T::default());
        let mut scratch = Scratch::new(padded + panels_size + blocks * lanes * held);
        let (image_padded, scratch) = scratch.numbers().split_at_mut(padded);
        let (panels, wide) = scratch.split_at_mut(panels_size);
        for (x, g) in x
            .chunks_exact(patches.features())
            .zip(g.chunks_exact(outputs * pixels))
        {
            patches.pad(x, image_padded);
            for (chunk, starts) in starts.chunks(held).enumerate() {
                let count = starts.len().div_ceil(width);
                for (starts, panel) in starts
                    .chunks(width)
                    .zip(panels.chunks_exact_mut(depth * width))
                {
                    patches.panel::<V>(image_padded, starts, panel);
                }
                // Turn the gradient so that output channels are lanes: `[block][pixel][lane]`.
                for block in 0..blocks {
                    let wide = &mut wide[block * held * lanes..][..count * width * lanes];
                    for (pixel, wide) in wide.chunks_exact_mut(lanes).enumerate() {
                        for (lane, wide) in wide.iter_mut().enumerate() {
                            let output = block * lanes + lane;
                            *wide = if output < outputs && pixel < starts.len() {
                                g[output * pixels + chunk * held + pixel]
                            } else {
                                T::default()
                            };
                        }
                    }
                }
                let walk = Walk {
                    blocks: count,
                    inner: width,
                    wide_register: held * lanes,
                    wide_step: lanes,
                    narrow_step: 1,
                    narrow_block: depth * width,
                };
                let mut block = 0;
                while block < blocks {
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
                        // SAFETY: the walk covers `count` panels; columns past the depth read the next panel or the
                        // slack after the last, and land in the rounded-up rows of the sums.
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
                    block += registers;
                }
            }
        }
    }
}
