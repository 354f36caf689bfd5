//! How many features can be swapped, given which pairs are open.
//!
//! If t salient features leave the top k, t others take their places, and each of these is ahead of each of those: the open
//! pairs hold a complete bipartite graph K(t, t). So at most t - 1 features are lost if there is none.

/// Open pairs of salient features (rows) and others (columns).
#[derive(Clone, Debug)]
pub(super) struct OpenPairs {
    words: usize,
    rows: Vec<Vec<u64>>,
}

/// A complete bipartite part of the open pairs: rows, and a set of columns.
pub(super) struct Complete {
    pub rows: Vec<usize>,
    columns: Vec<u64>,
}

impl Complete {
    pub(super) fn has(&self, row: usize, column: usize) -> bool {
        self.rows.contains(&row) && self.columns[column / 64] >> (column % 64) & 1 == 1
    }
}

/// Steps after which a search for K(t, t) gives up and says that there may be one.
const MOST_STEPS: usize = 20_000;

/// Salient features up to which every choice of t is tried at once.
const FEW_ROWS: usize = 12;

impl OpenPairs {
    pub(super) fn new(rows: usize, columns: usize) -> Self {
        let words = columns.div_ceil(64);
        Self {
            words,
            rows: vec![vec![0; words]; rows],
        }
    }

    pub(super) fn open(&mut self, row: usize, column: usize) {
        self.rows[row][column / 64] |= 1 << (column % 64);
    }

    pub(super) fn close(&mut self, row: usize, column: usize) {
        self.rows[row][column / 64] &= !(1 << (column % 64));
    }

    /// A K(t, t) of the open pairs; where the search for one takes too long, a larger part that may hold one.
    pub(super) fn complete(&self, t: usize) -> Option<Complete> {
        // Few rows are sooner tried than thinned out.
        let core = if self.rows.len() > FEW_ROWS {
            self.core(t)?
        } else {
            (0..self.rows.len()).collect()
        };
        let mut steps = 0;
        let mut chosen = Vec::with_capacity(t);
        let all = vec![u64::MAX; self.words];
        match self.extend(t, &core, 0, &mut chosen, &all, &mut steps) {
            Extended::Found(columns) => Some(Complete {
                rows: chosen,
                columns,
            }),
            Extended::None => None,
            Extended::TooLong => Some(Complete {
                rows: core,
                columns: all,
            }),
        }
    }

    /// The rows with at least t open columns, each of which at least t such rows share.
    fn core(&self, t: usize) -> Option<Vec<usize>> {
        let mut rows: Vec<usize> = (0..self.rows.len()).collect();
        loop {
            let mut shared = vec![0_u64; self.words];
            for (word, shared) in shared.iter_mut().enumerate() {
                for bit in 0..64 {
                    let count = rows
                        .iter()
                        .filter(|row| self.rows[**row][word] >> bit & 1 == 1)
                        .take(t)
                        .count();
                    if count == t {
                        *shared |= 1 << bit;
                    }
                }
            }
            let before = rows.len();
            rows.retain(|row| common(&self.rows[*row], &shared) >= t);
            if rows.len() < t {
                return None;
            }
            if rows.len() == before {
                return Some(rows);
            }
        }
    }

    fn extend(
        &self,
        t: usize,
        core: &[usize],
        from: usize,
        chosen: &mut Vec<usize>,
        columns: &[u64],
        steps: &mut usize,
    ) -> Extended {
        if chosen.len() == t {
            return Extended::Found(columns.to_vec());
        }
        for place in from..core.len() {
            if core.len() - place < t - chosen.len() {
                break;
            }
            *steps += 1;
            if *steps > MOST_STEPS {
                return Extended::TooLong;
            }
            let row = &self.rows[core[place]];
            if common(row, columns) < t {
                continue;
            }
            let narrowed: Vec<u64> = row.iter().zip(columns).map(|(a, b)| a & b).collect();
            chosen.push(core[place]);
            match self.extend(t, core, place + 1, chosen, &narrowed, steps) {
                Extended::None => {
                    chosen.pop();
                }
                ended => return ended,
            }
        }
        Extended::None
    }
}

enum Extended {
    Found(Vec<u64>),
    None,
    TooLong,
}

fn common(a: &[u64], b: &[u64]) -> usize {
    let ones = a.iter().zip(b).map(|(a, b)| (a & b).count_ones() as usize);
    ones.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(rows: usize, columns: usize, open: &[(usize, usize)]) -> OpenPairs {
        let mut pairs = OpenPairs::new(rows, columns);
        for (row, column) in open {
            pairs.open(*row, *column);
        }
        pairs
    }

    #[test]
    fn a_matching_swaps_one_feature_only() {
        let matching = pairs(3, 70, &[(0, 0), (1, 65), (2, 3)]);
        assert!(matching.complete(1).is_some());
        assert!(matching.complete(2).is_none());
    }

    #[test]
    fn a_complete_part_is_found_and_named() {
        let mut square = pairs(3, 70, &[(0, 1), (0, 69), (2, 1), (2, 69), (1, 4)]);
        let found = square.complete(2).unwrap();
        assert_eq!(found.rows, [0, 2]);
        assert!(found.has(0, 69) && found.has(2, 1) && !found.has(1, 4) && !found.has(0, 4));
        square.close(2, 69);
        assert!(square.complete(2).is_none());
    }

    #[test]
    fn rows_without_enough_open_pairs_are_thinned_out() {
        let mut many = OpenPairs::new(20, 30);
        for (row, column) in [(3, 1), (3, 2), (7, 1), (7, 2), (9, 2)] {
            many.open(row, column);
        }
        assert_eq!(many.complete(2).unwrap().rows, [3, 7]);
        assert!(many.complete(3).is_none());
    }

    #[test]
    fn every_choice_of_rows_is_tried() {
        let mut stream = crate::Seed::new(5).stream("pairs");
        for _ in 0..300 {
            let mut random = OpenPairs::new(6, 9);
            for row in 0..6 {
                for column in 0..9 {
                    if stream.normal() > 0.2 {
                        random.open(row, column);
                    }
                }
            }
            for t in 1..=6_usize {
                let exists = (0_u32..64).any(|mask| {
                    let rows = (0..6).filter(|row| mask >> row & 1 == 1);
                    let shared = rows.fold(u64::MAX, |shared, row| shared & random.rows[row][0]);
                    mask.count_ones() as usize == t && shared.count_ones() as usize >= t
                });
                assert_eq!(random.complete(t).is_some(), exists, "t = {t}");
            }
        }
    }

    #[test]
    fn rows_are_thinned_out_until_each_shares_enough_columns_with_the_rest() {
        let mut many = OpenPairs::new(20, 70);
        for (row, column) in [
            (3, 1),
            (3, 66),
            (7, 1),
            (7, 66),
            (9, 66),
            (9, 4),
            (11, 4),
            (11, 5),
        ] {
            many.open(row, column);
        }
        // Column 5 is row 11's alone, so 11 goes, then column 4 is row 9's alone.
        assert_eq!(many.core(2), Some(vec![3, 7]));
        assert_eq!(many.core(1), Some(vec![3, 7, 9, 11]));
        assert_eq!(many.core(3), None);
        let found = many.complete(2).unwrap();
        assert!(found.has(3, 66) && found.has(7, 1) && !found.has(3, 4));
    }

    #[test]
    fn where_a_search_takes_too_long_there_may_be_one() {
        // Each of 24 rows misses another column of 24: 23 of them share one alone, but there are too many choices of 13 to try.
        let mut pairs = OpenPairs::new(24, 24);
        for row in 0..24 {
            for column in (0..24).filter(|column| *column != row) {
                pairs.open(row, column);
            }
        }
        let found = pairs.complete(13).unwrap();
        assert!(found.rows.len() == 24 && found.has(0, 0) && found.has(23, 23));
        assert_eq!(pairs.complete(12).unwrap().rows.len(), 12);
        let shared = common(&[0b1011, 1 << 63], &[0b0110, 1 << 63]);
        assert_eq!(shared, 2);
    }
}
