//! Vector registers: one kernel source, compiled for each instruction set and chosen at run time.
//!
//! A kernel is a [`Task`]: a value with a `run` generic over the register type. [`Number::vectorised`] runs it with the
//! registers of [`instructions`]. Every lane does the same operations in the same order, so results do not depend on where
//! in a register an element happens to lie.

#![expect(
    unsafe_code,
    reason = "vector instructions and pointers into packed operands"
)]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

mod instructions;
mod lanes;
mod vector_loop;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_windows;

#[cfg(test)]
pub(crate) use instructions::with_instructions;
pub use instructions::{Instructions, instructions, requested_instructions};
pub use lanes::{LANES, LaneLoop, Lanes, Register, by_lanes, sum_of_lanes};
pub use vector_loop::{VectorLoop, sum_of_pairs, vectorised};

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Mul};

use super::real::Real;

/// A register of [`Vector::LANES`] numbers, 64 bytes of them.
pub(crate) trait Vector: Copy {
    type Number: Number;
    const LANES: usize = Self::Number::LANES;
    /// Whether there are too few registers for more than four sums at a time.
    const FEW: bool;

    fn splat(value: Self::Number) -> Self;

    /// # Safety
    /// `from` must be valid for reading `LANES` numbers.
    unsafe fn load(from: *const Self::Number) -> Self;

    /// # Safety
    /// `to` must be valid for writing `LANES` numbers.
    unsafe fn store(self, to: *mut Self::Number);

    /// Transposes a square of `LANES` by `LANES` numbers: number `i` of the row at `from + from_rows[j]` becomes number `j` of
    /// the row at `to + to_rows[i]`.
    ///
    /// # Safety
    /// Both tables must have `LANES` entries, and each row must be valid for `LANES` numbers.
    #[inline(always)]
    unsafe fn transpose(
        from: *const Self::Number,
        from_rows: &[usize],
        to: *mut Self::Number,
        to_rows: &[usize],
    ) {
        for (column, &from_row) in from_rows[..Self::LANES].iter().enumerate() {
            for (row, &to_row) in to_rows[..Self::LANES].iter().enumerate() {
                // SAFETY: the caller vouches for the rows, and both counters are below `LANES`.
                unsafe { *to.add(to_row + column) = *from.add(from_row + row) };
            }
        }
    }

    /// Of windows of two by two pixels that cover two lines, one after the other in `lines`, whose first pixel has the index `corner`:
    /// writes the index of each window's maximum, ties to the lower one. Does nothing and returns `false` where registers have no quick
    /// way; the same of the next two.
    #[inline(always)]
    fn find_windows(_lines: &[Self::Number], _corner: i32, _found: &mut [i32]) -> bool {
        false
    }

    /// Writes the number of each window at its index, or zero where the index lies elsewhere.
    #[inline(always)]
    fn gather_windows(
        _lines: &[Self::Number],
        _corner: i32,
        _indices: &[i32],
        _gathered: &mut [Self::Number],
    ) -> bool {
        false
    }

    /// Writes lines that are zero but for the number of each window at its index.
    #[inline(always)]
    fn scatter_windows(
        _lines: &mut [Self::Number],
        _corner: i32,
        _indices: &[i32],
        _numbers: &[Self::Number],
    ) -> bool {
        false
    }

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    /// The numbers without their signs.
    fn abs(self) -> Self;
    /// `then` where `self > than`, else `otherwise`.
    fn if_greater(self, than: Self, then: Self, otherwise: Self) -> Self;
    /// `self * by + plus`.
    fn mul_add(self, by: Self, plus: Self) -> Self;
    /// `self` where `decider` is positive, else zero.
    fn gated(self, decider: Self) -> Self;

    /// Eight numbers as numbers of this type.
    ///
    /// # Safety
    /// Both must be valid for eight numbers.
    #[inline(always)]
    unsafe fn narrow(from: *const f64, to: *mut Self::Number)
    where
        Self::Number: Real,
    {
        for lane in 0..LANES {
            // SAFETY: the caller vouches for them.
            unsafe { *to.add(lane) = Self::Number::from_f64(*from.add(lane)) };
        }
    }

    /// Eight numbers of this type as they are.
    ///
    /// # Safety
    /// Both must be valid for eight numbers.
    #[inline(always)]
    unsafe fn widen(from: *const Self::Number, to: *mut f64)
    where
        Self::Number: Real,
    {
        for lane in 0..LANES {
            // SAFETY: the caller vouches for them.
            unsafe { *to.add(lane) = (*from.add(lane)).to_f64() };
        }
    }
}

/// A kernel, written once for every register type. Implementations mark `run` as `#[inline(always)]`, so that it is
/// compiled with the features of its caller.
pub(crate) trait Task<T> {
    fn run<V: Vector<Number = T>>(self);
}

/// `f32` or `f64`.
pub(crate) trait Number:
    Copy
    + Default
    + Debug
    + Send
    + Sync
    + PartialOrd
    + AddAssign
    + Add<Output = Self>
    + Mul<Output = Self>
    + 'static
{
    /// How many fill 64 bytes.
    const LANES: usize;

    /// Runs `task` with the registers of [`instructions`].
    fn vectorised(task: impl Task<Self>);
}

/// Registers as arrays, for processors without AVX2; the compiler maps them to what there is.
#[derive(Clone, Copy)]
struct Portable<T, const LANES: usize, const FUSED: bool>([T; LANES]);

macro_rules! portable {
    ($number:ty, $lanes:literal) => {
        impl<const FUSED: bool> Vector for Portable<$number, $lanes, FUSED> {
            type Number = $number;
            const FEW: bool = true;

            #[inline(always)]
            fn splat(value: $number) -> Self {
                Self([value; $lanes])
            }

            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: the caller vouches for `LANES` readable numbers.
                Self(unsafe { from.cast::<[$number; $lanes]>().read_unaligned() })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: the caller vouches for `LANES` writable numbers.
                unsafe { to.cast::<[$number; $lanes]>().write_unaligned(self.0) }
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(std::array::from_fn(|lane| self.0[lane] + other.0[lane]))
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self(std::array::from_fn(|lane| self.0[lane] - other.0[lane]))
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self(std::array::from_fn(|lane| self.0[lane] * other.0[lane]))
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                Self(std::array::from_fn(|lane| self.0[lane] / other.0[lane]))
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(std::array::from_fn(|lane| self.0[lane].sqrt()))
            }

            #[inline(always)]
            fn abs(self) -> Self {
                Self(std::array::from_fn(|lane| self.0[lane].abs()))
            }

            #[inline(always)]
            fn if_greater(self, than: Self, then: Self, otherwise: Self) -> Self {
                Self(std::array::from_fn(|lane| {
                    if self.0[lane] > than.0[lane] {
                        then.0[lane]
                    } else {
                        otherwise.0[lane]
                    }
                }))
            }

            #[inline(always)]
            fn mul_add(self, by: Self, plus: Self) -> Self {
                Self(std::array::from_fn(|lane| {
                    if FUSED {
                        self.0[lane].mul_add(by.0[lane], plus.0[lane])
                    } else {
                        self.0[lane] * by.0[lane] + plus.0[lane]
                    }
                }))
            }

            #[inline(always)]
            fn gated(self, decider: Self) -> Self {
                Self(std::array::from_fn(|lane| {
                    if decider.0[lane] > 0.0 {
                        self.0[lane]
                    } else {
                        0.0
                    }
                }))
            }
        }
    };
}

portable!(f32, 16);
portable!(f64, 8);

/// Whether the registers of [`Instructions::Portable`] round a product before they add to it. Where the processor has no
/// fused instruction, emulating one takes longer than all the rest.
const PORTABLE_FUSED: bool = cfg!(target_arch = "aarch64");

macro_rules! number {
    ($number:ty, $lanes:literal, $avx512:ident, $avx2:ident) => {
        impl Number for $number {
            const LANES: usize = $lanes;

            fn vectorised(task: impl Task<Self>) {
                match instructions() {
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: these are chosen only where the processor has the features the function is compiled for.
                    Instructions::Avx512 => unsafe { x86::$avx512(task) },
                    #[cfg(target_arch = "x86_64")]
                    // SAFETY: as above.
                    Instructions::Avx2 => unsafe { x86::$avx2(task) },
                    Instructions::Portable => {
                        task.run::<Portable<$number, $lanes, PORTABLE_FUSED>>();
                    }
                    #[cfg(test)]
                    Instructions::PortableFused => task.run::<Portable<$number, $lanes, true>>(),
                }
            }
        }
    };
}

number!(f32, 16, avx512_f32, avx2_f32);
number!(f64, 8, avx512_f64, avx2_f64);
