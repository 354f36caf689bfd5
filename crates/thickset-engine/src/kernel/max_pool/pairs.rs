//! Two lines of pixels and the windows of two by two on them, some windows at a time; the last ones overlap with those before.

use crate::kernel::simd::Number;

/// How many windows go at a time, where there are as many.
pub(super) const MANY: usize = 8;
/// And where there are fewer.
pub(super) const FEW: usize = 4;

/// How far into its two lines the index of a window's maximum is, from its upper left pixel; lanes of windows.
#[inline(always)]
fn offsets<const N: usize>(indices: &[i32; N], corner: i32, start: usize) -> [i32; N] {
    let mut offsets = [0; N];
    let mut at = corner + super::index(2 * start);
    for (offset, &index) in offsets.iter_mut().zip(indices) {
        *offset = index.wrapping_sub(at);
        at += 2;
    }
    offsets
}

/// Finds where each window's maximum is; `corner` is the index of the first pixel.
#[inline(always)]
pub(super) fn find<T: Number, const N: usize>(
    (above, below): (&[T], &[T]),
    corner: i32,
    found: &mut [i32],
) {
    let (count, down) = (found.len(), super::index(above.len()));
    for start in (0..count).step_by(N) {
        let start = start.min(count - N);
        let pixels = 2 * start..2 * (start + N);
        let (above, below) = (&above[pixels.clone()], &below[pixels]);
        let mut places = [0; N];
        let mut at = corner + super::index(2 * start);
        for i in 0..N {
            let (mut best, mut place) = (above[2 * i], at);
            for (value, candidate) in [
                (above[2 * i + 1], at + 1),
                (below[2 * i], at + down),
                (below[2 * i + 1], at + down + 1),
            ] {
                let higher = value > best;
                best = if higher { value } else { best };
                place = if higher { candidate } else { place };
            }
            places[i] = place;
            at += 2;
        }
        found[start..start + N].copy_from_slice(&places);
    }
}

/// Gathers the number of each window at its index, or zero.
#[inline(always)]
pub(super) fn gather<T: Number, const N: usize>(
    (above, below): (&[T], &[T]),
    corner: i32,
    indices: &[i32],
    gathered: &mut [T],
) {
    let (count, down) = (gathered.len(), super::index(above.len()));
    for start in (0..count).step_by(N) {
        let start = start.min(count - N);
        let pixels = 2 * start..2 * (start + N);
        let (above, below) = (&above[pixels.clone()], &below[pixels]);
        let Some(indices) = indices[start..].first_chunk::<N>() else {
            return;
        };
        let offsets = offsets(indices, corner, start);
        let mut values = [T::default(); N];
        for i in 0..N {
            let mut value = T::default();
            for (pixel, offset) in [
                (above[2 * i], 0),
                (above[2 * i + 1], 1),
                (below[2 * i], down),
                (below[2 * i + 1], down + 1),
            ] {
                value = if offsets[i] == offset { pixel } else { value };
            }
            values[i] = value;
        }
        gathered[start..start + N].copy_from_slice(&values);
    }
}
