//! Memory of the kernels: scratch kept per thread, and outputs written in parallel.

#![expect(
    unsafe_code,
    reason = "memory that is written before it is read, and in parallel"
)]

use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of};

use rayon::prelude::*;

use super::simd::Number;

/// One cache line, so that scratch is aligned to it.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read through the numbers that overlay it")] [u8; 64]);

thread_local! {
    /// Free scratch of this thread, the last freed last. Allocating it anew in every call would fault its pages in anew.
    static FREE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// Numbers of scratch, aligned to 64 bytes, of unspecified but initialised content. A guard and no closure, so that kernels
/// which hold one stay a single function, compiled for one instruction set.
pub(crate) struct Scratch<T> {
    lines: Vec<Line>,
    numbers: usize,
    of: PhantomData<T>,
}

impl<T: Number> Scratch<T> {
    pub(crate) fn new(numbers: usize) -> Self {
        let wanted = (numbers * size_of::<T>()).div_ceil(size_of::<Line>());
        let mut lines = FREE.with_borrow_mut(Vec::pop).unwrap_or_default();
        if lines.len() < wanted {
            lines.clear();
            lines.resize(wanted, Line([0; 64]));
        }
        Self {
            lines,
            numbers,
            of: PhantomData,
        }
    }

    pub(crate) fn numbers(&mut self) -> &mut [T] {
        // SAFETY: the lines are initialised, aligned to 64 bytes and hold at least `numbers` numbers, which are plain data.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<T>(), self.numbers) }
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        // A thread that is going away needs no scratch.
        let lines = std::mem::take(&mut self.lines);
        let _ = FREE.try_with(|free| free.borrow_mut().push(lines));
    }
}

/// A pointer that threads share to write disjoint parts of one buffer.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub *mut T);

// SAFETY: it is only a pointer; whoever writes through it promises that the parts are disjoint.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The address `offset` elements on. A method, so that closures capture the whole wrapper.
    pub(crate) fn at(self, offset: usize) -> *mut T {
        self.0.wrapping_add(offset)
    }
}

/// A vector of `len` numbers that `fill` writes.
///
/// # Safety
/// `fill` must write every one of the `len` numbers.
pub(crate) unsafe fn filled<T: Number>(len: usize, fill: impl FnOnce(Shared<T>)) -> Vec<T> {
    let mut values: Vec<MaybeUninit<T>> = Vec::with_capacity(len);
    fill(Shared(values.as_mut_ptr().cast()));
    // SAFETY: the capacity is there and the caller vouches that `fill` has initialised all of it.
    unsafe {
        values.set_len(len);
        let mut values = std::mem::ManuallyDrop::new(values);
        Vec::from_raw_parts(values.as_mut_ptr().cast(), len, values.capacity())
    }
}

/// `rows` rows of `width` numbers. One thread clears a row and then lets `write` change it, so that it is in that thread's
/// cache when it is written: a buffer that one thread clears as a whole goes through memory twice.
pub(crate) fn by_row<T: Copy + Default + Send>(
    rows: usize,
    width: usize,
    write: impl Fn(usize, &mut [T]) + Send + Sync,
) -> Vec<T> {
    let numbers = rows * width;
    let mut values = Vec::with_capacity(numbers);
    values.spare_capacity_mut()[..numbers]
        .par_chunks_mut(width.max(1))
        .enumerate()
        .for_each(|(row, values)| {
            values.fill(MaybeUninit::new(T::default()));
            // SAFETY: every number of the row has just been written.
            write(row, unsafe {
                std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len())
            });
        });
    // SAFETY: the capacity is there, and every row of it has been written.
    unsafe { values.set_len(numbers) };
    values
}
