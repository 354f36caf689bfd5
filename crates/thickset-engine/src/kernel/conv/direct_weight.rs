//! The weights' gradient of [`super::direct`]'s convolution: the output's gradient by transposed patches, summed over
//! pixels within parts of the rows, and the parts in order.

#![expect(unsafe_code, reason = "vector products over packed operands")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::Range;

use rayon::prelude::*;

use super::patches::Patches;
use super::rows::Images;
use super::shape::ConvShape;
use crate::kernel::buffer::Scratch;
use crate::kernel::register_tile::{MOST_COLUMNS, REGISTERS, Target, Walk, columns, product};
use crate::kernel::simd::{Number, Task, Vector};

/// Into how many parts the rows are cut when the weights' gradient is summed: enough to keep the cores of a large machine
/// busy. It does not depend on the machine, so neither do the bits.
const PARTS: usize = 16;

/// How many panels of patches the weights' gradient holds in cache at a time.
const WEIGHT_PANELS: usize = 8;

/// The gradient of `<forward(x, w), g>` with respect to `w`, `[out_channels, fan_in]`.
pub(crate) fn weight<T: Number>(x: &[T], g: Images<'_, T>, shape: &ConvShape) -> Vec<T> {
    let rows = g.rows();
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
            let g = g.part(from..to);
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

struct Weight<'a, T> {
    x: &'a [T],
    g: Images<'a, T>,
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
        let wide_size = blocks * lanes * held;
        let mut scratch = Scratch::new(padded + panels_size + wide_size + g.room());
        let (padded, scratch) = scratch.numbers().split_at_mut(padded);
        let (panels, scratch) = scratch.split_at_mut(panels_size);
        let (wide, room) = scratch.split_at_mut(wide_size);
        for (row, x) in x.chunks_exact(shape.in_features()).enumerate() {
            let g = g.row(row, room);
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
                for block in (0..blocks).step_by(REGISTERS) {
                    let registers = REGISTERS.min(blocks - block);
                    let mut first = 0;
                    while first < depth {
                        let columns = columns(depth - first);
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
    range: Range<usize>,
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
