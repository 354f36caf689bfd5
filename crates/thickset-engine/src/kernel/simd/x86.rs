//! The registers of x86 processors: AVX-512, and two of AVX2 as one.

use std::arch::x86_64 as arch;

use super::{Task, Vector, x86_windows as windows};

macro_rules! wide {
    ($name:ident, $register:ident, $number:ty, $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $abs:ident, $blend:ident, $mul_add:ident, $compare:ident, $kept:ident $(, $transpose:ident, $narrow:ident, $widen:ident)?) => {
        /// An AVX-512 register. Private to this module, which makes one only where the processor is known to have them.
        #[derive(Clone, Copy)]
        struct $name(arch::$register);

        impl Vector for $name {
            type Number = $number;
            const FEW: bool = false;

            #[inline(always)]
            fn splat(value: $number) -> Self {
                // SAFETY: this type is used behind a check for AVX-512 only, here and below.
                Self(unsafe { arch::$splat(value) })
            }

            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: as above; the caller vouches for the pointer.
                Self(unsafe { arch::$load(from) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: as above; the caller vouches for the pointer.
                unsafe { arch::$store(to, self.0) }
            }

            $(
                #[inline(always)]
                unsafe fn transpose(
                    from: *const $number,
                    from_rows: &[usize],
                    to: *mut $number,
                    to_rows: &[usize],
                ) {
                    // SAFETY: as in `splat`; the caller vouches for the rows.
                    unsafe { $transpose(from, from_rows, to, to_rows) }
                }

                #[inline(always)]
                unsafe fn narrow(from: *const f64, to: *mut $number) {
                    // SAFETY: as in `splat`; the caller vouches for the numbers.
                    unsafe { $narrow(from, to) }
                }

                #[inline(always)]
                unsafe fn widen(from: *const $number, to: *mut f64) {
                    // SAFETY: as in `splat`; the caller vouches for the numbers.
                    unsafe { $widen(from, to) }
                }

                #[inline(always)]
                fn find_windows(lines: &[$number], corner: i32, found: &mut [i32]) -> bool {
                    // SAFETY: as in `splat`.
                    unsafe { windows::find(lines, corner, found) }
                    true
                }

                #[inline(always)]
                fn gather_windows(
                    lines: &[$number],
                    corner: i32,
                    indices: &[i32],
                    gathered: &mut [$number],
                ) -> bool {
                    // SAFETY: as in `splat`.
                    unsafe { windows::gather(lines, corner, indices, gathered) }
                    true
                }

                #[inline(always)]
                fn scatter_windows(
                    lines: &mut [$number],
                    corner: i32,
                    indices: &[i32],
                    numbers: &[$number],
                ) -> bool {
                    // SAFETY: as in `splat`.
                    unsafe { windows::scatter(lines, corner, indices, numbers) }
                    true
                }
            )?

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { arch::$add(self.0, other.0) })
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { arch::$sub(self.0, other.0) })
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { arch::$mul(self.0, other.0) })
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { arch::$div(self.0, other.0) })
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { arch::$sqrt(self.0) })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { arch::$abs(self.0) })
            }

            #[inline(always)]
            fn if_greater(self, than: Self, then: Self, otherwise: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe {
                    let is_greater = arch::$compare::<{ arch::_CMP_GT_OQ }>(self.0, than.0);
                    arch::$blend(is_greater, otherwise.0, then.0)
                })
            }

            #[inline(always)]
            fn mul_add(self, by: Self, plus: Self) -> Self {
                // SAFETY: as in `splat`.
                Self(unsafe { arch::$mul_add(self.0, by.0, plus.0) })
            }

            #[inline(always)]
            fn gated(self, decider: Self) -> Self {
                let zero = Self::splat(0.0);
                // SAFETY: as in `splat`.
                Self(unsafe {
                    let open = arch::$compare::<{ arch::_CMP_GT_OQ }>(decider.0, zero.0);
                    arch::$kept(open, self.0)
                })
            }
        }
    };
}

/// Transposes sixteen registers: pairs, then pairs of pairs, then quarters of a register.
#[inline(always)]
unsafe fn transpose_f32(from: *const f32, from_rows: &[usize], to: *mut f32, to_rows: &[usize]) {
    let (from_rows, to_rows) = (&from_rows[..16], &to_rows[..16]);
    // SAFETY: the caller vouches for AVX-512 and for the rows.
    unsafe {
        let zero = arch::_mm512_setzero_ps();
        let (mut a, mut b) = ([zero; 16], [zero; 16]);
        for i in 0..16 {
            a[i] = arch::_mm512_loadu_ps(from.add(from_rows[i]));
        }
        for i in 0..8 {
            b[2 * i] = arch::_mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
            b[2 * i + 1] = arch::_mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
        }
        for i in 0..4 {
            for half in 0..2 {
                let low = arch::_mm512_castps_pd(b[4 * i + half]);
                let high = arch::_mm512_castps_pd(b[4 * i + half + 2]);
                a[4 * i + 2 * half] = arch::_mm512_castpd_ps(arch::_mm512_unpacklo_pd(low, high));
                a[4 * i + 2 * half + 1] =
                    arch::_mm512_castpd_ps(arch::_mm512_unpackhi_pd(low, high));
            }
        }
        for i in 0..4 {
            let even = arch::_mm512_shuffle_f32x4::<0x88>(a[i], a[4 + i]);
            let even_below = arch::_mm512_shuffle_f32x4::<0x88>(a[8 + i], a[12 + i]);
            let odd = arch::_mm512_shuffle_f32x4::<0xdd>(a[i], a[4 + i]);
            let odd_below = arch::_mm512_shuffle_f32x4::<0xdd>(a[8 + i], a[12 + i]);
            b[i] = arch::_mm512_shuffle_f32x4::<0x88>(even, even_below);
            b[8 + i] = arch::_mm512_shuffle_f32x4::<0xdd>(even, even_below);
            b[4 + i] = arch::_mm512_shuffle_f32x4::<0x88>(odd, odd_below);
            b[12 + i] = arch::_mm512_shuffle_f32x4::<0xdd>(odd, odd_below);
        }
        for i in 0..16 {
            arch::_mm512_storeu_ps(to.add(to_rows[i]), b[i]);
        }
    }
}

/// Eight numbers, rounded.
#[inline(always)]
unsafe fn narrow_whole(from: *const f64, to: *mut f32) {
    // SAFETY: the caller vouches for AVX-512 and for the numbers.
    unsafe { arch::_mm256_storeu_ps(to, arch::_mm512_cvtpd_ps(arch::_mm512_loadu_pd(from))) }
}

/// Eight numbers, as they are.
#[inline(always)]
unsafe fn widen_whole(from: *const f32, to: *mut f64) {
    // SAFETY: as above.
    unsafe { arch::_mm512_storeu_pd(to, arch::_mm512_cvtps_pd(arch::_mm256_loadu_ps(from))) }
}

/// Eight numbers, rounded, four at a time.
#[inline(always)]
unsafe fn narrow_halves(from: *const f64, to: *mut f32) {
    for half in [0, 4] {
        // SAFETY: the caller vouches for AVX2 and for the numbers.
        unsafe {
            let four = arch::_mm256_cvtpd_ps(arch::_mm256_loadu_pd(from.add(half)));
            arch::_mm_storeu_ps(to.add(half), four);
        }
    }
}

/// Eight numbers, as they are, four at a time.
#[inline(always)]
unsafe fn widen_halves(from: *const f32, to: *mut f64) {
    for half in [0, 4] {
        // SAFETY: as above.
        unsafe {
            let four = arch::_mm256_cvtps_pd(arch::_mm_loadu_ps(from.add(half)));
            arch::_mm256_storeu_pd(to.add(half), four);
        }
    }
}

wide!(
    Wide32,
    __m512,
    f32,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_div_ps,
    _mm512_sqrt_ps,
    _mm512_abs_ps,
    _mm512_mask_blend_ps,
    _mm512_fmadd_ps,
    _mm512_cmp_ps_mask,
    _mm512_maskz_mov_ps,
    transpose_f32,
    narrow_whole,
    widen_whole
);
wide!(
    Wide64,
    __m512d,
    f64,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_div_pd,
    _mm512_sqrt_pd,
    _mm512_abs_pd,
    _mm512_mask_blend_pd,
    _mm512_fmadd_pd,
    _mm512_cmp_pd_mask,
    _mm512_maskz_mov_pd
);

/// Transposes a square of sixteen as four squares of eight, each in registers: pairs, then pairs of pairs, then halves.
#[inline(always)]
unsafe fn transpose_quarters(
    from: *const f32,
    from_rows: &[usize],
    to: *mut f32,
    to_rows: &[usize],
) {
    let (from_rows, to_rows) = (&from_rows[..16], &to_rows[..16]);
    // SAFETY: the caller vouches for AVX2 and for the rows.
    unsafe {
        for top in [0, 8] {
            for left in [0, 8] {
                let zero = arch::_mm256_setzero_ps();
                let (mut a, mut b) = ([zero; 8], [zero; 8]);
                for i in 0..8 {
                    a[i] = arch::_mm256_loadu_ps(from.add(from_rows[top + i] + left));
                }
                for i in 0..4 {
                    b[2 * i] = arch::_mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]);
                    b[2 * i + 1] = arch::_mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]);
                }
                for i in 0..2 {
                    for half in 0..2 {
                        let (low, high) = (b[4 * i + half], b[4 * i + half + 2]);
                        a[4 * i + 2 * half] = arch::_mm256_shuffle_ps::<0x44>(low, high);
                        a[4 * i + 2 * half + 1] = arch::_mm256_shuffle_ps::<0xee>(low, high);
                    }
                }
                for i in 0..4 {
                    b[i] = arch::_mm256_permute2f128_ps::<0x20>(a[i], a[4 + i]);
                    b[4 + i] = arch::_mm256_permute2f128_ps::<0x31>(a[i], a[4 + i]);
                }
                for i in 0..8 {
                    arch::_mm256_storeu_ps(to.add(to_rows[left + i] + top), b[i]);
                }
            }
        }
    }
}

macro_rules! halves {
    ($name:ident, $register:ident, $number:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $sqrt:ident, $and_not:ident, $blend:ident, $mul_add:ident, $compare:ident, $and:ident $(, $transpose:ident, $narrow:ident, $widen:ident)?) => {
        /// Two AVX2 registers as one. Private to this module, which makes one only where the processor is known to have them.
        #[derive(Clone, Copy)]
        struct $name([arch::$register; 2]);

        impl Vector for $name {
            type Number = $number;
            const FEW: bool = true;

            #[inline(always)]
            fn splat(value: $number) -> Self {
                // SAFETY: this type is used behind a check for AVX2 and FMA only, here and below.
                Self([unsafe { arch::$splat(value) }; 2])
            }

            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: as above; the caller vouches for the pointer.
                Self(unsafe { [arch::$load(from), arch::$load(from.add($lanes))] })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: as above; the caller vouches for the pointer.
                unsafe {
                    arch::$store(to, self.0[0]);
                    arch::$store(to.add($lanes), self.0[1]);
                }
            }

            $(
                #[inline(always)]
                unsafe fn transpose(
                    from: *const $number,
                    from_rows: &[usize],
                    to: *mut $number,
                    to_rows: &[usize],
                ) {
                    // SAFETY: as in `splat`; the caller vouches for the rows.
                    unsafe { $transpose(from, from_rows, to, to_rows) }
                }

                #[inline(always)]
                unsafe fn narrow(from: *const f64, to: *mut $number) {
                    // SAFETY: as in `splat`; the caller vouches for the numbers.
                    unsafe { $narrow(from, to) }
                }

                #[inline(always)]
                unsafe fn widen(from: *const $number, to: *mut f64) {
                    // SAFETY: as in `splat`; the caller vouches for the numbers.
                    unsafe { $widen(from, to) }
                }
            )?

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                // SAFETY: as in `splat`.
                Self(unsafe { [arch::$add(a, c), arch::$add(b, d)] })
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                // SAFETY: as in `splat`.
                Self(unsafe { [arch::$sub(a, c), arch::$sub(b, d)] })
            }

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                // SAFETY: as in `splat`.
                Self(unsafe { [arch::$mul(a, c), arch::$mul(b, d)] })
            }

            #[inline(always)]
            fn div(self, other: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, other.0);
                // SAFETY: as in `splat`.
                Self(unsafe { [arch::$div(a, c), arch::$div(b, d)] })
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                let [a, b] = self.0;
                // SAFETY: as in `splat`.
                Self(unsafe { [arch::$sqrt(a), arch::$sqrt(b)] })
            }

            #[inline(always)]
            fn abs(self) -> Self {
                let ([a, b], [sign, _]) = (self.0, Self::splat(-0.0).0);
                // SAFETY: as in `splat`.
                Self(unsafe { [arch::$and_not(sign, a), arch::$and_not(sign, b)] })
            }

            #[inline(always)]
            fn if_greater(self, than: Self, then: Self, otherwise: Self) -> Self {
                let ([a, b], [c, d]) = (self.0, than.0);
                let ([e, f], [g, h]) = (then.0, otherwise.0);
                // SAFETY: as in `splat`.
                Self(unsafe {
                    [
                        arch::$blend(g, e, arch::$compare::<{ arch::_CMP_GT_OQ }>(a, c)),
                        arch::$blend(h, f, arch::$compare::<{ arch::_CMP_GT_OQ }>(b, d)),
                    ]
                })
            }

            #[inline(always)]
            fn mul_add(self, by: Self, plus: Self) -> Self {
                let ([a, b], [c, d], [e, f]) = (self.0, by.0, plus.0);
                // SAFETY: as in `splat`.
                Self(unsafe { [arch::$mul_add(a, c, e), arch::$mul_add(b, d, f)] })
            }

            #[inline(always)]
            fn gated(self, decider: Self) -> Self {
                let ([a, b], [c, d], [zero, _]) = (self.0, decider.0, Self::splat(0.0).0);
                // SAFETY: as in `splat`.
                Self(unsafe {
                    [
                        arch::$and(a, arch::$compare::<{ arch::_CMP_GT_OQ }>(c, zero)),
                        arch::$and(b, arch::$compare::<{ arch::_CMP_GT_OQ }>(d, zero)),
                    ]
                })
            }
        }
    };
}

halves!(
    Halves32,
    __m256,
    f32,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_div_ps,
    _mm256_sqrt_ps,
    _mm256_andnot_ps,
    _mm256_blendv_ps,
    _mm256_fmadd_ps,
    _mm256_cmp_ps,
    _mm256_and_ps,
    transpose_quarters,
    narrow_halves,
    widen_halves
);
halves!(
    Halves64,
    __m256d,
    f64,
    4,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_sqrt_pd,
    _mm256_andnot_pd,
    _mm256_blendv_pd,
    _mm256_fmadd_pd,
    _mm256_cmp_pd,
    _mm256_and_pd
);

macro_rules! runners {
    ($avx512:ident, $avx2:ident, $number:ty, $wide:ident, $halves:ident) => {
        #[target_feature(enable = "avx512f,avx2,fma")]
        pub(super) fn $avx512<K: Task<$number>>(task: K) {
            task.run::<$wide>();
        }

        #[target_feature(enable = "avx2,fma")]
        pub(super) fn $avx2<K: Task<$number>>(task: K) {
            task.run::<$halves>();
        }
    };
}

runners!(avx512_f32, avx2_f32, f32, Wide32, Halves32);
runners!(avx512_f64, avx2_f64, f64, Wide64, Halves64);
