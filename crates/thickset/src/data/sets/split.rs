//! Which rows train, choose and judge: 70/15/15, the same share of every class in each, by seed.

use serde::{Deserialize, Serialize};

use crate::Seed;

/// Shares of training and validation in hundredths; the rest is the test split.
const TRAIN_PERCENT: usize = 70;
const VALIDATION_PERCENT: usize = 15;

/// A part of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Rows that weights and encodings are learned from.
    Train,
    /// Rows that choose among epochs.
    Validation,
    /// Rows that numbers are reported on.
    Test,
}

impl Part {
    /// The name used in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

/// Row numbers of each part, ascending; each row is in exactly one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// Training rows.
    pub train: Vec<usize>,
    /// Validation rows.
    pub validation: Vec<usize>,
    /// Test rows.
    pub test: Vec<usize>,
}

impl Split {
    /// Splits rows 70/15/15 within each class. A class of one or two rows goes to training first.
    #[must_use]
    pub fn stratified(labels: &[usize], seed: Seed) -> Self {
        Self::build(labels, |_| false, seed)
    }

    /// Splits rows whose test part is given: of the others, 70 parts train for every 15 that validate.
    #[must_use]
    pub fn with_test(labels: &[usize], is_test: &[bool], seed: Seed) -> Self {
        Self::build(labels, |row| is_test[row], seed)
    }

    /// Splits rows into those that train and, of each class, this share that validates; none is left to test. For programs that
    /// keep test rows themselves.
    #[must_use]
    pub fn without_test(labels: &[usize], validation: f64, seed: Seed) -> Self {
        let mut split = Self::default();
        let classes = labels.iter().max().map_or(0, |last| last + 1);
        for class in 0..classes {
            let of_class = labels.iter().enumerate();
            let of_class = of_class.filter(|(_, label)| **label == class);
            let mut rows: Vec<usize> = of_class.map(|(row, _)| row).collect();
            seed.stream_at("split", class as u64).shuffle(&mut rows);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                clippy::cast_sign_loss,
                reason = "a share of far fewer than 2^52 rows"
            )]
            let held_out = (rows.len() as f64 * validation.clamp(0.0, 1.0)).round() as usize;
            // A class that nothing is learned of would be worse than one that nothing is checked on.
            let held_out = held_out.min(rows.len().saturating_sub(1));
            split.validation.extend(rows.drain(..held_out));
            split.train.extend(rows);
        }
        split.train.sort_unstable();
        split.validation.sort_unstable();
        split
    }

    fn build(labels: &[usize], is_test: impl Fn(usize) -> bool, seed: Seed) -> Self {
        let mut split = Self::default();
        let classes = labels.iter().max().map_or(0, |last| last + 1);
        let mut rows_of = vec![Vec::new(); classes];
        for (row, &label) in labels.iter().enumerate() {
            if is_test(row) {
                split.test.push(row);
            } else {
                rows_of[label].push(row);
            }
        }
        let official = !split.test.is_empty();
        for (class, mut rows) in rows_of.into_iter().enumerate() {
            seed.stream_at("split", class as u64).shuffle(&mut rows);
            let total = if official {
                TRAIN_PERCENT + VALIDATION_PERCENT
            } else {
                100
            };
            let validation = rounded(rows.len() * VALIDATION_PERCENT, total);
            let test = if official { 0 } else { validation };
            let train = rows.len() - validation - test;
            split.train.extend(&rows[..train]);
            split.validation.extend(&rows[train..train + validation]);
            split.test.extend(&rows[train + validation..]);
        }
        for part in [&mut split.train, &mut split.validation, &mut split.test] {
            part.sort_unstable();
        }
        split
    }

    /// The rows of a part.
    #[must_use]
    pub fn rows(&self, part: Part) -> &[usize] {
        match part {
            Part::Train => &self.train,
            Part::Validation => &self.validation,
            Part::Test => &self.test,
        }
    }

    /// The part of each of `rows` rows.
    #[must_use]
    pub fn parts(&self, rows: usize) -> Vec<Part> {
        let mut parts = vec![Part::Train; rows];
        for part in [Part::Validation, Part::Test] {
            for &row in self.rows(part) {
                parts[row] = part;
            }
        }
        parts
    }
}

/// `numerator / denominator`, halves up.
fn rounded(numerator: usize, denominator: usize) -> usize {
    (numerator + denominator / 2) / denominator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_test_rows_each_class_keeps_its_share_and_one_row_to_learn_from() {
        let labels = [vec![0; 20], vec![1; 10], vec![2; 1]].concat();
        let split = Split::without_test(&labels, 0.2, Seed::new(1));
        let held_out = |class: usize| {
            let rows = split.validation.iter();
            rows.filter(|row| labels[**row] == class).count()
        };
        assert_eq!([0, 1, 2].map(held_out), [4, 2, 0]);
        assert_eq!(split.train.len() + split.validation.len(), labels.len());
        assert!(split.test.is_empty());
        let all = Split::without_test(&labels, 1.0, Seed::new(1));
        assert_eq!(all.train.len(), 3);
        let none = Split::without_test(&labels, 0.0, Seed::new(1));
        assert!(none.validation.is_empty());
    }

    fn labels() -> Vec<usize> {
        (0..1000).map(|row| usize::from(row % 10 == 0)).collect()
    }

    #[test]
    fn every_row_is_in_exactly_one_part() {
        let split = Split::stratified(&labels(), Seed::new(1));
        let mut all = [
            split.train.clone(),
            split.validation.clone(),
            split.test.clone(),
        ]
        .concat();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert_eq!(
            (split.train.len(), split.validation.len(), split.test.len()),
            (700, 150, 150)
        );
    }

    #[test]
    fn every_part_has_the_same_share_of_each_class() {
        let labels = labels();
        let split = Split::stratified(&labels, Seed::new(1));
        let ones = |rows: &[usize]| rows.iter().filter(|&&row| labels[row] == 1).count();
        assert_eq!(
            [
                ones(&split.train),
                ones(&split.validation),
                ones(&split.test)
            ],
            [70, 15, 15]
        );
    }

    #[test]
    fn an_official_test_set_stays_whole() {
        let is_test: Vec<bool> = (0..1000).map(|row| row >= 800).collect();
        let split = Split::with_test(&labels(), &is_test, Seed::new(1));
        assert_eq!(split.test, (800..1000).collect::<Vec<_>>());
        assert_eq!(
            split.validation.len(),
            141,
            "15/85 of 720 and of 80, each rounded"
        );
    }

    #[test]
    fn the_seed_alone_decides() {
        let labels = labels();
        assert_eq!(
            Split::stratified(&labels, Seed::new(1)),
            Split::stratified(&labels, Seed::new(1))
        );
        assert_ne!(
            Split::stratified(&labels, Seed::new(1)),
            Split::stratified(&labels, Seed::new(2))
        );
    }

    #[test]
    fn a_lone_row_of_a_class_trains() {
        let split = Split::stratified(&[0, 0, 0, 0, 0, 0, 0, 1], Seed::new(3));
        assert!(split.train.contains(&7));
    }
}
