//! The mean gap between salient and other features (R2ET, Eq. 6, first regulariser).
//!
//! `sum over salient i and other j of (I_i - I_j) = sum_i l_i I_i`, where `l_i = n - k` for the k salient features and `-k`
//! for the rest. We divide by the number of pairs, `k (n - k)`, so that a weight means the same for every number of
//! features. Other choices of pairs only change the `l_i`. The ranking is a constant for the gradient.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use serde::{Deserialize, Serialize};
use thickset_engine::kernel::{VectorLoop, sum_of_pairs, vectorised};
use thickset_engine::{Tensor, TensorData};

use super::order::{FEW, Order, Ranks, importance};
use super::reading::mean_over_rows;
use crate::check::{as_f64, check_finite};
use crate::explain::ImportanceAt;
use crate::{Error, Result};

/// Which pairs of a salient and another feature are looked at. Ranks count from 1, the most salient feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// All `k (n - k)`.
    #[default]
    All,
    /// The k' pairs with the least gap (the paper's `-mm`, as its text has it).
    Closest,
    /// Ranks `k + 1 - i` and `k + i` for i = 1..k' (the paper's `-mm`, as its formula has it).
    Mirrored,
    /// The pairs of rank k with the k' - 1 ranks above and the k' below it (Fig. 9, and the released code).
    Boundary,
}

/// How often each feature of each row is on the salient side of a pair, less how often it is on the other.
#[derive(Clone, Debug, PartialEq)]
pub struct PairWeights {
    counts: Vec<f32>,
    features: usize,
    pairs: f64,
}

/// Counts the pairs of each row; `importances` is row-major, and features rank by importance, descending, ties to the
/// lower index. `pair_count` is k', or k where absent; it does not matter where all pairs are looked at.
///
/// # Errors
/// If `k` does not leave a feature on either side, k' lies outside `1..=k`, or a value is not finite.
pub fn pair_weights(
    importances: &[f64],
    features: usize,
    k: usize,
    pairs: Pairs,
    pair_count: Option<usize>,
) -> Result<PairWeights> {
    let wanted = checked(features, k, pair_count)?;
    check_finite("the explanation", importances)?;
    let mut counts = vec![0.0; importances.len()];
    let mut order = Order::default();
    let mut number = 0;
    for (row, counts) in importances
        .chunks(features)
        .zip(counts.chunks_mut(features))
    {
        number = match pairs {
            Pairs::All if features <= FEW => all_of_few(row, counts, k),
            Pairs::All => all(order.split(row, k), counts, k),
            Pairs::Closest => {
                let order = order.sorted(row);
                add(order, counts, &closest(order, k, wanted))
            }
            Pairs::Mirrored => add(order.sorted(row), counts, &mirrored(features, k, wanted)),
            Pairs::Boundary => add(order.sorted(row), counts, &boundary(features, k, wanted)),
        };
    }
    Ok(PairWeights {
        counts,
        features,
        pairs: as_f64(number.max(1)),
    })
}

/// The number of pairs k', where k leaves a feature on either side.
fn checked(features: usize, k: usize, pair_count: Option<usize>) -> Result<usize> {
    if k == 0 || k >= features {
        let largest = features.saturating_sub(1);
        return Err(Error::TopKOutOfRange { k, largest });
    }
    let wanted = pair_count.unwrap_or(k);
    if wanted == 0 || wanted > k {
        return Err(Error::OutOfRange {
            what: "`pair_count`",
            expected: "at least 1 and at most k",
            got: as_f64(wanted),
        });
    }
    Ok(wanted)
}

/// Some pairs of one row, each of a feature that ranks above and one that ranks below.
///
/// # Errors
/// As for [`pair_weights`].
pub(super) fn pair_list(
    row: &[f64],
    k: usize,
    pairs: Pairs,
    pair_count: Option<usize>,
) -> Result<Vec<(u32, u32)>> {
    let wanted = checked(row.len(), k, pair_count)?;
    let mut order = Order::default();
    let order = order.sorted(row);
    let ranks = match pairs {
        Pairs::All => {
            let below = k..order.len();
            (0..k)
                .flat_map(|salient| below.clone().map(move |other| (salient, other)))
                .collect()
        }
        Pairs::Closest => closest(order, k, wanted),
        Pairs::Mirrored => mirrored(order.len(), k, wanted),
        Pairs::Boundary => boundary(order.len(), k, wanted),
    };
    Ok(ranks
        .into_iter()
        .map(|(salient, other)| (order[salient].1, order[other].1))
        .collect())
}

/// The features on either side of the boundary of a row's salient set, which are paired with one another where all pairs are
/// looked at.
#[derive(Default)]
pub(super) struct Sides(Order);

impl Sides {
    /// The `beside` features that are nearest to the boundary on either side, or all there are.
    ///
    /// # Errors
    /// As for [`pair_weights`].
    pub(super) fn of(
        &mut self,
        row: &[f64],
        k: usize,
        beside: usize,
    ) -> Result<[impl Iterator<Item = u32> + Clone; 2]> {
        checked(row.len(), k, None)?;
        let are_all = k.max(row.len() - k) <= beside;
        let order = if are_all {
            self.0.split(row, k)
        } else {
            self.0.sorted(row)
        };
        let (above, below) = order.split_at(k);
        let above = &above[k.saturating_sub(beside)..];
        let below = &below[..below.len().min(beside)];
        Ok([above, below].map(|side| side.iter().map(|(_, feature)| *feature)))
    }
}

/// The counts of all pairs of a row of few features.
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of features are far below 2^24"
)]
fn all_of_few(row: &[f64], counts: &mut [f32], k: usize) -> usize {
    let others = row.len() - k;
    let ranks = vectorised(Ranks(row));
    for (count, rank) in counts.iter_mut().zip(ranks) {
        *count = if rank < as_f64(k) {
            others as f32
        } else {
            -(k as f32)
        };
    }
    k * others
}

#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of features are far below 2^24"
)]
fn all(order: &[(u64, u32)], counts: &mut [f32], k: usize) -> usize {
    let others = order.len() - k;
    counts.fill(-(k as f32));
    for &(_, feature) in &order[..k] {
        counts[feature as usize] = others as f32;
    }
    k * others
}

/// Adds pairs of ranks, counted from 0; how many there were.
fn add(order: &[(u64, u32)], counts: &mut [f32], pairs: &[(usize, usize)]) -> usize {
    for &(salient, other) in pairs {
        counts[order[salient].1 as usize] += 1.0;
        counts[order[other].1 as usize] -= 1.0;
    }
    pairs.len()
}

fn closest(order: &[(u64, u32)], k: usize, wanted: usize) -> Vec<(usize, usize)> {
    // A pair (a above the boundary, b below it) has at least a b pairs whose gap is not larger, itself among them, so only
    // pairs with a b <= k' can be chosen.
    let mut candidates = Vec::new();
    for above in 1..=k.min(wanted) {
        for below in 1..=(wanted / above).min(order.len() - k) {
            let (salient, other) = (k - above, k + below - 1);
            let gap = importance(order[salient]) - importance(order[other]);
            candidates.push((gap, salient, other));
        }
    }
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    candidates.truncate(wanted);
    let pairs = candidates.into_iter();
    pairs.map(|(_, salient, other)| (salient, other)).collect()
}

fn mirrored(features: usize, k: usize, wanted: usize) -> Vec<(usize, usize)> {
    let number = wanted.min(features - k);
    (0..number).map(|pair| (k - 1 - pair, k + pair)).collect()
}

fn boundary(features: usize, k: usize, wanted: usize) -> Vec<(usize, usize)> {
    let above = (1..wanted).map(|above| (k - 1 - above, k - 1));
    let below = (0..wanted.min(features - k)).map(|other| (k - 1, k + other));
    above.chain(below).collect()
}

impl PairWeights {
    /// How many pairs each row has.
    #[must_use]
    pub fn pairs(&self) -> f64 {
        self.pairs
    }

    /// The mean over rows and pairs of the gap, given the importances of the same rows.
    #[must_use]
    pub fn mean_gap(&self, importance: &ImportanceAt<'_>) -> Tensor<1> {
        let size = [self.counts.len() / self.features, self.features];
        let counts = importance.tensor(TensorData::new(self.counts.clone(), size));
        mean_over_rows(importance.weighted(counts)) * (1.0 / self.pairs)
    }

    /// The same in plain numbers, with its slopes in the importances.
    #[must_use]
    pub fn slopes_of(&self, importances: &[f64]) -> (f64, Vec<f64>) {
        let rows = self.counts.len() / self.features;
        let share = 1.0 / (as_f64(rows.max(1)) * self.pairs);
        let slopes: Vec<f64> = self
            .counts
            .iter()
            .map(|it| f64::from(*it) * share)
            .collect();
        let gap = vectorised(Dot(importances, &slopes));
        (gap, slopes)
    }

    /// The same weights for `times` copies of the rows, one after the other.
    #[must_use]
    pub fn repeated(&self, times: usize) -> Self {
        Self {
            counts: self.counts.repeat(times),
            features: self.features,
            pairs: self.pairs,
        }
    }
}

/// The sum of products.
struct Dot<'a>(&'a [f64], &'a [f64]);

impl VectorLoop for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        sum_of_pairs(self.0, self.1, |a, b| a * b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // k = 2: the order is 0, 2 | 1, 4, 3.
    const ROW: [f64; 5] = [3.0, 1.0, 2.0, 0.0, 0.5];

    fn counts(pairs: Pairs, pair_count: Option<usize>) -> (Vec<f32>, f64) {
        let weights = pair_weights(&ROW, 5, 2, pairs, pair_count).unwrap();
        (weights.counts, weights.pairs)
    }

    #[test]
    fn weights_of_a_row_by_hand() {
        assert_eq!(
            counts(Pairs::All, None),
            (vec![3.0, -2.0, 3.0, -2.0, -2.0], 6.0)
        );
        // Gaps of (2,1), (2,4) are 1 and 1.5; the next is 2.
        assert_eq!(
            counts(Pairs::Closest, None),
            (vec![0.0, -1.0, 2.0, 0.0, -1.0], 2.0)
        );
        assert_eq!(
            counts(Pairs::Mirrored, None),
            (vec![1.0, -1.0, 1.0, 0.0, -1.0], 2.0)
        );
        // (0,2), then (2,1) and (2,4).
        assert_eq!(
            counts(Pairs::Boundary, None),
            (vec![1.0, -1.0, 1.0, 0.0, -1.0], 3.0)
        );
        assert_eq!(
            counts(Pairs::Closest, Some(1)),
            (vec![0.0, -1.0, 1.0, 0.0, 0.0], 1.0)
        );
    }

    #[test]
    fn the_closest_pairs_are_those_of_a_full_search() {
        let mut stream = crate::Seed::new(5).stream("gaps");
        for k in 1..9 {
            // Of both signs: what speaks against the class comes last.
            let row: Vec<f64> = (0..12).map(|_| stream.normal()).collect();
            let mut order: Vec<usize> = (0..12).collect();
            order.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
            let mut gaps: Vec<(f64, usize, usize)> = Vec::new();
            for &i in &order[..k] {
                for &j in &order[k..] {
                    gaps.push((row[i] - row[j], i, j));
                }
            }
            gaps.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut expected = vec![0.0; 12];
            for &(_, i, j) in &gaps[..k] {
                expected[i] += 1.0;
                expected[j] -= 1.0;
            }
            let weights = pair_weights(&row, 12, k, Pairs::Closest, None).unwrap();
            assert_eq!(weights.counts, expected, "k = {k}");
        }
    }

    #[test]
    fn the_mean_gap_and_its_slopes_by_hand() {
        let weights = pair_weights(&ROW, 5, 2, Pairs::Closest, None).unwrap();
        // Gaps of 1 and 1.5.
        let (gap, slopes) = weights.slopes_of(&ROW);
        assert!((gap - 1.25).abs() < 1e-12);
        assert_eq!(slopes, [0.0, -0.5, 1.0, 0.0, -0.5]);
    }

    #[test]
    fn ties_go_to_the_lower_index() {
        for row in [[1.0, 1.0, 1.0], [-0.0, 0.0, -1.0]] {
            let weights = pair_weights(&row, 3, 1, Pairs::All, None).unwrap();
            assert_eq!(weights.counts, [2.0, -1.0, -1.0]);
        }
    }

    #[test]
    fn a_k_without_another_side_and_a_nan_are_refused() {
        assert!(matches!(
            pair_weights(&[1.0, 2.0], 2, 2, Pairs::All, None),
            Err(Error::TopKOutOfRange { k: 2, largest: 1 })
        ));
        assert!(pair_weights(&[1.0, f64::NAN], 2, 1, Pairs::All, None).is_err());
        assert!(pair_weights(&[1.0, 2.0, 3.0], 3, 1, Pairs::Closest, Some(2)).is_err());
    }
}
