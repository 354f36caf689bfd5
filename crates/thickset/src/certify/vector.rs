//! Sums of products, in one fixed order.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

/// Partial sums kept side by side, so that the compiler can use wide registers.
const LANES: usize = 8;

/// `<a, b>`.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for place in 0..a.len().min(b.len()) {
        let (a, b) = (&a[place], &b[place]);
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let mut rest = 0.0;
    for place in 0..a_rest.len().min(b_rest.len()) {
        rest += a_rest[place] * b_rest[place];
    }
    let even = (sums[0] + sums[4]) + (sums[2] + sums[6]);
    let odd = (sums[1] + sums[5]) + (sums[3] + sums[7]);
    even + odd + rest
}

/// `y += factor x`.
#[inline(always)]
pub(crate) fn add_scaled(y: &mut [f64], factor: f64, x: &[f64]) {
    let count = y.len().min(x.len());
    // So that no place is checked in the loop.
    let (y, x) = (&mut y[..count], &x[..count]);
    for place in 0..count {
        y[place] += factor * x[place];
    }
}

/// The sum of absolute values.
#[inline]
pub(super) fn absolute_sum(a: &[f64]) -> f64 {
    a.iter().map(|value| value.abs()).sum()
}

/// The Euclidean length.
#[inline]
pub(super) fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The smaller of two numbers that are both numbers.
#[inline(always)]
pub(super) fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The sum of so many terms.
#[inline(always)]
pub(super) fn sum_of(count: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; 4];
    let whole = count - count % sums.len();
    for start in (0..whole).step_by(sums.len()) {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += term(start + lane);
        }
    }
    let rest: f64 = (whole..count).map(term).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 4 and so on, whose sums tell which were added up.
    fn powers(count: u32) -> Vec<f64> {
        (0..count).map(|power| f64::from(1_u32 << power)).collect()
    }

    #[test]
    fn sums_take_every_term_once_however_many_there_are() {
        for count in 0..20 {
            let (all, ones) = (powers(count), vec![1.0; count as usize]);
            let expected = f64::from((1_u32 << count) - 1);
            assert_eq!(vec![dot(&all, &ones)], [expected], "{count}");
            let sum = sum_of(all.len(), |place| all[place]);
            assert_eq!(vec![sum], [expected], "{count}");
            let negative: Vec<f64> = all.iter().map(|value| -value).collect();
            assert_eq!(vec![absolute_sum(&negative)], [expected], "{count}");
            assert_eq!(vec![dot(&negative, &ones)], [-expected], "{count}");
        }
        let threes = [3.0; 11];
        assert_eq!(vec![dot(&threes, &threes)], [99.0]);
        assert_eq!(vec![length(&[3.0, -4.0])], [5.0]);
    }

    #[test]
    fn a_multiple_is_added_place_by_place_and_the_lesser_of_two_is_the_smaller() {
        let mut sum = vec![1.0, 2.0];
        add_scaled(&mut sum, 3.0, &[10.0, -5.0]);
        assert_eq!(sum, [31.0, -13.0]);
        assert_eq!(
            vec![lesser(1.0, 2.0), lesser(2.0, 1.0), lesser(-3.0, -3.0)],
            [1.0, 1.0, -3.0]
        );
    }
}
