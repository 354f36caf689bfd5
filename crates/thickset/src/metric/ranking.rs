//! The order of features by importance, which everything about rankings rests on.
//!
//! Descending, ties to the lower index; the two zeros of floating point are one number here. So the order is a function
//! of the values alone, and a stable descending sort gives the same.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

mod by_lanes;

use std::cmp::Ordering;

use thickset_engine::kernel::{VectorLoop, vectorised};

pub(crate) use by_lanes::{KeptByLanes, TopKByLanes};

use crate::check::{as_f64, check_finite, check_length, check_not_empty};
use crate::{Error, Result};

/// The features from the most to the least important; ties to the lower index.
///
/// # Errors
/// When there is no feature, or a value is not finite.
pub fn descending(importance: &[f64]) -> Result<Vec<usize>> {
    check_not_empty("the explanation", importance)?;
    check_finite("the explanation", importance)?;
    let mut order: Vec<usize> = (0..importance.len()).collect();
    order.sort_unstable_by(|&a, &b| compare(importance[a], a, importance[b], b));
    Ok(order)
}

/// The index of the largest value; the lower one of equals. This is how a class is predicted.
///
/// # Errors
/// When there is no value, or one is not finite.
pub fn largest(values: &[f64]) -> Result<usize> {
    check_not_empty("the values", values)?;
    check_finite("the values", values)?;
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    Ok(best)
}

/// Midranks, from 1 for the least value to `n`; equal values share the mean of the ranks they take up.
///
/// # Errors
/// When a value is not finite.
pub fn midranks(values: &[f64]) -> Result<Vec<f64>> {
    check_finite("the values", values)?;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| (values[a] + 0.0).total_cmp(&(values[b] + 0.0)));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && values[order[end]] <= values[order[start]] {
            end += 1;
        }
        let rank = f64::midpoint(as_f64(start + 1), as_f64(end));
        for &index in &order[start..end] {
            ranks[index] = rank;
        }
        start = end;
    }
    Ok(ranks)
}

/// The `k` most important features of one explanation, as a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopK {
    salient: Vec<bool>,
    /// The salient features in ascending order.
    members: Vec<usize>,
}

impl TopK {
    /// The top-k set of an explanation, in time linear in the number of features.
    ///
    /// # Errors
    /// When `k` is 0 or larger than the number of features, or a value is not finite.
    pub fn of(importance: &[f64], k: usize) -> Result<Self> {
        check_not_empty("the explanation", importance)?;
        check_k(k, importance.len())?;
        check_finite("the explanation", importance)?;
        let mut order: Vec<usize> = (0..importance.len()).collect();
        let by_importance = |&a: &usize, &b: &usize| compare(importance[a], a, importance[b], b);
        order.select_nth_unstable_by(k - 1, by_importance);
        order.truncate(k);
        order.sort_unstable();
        let mut salient = vec![false; importance.len()];
        for &feature in &order {
            salient[feature] = true;
        }
        Ok(Self {
            salient,
            members: order,
        })
    }

    /// How many features are in the set.
    #[must_use]
    pub fn k(&self) -> usize {
        self.members.len()
    }

    /// How many features there are in all.
    #[must_use]
    pub fn features(&self) -> usize {
        self.salient.len()
    }

    /// Whether this feature is in the set; a feature that does not exist is not.
    #[must_use]
    pub fn contains(&self, feature: usize) -> bool {
        self.salient.get(feature).copied().unwrap_or(false)
    }

    /// The features of the set in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.members.iter().copied()
    }

    /// How many features the two sets share.
    ///
    /// # Errors
    /// When the sets are of different numbers of features.
    pub fn overlap(&self, other: &Self) -> Result<usize> {
        check_length("the second top-k set", &other.salient, self.salient.len())?;
        Ok(self
            .salient
            .iter()
            .zip(&other.salient)
            .filter(|(a, b)| **a && **b)
            .count())
    }

    /// How many features of this set are still among the `k` most important ones of `importance`: the score of one step
    /// of an attack.
    ///
    /// # Errors
    /// When the length differs, or a value is not finite.
    pub fn kept(&self, importance: &[f64]) -> Result<usize> {
        check_length("the explanation", importance, self.salient.len())?;
        if importance.len() * self.k() > COUNTED {
            check_finite("the explanation", importance)?;
            return Ok(self.kept_by_selecting(importance));
        }
        let counted = vectorised(Counted {
            importance,
            members: &self.members,
        });
        if counted.is_none() {
            check_finite("the explanation", importance)?;
        }
        Ok(counted.unwrap_or_default())
    }

    /// The same by finding the new set, where there are many features.
    fn kept_by_selecting(&self, importance: &[f64]) -> usize {
        let mut order: Vec<usize> = (0..importance.len()).collect();
        order.select_nth_unstable_by(self.k() - 1, |&a, &b| {
            compare(importance[a], a, importance[b], b)
        });
        let now = order[..self.k()].iter();
        now.filter(|&&feature| self.salient[feature]).count()
    }
}

/// Comparisons up to which [`TopK::kept`] makes them all.
const COUNTED: usize = 4096;

/// Members of a set that [`Counted`] compares at a time: as many as two registers of the narrower kind hold.
const SIDE_BY_SIDE: usize = 8;

/// How many members of a set have fewer values ahead of them than the set has members; `None` where a value is not finite.
/// Unless all of them have, every member is compared with every value: that has no branch which could not be foretold.
struct Counted<'a> {
    importance: &'a [f64],
    members: &'a [usize],
}

impl VectorLoop for Counted<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn run(self) -> Option<usize> {
        let Self {
            importance,
            members,
        } = self;
        // Plain loops: an iterator's closure may be compiled apart, for no instruction set in particular.
        let k = members.len();
        let mut least = f64::INFINITY;
        for &member in members {
            let value = importance[member];
            least = if value < least { value } else { least };
        }
        let (mut finite, mut ahead) = (0, 0);
        for &value in importance {
            finite += usize::from(value.is_finite());
            ahead += usize::from(value >= least);
        }
        if finite < importance.len() {
            return None;
        }
        if ahead == k {
            return Some(k);
        }
        let mut kept = 0;
        // Some members side by side, so that counts stay in registers until all values were seen.
        for members in members.chunks(SIDE_BY_SIDE) {
            let mut own = [f64::INFINITY; SIDE_BY_SIDE];
            for (own, &member) in own.iter_mut().zip(members) {
                *own = importance[member];
            }
            let (mut larger, mut not_smaller) = ([0_u64; SIDE_BY_SIDE], [0_u64; SIDE_BY_SIDE]);
            for &value in importance {
                for place in 0..SIDE_BY_SIDE {
                    larger[place] += u64::from(value > own[place]);
                    not_smaller[place] += u64::from(value >= own[place]);
                }
            }
            for (place, &member) in members.iter().enumerate() {
                if not_smaller[place] > larger[place] + 1 {
                    larger[place] += count_ties(&importance[..member], own[place]);
                }
                kept += usize::from(larger[place] < k as u64);
            }
        }
        Some(kept)
    }
}

/// How many of the values are equal to one.
#[cold]
#[expect(
    clippy::float_cmp,
    reason = "a tie is an equal value, and -0 ties with 0"
)]
fn count_ties(values: &[f64], own: f64) -> u64 {
    values.iter().filter(|value| **value == own).count() as u64
}

/// Larger first, then the lower index. Adding zero turns -0 into 0, so that the two are tied.
fn compare(a: f64, index_a: usize, b: f64, index_b: usize) -> Ordering {
    (b + 0.0).total_cmp(&(a + 0.0)).then(index_a.cmp(&index_b))
}

/// Refuses a `k` that is not in `1..=largest`.
pub(super) fn check_k(k: usize, largest: usize) -> Result<()> {
    if (1..=largest).contains(&k) {
        Ok(())
    } else {
        Err(Error::TopKOutOfRange { k, largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lower_index() {
        assert_eq!(
            descending(&[1.0, 3.0, 3.0, 2.0, 3.0]).unwrap(),
            [1, 2, 4, 3, 0]
        );
        assert_eq!(descending(&[5.0; 4]).unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn the_two_zeros_are_tied() {
        assert_eq!(descending(&[-0.0, 0.0, -0.0]).unwrap(), [0, 1, 2]);
        assert_eq!(midranks(&[0.0, -0.0, 1.0]).unwrap(), [1.5, 1.5, 3.0]);
        assert!(TopK::of(&[-0.0, 0.0], 1).unwrap().contains(0));
    }

    #[test]
    fn the_sign_counts() {
        assert_eq!(descending(&[-3.0, 1.0, -1.0]).unwrap(), [1, 2, 0]);
    }

    #[test]
    fn nan_is_refused_with_its_place() {
        let message = descending(&[1.0, f64::NAN]).unwrap_err().to_string();
        assert_eq!(
            message,
            "the explanation must be finite, got NaN at index 1"
        );
        let top = TopK::of(&[1.0, 2.0], 1).unwrap();
        assert!(top.kept(&[1.0, f64::INFINITY]).is_err());
    }

    #[test]
    fn the_set_is_the_head_of_the_order() {
        let importance = [0.5, 0.1, 0.5, 0.9, 0.5, -2.0];
        let order = descending(&importance).unwrap();
        for k in 1..=importance.len() {
            let mut head = order[..k].to_vec();
            head.sort_unstable();
            assert_eq!(
                TopK::of(&importance, k).unwrap().iter().collect::<Vec<_>>(),
                head
            );
        }
    }

    #[test]
    fn a_k_out_of_range_is_refused() {
        assert_eq!(
            TopK::of(&[1.0, 2.0], 0).unwrap_err().to_string(),
            "k must lie in 1..=2, got 0"
        );
        assert_eq!(
            TopK::of(&[1.0, 2.0], 3).unwrap_err().to_string(),
            "k must lie in 1..=2, got 3"
        );
    }

    #[test]
    fn the_largest_of_equals_is_the_first() {
        assert_eq!(largest(&[0.2, 0.4, 0.4]).unwrap(), 1);
    }

    #[test]
    fn counting_and_selecting_keep_the_same() {
        let mut stream = crate::Seed::new(1).stream("importances");
        for features in [5, 28, 300] {
            for _ in 0..50 {
                // Coarse values, so that many are tied.
                let mut draw = || -> Vec<f64> {
                    let coarse = |value: f64| (value * 2.0).round();
                    (0..features).map(|_| coarse(stream.normal())).collect()
                };
                let (before, after) = (draw(), draw());
                let top = TopK::of(&before, 4).unwrap();
                let expected = top.overlap(&TopK::of(&after, 4).unwrap()).unwrap();
                assert_eq!(top.kept_by_selecting(&after), expected);
                assert_eq!(top.kept(&after).unwrap(), expected);
            }
        }
        let (before, after) = (vec![1.0; 5000], vec![2.0; 5000]);
        let top = TopK::of(&before, 7).unwrap();
        assert_eq!(top.kept(&after).unwrap(), 7);
    }

    #[test]
    fn what_an_attack_kept_is_the_overlap_with_the_new_set() {
        let before = [4.0, 3.0, 2.0, 1.0, 0.0];
        let top = TopK::of(&before, 3).unwrap();
        for after in [
            [4.0_f64, 3.0, 2.0, 1.0, 0.0],
            [2.0, 3.0, 4.0, 1.0, 0.0],
            [0.0, 1.0, 2.0, 3.0, 4.0],
            [1.0, 1.0, 1.0, 1.0, 1.0],
            [1.0, 1.0, 0.0, 0.0, 2.0],
        ] {
            let slow = top.overlap(&TopK::of(&after, 3).unwrap()).unwrap();
            assert_eq!(top.kept(&after).unwrap(), slow, "{after:?}");
        }
    }
}
