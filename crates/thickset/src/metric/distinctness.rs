//! Distinctness: whether different rows get different explanations.
//!
//! One minus the mean overlap of the top-k sets of two different rows. A model that gives everyone the same reasons has a
//! P@k of 1 under any attack (a linear model does), and a distinctness of 0: read P@k together with it.
//!
//! The mean over *all* pairs of rows needs no sampling: with c rows that have a feature in their set, the pairs that share
//! it number c (c - 1) / 2, so one pass over the sets is exact.

use super::ranking::TopK;
use crate::audit::figure::{Baseline, CompareBy, Figure, OfRow, SumBy, Unit};
use crate::check::as_f64;
use crate::registry::{Direction, Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "distinctness",
    label: "Distinctness",
    family: Family::Metric,
    summary: "One minus the mean top-k overlap of two different rows; near 0, everyone gets the same explanation",
    formula: "1 - mean over r != s of |I(x_r)_[k] ∩ I(x_s)_[k]| / k",
    source: "thickset; cf. R2ET, B.1.4 for the overlap",
    direction: Some(Direction::Higher),
    cost: "one explanation a row; exact over all pairs in O(rows n)",
    defaults: &[Setting::in_words("k", "8", "salient features")],
};

/// The entry of an audit's table of figures.
pub static FIGURE: Figure = Figure {
    id: "distinctness",
    key: "distinctness",
    label: "distinctness",
    title: "Distinctness",
    meaning: "how different the {reasons} of two {rows} are; 0 if every {row} has the same",
    direction: Direction::Higher,
    unit: Unit::Score,
    of_row: OfRow::Nothing,
    sum: SumBy::Together {
        of: |all| Ok(of_counts(all.in_top, all.rows.len(), all.k).map(Into::into)),
        has_interval: false,
    },
    baseline: Baseline::Attacked,
    compare: CompareBy::Values,
    is_main: true,
    method: Some(&INFO),
};

/// Each row's distinctness from the others, in `[0, 1]`; `None` when there are fewer than two rows. The mean of the list
/// is the distinctness of the whole, and a row near 0 is explained like everyone else.
///
/// # Errors
/// When the sets differ in their number of features or in k.
pub fn by_row(sets: &[TopK]) -> Result<Option<Vec<f64>>> {
    let [first, _, ..] = sets else {
        return Ok(None);
    };
    let mut rows_with = vec![0_usize; first.features()];
    for set in sets {
        if set.features() != first.features() {
            let (expected, got) = (first.features(), set.features());
            return Err(Error::LengthMismatch {
                what: "every top-k set",
                expected,
                got,
            });
        }
        if set.k() != first.k() {
            return Err(Error::LengthMismatch {
                what: "every top-k set",
                expected: first.k(),
                got: set.k(),
            });
        }
        for feature in set.iter() {
            rows_with[feature] += 1;
        }
    }
    let others = as_f64(first.k()) * as_f64(sets.len() - 1);
    let shared = |set: &TopK| {
        set.iter()
            .map(|feature| rows_with[feature] - 1)
            .sum::<usize>()
    };
    Ok(Some(
        sets.iter()
            .map(|set| 1.0 - as_f64(shared(set)) / others)
            .collect(),
    ))
}

/// The mean over all pairs of different rows; in `[0, 1]`, higher means that rows have different reasons. `None` when there are
/// fewer than two rows.
///
/// # Errors
/// When the sets differ in their number of features or in k.
pub fn score(sets: &[TopK]) -> Result<Option<f64>> {
    Ok(by_row(sets)?.map(|rows| rows.iter().sum::<f64>() / as_f64(rows.len())))
}

/// The same from how many of `rows` rows have each feature in their set, without the sets.
#[must_use]
pub fn of_counts(in_top: &[usize], rows: usize, k: usize) -> Option<f64> {
    if rows < 2 || k == 0 {
        return None;
    }
    let shared: f64 = in_top
        .iter()
        .map(|&count| as_f64(count) * as_f64(count.saturating_sub(1)))
        .sum();
    Some(1.0 - shared / (as_f64(k) * as_f64(rows) * as_f64(rows - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::precision_at_k;

    fn sets(rows: &[[f64; 4]], k: usize) -> Vec<TopK> {
        rows.iter().map(|row| TopK::of(row, k).unwrap()).collect()
    }

    #[test]
    fn the_same_for_everyone_is_zero_and_nothing_in_common_is_one() {
        let same = sets(&[[4.0, 3.0, 2.0, 1.0]; 3], 2);
        assert!(score(&same).unwrap().unwrap().abs() < 1e-15);
        let apart = sets(&[[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]], 2);
        assert!((score(&apart).unwrap().unwrap() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn counting_features_equals_comparing_all_pairs() {
        let sets = sets(
            &[
                [4.0, 3.0, 2.0, 1.0],
                [1.0, 2.0, 3.0, 4.0],
                [9.0, 0.0, 8.0, 1.0],
                [0.0, 1.0, 5.0, 2.0],
                [3.0, 9.0, 1.0, 2.0],
            ],
            2,
        );
        let mut overlaps = Vec::new();
        for (index, set) in sets.iter().enumerate() {
            for other in &sets[..index] {
                overlaps.push(precision_at_k::between(set, other).unwrap());
            }
        }
        let by_pairs = 1.0 - overlaps.iter().sum::<f64>() / as_f64(overlaps.len());
        assert!((score(&sets).unwrap().unwrap() - by_pairs).abs() < 1e-15);
        let with = |feature: usize| sets.iter().filter(|set| set.contains(feature)).count();
        let counts: Vec<usize> = (0..4).map(with).collect();
        assert!((of_counts(&counts, sets.len(), 2).unwrap() - by_pairs).abs() < 1e-15);
        assert_eq!(of_counts(&[1, 1], 1, 2), None);
    }

    #[test]
    fn one_row_has_nobody_to_differ_from() {
        assert_eq!(score(&sets(&[[4.0, 3.0, 2.0, 1.0]], 2)).unwrap(), None);
        assert_eq!(score(&[]).unwrap(), None);
    }

    #[test]
    fn sets_of_different_sizes_are_refused() {
        let mixed = [
            TopK::of(&[1.0, 2.0], 1).unwrap(),
            TopK::of(&[1.0, 2.0], 2).unwrap(),
        ];
        assert!(score(&mixed).is_err());
    }

    #[test]
    fn two_rows_that_share_one_of_two_features_are_half_distinct() {
        assert_eq!(of_counts(&[2, 1, 1], 2, 2), Some(0.5));
        assert_eq!(of_counts(&[0, 0], 2, 0), None);
    }
}
