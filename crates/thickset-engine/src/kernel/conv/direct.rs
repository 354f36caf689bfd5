//! Convolution as a product of weights and image patches, for every shape in one group and every type.
//!
//! - The output: weights by patches.
//! - The gradient in the input: transposed weights by the output's gradient, each number of each patch added back.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use super::patches::Patches;
use super::rows::{Images, Outputs};
use super::shape::ConvShape;
use crate::kernel::buffer::{Scratch, Shared, by_row};
use crate::kernel::register_tile::{MOST_COLUMNS, REGISTERS, Target, Walk, columns, product};
use crate::kernel::simd::{Number, Task, Vector};

/// About how many output pixels one job multiplies at a time.
const JOB_PIXELS: usize = 512;

/// How many steps of the weights one job lays out.
const JOB_STEPS: usize = 64;

/// The convolution of `rows` images `x` with `w`, `[out_channels, fan_in]`.
pub(crate) fn forward<T: Number>(x: &[T], w: &[T], shape: &ConvShape, outputs: Outputs<'_, T>) {
    let (depth, channels, pixels) = (shape.fan_in(), shape.out_channels, shape.out_pixels());
    let mut groups = Scratch::new(channels.next_multiple_of(4) * depth);
    grouped(channels, depth, groups.numbers(), |row, step| {
        w[row * depth + step]
    });
    let groups = &*groups.numbers();
    let job_rows = JOB_PIXELS.div_ceil(pixels);
    let patches = Patches::new(shape);
    let (starts, steps) = (patches.starts(job_rows * pixels), patches.steps());
    x.par_chunks(job_rows * shape.in_features())
        .enumerate()
        .for_each(|(job, images)| {
            let first = job * job_rows;
            let rows = first..first + images.len() / shape.in_features();
            let mut room = Scratch::new(rows.len() * outputs.room());
            let room = room.numbers();
            let out = Shared(outputs.target(first, room));
            let layout = (patches, &starts[..], &steps[..]);
            // SAFETY: the images of this job, which no other job has and which are all written before they are finished.
            unsafe {
                T::vectorised(Forward::new(images, layout, shape, groups, out));
                outputs.finish(rows, room);
            }
        });
}

/// The gradient of `<forward(x, w), g>` with respect to `x`.
pub(crate) fn input<T: Number>(g: Images<'_, T>, w: &[T], shape: &ConvShape) -> Vec<T> {
    let (depth, outputs) = (shape.fan_in(), shape.out_channels);
    let mut groups = Scratch::new(depth.next_multiple_of(4) * outputs);
    grouped(depth, outputs, groups.numbers(), |step, output| {
        w[output * depth + step]
    });
    let groups = &*groups.numbers();
    let patches = Patches::new(shape);
    let steps = patches.steps();
    by_row(g.rows(), shape.in_features(), |row, out| {
        let mut room = Scratch::new(g.room());
        T::vectorised(Input {
            g: g.row(row, room.numbers()),
            patches,
            shape,
            steps: &steps,
            groups,
            out,
        });
    })
}

/// Weights in groups of columns, `groups[first row of the group * depth ..][step][column]`, rows beyond the last zero; the
/// number of them is `rows` rounded up to four.
fn grouped<T: Number>(
    rows: usize,
    depth: usize,
    groups: &mut [T],
    weight: impl Fn(usize, usize) -> T + Copy + Send + Sync,
) {
    assert!(groups.len() >= rows.next_multiple_of(4) * depth, "room");
    let to = Shared(groups.as_mut_ptr());
    (0..depth.div_ceil(JOB_STEPS))
        .into_par_iter()
        .for_each(|job| {
            let steps = job * JOB_STEPS..((job + 1) * JOB_STEPS).min(depth);
            // SAFETY: `groups` has a number for every step of `rows` rounded up, and no other job has these steps.
            let task = unsafe { Group::new([rows, depth], steps, weight, to) };
            T::vectorised(task);
        });
}

struct Group<T, F> {
    rows: usize,
    depth: usize,
    steps: std::ops::Range<usize>,
    weight: F,
    to: Shared<T>,
}

impl<T, F> Group<T, F> {
    /// # Safety
    /// Until the task has run, `to` must be valid for `rows` rounded up to four by `depth` numbers, and nobody else may use
    /// those of these steps.
    unsafe fn new(
        [rows, depth]: [usize; 2],
        steps: std::ops::Range<usize>,
        weight: F,
        to: Shared<T>,
    ) -> Self {
        Self {
            rows,
            depth,
            steps,
            weight,
            to,
        }
    }
}

impl<T: Number, F: Fn(usize, usize) -> T> Task<T> for Group<T, F> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let mut first = 0;
        while first < self.rows {
            let width = columns(self.rows - first);
            for step in self.steps.clone() {
                for column in 0..width {
                    let row = first + column;
                    let value = if row < self.rows {
                        (self.weight)(row, step)
                    } else {
                        T::default()
                    };
                    // SAFETY: one of this job's steps of a group, whose columns are within `rows` rounded up.
                    unsafe { *self.to.at(first * self.depth + step * width + column) = value };
                }
            }
            first += width;
        }
    }
}

/// One panel, `panel[step][pixel]` with steps so far apart, times one group of `count` columns, into `target`.
///
/// # Safety
/// The panel and the group must have `depth` steps, and the target `count` columns of a panel's pixels.
#[inline(always)]
unsafe fn panel_by_group<V: Vector>(
    depth: usize,
    count: usize,
    (panel, step): (*const V::Number, usize),
    group: *const V::Number,
    target: Target<V::Number>,
) {
    let walk = Walk {
        blocks: 1,
        inner: depth,
        wide_register: V::LANES,
        wide_step: step,
        narrow_step: count,
        narrow_block: 0,
    };
    // SAFETY: the caller's promise.
    unsafe { product::<V, 1>(REGISTERS, count, &walk, panel, group, target, false) };
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

impl<'a, T> Forward<'a, T> {
    /// Whole images, with [`Patches::starts`] for as many and [`Patches::steps`], by the weights that `grouped` has laid out.
    ///
    /// # Safety
    /// Until the task has run, `out` must be valid for the outputs of the images and used by nobody else.
    unsafe fn new(
        images: &'a [T],
        (patches, starts, steps): (Patches, &'a [usize], &'a [usize]),
        shape: &'a ConvShape,
        groups: &'a [T],
        out: Shared<T>,
    ) -> Self {
        Self {
            images,
            patches,
            shape,
            starts,
            steps,
            groups,
            out,
        }
    }
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
                let count = columns(outputs - first);
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
                    panel_by_group::<V>(depth, count, (panel.as_ptr(), width), group, target);
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
        // What is read once is read where it lies, but for a last panel that is not full.
        let in_place = if self.steps.len() <= MOST_COLUMNS {
            pixels / width
        } else {
            0
        };
        let packed_size = depth * (panels - in_place) * width;
        let size = patches.padded() + packed_size + MOST_COLUMNS * panels * width;
        let mut scratch = Scratch::new(size);
        let (padded, scratch) = scratch.numbers().split_at_mut(patches.padded());
        let (packed, values) = scratch.split_at_mut(packed_size);
        for (output, plane) in g.chunks_exact(pixels).enumerate() {
            for (panel, plane) in plane[in_place * width..].chunks(width).enumerate() {
                let lanes = &mut packed[(panel * depth + output) * width..][..width];
                lanes[..plane.len()].copy_from_slice(plane);
                lanes[plane.len()..].fill(T::default());
            }
        }
        padded.fill(T::default());
        let mut first = 0;
        while first < self.steps.len() {
            let count = columns(self.steps.len() - first);
            for panel in 0..panels {
                let to = values[panel * width..].as_mut_ptr();
                let target = Target {
                    to,
                    register: V::LANES,
                    column: panels * width,
                };
                let panel = if panel < in_place {
                    (g[panel * width..].as_ptr(), pixels)
                } else {
                    let packed = &packed[(panel - in_place) * depth * width..];
                    (packed.as_ptr(), width)
                };
                // SAFETY: the panel and the group have a step for every output channel, and `values` a column of all panels
                // for every column of the group.
                unsafe {
                    let group = self.groups[first * depth..].as_ptr();
                    panel_by_group::<V>(depth, count, panel, group, target);
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
