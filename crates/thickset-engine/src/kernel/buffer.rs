//! Memory of the kernels: scratch kept per thread, and outputs written in parallel.

#![expect(
    unsafe_code,
    reason = "memory that is written before it is read, and in parallel"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, size_of};
use std::ptr::NonNull;

use rayon::prelude::*;

use super::simd::Number;

/// One cache line, so that scratch is aligned to it.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "read through the numbers that overlay it")] [u8; 64]);

/// The size of a huge page. Kernels walk scratch in steps of many pages, and with pages of the usual size much of their time
/// goes into finding out where those are.
const HUGE_PAGE: usize = 2 << 20;

/// Memory of a scratch, zero at first.
struct Lines {
    start: NonNull<Line>,
    count: usize,
}

// SAFETY: it owns its memory alone, which is plain data.
unsafe impl Send for Lines {}

impl Lines {
    const fn none() -> Self {
        Self {
            start: NonNull::dangling(),
            count: 0,
        }
    }

    fn new(count: usize) -> Self {
        if count == 0 {
            return Self::none();
        }
        let layout = Self::layout(count);
        #[expect(
            clippy::cast_ptr_alignment,
            reason = "the layout is at least as aligned as a line"
        )]
        // SAFETY: the layout is not empty; what it gives is asked for and written within its bounds.
        unsafe {
            let Some(start) = NonNull::new(alloc(layout).cast::<Line>()) else {
                handle_alloc_error(layout);
            };
            #[cfg(all(target_os = "linux", not(miri)))]
            if layout.size() >= HUGE_PAGE {
                // Only a wish: where the system has no huge pages, others do.
                libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE);
            }
            start.write_bytes(0, count);
            Self { start, count }
        }
    }

    /// Whole huge pages, or lines where there are fewer.
    fn layout(count: usize) -> Layout {
        let size = count.saturating_mul(size_of::<Line>());
        let layout = if size < HUGE_PAGE {
            Layout::from_size_align(size, align_of::<Line>())
        } else {
            Layout::from_size_align(size, HUGE_PAGE).map(|layout| layout.pad_to_align())
        };
        layout.expect("scratch that a machine can hold")
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        if self.count > 0 {
            // SAFETY: it came from `alloc` with the same layout.
            unsafe { dealloc(self.start.as_ptr().cast(), Self::layout(self.count)) };
        }
    }
}

thread_local! {
    /// Free scratch of this thread, the last freed last. Allocating it anew in every call would fault its pages in anew.
    static FREE: RefCell<Vec<Lines>> = const { RefCell::new(Vec::new()) };
}

/// Numbers of scratch, aligned to 64 bytes, of unspecified but initialised content. A guard and no closure, so that kernels
/// which hold one stay a single function, compiled for one instruction set.
pub(crate) struct Scratch<T> {
    lines: Lines,
    numbers: usize,
    of: PhantomData<T>,
}

impl<T: Number> Scratch<T> {
    pub(crate) fn new(numbers: usize) -> Self {
        let wanted = (numbers * size_of::<T>()).div_ceil(size_of::<Line>());
        let mut lines = FREE.with_borrow_mut(Vec::pop).unwrap_or(Lines::none());
        if lines.count < wanted {
            // What is too small goes before its successor comes.
            drop(std::mem::replace(&mut lines, Lines::none()));
            lines = Lines::new(wanted);
        }
        Self {
            lines,
            numbers,
            of: PhantomData,
        }
    }

    pub(crate) fn numbers(&mut self) -> &mut [T] {
        // SAFETY: the lines are initialised, aligned to 64 bytes and hold at least `numbers` numbers, which are plain data.
        unsafe {
            std::slice::from_raw_parts_mut(self.lines.start.as_ptr().cast::<T>(), self.numbers)
        }
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        // A thread that is going away needs no scratch.
        let lines = std::mem::replace(&mut self.lines, Lines::none());
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
