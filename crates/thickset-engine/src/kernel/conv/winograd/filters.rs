//! Three by three weights to frequencies, and their gradient back.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::ops::Range;

use super::points::{IN, TapsFromPoints, WeightPoints, load, square, store};
use super::tiling::{LANES, Spectrum};
use crate::kernel::ConvShape;
use crate::kernel::buffer::Shared;
use crate::kernel::simd::{Task, Vector};

/// Weights of one input channel.
const TAPS: usize = 9;

/// Weights of a convolution: the nine of output `o` and input channel `s` begin at `o * output + s * step`.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    pub numbers: &'a [f32],
    pub outputs: usize,
    pub depth: usize,
    pub output: usize,
    pub step: usize,
    pub flipped: bool,
}

/// Transforms the weights of one block of outputs: `[frequency][step][lane]`.
pub(crate) struct TransformWeights<'a> {
    weights: Weights<'a>,
    block: usize,
    /// Which input channels; beyond the last the weights are zero.
    steps: Range<usize>,
    to: Spectrum<Shared<f32>>,
}

impl<'a> TransformWeights<'a> {
    /// The weights of a block of outputs and of these input channels; beyond the last they are zero.
    ///
    /// # Safety
    /// Until the task has run, `to` must be valid for the steps at each frequency and used by nobody else.
    pub(crate) unsafe fn new(
        weights: Weights<'a>,
        block: usize,
        steps: Range<usize>,
        to: Spectrum<Shared<f32>>,
    ) -> Self {
        Self {
            weights,
            block,
            steps,
            to,
        }
    }
}

impl Task<f32> for TransformWeights<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self {
            weights, block, to, ..
        } = self;
        let (mut outputs, mut taps_at) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            outputs[lane] = lane * weights.output;
            taps_at[lane] = lane * LANES;
        }
        let first = block * LANES * weights.output;
        let present = LANES.min(weights.outputs - block * LANES);
        let mut taps = [0.0; LANES * LANES];
        for (index, step) in self.steps.enumerate() {
            let start = first + step * weights.step;
            // Sixteen numbers are read of each output's nine.
            let readable = start + outputs[LANES - 1] + LANES <= weights.numbers.len();
            if present == LANES && step < weights.depth && readable {
                // SAFETY: the last of the outputs has just been checked, and there is room for sixteen taps.
                unsafe {
                    let from = weights.numbers.as_ptr().add(start);
                    V::transpose(from, &outputs, taps.as_mut_ptr(), &taps_at);
                }
            } else {
                taps.fill(0.0);
                if step < weights.depth {
                    for (lane, output) in outputs.iter().enumerate().take(present) {
                        for tap in 0..TAPS {
                            taps[tap * LANES + lane] = weights.numbers[start + output + tap];
                        }
                    }
                }
            }
            let mut w = [[V::splat(0.0); 3]; 3];
            for (i, row) in w.iter_mut().enumerate() {
                for (j, register) in row.iter_mut().enumerate() {
                    let tap = if weights.flipped {
                        TAPS - 1 - (3 * i + j)
                    } else {
                        3 * i + j
                    };
                    // SAFETY: one of the first nine of sixteen taps.
                    *register = unsafe { V::load(taps.as_ptr().add(tap * LANES)) };
                }
            }
            let points = square::<WeightPoints, V, 3, IN>(&w);
            // SAFETY: the target has room for the steps at each frequency.
            unsafe {
                store(
                    &points,
                    to.start.at(index * LANES),
                    IN * to.frequency,
                    to.frequency,
                );
            }
        }
    }
}

/// Transforms one block of outputs' sums, `[frequency][step][lane]`, into weights and writes them.
pub(crate) struct TransformBack<'a> {
    sums: &'a [f32],
    frequency: usize,
    out_block: usize,
    /// The input channels that the sums are of.
    channels: Range<usize>,
    shape: &'a ConvShape,
    out: Shared<f32>,
}

impl<'a> TransformBack<'a> {
    /// The sums of one block of outputs and some input channels, frequencies so far apart.
    ///
    /// # Safety
    /// The sums must hold a register for each of the channels, which the shape must have, at each frequency. Until the task
    /// has run, `out` must be valid for the weights of `shape`, and nobody else may use those of the block and the channels.
    pub(crate) unsafe fn new(
        (sums, frequency): (&'a [f32], usize),
        out_block: usize,
        channels: Range<usize>,
        shape: &'a ConvShape,
        out: Shared<f32>,
    ) -> Self {
        Self {
            sums,
            frequency,
            out_block,
            channels,
            shape,
            out,
        }
    }
}

impl Task<f32> for TransformBack<'_> {
    #[inline(always)]
    fn run<V: Vector<Number = f32>>(self) {
        let Self {
            shape,
            out_block,
            frequency,
            ..
        } = self;
        let fan_in = shape.fan_in();
        let present = LANES.min(shape.out_channels - out_block * LANES);
        let (mut taps_at, mut outputs) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            taps_at[lane] = lane * LANES;
            outputs[lane] = lane * fan_in;
        }
        let mut taps = [0.0; LANES * TAPS * LANES];
        for first in self.channels.clone().step_by(LANES) {
            let channels = LANES.min(self.channels.end - first);
            for step in 0..channels {
                let from = self.sums[(first - self.channels.start + step) * LANES..].as_ptr();
                // SAFETY: the sums hold the step at each frequency, and there is room for nine taps of sixteen steps.
                unsafe {
                    let points = load::<V, IN>(from, IN * frequency, frequency);
                    let w = square::<TapsFromPoints, V, IN, 3>(&points);
                    store(
                        &w,
                        taps.as_mut_ptr().add(step * TAPS * LANES),
                        3 * LANES,
                        LANES,
                    );
                }
            }
            let out = self.out.at(out_block * LANES * fan_in + first * TAPS);
            let count = channels * TAPS;
            let whole = if present == LANES {
                count / LANES * LANES
            } else {
                0
            };
            for tap in (0..whole).step_by(LANES) {
                // SAFETY: sixteen of the taps, and of the weights of sixteen outputs.
                unsafe {
                    V::transpose(
                        taps.as_ptr().add(tap * LANES),
                        &taps_at,
                        out.add(tap),
                        &outputs,
                    );
                }
            }
            for tap in whole..count {
                for (&value, output) in taps[tap * LANES..][..present].iter().zip(outputs) {
                    // SAFETY: a weight of one of this block's outputs.
                    unsafe { *out.add(output + tap) = value };
                }
            }
        }
    }
}
