//! [`TopK::kept`] of eight rows at once, which lie side by side.
//!
//! A member of a set is still in it if fewer than k values are larger. Where values tie with the least of those members,
//! so that more than k are not smaller, the index decides, and the row is counted alone.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]
#![expect(
    clippy::needless_range_loop,
    reason = "plain counters keep a loop in one function"
)]

use thickset_engine::kernel::{LANES, LaneLoop, Lanes, Register, by_lanes, sum_of_lanes};

use super::{COUNTED, TopK};
use crate::Result;
use crate::check::as_f64;

/// The top-k sets of rows, eight side by side.
pub(crate) struct TopKByLanes<'a> {
    tops: &'a [TopK],
    features: usize,
    k: usize,
    /// Of every eight rows, k times one member of each row.
    members: Vec<[usize; LANES]>,
    importance: Vec<Lanes>,
}

/// How eight rows stand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct KeptByLanes {
    /// How many features each row's set has kept.
    pub kept: Lanes,
    /// The sum of the sizes of each row's importances, which is finite where all of them are.
    pub size: Lanes,
}

impl KeptByLanes {
    /// Every row has kept all k features.
    pub(crate) fn all(k: usize) -> Self {
        Self {
            kept: [as_f64(k); LANES],
            size: [0.0; LANES],
        }
    }
}

impl<'a> TopKByLanes<'a> {
    /// Of some rows' sets, each of as many features as the others; `None` where there are so many that selecting is quicker.
    pub(crate) fn new(tops: &'a [TopK]) -> Option<Self> {
        let first = tops.first()?;
        let (features, k) = (first.features(), first.k());
        if features * k > COUNTED {
            return None;
        }
        let mut members = vec![[0; LANES]; tops.len().div_ceil(LANES) * k];
        for (row, top) in tops.iter().enumerate() {
            for (place, feature) in top.iter().enumerate() {
                members[row / LANES * k + place][row % LANES] = feature;
            }
        }
        Some(Self {
            tops,
            features,
            k,
            members,
            importance: vec![[0.0; LANES]; features],
        })
    }

    /// How many features of each row's set are still among the k most important ones: of the numbers given, or of their sizes.
    /// Where a row has numbers that are not finite, its size is not, and what it kept means nothing.
    ///
    /// # Errors
    /// None: rows with numbers that are not finite are left alone.
    pub(crate) fn count(
        &mut self,
        numbers: &[Lanes],
        is_absolute: bool,
        found: &mut Vec<KeptByLanes>,
    ) -> Result<()> {
        found.resize(self.tops.len().div_ceil(LANES), KeptByLanes::default());
        by_lanes(Count {
            numbers,
            is_absolute,
            features: self.features,
            k: self.k,
            members: &self.members,
            importance: &mut self.importance,
            found,
        });
        for (row, top) in self.tops.iter().enumerate() {
            let found = &mut found[row / LANES];
            let lane = row % LANES;
            if found.kept[lane] == TIED && found.size[lane].is_finite() {
                let numbers = &numbers[row / LANES * self.features..][..self.features];
                found.kept[lane] = as_f64(count_alone(top, numbers, lane, is_absolute)?);
            }
        }
        Ok(())
    }
}

#[cold]
fn count_alone(top: &TopK, numbers: &[Lanes], lane: usize, is_absolute: bool) -> Result<usize> {
    let numbers = numbers.iter().map(|numbers| numbers[lane]);
    let importance: Vec<f64> = if is_absolute {
        numbers.map(f64::abs).collect()
    } else {
        numbers.collect()
    };
    top.kept(&importance)
}

/// In place of a count.
const TIED: f64 = -1.0;

/// Members whose counts stay in registers until all values were seen.
const AT_ONCE: usize = 4;

struct Count<'a> {
    numbers: &'a [Lanes],
    is_absolute: bool,
    features: usize,
    k: usize,
    members: &'a [[usize; LANES]],
    importance: &'a mut [Lanes],
    found: &'a mut [KeptByLanes],
}

impl LaneLoop for Count<'_> {
    #[inline(always)]
    fn run<R: Register>(self) {
        let (zero, one, infinity) = (R::splat(0.0), R::splat(1.0), R::splat(f64::INFINITY));
        let k = R::splat(as_f64(self.k));
        let missing = R::splat(as_f64(self.k.next_multiple_of(AT_ONCE) - self.k));
        let rows = self.numbers.chunks_exact(self.features);
        let rows = rows.zip(self.members.chunks_exact(self.k));
        for ((numbers, members), found) in rows.zip(self.found) {
            let importance = &mut self.importance[..self.features];
            // Plain counters: what an iterator calls may be compiled apart, for no instruction set in particular.
            for feature in 0..self.features {
                let number = R::load(&numbers[feature]);
                if self.is_absolute {
                    number.abs().store(&mut importance[feature]);
                } else {
                    number.store(&mut importance[feature]);
                }
            }
            let importance = &*importance;
            // Those that are missing in the last few count as kept, and are taken off here.
            let mut kept = zero - missing;
            let mut least = infinity;
            for first in (0..self.k).step_by(AT_ONCE) {
                let mut own = [[f64::INFINITY; LANES]; AT_ONCE];
                for place in 0..AT_ONCE.min(self.k - first) {
                    for lane in 0..LANES {
                        own[place][lane] = importance[members[first + place][lane]][lane];
                    }
                }
                let own = [
                    R::load(&own[0]),
                    R::load(&own[1]),
                    R::load(&own[2]),
                    R::load(&own[3]),
                ];
                let mut larger = [zero; AT_ONCE];
                for feature in 0..self.features {
                    let value = R::load(&importance[feature]);
                    for place in 0..AT_ONCE {
                        let count = larger[place];
                        larger[place] = value.if_greater(own[place], count + one, count);
                    }
                }
                for place in 0..AT_ONCE {
                    kept = k.if_greater(larger[place], kept + one, kept);
                    let own = k.if_greater(larger[place], own[place], infinity);
                    least = least.if_greater(own, own, least);
                }
            }
            let not_smaller = sum_of_lanes(importance, importance, |value: R, _| {
                least.if_greater(value, zero, one)
            });
            let size = sum_of_lanes(importance, importance, |value: R, _| value.abs());
            let kept = not_smaller.if_greater(k, R::splat(TIED), kept);
            kept.store(&mut found.kept);
            size.store(&mut found.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of coarse numbers, so that many are tied, or of fine ones.
    fn rows(stream: &mut crate::Stream, count: usize, features: usize, coarse: bool) -> Vec<f64> {
        let draw = |_| {
            let value = stream.normal();
            if coarse { (value * 2.0).round() } else { value }
        };
        (0..count * features).map(draw).collect()
    }

    fn side_by_side(rows: &[f64], features: usize) -> Vec<Lanes> {
        let count = rows.len() / features;
        let mut lanes = vec![[0.0; LANES]; count.div_ceil(LANES) * features];
        for (row, numbers) in rows.chunks(features).enumerate() {
            for (feature, number) in numbers.iter().enumerate() {
                lanes[row / LANES * features + feature][row % LANES] = *number;
            }
        }
        lanes
    }

    #[test]
    fn rows_side_by_side_keep_what_they_keep_alone() {
        let mut stream = crate::Seed::new(1).stream("lanes");
        for (count, features) in [(1, 2), (8, 5), (13, 28), (32, 40)] {
            for k in [1, 2, 4, 7, features - 1, features] {
                for (coarse, is_absolute) in
                    [(false, false), (false, true), (true, false), (true, true)]
                {
                    let k = k.min(features);
                    let before = rows(&mut stream, count, features, coarse);
                    let after = rows(&mut stream, count, features, coarse);
                    let tops: Vec<TopK> = before
                        .chunks(features)
                        .map(|row| TopK::of(row, k).unwrap())
                        .collect();
                    let mut found = Vec::new();
                    TopKByLanes::new(&tops)
                        .unwrap()
                        .count(&side_by_side(&after, features), is_absolute, &mut found)
                        .unwrap();
                    for (row, (top, after)) in tops.iter().zip(after.chunks(features)).enumerate() {
                        let size = |value: &f64| if is_absolute { value.abs() } else { *value };
                        let importance: Vec<f64> = after.iter().map(size).collect();
                        let expected = as_f64(top.kept(&importance).unwrap());
                        let got = found[row / LANES].kept[row % LANES];
                        assert!((got - expected).abs() < 0.5, "{got} for {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_shows_in_the_size_and_leaves_other_rows_alone() {
        let rows = [3.0, 2.0, 1.0, f64::NAN, 0.0, 1.0, 1.0, f64::INFINITY, 0.0];
        let tops: Vec<TopK> = (0..3)
            .map(|_| TopK::of(&[3.0, 2.0, 1.0], 1).unwrap())
            .collect();
        let mut found = Vec::new();
        let mut sets = TopKByLanes::new(&tops).unwrap();
        sets.count(&side_by_side(&rows, 3), true, &mut found)
            .unwrap();
        assert!((found[0].size[0] - 6.0).abs() < 1e-15 && (found[0].kept[0] - 1.0).abs() < 1e-15);
        assert!(found[0].size[1].is_nan() && found[0].size[2].is_infinite());
    }

    #[test]
    fn many_features_are_not_counted() {
        let of = |features: usize| TopK::of(&vec![1.0; features], 64).unwrap();
        assert!(TopKByLanes::new(&[of(64)]).is_some());
        assert!(TopKByLanes::new(&[of(65)]).is_none());
        assert!(TopKByLanes::new(&[]).is_none());
    }
}
