//! How often training rows are seen: in proportion to their weights.
//!
//! A weight is not a factor of the loss. Objectives have terms beside the class loss (gaps, Hessians, inner attacks), and a row
//! that counts twice must count twice in all of them. So an epoch draws its rows, as many as there are, by systematic sampling:
//! one uniform draw sets a comb over the summed weights, and a row is seen once a tooth. A row's number of showings is its share
//! of the weight times the rows, rounded down or up, and exact where that is whole. Where all weights are equal, every row is seen
//! once, as without weights, to the last bit.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::as_f64;
use crate::data::{Dataset, Part};
use crate::{Error, Result, Seed};

/// How classes are weighed against each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassWeight {
    /// All classes are seen equally often: a row's weight is one over the number of training rows of its class.
    Balanced,
    /// The weight of each class by its name; 1 where a class is not named.
    #[serde(untagged)]
    Each(BTreeMap<String, f64>),
}

impl ClassWeight {
    /// Refuses weights that are negative or not finite.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub(super) fn check(&self) -> Result<()> {
        let Self::Each(weights) = self else {
            return Ok(());
        };
        let wrong = weights.values().find(|weight| !is_weight(**weight));
        wrong.map_or(Ok(()), |&got| {
            Err(Error::OutOfRange {
                what: "`train.class_weight`",
                expected: "finite and at least 0",
                got,
            })
        })
    }

    /// One a class.
    fn of_classes(&self, dataset: &Dataset) -> Result<Vec<f64>> {
        match self {
            Self::Balanced => {
                let mut counts = vec![0.0; dataset.classes.len()];
                for &row in dataset.part(Part::Train) {
                    counts[dataset.labels[row]] += 1.0;
                }
                let rows = as_f64(dataset.part(Part::Train).len());
                let classes = as_f64(dataset.classes.len());
                let weight = |count: &f64| rows / (classes * count.max(1.0));
                Ok(counts.iter().map(weight).collect())
            }
            Self::Each(weights) => {
                let known = &dataset.classes;
                if let Some(name) = weights.keys().find(|name| !known.contains(name)) {
                    return Err(Error::UnknownClass {
                        path: dataset.name.clone(),
                        column: "train.class_weight".to_owned(),
                        value: name.clone(),
                    });
                }
                let weight = |class: &String| weights.get(class).copied().unwrap_or(1.0);
                Ok(known.iter().map(weight).collect())
            }
        }
    }
}

/// Whether a number can say how often something is seen.
pub(crate) fn is_weight(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

/// The training rows, and how often each is seen.
pub(super) struct RowOrder {
    /// Running sums of the rows' weights; absent where every row is seen once.
    sums: Option<Vec<f64>>,
}

impl RowOrder {
    /// # Errors
    /// If a weight is of a class that does not exist, or no training row has one above 0.
    pub(super) fn new(dataset: &Dataset, by_class: Option<&ClassWeight>) -> Result<Self> {
        let train = dataset.part(Part::Train);
        let by_class = by_class
            .map(|by_class| by_class.of_classes(dataset))
            .transpose()?;
        let weight = |row: usize| {
            let own = dataset.weights().map_or(1.0, |weights| weights[row]);
            let of_class = by_class
                .as_ref()
                .map_or(1.0, |each| each[dataset.labels[row]]);
            own * of_class
        };
        let weights: Vec<f64> = train.iter().map(|&row| weight(row)).collect();
        let first = weights.first().copied().unwrap_or(1.0);
        if first > 0.0 && weights.iter().all(|one| one.total_cmp(&first).is_eq()) {
            return Ok(Self { sums: None });
        }
        let mut sum = 0.0;
        let add = |weight: &f64| {
            sum += weight;
            sum
        };
        let sums: Vec<f64> = weights.iter().map(add).collect();
        if sums
            .last()
            .is_none_or(|sum| !(*sum > 0.0 && sum.is_finite()))
        {
            return Err(Error::OutOfRange {
                what: "the sum of the training rows' weights",
                expected: "finite and above 0",
                got: sums.last().copied().unwrap_or(0.0),
            });
        }
        Ok(Self { sums: Some(sums) })
    }

    /// The rows of an epoch, as many as `train` has, in the order in which they are seen.
    pub(super) fn epoch(&self, train: &[usize], seed: Seed, epoch: usize) -> Vec<usize> {
        let mut rows = match &self.sums {
            None => train.to_vec(),
            Some(sums) => {
                let start = seed.stream_at("train weights", epoch as u64).uniform();
                drawn(sums, start).map(|place| train[place]).collect()
            }
        };
        seed.stream_at("train order", epoch as u64)
            .shuffle(&mut rows);
        rows
    }
}

/// The places that a comb of as many teeth as there are sums meets, its first tooth at this share of its width.
fn drawn(sums: &[f64], start: f64) -> impl Iterator<Item = usize> {
    let last = sums.len() - 1;
    let width = sums[last] / as_f64(sums.len());
    let mut place = 0;
    (0..sums.len()).map(move |tooth| {
        let at = (as_f64(tooth) + start) * width;
        while place < last && sums[place] <= at {
            place += 1;
        }
        place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(weights: &[f64], start: f64) -> Vec<usize> {
        let mut sum = 0.0;
        let sums: Vec<f64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        let mut counts = vec![0; weights.len()];
        drawn(&sums, start).for_each(|place| counts[place] += 1);
        counts
    }

    fn dataset() -> Dataset {
        let values = (0..40_u8).map(f32::from).collect();
        let labels = (0..40).map(|row| usize::from(row >= 30)).collect();
        Dataset::from_rows(values, labels, &["x"]).unwrap()
    }

    #[test]
    fn whole_shares_are_shown_exactly_so_often() {
        for start in [0.0, 0.3, 0.99] {
            assert_eq!(counts(&[1.0, 0.0, 2.0, 1.0], start), [1, 0, 2, 1]);
            assert_eq!(counts(&[0.0, 0.0, 0.0, 7.0], start), [0, 0, 0, 4]);
        }
    }

    #[test]
    fn other_shares_are_rounded_down_or_up_and_right_on_average() {
        let weights = [0.5, 1.7, 0.8];
        let mut totals = [0; 3];
        for step in 0..1000_u32 {
            let found = counts(&weights, f64::from(step) / 1000.0);
            for (found, weight) in found.iter().zip(weights) {
                assert!((as_f64(*found) - weight).abs() < 1.0);
            }
            totals.iter_mut().zip(found).for_each(|(sum, n)| *sum += n);
        }
        for (total, weight) in totals.iter().zip(weights) {
            assert!((as_f64(*total) / 1000.0 - weight).abs() < 0.01);
        }
    }

    #[test]
    fn equal_weights_are_no_weights() {
        let plain = dataset();
        let train = plain.part(Part::Train).to_vec();
        let order = |dataset: &Dataset, by_class: Option<&ClassWeight>| {
            let order = RowOrder::new(dataset, by_class).unwrap();
            order.epoch(&train, Seed::new(3), 2)
        };
        let expected = order(&plain, None);
        let twos = plain.clone().with_weights(vec![2.0; 40]).unwrap();
        assert_eq!(order(&twos, None), expected);
        let each = ClassWeight::Each(BTreeMap::from([("0".to_owned(), 1.0)]));
        assert_eq!(order(&plain, Some(&each)), expected);
        assert_ne!(order(&plain, Some(&ClassWeight::Balanced)), expected);
    }

    #[test]
    fn balanced_classes_are_seen_equally_often() {
        let dataset = dataset();
        let train = dataset.part(Part::Train);
        let order = RowOrder::new(&dataset, Some(&ClassWeight::Balanced)).unwrap();
        for epoch in 0..5 {
            let rows = order.epoch(train, Seed::new(0), epoch);
            let ones = rows.iter().filter(|row| dataset.labels[**row] == 1).count();
            assert_eq!((rows.len(), ones), (train.len(), train.len() / 2));
        }
    }

    #[test]
    fn weights_of_unknown_classes_and_of_nothing_are_refused() {
        let refusal = |weights: &[(&str, f64)]| {
            let weights = weights.iter().map(|(name, w)| ((*name).to_owned(), *w));
            let each = ClassWeight::Each(weights.collect());
            let made = each
                .check()
                .and_then(|()| RowOrder::new(&dataset(), Some(&each)));
            made.map(drop).unwrap_err().to_string()
        };
        assert!(refusal(&[("2", 1.0)]).contains("has the value `2`"));
        assert!(refusal(&[("0", -1.0)]).contains("finite and at least 0, got -1"));
        assert!(refusal(&[("0", 0.0), ("1", 0.0)]).contains("finite and above 0, got 0"));
    }
}
