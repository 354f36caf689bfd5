//! Windows of two by two pixels on two lines of an image, eight windows to an AVX-512 register.
//!
//! Of all these functions: only code that is compiled for AVX-512 may call them; the lines lie one after the other, both covered by the
//! windows; `corner` is the index of the first pixel.

#![expect(unsafe_code, reason = "masked loads and stores of registers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::arch::x86_64 as arch;

/// Windows of a register.
const WINDOWS: usize = 8;

/// The index of a pixel as registers have it. Shapes are checked, so all of them fit.
#[inline(always)]
fn index(at: usize) -> i32 {
    i32::try_from(at).unwrap_or(i32::MAX)
}

/// Some of a line's windows.
#[derive(Clone, Copy)]
struct Part {
    start: usize,
    /// Lanes of the windows, and of their pixels on one line.
    windows: u16,
    pixels: u16,
}

/// A line's windows, eight at a time.
#[inline(always)]
fn parts(count: usize) -> impl Iterator<Item = Part> {
    (0..count).step_by(WINDOWS).map(move |start| {
        let windows = WINDOWS.min(count - start);
        Part {
            start,
            windows: u16::MAX >> (16 - windows),
            pixels: u16::MAX >> (16 - 2 * windows),
        }
    })
}

/// 0, 2, 4 and so on.
#[inline(always)]
unsafe fn evens() -> arch::__m512i {
    // SAFETY: the caller has AVX-512.
    unsafe { arch::_mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) }
}

/// How far from its window's first pixel each index is.
#[inline(always)]
unsafe fn offsets(indices: &[i32], part: Part, corner: i32) -> arch::__m512i {
    // SAFETY: the caller has AVX-512; lanes beyond the windows are not read.
    unsafe {
        let indices =
            arch::_mm512_maskz_loadu_epi32(part.windows, indices.as_ptr().add(part.start));
        let first = arch::_mm512_set1_epi32(corner + index(2 * part.start));
        arch::_mm512_sub_epi32(indices, arch::_mm512_add_epi32(first, evens()))
    }
}

/// Writes the index of each window's maximum; ties go to the lower one.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
pub(super) unsafe fn find(lines: &[f32], corner: i32, found: &mut [i32]) {
    let width = 2 * found.len();
    assert_eq!(lines.len(), 2 * width, "two lines");
    for part in parts(found.len()) {
        // SAFETY: the caller has AVX-512; the two lines and the windows have just been counted, and masks leave out what lies beyond.
        unsafe {
            let at = lines.as_ptr().add(2 * part.start);
            let above = arch::_mm512_maskz_loadu_ps(part.pixels, at);
            let below = arch::_mm512_maskz_loadu_ps(part.pixels, at.add(width));
            let odds = arch::_mm512_add_epi32(evens(), arch::_mm512_set1_epi32(1));
            // The first eight lanes are of the line above, the others of the one below.
            let left = arch::_mm512_permutex2var_ps(above, evens(), below);
            let right = arch::_mm512_permutex2var_ps(above, odds, below);
            let (mut best, mut place) = (left, arch::_mm512_setzero_si512());
            for (value, offset) in [
                (right, 1),
                (arch::_mm512_shuffle_f32x4::<0x4e>(left, left), width),
                (arch::_mm512_shuffle_f32x4::<0x4e>(right, right), width + 1),
            ] {
                let higher = arch::_mm512_cmp_ps_mask::<{ arch::_CMP_GT_OQ }>(value, best);
                best = arch::_mm512_mask_mov_ps(best, higher, value);
                let offset = arch::_mm512_set1_epi32(index(offset));
                place = arch::_mm512_mask_mov_epi32(place, higher, offset);
            }
            let first = arch::_mm512_set1_epi32(corner + index(2 * part.start));
            let place = arch::_mm512_add_epi32(place, arch::_mm512_add_epi32(first, evens()));
            let to = found.as_mut_ptr().add(part.start);
            arch::_mm512_mask_storeu_epi32(to, part.windows, place);
        }
    }
}

/// Writes the number of each window at its index, or zero.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
pub(super) unsafe fn gather(lines: &[f32], corner: i32, indices: &[i32], gathered: &mut [f32]) {
    let width = 2 * gathered.len();
    assert_eq!(lines.len(), 2 * width, "two lines");
    assert_eq!(indices.len(), gathered.len(), "an index a window");
    for part in parts(gathered.len()) {
        // SAFETY: as in `find`.
        unsafe {
            let at = lines.as_ptr().add(2 * part.start);
            let above = arch::_mm512_maskz_loadu_ps(part.pixels, at);
            let below = arch::_mm512_maskz_loadu_ps(part.pixels, at.add(width));
            let offsets = offsets(indices, part, corner);
            let from_below = arch::_mm512_sub_epi32(offsets, arch::_mm512_set1_epi32(index(width)));
            let two = arch::_mm512_set1_epi32(2);
            let is_above = arch::_mm512_cmplt_epu32_mask(offsets, two);
            let is_below = arch::_mm512_cmplt_epu32_mask(from_below, two);
            // Lanes from sixteen on are those of the line below.
            let from_below = arch::_mm512_add_epi32(from_below, arch::_mm512_set1_epi32(16));
            let lane = arch::_mm512_mask_mov_epi32(offsets, is_below, from_below);
            let lane = arch::_mm512_add_epi32(lane, evens());
            let values = arch::_mm512_permutex2var_ps(above, lane, below);
            let values = arch::_mm512_maskz_mov_ps(is_above | is_below, values);
            let to = gathered.as_mut_ptr().add(part.start);
            arch::_mm512_mask_storeu_ps(to, part.windows, values);
        }
    }
}

/// Writes lines that are zero but for the number of each window at its index.
///
/// # Safety
/// The processor must have AVX-512.
#[inline(always)]
pub(super) unsafe fn scatter(lines: &mut [f32], corner: i32, indices: &[i32], numbers: &[f32]) {
    let width = 2 * numbers.len();
    assert_eq!(lines.len(), 2 * width, "two lines");
    assert_eq!(indices.len(), numbers.len(), "an index a window");
    for part in parts(numbers.len()) {
        // SAFETY: as in `find`.
        unsafe {
            // Each lane twice, for its window's two pixels of a line.
            let twice = arch::_mm512_srli_epi32::<1>(arch::_mm512_setr_epi32(
                0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
            ));
            let offsets = arch::_mm512_permutexvar_epi32(twice, offsets(indices, part, corner));
            let numbers =
                arch::_mm512_maskz_loadu_ps(part.windows, numbers.as_ptr().add(part.start));
            let numbers = arch::_mm512_permutexvar_ps(twice, numbers);
            let here = arch::_mm512_set1_epi64(1 << 32);
            let below = arch::_mm512_add_epi32(here, arch::_mm512_set1_epi32(index(width)));
            let at = lines.as_mut_ptr().add(2 * part.start);
            for (to, here) in [(at, here), (at.add(width), below)] {
                let is_here = arch::_mm512_cmpeq_epi32_mask(offsets, here);
                let line = arch::_mm512_maskz_mov_ps(is_here, numbers);
                arch::_mm512_mask_storeu_ps(to, part.pixels, line);
            }
        }
    }
}
