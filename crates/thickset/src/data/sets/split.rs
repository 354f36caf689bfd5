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
