//! The inner loop of every product: a tile of registers by broadcast numbers.
//!
//! Each element of a result is one chain of multiply-adds over the depth, in order, wherever in a tile it lies. So bits do
//! not depend on how a product is cut into tiles, nor on how many rows or threads there are.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use super::simd::Vector;

/// How the two operands are walked along the depth: `blocks` times `inner` steps.
#[derive(Clone, Copy)]
pub(crate) struct Walk {
    pub blocks: usize,
    pub inner: usize,
    /// From one register's lanes to the next register's, in the wide operand.
    pub wide_register: usize,
    /// From one step to the next, in the wide operand.
    pub wide_step: usize,
    /// From one step to the next within a block, in the narrow operand.
    pub narrow_step: usize,
    /// From one block to the next, in the narrow operand.
    pub narrow_block: usize,
}

/// Where a tile's results lie.
#[derive(Clone, Copy)]
pub(crate) struct Target<T> {
    pub to: *mut T,
    /// From one register's lanes to the next register's.
    pub register: usize,
    /// From one column to the next.
    pub column: usize,
}

/// The most registers and columns of one product.
pub(crate) const REGISTERS: usize = 2;
pub(crate) const MOST_COLUMNS: usize = 12;

/// How many of `left` columns the next product takes, 12, 8 or 4; the last may overhang, up to a multiple of four. Sixteen
/// go as twice eight, since four leave registers idle. Layouts rely on it, so it depends on nothing else.
pub(crate) fn columns(left: usize) -> usize {
    match left {
        0..=4 => 4,
        5..=11 | 13..=16 => 8,
        _ => MOST_COLUMNS,
    }
}

/// `target[r][j] (+)= sum over the walk of wide[r] * narrow[j]`, for `registers` in 1..=2 and `columns` in 4, 8 or 12. The
/// narrow operand's columns lie `COLUMN` numbers apart. Adds to the target if `keep`, else overwrites it.
///
/// # Safety
/// The walk must stay within both operands and the target must hold `registers` by `columns` registers.
#[inline(always)]
pub(crate) unsafe fn product<V: Vector, const COLUMN: usize>(
    registers: usize,
    columns: usize,
    walk: &Walk,
    wide: *const V::Number,
    narrow: *const V::Number,
    target: Target<V::Number>,
    keep: bool,
) {
    // SAFETY: the caller's promise is that of `tile`, for all of the columns and registers or some of them.
    unsafe {
        if V::FEW {
            for r in 0..registers {
                for j in (0..columns).step_by(4) {
                    let to = target.to.add(r * target.register + j * target.column);
                    let wide = wide.add(r * walk.wide_register);
                    let narrow = narrow.add(j * COLUMN);
                    tile::<V, 1, 4, COLUMN>(walk, wide, narrow, Target { to, ..target }, keep);
                }
            }
            return;
        }
        match (registers, columns) {
            (2, 12) => tile::<V, 2, 12, COLUMN>(walk, wide, narrow, target, keep),
            (2, 8) => tile::<V, 2, 8, COLUMN>(walk, wide, narrow, target, keep),
            (2, _) => tile::<V, 2, 4, COLUMN>(walk, wide, narrow, target, keep),
            (_, 12) => tile::<V, 1, 12, COLUMN>(walk, wide, narrow, target, keep),
            (_, 8) => tile::<V, 1, 8, COLUMN>(walk, wide, narrow, target, keep),
            (_, _) => tile::<V, 1, 4, COLUMN>(walk, wide, narrow, target, keep),
        }
    }
}

#[expect(
    clippy::needless_range_loop,
    reason = "plain counters keep the sums in registers"
)]
#[inline(always)]
unsafe fn tile<V: Vector, const REGISTERS: usize, const COLUMNS: usize, const COLUMN: usize>(
    walk: &Walk,
    mut wide: *const V::Number,
    mut narrow: *const V::Number,
    target: Target<V::Number>,
    keep: bool,
) {
    // SAFETY: the caller vouches for every address of the walk and of the target; pointers past the last step are computed
    // with `wrapping_add` and never read.
    unsafe {
        let mut sums = [[V::splat(V::Number::default()); COLUMNS]; REGISTERS];
        if keep {
            for (r, row) in sums.iter_mut().enumerate() {
                for (j, sum) in row.iter_mut().enumerate() {
                    *sum = V::load(target.to.add(r * target.register + j * target.column));
                }
            }
        }
        for _ in 0..walk.blocks {
            let mut step = narrow;
            for _ in 0..walk.inner {
                let mut lanes = [V::splat(V::Number::default()); REGISTERS];
                for (r, lane) in lanes.iter_mut().enumerate() {
                    *lane = V::load(wide.add(r * walk.wide_register));
                }
                for j in 0..COLUMNS {
                    let value = V::splat(*step.add(j * COLUMN));
                    for r in 0..REGISTERS {
                        sums[r][j] = lanes[r].mul_add(value, sums[r][j]);
                    }
                }
                wide = wide.wrapping_add(walk.wide_step);
                step = step.wrapping_add(walk.narrow_step);
            }
            narrow = narrow.wrapping_add(walk.narrow_block);
        }
        for (r, row) in sums.iter().enumerate() {
            for (j, sum) in row.iter().enumerate() {
                sum.store(target.to.add(r * target.register + j * target.column));
            }
        }
    }
}
