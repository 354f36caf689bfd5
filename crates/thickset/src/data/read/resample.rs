//! Scales one channel of an image: a target pixel is the mean of the source pixels around it, weighted by a triangle that is two target
//! pixels wide, or two source pixels where the image grows.

/// The channel at `size` (height, width), row by row, from `number(row, column)` of a source of size `from`.
pub(super) fn resampled(
    from: (usize, usize),
    size: (usize, usize),
    number: impl Fn(usize, usize) -> f32,
) -> Vec<f32> {
    let mut rows: Vec<f32> = Vec::with_capacity(size.0 * from.1);
    for target in 0..size.0 {
        let (first, weights) = triangle(target, from.0, size.0);
        rows.extend((0..from.1).map(|column| {
            let terms = weights.iter().enumerate();
            terms.fold(0.0, |sum, (step, weight)| {
                sum + number(first + step, column) * weight
            })
        }));
    }
    let columns: Vec<(usize, Vec<f32>)> = (0..size.1)
        .map(|target| triangle(target, from.1, size.1))
        .collect();
    let mut scaled = Vec::with_capacity(size.0 * size.1);
    for row in rows.chunks_exact(from.1) {
        scaled.extend(columns.iter().map(|(first, weights)| {
            let terms = row[*first..].iter().zip(weights);
            terms.fold(0.0, |sum, (number, weight)| sum + number * weight)
        }));
    }
    scaled
}

/// The source pixels that a target pixel is made of: the first of them, and the weights of it and those after it, which sum to 1.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sides have a few thousand pixels; bounds below 0 become 0"
)]
fn triangle(target: usize, from: usize, to: usize) -> (usize, Vec<f32>) {
    let ratio = from as f32 / to as f32;
    let reach = ratio.max(1.0);
    let centre = (target as f32 + 0.5) * ratio;
    let first = ((centre - reach).floor() as usize).min(from - 1);
    let end = ((centre + reach).ceil() as usize).clamp(first + 1, from);
    let weight = |source: usize| {
        let distance = ((source as f32 - (centre - 0.5)) / reach).abs();
        (1.0 - distance).max(0.0)
    };
    let mut weights: Vec<f32> = (first..end).map(weight).collect();
    let sum: f32 = weights.iter().sum();
    for weight in &mut weights {
        *weight /= sum;
    }
    (first, weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_size_weighs_four_pixels_by_one_and_three_eighths() {
        let source = [0.0_f32, 8.0, 16.0, 40.0, 80.0, 80.0];
        let scaled = resampled((1, 6), (1, 3), |_, column| source[column]);
        // At the borders there are three pixels, of weights 3, 3 and 1 in 7.
        let expected = [
            (3.0 * 0.0 + 3.0 * 8.0 + 16.0) / 7.0,
            (8.0 + 3.0 * 16.0 + 3.0 * 40.0 + 80.0) / 8.0,
            (40.0 + 3.0 * 80.0 + 3.0 * 80.0) / 7.0,
        ];
        for (found, expected) in scaled.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-5, "{found}, {expected}");
        }
    }

    #[test]
    fn one_level_stays_that_level() {
        for size in [(1, 1), (3, 2), (9, 20)] {
            let scaled = resampled((4, 7), size, |_, _| 3.0);
            assert_eq!(scaled.len(), size.0 * size.1);
            assert!(scaled.iter().all(|one| (one - 3.0).abs() < 1e-5));
        }
    }
}
