//! Prototypes of the columns of numbers, by k-means: k-means++ starts, then Lloyd's steps until nothing moves.

use crate::check::as_f64;
use crate::data::Dataset;
use crate::{Seed, Stream};

/// Rows that prototypes are made of, at most, chosen by the seed.
const MOST_ROWS: usize = 10_000;

/// Lloyd's steps, at most.
const STEPS: usize = 100;

/// At most `wanted` prototypes of these features; fewer where rows repeat. In the order in which they were drawn.
pub(super) fn find(
    dataset: &Dataset,
    rows: &[usize],
    features: &[usize],
    wanted: usize,
    seed: Seed,
) -> Vec<Vec<f64>> {
    let mut stream = seed.stream("prototypes");
    let mut rows = rows.to_vec();
    stream.shuffle(&mut rows);
    rows.truncate(MOST_ROWS);
    let mut row = vec![0.0; dataset.features()];
    let points: Vec<Vec<f64>> = rows
        .iter()
        .map(|&place| {
            dataset.copy_row(place, &mut row);
            let of = features.iter();
            of.map(|&feature| f64::from(row[feature])).collect()
        })
        .collect();
    settled(&points, drawn(&points, wanted, &mut stream))
}

fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The nearest centre and its squared distance; ties to the first.
fn nearest(point: &[f64], centres: &[Vec<f64>]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (place, centre) in centres.iter().enumerate() {
        let distance = square(point, centre);
        if distance < best.1 {
            best = (place, distance);
        }
    }
    best
}

/// Starts: each drawn by its squared distance from those before it.
fn drawn(points: &[Vec<f64>], wanted: usize, stream: &mut Stream) -> Vec<Vec<f64>> {
    let Some(first) = points.first() else {
        return Vec::new();
    };
    let mut centres = vec![first.clone()];
    while centres.len() < wanted {
        let distances: Vec<f64> = points
            .iter()
            .map(|point| nearest(point, &centres).1)
            .collect();
        let sum: f64 = distances.iter().sum();
        if sum <= 0.0 {
            break;
        }
        let mut left = stream.uniform() * sum;
        let chosen = distances.iter().position(|distance| {
            left -= distance;
            left < 0.0
        });
        centres.push(points[chosen.unwrap_or(points.len() - 1)].clone());
    }
    centres
}

/// Lloyd's steps: each centre becomes the mean of the points nearest to it; one without points stays.
fn settled(points: &[Vec<f64>], mut centres: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut of: Vec<usize> = Vec::new();
    for _ in 0..STEPS {
        let now: Vec<usize> = points
            .iter()
            .map(|point| nearest(point, &centres).0)
            .collect();
        if now == of {
            break;
        }
        for (place, centre) in centres.iter_mut().enumerate() {
            let mine = now.iter().zip(points).filter(|(of, _)| **of == place);
            let mut sum = vec![0.0; centre.len()];
            let mut count = 0;
            for (_, point) in mine {
                count += 1;
                for (sum, value) in sum.iter_mut().zip(point) {
                    *sum += value;
                }
            }
            if count > 0 {
                for (centre, sum) in centre.iter_mut().zip(sum) {
                    *centre = sum / as_f64(count);
                }
            }
        }
        of = now;
    }
    centres
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_heaps_have_two_prototypes_at_their_means() {
        let points: Vec<Vec<f64>> = [0.0, 0.1, 0.2, 5.0, 5.2]
            .map(|value| vec![value, 1.0])
            .to_vec();
        let mut stream = Seed::new(3).stream("prototypes");
        let starts = drawn(&points, 2, &mut stream);
        let mut found = settled(&points, starts);
        found.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert!((found[0][0] - 0.1).abs() < 1e-12 && (found[1][0] - 5.1).abs() < 1e-12);
    }

    #[test]
    fn rows_that_are_all_alike_have_one_prototype() {
        let points = vec![vec![1.0, 2.0]; 9];
        let mut stream = Seed::new(3).stream("prototypes");
        assert_eq!(drawn(&points, 4, &mut stream).len(), 1);
    }
}
