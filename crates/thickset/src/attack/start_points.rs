//! Points to search from: what other attacks found of each row.

use std::collections::HashMap;

/// Points of rows, by the row's number and the bits of its values.
#[derive(Debug, Default)]
pub(super) struct StartPoints(HashMap<(u64, Vec<u64>), Vec<Vec<f64>>>);

impl StartPoints {
    /// Of each point the row's number, the row's values, and the point.
    pub(super) fn new<'a>(found: impl Iterator<Item = (u64, &'a [f64], &'a [f64])>) -> Self {
        let mut points = Self::default();
        for (id, x, point) in found {
            let of_row = points.0.entry((id, bits(x))).or_default();
            of_row.push(point.to_vec());
        }
        points
    }

    /// Those of a row, in the order given.
    pub(super) fn of(&self, id: u64, x: &[f64]) -> &[Vec<f64>] {
        self.0.get(&(id, bits(x))).map_or(&[], Vec::as_slice)
    }
}

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|value| value.to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_those_of_the_same_row_with_the_same_id() {
        let found = [
            (1, &[0.5][..], &[0.6][..]),
            (1, &[0.5], &[0.7]),
            (2, &[0.5], &[0.8]),
            (1, &[0.25], &[0.9]),
        ];
        let points = StartPoints::new(found.into_iter());
        assert_eq!(points.of(1, &[0.5]), [[0.6], [0.7]]);
        assert_eq!(points.of(2, &[0.5]), [[0.8]]);
        assert_eq!(points.of(1, &[0.25]), [[0.9]]);
        assert!(points.of(2, &[0.25]).is_empty());
    }
}
