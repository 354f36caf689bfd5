//! Contributions over all ways, from the mean gradient as far as it is known.

use super::move_set::MoveSet;
use super::{MoveNorm, PairBound, SLACK};

/// Contributions with a mean gradient that is known but for what single neurons add.
pub(super) struct OverWays<'w> {
    groups: &'w [Vec<usize>],
    /// Of each column: its contribution in the middle, and what was added up for it.
    middle: Vec<(f64, f64)>,
    /// Of each pair of columns, the most that a move takes: computed from these.
    gradient: Vec<f64>,
    /// Of each neuron that is not known: by how much, its values along each column's way, and the most these move.
    rest: Vec<(f64, Vec<(f64, f64)>)>,
    set: OwnedSet,
}

struct OwnedSet {
    norm: MoveNorm,
    radius: f64,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl OwnedSet {
    fn borrowed(&self) -> MoveSet<'_> {
        MoveSet {
            x: &[],
            norm: self.norm,
            radius: self.radius,
            low: &self.low,
            high: &self.high,
        }
    }
}

impl<'w> OverWays<'w> {
    /// The columns' features, the row that ways begin at, the moves, the mean gradient in its middle, and what is left open of it: multiples of
    /// rows, by up to how much.
    pub(super) fn new(
        groups: &'w [Vec<usize>],
        reference: &[f64],
        set: &MoveSet<'_>,
        gradient: Vec<f64>,
        rest: Vec<(f64, impl AsRef<[f64]>)>,
    ) -> Self {
        let ways = set.x.iter().zip(reference);
        let way: Vec<f64> = ways.map(|(x, b)| x - b).collect();
        let middle = groups.iter().map(|group| {
            let parts = group
                .iter()
                .map(|&feature| gradient[feature] * way[feature]);
            let (sum, size) = parts.fold((0.0, 0.0), |(sum, size), part: f64| {
                (sum + part, size + part.abs())
            });
            (sum, size)
        });
        let rest = rest.into_iter().map(|(by, row)| {
            let row = row.as_ref();
            let columns = groups.iter().map(|group| {
                let along = group.iter().map(|&feature| row[feature] * way[feature]);
                let terms = || group.iter().map(|&feature| (feature, row[feature]));
                (along.sum::<f64>(), set.fall(terms()).max(set.rise(terms())))
            });
            (by, columns.collect())
        });
        Self {
            groups,
            middle: middle.collect(),
            rest: rest.collect(),
            gradient,
            set: OwnedSet {
                norm: set.norm,
                radius: set.radius,
                low: set.low.to_vec(),
                high: set.high.to_vec(),
            },
        }
    }
}

impl PairBound for OverWays<'_> {
    fn least(&self, ahead: usize, behind: usize) -> f64 {
        let of = |column: usize, sign: f64| {
            let group = self.groups[column].iter();
            group.map(move |&feature| (feature, sign * self.gradient[feature]))
        };
        let falls = self
            .set
            .borrowed()
            .fall(of(ahead, 1.0).chain(of(behind, -1.0)));
        let (mut rest, mut size) = (0.0, falls);
        for (by, columns) in &self.rest {
            let ((a, a_moves), (b, b_moves)) = (columns[ahead], columns[behind]);
            rest += by * ((a - b).abs() + a_moves + b_moves);
        }
        size += self.middle[ahead].1 + self.middle[behind].1 + rest;
        self.middle[ahead].0 - self.middle[behind].0 - falls - rest - SLACK * size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_taken_off_by_all_that_was_added_up() {
        // The columns contribute 3 - 2 and 1/2, for which 5 and 1/2 were added up, and nothing moves.
        let groups = vec![vec![0, 1], vec![2]];
        let still = [0.0; 3];
        let set = MoveSet {
            x: &[3.0, -2.0, 0.5],
            norm: MoveNorm::L2,
            radius: 0.0,
            low: &still,
            high: &still,
        };
        let rest: Vec<(f64, Vec<f64>)> = Vec::new();
        let ways = OverWays::new(&groups, &still, &set, vec![1.0; 3], rest);
        let taken_off = 0.5 - ways.least(0, 1);
        assert!(
            (taken_off - 5.5 * SLACK).abs() < 1e-6 * SLACK,
            "{taken_off}"
        );
    }

    #[test]
    fn a_pair_falls_by_moves_and_by_what_is_left_open() {
        // The row is (3, -1, 2) beyond the reference, and the mean gradient (4, 2, 1): the columns contribute 10 and 2.
        let groups = vec![vec![0, 1], vec![2]];
        let (low, high) = ([-0.5; 3], [0.25; 3]);
        let set = MoveSet {
            x: &[4.0, 0.0, 3.0],
            norm: MoveNorm::Linf,
            radius: 1.0,
            low: &low,
            high: &high,
        };
        // Open is a quarter of (1, 1, 3), whose values along the ways are 2 and 6, and which moves by 1 and by 1.5; and a half of (0, 2, 0): -2 and 0, by 1 and 0.
        let rest = vec![(0.25, vec![1.0, 1.0, 3.0]), (0.5, vec![0.0, 2.0, 0.0])];
        let ways = OverWays::new(&groups, &[1.0; 3], &set, vec![4.0, 2.0, 1.0], rest);
        let open = 0.25 * (4.0 + 1.0 + 1.5) + 0.5 * (2.0 + 1.0);
        // 4 and 2 down by 1/2 and 1 up by 1/4, or the other way round.
        for (ahead, behind, apart, falls) in [(0, 1, 8.0, 3.25), (1, 0, -8.0, 2.0)] {
            // Added up were 12 + 2 and 2, and all that was taken off.
            let size = 16.0 + falls + open;
            let expected = apart - falls - open - SLACK * size;
            let found = ways.least(ahead, behind);
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}
