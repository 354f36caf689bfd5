//! Functions of every number of one slice, or of every pair of numbers of two: each loop is compiled for every instruction set,
//! and long ones are shared among threads. Every result depends on its own arguments alone.

#![expect(
    unsafe_code,
    reason = "memory that is written before it is read, and in parallel"
)]
#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use std::mem::MaybeUninit;

use rayon::prelude::*;

use super::simd::{VectorLoop, vectorised};
use crate::tensor::{MOST_AXES, Shape};

/// Numbers that one task computes.
const TASK: usize = 1 << 14;
/// Numbers below which starting threads costs more than it saves.
const PARALLEL: usize = 1 << 16;

/// A vector of `len` values, which `write(start, part)` fills part by part.
///
/// # Safety
/// `write` must write every value of the part that it gets.
unsafe fn written<U: Send>(
    len: usize,
    write: impl Fn(usize, &mut [MaybeUninit<U>]) + Sync,
) -> Vec<U> {
    let mut values = Vec::with_capacity(len);
    let room = &mut values.spare_capacity_mut()[..len];
    if len < PARALLEL {
        write(0, room);
    } else {
        let parts = room.par_chunks_mut(TASK).enumerate();
        parts.for_each(|(task, part)| write(task * TASK, part));
    }
    // SAFETY: the capacity is there, and the caller vouches that every part of it has been written.
    unsafe { values.set_len(len) };
    values
}

/// `function(x)` for every number.
pub(crate) fn map<T: Copy + Sync, U: Send>(x: &[T], function: impl Fn(T) -> U + Sync) -> Vec<U> {
    struct Map<'a, T, U, F> {
        x: &'a [T],
        out: &'a mut [MaybeUninit<U>],
        function: &'a F,
    }
    impl<T: Copy, U, F: Fn(T) -> U> VectorLoop for Map<'_, T, U, F> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            for (out, &x) in self.out.iter_mut().zip(self.x) {
                out.write((self.function)(x));
            }
        }
    }
    // SAFETY: the loop writes as many values as it reads, which are as many as the part holds.
    unsafe {
        written(x.len(), |start, out| {
            let (x, function) = (&x[start..][..out.len()], &function);
            vectorised(Map { x, out, function });
        })
    }
}

/// `x = function(x)` for every number.
pub(crate) fn map_onto<T: Copy + Send>(x: &mut [T], function: impl Fn(T) -> T + Sync) {
    struct Map<'a, T, F> {
        x: &'a mut [T],
        function: &'a F,
    }
    impl<T: Copy, F: Fn(T) -> T> VectorLoop for Map<'_, T, F> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            for x in self.x {
                *x = (self.function)(*x);
            }
        }
    }
    let function = &function;
    if x.len() < PARALLEL {
        return vectorised(Map { x, function });
    }
    x.par_chunks_mut(TASK)
        .for_each(|x| vectorised(Map { x, function }));
}

/// `function(a, b)` for every pair of two slices of one length.
pub(crate) fn zip<A: Copy + Sync, B: Copy + Sync, U: Send>(
    a: &[A],
    b: &[B],
    function: impl Fn(A, B) -> U + Sync,
) -> Vec<U> {
    assert_eq!(a.len(), b.len(), "numbers of an elementwise operation");
    // SAFETY: the loop writes as many values as it reads, which are as many as the part holds.
    unsafe {
        written(a.len(), |start, out| {
            let (a, b) = (&a[start..][..out.len()], &b[start..][..out.len()]);
            vectorised(Zip {
                a,
                b,
                out,
                function: &function,
            });
        })
    }
}

struct Zip<'a, A, B, U, F> {
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [MaybeUninit<U>],
    function: &'a F,
}

impl<A: Copy, B: Copy, U, F: Fn(A, B) -> U> VectorLoop for Zip<'_, A, B, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((out, &a), &b) in self.out.iter_mut().zip(self.a).zip(self.b) {
            out.write((self.function)(a, b));
        }
    }
}

/// `a = function(a, b)` for every pair of two slices of one length.
pub(crate) fn zip_onto<A: Copy + Send, B: Copy + Sync>(
    a: &mut [A],
    b: &[B],
    function: impl Fn(A, B) -> A + Sync,
) {
    struct Onto<'a, A, B, F> {
        a: &'a mut [A],
        b: &'a [B],
        function: &'a F,
    }
    impl<A: Copy, B: Copy, F: Fn(A, B) -> A> VectorLoop for Onto<'_, A, B, F> {
        type Output = ();

        #[inline(always)]
        fn run(self) {
            for (a, &b) in self.a.iter_mut().zip(self.b) {
                *a = (self.function)(*a, b);
            }
        }
    }
    assert_eq!(a.len(), b.len(), "numbers of an elementwise operation");
    let function = &function;
    if a.len() < PARALLEL {
        return vectorised(Onto { a, b, function });
    }
    a.par_chunks_mut(TASK)
        .zip(b.par_chunks(TASK))
        .for_each(|(a, b)| vectorised(Onto { a, b, function }));
}

/// `function(a, b)` for every pair of two arrays of these shapes, whose sizes of 1 are stretched.
pub(crate) fn zip_stretched<T: Copy + Send + Sync>(
    a: &[T],
    b: &[T],
    shapes: [Shape; 2],
    function: impl Fn(T, T) -> T + Sync,
) -> Vec<T> {
    let len = shapes[0].broadcast(shapes[1]).num_elements();
    if len == 0 {
        return Vec::new();
    }
    let runs = Runs::new(shapes);
    // SAFETY: the runs write one value after the other until the part is full.
    unsafe {
        written(len, |start, out| {
            vectorised(Stretched {
                slices: [a, b],
                start,
                out,
                runs: &runs,
                function: &function,
            });
        })
    }
}

/// How the result of two stretched arrays falls into runs, within which each operand either goes on or stands still.
struct Runs {
    /// Numbers of a run.
    length: usize,
    /// How far each operand goes within a run, from number to number: 1 or 0.
    within: [usize; 2],
    /// Axes of the runs, the fastest first: how many, and how far each operand goes from one to the next.
    axes: Vec<(usize, [usize; 2])>,
}

impl Runs {
    fn new(shapes: [Shape; 2]) -> Self {
        let sizes = shapes[0].broadcast(shapes[1]);
        let mut axes: Vec<(usize, [usize; 2])> = Vec::with_capacity(MOST_AXES);
        let mut step = [1, 1];
        for axis in (0..sizes.rank()).rev() {
            let size = sizes.size(axis);
            if size == 1 {
                continue;
            }
            let steps = [0, 1].map(|place| match shapes[place].size(axis) {
                1 => 0,
                _ => step[place],
            });
            for place in [0, 1] {
                step[place] *= shapes[place].size(axis);
            }
            match axes.last_mut() {
                // Two axes are one where both operands go through them without a jump.
                Some((inner, inner_steps))
                    if [0, 1]
                        .iter()
                        .all(|&place| steps[place] == inner_steps[place] * *inner) =>
                {
                    *inner *= size;
                }
                _ => axes.push((size, steps)),
            }
        }
        if axes.is_empty() {
            axes.push((1, [1, 1]));
        }
        let (length, within) = axes.remove(0);
        Self {
            length,
            within,
            axes,
        }
    }

    /// Where the operands' parts of a run begin.
    #[inline(always)]
    fn begin(&self, run: usize) -> [usize; 2] {
        let (mut rest, mut at) = (run, [0, 0]);
        for (count, steps) in &self.axes {
            let place = rest % count;
            rest /= count;
            at[0] += place * steps[0];
            at[1] += place * steps[1];
        }
        at
    }
}

struct Stretched<'a, T, F> {
    slices: [&'a [T]; 2],
    start: usize,
    out: &'a mut [MaybeUninit<T>],
    runs: &'a Runs,
    function: &'a F,
}

impl<T: Copy, F: Fn(T, T) -> T> VectorLoop for Stretched<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            slices: [a, b],
            start,
            mut out,
            runs,
            function,
        } = self;
        let (mut run, mut skipped) = (start / runs.length, start % runs.length);
        while !out.is_empty() {
            let [a_begin, b_begin] = runs.begin(run);
            let count = (runs.length - skipped).min(out.len());
            let (part, rest) = out.split_at_mut(count);
            let a = &a[a_begin + skipped * runs.within[0]..];
            let b = &b[b_begin + skipped * runs.within[1]..];
            match runs.within {
                [0, _] => {
                    for (out, &b) in part.iter_mut().zip(b) {
                        out.write(function(a[0], b));
                    }
                }
                [_, 0] => {
                    for (out, &a) in part.iter_mut().zip(a) {
                        out.write(function(a, b[0]));
                    }
                }
                _ => {
                    for ((out, &a), &b) in part.iter_mut().zip(a).zip(b) {
                        out.write(function(a, b));
                    }
                }
            }
            out = rest;
            run += 1;
            skipped = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::testing::on_threads;

    /// The definition: every place of the result, and the operands' places under it.
    fn by_definition(a: &[f64], b: &[f64], shapes: [Shape; 2]) -> Vec<f64> {
        let sizes = shapes[0].broadcast(shapes[1]);
        let at = |values: &[f64], shape: Shape, place: usize| {
            let (mut rest, mut step, mut at) = (place, 1, 0);
            for axis in (0..sizes.rank()).rev() {
                let within = rest % sizes.size(axis);
                rest /= sizes.size(axis);
                at += step * within.min(shape.size(axis) - 1);
                step *= shape.size(axis);
            }
            values[at]
        };
        (0..sizes.num_elements())
            .map(|place| at(a, shapes[0], place) - 2.0 * at(b, shapes[1], place))
            .collect()
    }

    #[test]
    fn stretched_operands_equal_the_definition() {
        let whole = |count: usize| -> Vec<f64> {
            (0..count)
                .map(|number| f64::from(u32::try_from(number).unwrap()))
                .collect()
        };
        for sizes in 0..4_u32.pow(3) {
            // Every axis is whole in both, stretched in one, in the other, or of size 1 in both.
            let choice = |axis: u32| sizes / 4_u32.pow(axis) % 4;
            let pick = |axis: u32, size: usize| match choice(axis) {
                0 => [size, size],
                1 => [size, 1],
                2 => [1, size],
                _ => [1, 1],
            };
            let axes = [pick(0, 3), pick(1, 5), pick(2, 4)];
            let shapes = [0, 1].map(|place| Shape::from(axes.map(|axis| axis[place])));
            let (a, b) = (
                whole(shapes[0].num_elements()),
                whole(shapes[1].num_elements()),
            );
            let got = zip_stretched(&a, &b, shapes, |a, b| a - 2.0 * b);
            assert_eq!(got, by_definition(&a, &b, shapes), "{shapes:?}");
        }
    }

    #[test]
    fn long_loops_have_the_same_results_for_any_number_of_threads() {
        let a: Vec<f32> = (0..300_u16)
            .flat_map(|row| (0..700_u16).map(move |column| f32::from(row) - f32::from(column)))
            .collect();
        let row = &a[..700];
        let shapes = [Shape::from([300, 700]), Shape::from([1, 700])];
        let work = || {
            let mut onto = a.clone();
            map_onto(&mut onto, |x| x * 0.5 + 1.0);
            zip_onto(&mut onto, &a, |x, y| x * y);
            let stretched = zip_stretched(&onto, row, shapes, |a, b| a - b);
            zip(&map(&stretched, |x| x + 3.0), &a, |x, y| x + y)
        };
        let alone = on_threads(1, work);
        let (a, row) = (a[701], row[1]);
        let expected = (((a * 0.5 + 1.0) * a) - row + 3.0) + a;
        assert_eq!(alone[701].to_bits(), expected.to_bits());
        assert_eq!(alone, on_threads(2, work));
        assert_eq!(alone, on_threads(4, work));
    }
}
