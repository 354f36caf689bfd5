//! The transforms of F(4x4, 3x3): polynomials at the points 0, A, -A, B, -B and infinity.
//!
//! With a, b the squares of A, B, the matrices are those of Toom and Cook:
//!
//! - `B'` takes six inputs to the points: rows `[ab, 0, -(a+b), 0, 1, 0]`, `[0, -bA, -b, A, 1, 0]` and its mirror images,
//!   `[0, ab, 0, -(a+b), 0, 1]`.
//! - `G` takes three weights to the points: rows `[1, p, p^2]` over the product of p's differences to the other points.
//! - `A'` takes the points to four outputs: columns `[1, p, p^2, p^3]`.
//!
//! The usual points 1 and 2 give errors of 3e-6 of the largest output (128 channels, uniform numbers); these, at the same
//! cost, 1e-6. All constants but those of `G` are exact.

#![expect(unsafe_code, reason = "vector loads and stores through pointers")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use crate::kernel::simd::Vector;

/// Side of an output tile, and of the input tile it needs.
pub(crate) const OUT: usize = 4;
pub(crate) const IN: usize = 6;

/// Frequencies of a tile.
pub(crate) const FREQUENCIES: usize = IN * IN;

const A: f32 = 0.75;
const B: f32 = 1.5;
const AA: f32 = A * A;
const BB: f32 = B * B;

/// What `G`'s rows are divided by.
const SCALE_0: f32 = 1.0 / (AA * BB);
const SCALE_A: f32 = 1.0 / (2.0 * AA * (AA - BB));
const SCALE_B: f32 = 1.0 / (2.0 * BB * (BB - AA));

/// A matrix applied to a column. A trait and no closure, so that it is compiled for its caller's instruction set.
pub(crate) trait Matrix<const FROM: usize, const TO: usize> {
    fn apply<V: Vector<Number = f32>>(column: [V; FROM]) -> [V; TO];
}

/// `M s M'`: the matrix applied to the columns, then to the rows.
#[inline(always)]
pub(crate) fn square<M, V, const FROM: usize, const TO: usize>(
    s: &[[V; FROM]; FROM],
) -> [[V; TO]; TO]
where
    M: Matrix<FROM, TO>,
    V: Vector<Number = f32>,
{
    let mut half = [[V::splat(0.0); FROM]; TO];
    for j in 0..FROM {
        let mut column = [V::splat(0.0); FROM];
        for i in 0..FROM {
            column[i] = s[i][j];
        }
        let mapped = M::apply(column);
        for i in 0..TO {
            half[i][j] = mapped[i];
        }
    }
    let mut whole = [[V::splat(0.0); TO]; TO];
    for i in 0..TO {
        whole[i] = M::apply(half[i]);
    }
    whole
}

/// Loads a square of registers whose rows and columns lie `row` and `column` numbers apart.
///
/// # Safety
/// Each register must be readable.
#[inline(always)]
pub(crate) unsafe fn load<V: Vector<Number = f32>, const SIDE: usize>(
    from: *const f32,
    row: usize,
    column: usize,
) -> [[V; SIDE]; SIDE] {
    let mut square = [[V::splat(0.0); SIDE]; SIDE];
    for (i, line) in square.iter_mut().enumerate() {
        for (j, register) in line.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *register = unsafe { V::load(from.add(i * row + j * column)) };
        }
    }
    square
}

/// Stores a square of registers, rows and columns `row` and `column` numbers apart.
///
/// # Safety
/// Each register must be writable.
#[inline(always)]
pub(crate) unsafe fn store<V: Vector<Number = f32>, const SIDE: usize>(
    square: &[[V; SIDE]; SIDE],
    to: *mut f32,
    row: usize,
    column: usize,
) {
    for (i, line) in square.iter().enumerate() {
        for (j, register) in line.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { register.store(to.add(i * row + j * column)) };
        }
    }
}

/// `B'`: a column of an input tile at the six points.
pub(crate) struct InputPoints;

impl Matrix<6, 6> for InputPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(d: [V; 6]) -> [V; 6] {
        let (product, sum) = (V::splat(AA * BB), V::splat(-(AA + BB)));
        let even_a = d[2].mul_add(V::splat(-BB), d[4]);
        let even_b = d[2].mul_add(V::splat(-AA), d[4]);
        let odd_a = d[1].mul_add(V::splat(-BB), d[3]);
        let odd_b = d[1].mul_add(V::splat(-AA), d[3]);
        [
            d[0].mul_add(product, d[2].mul_add(sum, d[4])),
            odd_a.mul_add(V::splat(A), even_a),
            odd_a.mul_add(V::splat(-A), even_a),
            odd_b.mul_add(V::splat(B), even_b),
            odd_b.mul_add(V::splat(-B), even_b),
            d[1].mul_add(product, d[3].mul_add(sum, d[5])),
        ]
    }
}

/// `G`: a column of weights at the six points.
pub(crate) struct WeightPoints;

impl Matrix<3, 6> for WeightPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(w: [V; 3]) -> [V; 6] {
        let even_a = w[0].mul_add(V::splat(SCALE_A), w[2].mul(V::splat(AA * SCALE_A)));
        let even_b = w[0].mul_add(V::splat(SCALE_B), w[2].mul(V::splat(BB * SCALE_B)));
        let odd_a = w[1].mul(V::splat(A * SCALE_A));
        let odd_b = w[1].mul(V::splat(B * SCALE_B));
        [
            w[0].mul(V::splat(SCALE_0)),
            even_a.add(odd_a),
            even_a.sub(odd_a),
            even_b.add(odd_b),
            even_b.sub(odd_b),
            w[2],
        ]
    }
}

/// `A'`: a column of an output tile from its values at the six points.
pub(crate) struct OutputFromPoints;

impl Matrix<6, 4> for OutputFromPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(m: [V; 6]) -> [V; 4] {
        let (sum_a, difference_a) = (m[1].add(m[2]), m[1].sub(m[2]));
        let (sum_b, difference_b) = (m[3].add(m[4]), m[3].sub(m[4]));
        let third = difference_b.mul_add(V::splat(B * BB), m[5]);
        [
            m[0].add(sum_a).add(sum_b),
            difference_a.mul_add(V::splat(A), difference_b.mul(V::splat(B))),
            sum_a.mul_add(V::splat(AA), sum_b.mul(V::splat(BB))),
            difference_a.mul_add(V::splat(A * AA), third),
        ]
    }
}

/// `A`: a column of an output tile's gradient at the six points.
pub(crate) struct GradientPoints;

impl Matrix<4, 6> for GradientPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(g: [V; 4]) -> [V; 6] {
        let even_a = g[2].mul_add(V::splat(AA), g[0]);
        let even_b = g[2].mul_add(V::splat(BB), g[0]);
        let odd_a = g[3].mul_add(V::splat(A * AA), g[1].mul(V::splat(A)));
        let odd_b = g[3].mul_add(V::splat(B * BB), g[1].mul(V::splat(B)));
        [
            g[0],
            even_a.add(odd_a),
            even_a.sub(odd_a),
            even_b.add(odd_b),
            even_b.sub(odd_b),
            g[3],
        ]
    }
}

/// `G'`: a column of the weights' gradient from its values at the six points.
pub(crate) struct TapsFromPoints;

impl Matrix<6, 3> for TapsFromPoints {
    #[inline(always)]
    fn apply<V: Vector<Number = f32>>(m: [V; 6]) -> [V; 3] {
        let (sum_a, difference_a) = (m[1].add(m[2]), m[1].sub(m[2]));
        let (sum_b, difference_b) = (m[3].add(m[4]), m[3].sub(m[4]));
        let first = sum_a.mul_add(V::splat(SCALE_A), sum_b.mul(V::splat(SCALE_B)));
        let third = sum_b.mul_add(V::splat(BB * SCALE_B), m[5]);
        [
            m[0].mul_add(V::splat(SCALE_0), first),
            difference_a.mul_add(
                V::splat(A * SCALE_A),
                difference_b.mul(V::splat(B * SCALE_B)),
            ),
            sum_a.mul_add(V::splat(AA * SCALE_A), third),
        ]
    }
}
