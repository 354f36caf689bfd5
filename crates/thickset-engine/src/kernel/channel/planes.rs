//! Planes of numbers, each with the number of its channel: applied to all of them, repeated, and summed.

#![expect(unsafe_code, reason = "vector loads and an output written once")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use rayon::prelude::*;

use crate::kernel::simd::{Number, Task, Vector};

/// Into how many parts the rows are cut when they are summed; fixed, so that bits do not depend on the number of threads.
const PARTS: usize = 16;

/// About how many numbers one job handles.
const JOB: usize = 16 * 1024;

/// `with` applied to every number and its channel's.
pub(super) fn each<T: Number>(
    x: &[T],
    channel: &[T],
    features: usize,
    with: impl Fn(T, T) -> T + Copy + Send + Sync,
) -> Vec<T> {
    struct Each<'a, T, F> {
        x: &'a [T],
        channel: &'a [T],
        features: usize,
        with: F,
        out: &'a mut [std::mem::MaybeUninit<T>],
    }
    impl<T: Number, F: Fn(T, T) -> T> Task<T> for Each<'_, T, F> {
        #[inline(always)]
        fn run<V: Vector<Number = T>>(self) {
            let plane = self.features / self.channel.len();
            for (x, out) in self
                .x
                .chunks_exact(self.features)
                .zip(self.out.chunks_exact_mut(self.features))
            {
                if plane == 1 {
                    for ((&x, &channel), out) in x.iter().zip(self.channel).zip(out) {
                        out.write((self.with)(x, channel));
                    }
                } else {
                    let planes = x.chunks_exact(plane).zip(out.chunks_exact_mut(plane));
                    for ((x, out), &channel) in planes.zip(self.channel) {
                        for (&x, out) in x.iter().zip(out) {
                            out.write((self.with)(x, channel));
                        }
                    }
                }
            }
        }
    }
    let mut out = Vec::with_capacity(x.len());
    let job = features * (JOB / features).max(1);
    let task = |(out, x)| {
        T::vectorised(Each {
            x,
            channel,
            features,
            with,
            out,
        });
    };
    let room = &mut out.spare_capacity_mut()[..x.len()];
    // Handing little work to other threads takes longer than doing it.
    if x.len() <= job {
        task((room, x));
    } else {
        let jobs = room.par_chunks_mut(job).zip(x.par_chunks(job));
        jobs.for_each(task);
    }
    // SAFETY: every number of `x` has its number of `out`, which its job has written.
    unsafe { out.set_len(x.len()) };
    out
}

/// `rows` rows of each number `plane` times.
pub(super) fn repeated<T: Number>(numbers: &[T], rows: usize, plane: usize) -> Vec<T> {
    let row: Vec<T> = numbers
        .iter()
        .flat_map(|&value| std::iter::repeat_n(value, plane))
        .collect();
    let mut out = Vec::with_capacity(rows * row.len());
    out.spare_capacity_mut()[..rows * row.len()]
        .par_chunks_mut(row.len())
        .for_each(|out| {
            for (out, &value) in out.iter_mut().zip(&row) {
                out.write(value);
            }
        });
    // SAFETY: every row has been written.
    unsafe { out.set_len(rows * row.len()) };
    out
}

/// Per channel the sum of `x`, or of `x * g`: pixel by pixel within a row, then row by row within a part, then the parts.
pub(super) fn sums<T: Number>(
    x: &[T],
    g: Option<&[T]>,
    rows: usize,
    features: usize,
    channels: usize,
) -> Vec<T> {
    let rows_per_part = rows.div_ceil(PARTS).max(1);
    let part = rows_per_part * features;
    let of_part = |index: usize| {
        let range = index * part..((index + 1) * part).min(x.len());
        let mut totals = vec![T::default(); channels];
        T::vectorised(Total {
            x: &x[range.clone()],
            g: g.map(|g| &g[range]),
            features,
            totals: &mut totals,
        });
        totals
    };
    let parts = 0..rows.div_ceil(rows_per_part);
    // Handing little work to other threads takes longer than doing it.
    let parts: Vec<Vec<T>> = if x.len() <= JOB {
        parts.map(of_part).collect()
    } else {
        parts.into_par_iter().map(of_part).collect()
    };
    let mut totals = vec![T::default(); channels];
    for part in parts {
        for (total, value) in totals.iter_mut().zip(part) {
            *total += value;
        }
    }
    totals
}

struct Total<'a, T> {
    x: &'a [T],
    g: Option<&'a [T]>,
    features: usize,
    totals: &'a mut [T],
}

impl<T: Number> Task<T> for Total<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let plane = self.features / self.totals.len();
        for row in 0..self.x.len() / self.features {
            let range = row * self.features..(row + 1) * self.features;
            let x = &self.x[range.clone()];
            let g = self.g.map(|g| &g[range]);
            if plane == 1 {
                for (pixel, total) in self.totals.iter_mut().enumerate() {
                    *total += g.map_or(x[pixel], |g| x[pixel] * g[pixel]);
                }
                continue;
            }
            if plane < V::LANES {
                for (pixel, &x) in x.iter().enumerate() {
                    let value = g.map_or(x, |g| x * g[pixel]);
                    self.totals[pixel / plane] += value;
                }
                continue;
            }
            for (channel, total) in self.totals.iter_mut().enumerate() {
                let range = channel * plane..(channel + 1) * plane;
                *total += match g {
                    Some(g) => dot::<V>(&x[range.clone()], &g[range]),
                    None => sum::<V>(&x[range]),
                };
            }
        }
    }
}

#[inline(always)]
fn dot<V: Vector>(x: &[V::Number], g: &[V::Number]) -> V::Number {
    let mut lanes = V::splat(V::Number::default());
    let whole = x.len() / V::LANES * V::LANES;
    for start in (0..whole).step_by(V::LANES) {
        // SAFETY: `start + LANES` is at most the length of both.
        lanes = unsafe {
            V::load(x.as_ptr().add(start)).mul_add(V::load(g.as_ptr().add(start)), lanes)
        };
    }
    let mut total = across(lanes);
    for (&x, &g) in x[whole..].iter().zip(&g[whole..]) {
        total += x * g;
    }
    total
}

#[inline(always)]
fn sum<V: Vector>(x: &[V::Number]) -> V::Number {
    let mut lanes = V::splat(V::Number::default());
    let whole = x.len() / V::LANES * V::LANES;
    for start in (0..whole).step_by(V::LANES) {
        // SAFETY: `start + LANES` is at most the length.
        lanes = unsafe { lanes.add(V::load(x.as_ptr().add(start))) };
    }
    let mut total = across(lanes);
    for &x in &x[whole..] {
        total += x;
    }
    total
}

/// The sum of a register's lanes, the first first.
#[inline(always)]
fn across<V: Vector>(register: V) -> V::Number {
    let mut lanes = [V::Number::default(); 16];
    // SAFETY: a register has at most sixteen lanes.
    unsafe { register.store(lanes.as_mut_ptr()) };
    let mut total = V::Number::default();
    for &lane in &lanes[..V::LANES] {
        total += lane;
    }
    total
}
