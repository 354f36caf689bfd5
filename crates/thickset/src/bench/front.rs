//! The Pareto front: the points that no other beats in both directions, higher being better on both axes.

/// The points of the front, from left to right.
#[must_use]
pub fn of(points: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let mut sorted: Vec<[f64; 2]> = points.to_vec();
    sorted.sort_by(|a, b| b[0].total_cmp(&a[0]).then(b[1].total_cmp(&a[1])));
    let mut front: Vec<[f64; 2]> = Vec::new();
    for point in sorted {
        if front.last().is_none_or(|best| point[1] > best[1]) {
            front.push(point);
        }
    }
    front.reverse();
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_points_that_none_beats_are_on_it() {
        let points = [
            [1.0, 5.0],
            [2.0, 4.0],
            [2.0, 3.0],
            [3.0, 4.0],
            [0.5, 1.0],
            [4.0, 1.0],
        ];
        assert_eq!(of(&points), [[1.0, 5.0], [3.0, 4.0], [4.0, 1.0]]);
    }

    #[test]
    fn of_no_points_it_is_empty() {
        assert!(of(&[]).is_empty());
    }
}
