//! Datasets made of rows that are in memory already.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::check_labels;
use super::split::{Part, Split};
use crate::data::dataset::Dataset;
use crate::data::schema::Schema;
use crate::{Error, Result, Seed};

/// What errors and results call rows that come from no file.
const NAME: &str = "rows";

impl Dataset {
    /// A table of numbers: `values` row by row, one label a row, one name a feature.
    ///
    /// Numbers are taken as they are: scale them first if their sizes differ much. Classes are called `0`, `1`, … (see
    /// [`Dataset::with_classes`]), and 70/15/15 hundredths of each class train, validate and test by the seed 0 (see
    /// [`Dataset::with_split`]). The range of a feature, and whether it holds whole numbers only, come from the training rows.
    ///
    /// ```
    /// use thickset::Seed;
    /// use thickset::data::{Dataset, Part};
    ///
    /// // Forty people: younger ones with less income, older ones with more.
    /// let values: Vec<f32> = (0..40_u8).flat_map(|row| [20.5 + f32::from(row), 2.0 * f32::from(row)]).collect();
    /// let labels: Vec<usize> = (0..40).map(|row| usize::from(row >= 20)).collect();
    ///
    /// let dataset = Dataset::from_rows(values, labels, &["age", "income"])?
    ///     .with_classes(["refused", "granted"])?
    ///     .with_split(Seed::new(7));
    /// assert_eq!((dataset.rows(), dataset.features()), (40, 2));
    /// assert_eq!(dataset.part(Part::Train).len(), 28);
    /// assert_eq!(dataset.classes, ["refused", "granted"]);
    /// # Ok::<(), thickset::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no name or one twice, if the lengths do not fit together, if a value is not finite, if there are fewer than
    /// ten rows or two classes, or if a class below the greatest label has no row.
    pub fn from_rows(
        values: Vec<f32>,
        labels: Vec<usize>,
        names: &[impl AsRef<str>],
    ) -> Result<Self> {
        if names.is_empty() {
            return Err(Error::Empty {
                what: "the names of the features",
            });
        }
        let mut seen = BTreeSet::new();
        let mut given = names.iter().map(AsRef::as_ref);
        if let Some(name) = given.find(|&name| !seen.insert(name)) {
            return Err(Error::DuplicateName {
                what: "the features",
                name: name.to_owned(),
            });
        }
        let expected = labels.len().saturating_mul(names.len());
        if values.len() != expected {
            return Err(Error::LengthMismatch {
                what: "the values of all rows",
                expected,
                got: values.len(),
            });
        }
        if let Some((index, &value)) = values
            .iter()
            .enumerate()
            .find(|(_, value)| !value.is_finite())
        {
            return Err(Error::NotFinite {
                what: "the values of all rows",
                index,
                value: f64::from(value),
            });
        }
        let classes = class_names(&labels)?;
        check_labels(NAME, "labels", &labels, &classes, |class| class)?;
        let mut dataset = Self {
            name: NAME.to_owned(),
            title: "rows from memory".to_owned(),
            recipe: None,
            split: Split::stratified(&labels, Seed::new(0)),
            labels,
            classes,
            schema: Schema::table(names),
            encoding: None,
            missing: BTreeMap::new(),
            notes: Vec::new(),
            attack: None,
            values,
            pairs: None,
            weights: None,
            given: None,
        };
        dataset.learn_ranges();
        dataset.learn_references();
        Ok(dataset)
    }

    /// Splits the rows 70/15/15 within each class by another seed. Of a dataset that was made by [`Dataset::from_rows`], the
    /// ranges of the features are learned again; encodings and scales of others stay as they were fitted.
    #[must_use]
    pub fn with_split(mut self, seed: Seed) -> Self {
        self.split = Split::stratified(&self.labels, seed);
        if self.recipe.is_none() && self.encoding.is_none() {
            self.learn_ranges();
        }
        self.learn_references();
        self
    }

    /// Names the classes, in the order of their labels.
    ///
    /// # Errors
    /// If there are not as many names as classes, or one comes twice.
    pub fn with_classes<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.len() != self.classes.len() {
            return Err(Error::LengthMismatch {
                what: "the names of the classes",
                expected: self.classes.len(),
                got: names.len(),
            });
        }
        let mut seen = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
            return Err(Error::DuplicateName {
                what: "the classes",
                name: name.clone(),
            });
        }
        self.classes = names;
        self.learn_references();
        Ok(self)
    }

    /// Sets the range of every number, and whether it is whole, by the training rows.
    fn learn_ranges(&mut self) {
        let width = self.features();
        let mut row = vec![0.0; width];
        let mut ranges = vec![(f32::INFINITY, f32::NEG_INFINITY, true); width];
        for &at in self.part(Part::Train) {
            self.copy_row(at, &mut row);
            for ((low, high, whole), &value) in ranges.iter_mut().zip(&row) {
                *low = low.min(value);
                *high = high.max(value);
                *whole &= value.fract() == 0.0;
            }
        }
        for (feature, (low, high, whole)) in self.schema.features.iter_mut().zip(ranges) {
            feature.low = low;
            feature.high = high;
            feature.integer = whole;
        }
    }
}

/// `0`, `1`, … up to the greatest label, each of which must have a row.
fn class_names(labels: &[usize]) -> Result<Vec<String>> {
    let different: BTreeSet<usize> = labels.iter().copied().collect();
    match different
        .iter()
        .enumerate()
        .find(|(expected, label)| *expected != **label)
    {
        None => Ok(different.iter().map(ToString::to_string).collect()),
        Some((class, &label)) => Err(Error::EmptyClass { class, label }),
    }
}

#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "row numbers as values, which are exact"
)]
mod tests {
    use super::*;

    fn labels(rows: usize) -> Vec<usize> {
        (0..rows).map(|row| row % 2).collect()
    }

    fn refusal(values: Vec<f32>, labels: Vec<usize>, names: &[&str]) -> String {
        Dataset::from_rows(values, labels, names)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn ranges_and_whole_numbers_come_from_the_training_rows_alone() {
        let rows = 20_u8;
        let values: Vec<f32> = (0..rows)
            .flat_map(|row| [f32::from(row), f32::from(row) / 2.0])
            .collect();
        let dataset = Dataset::from_rows(values, labels(rows.into()), &["a", "b"]).unwrap();
        let train = dataset.part(Part::Train);
        assert_eq!(train.len(), 12);
        let (first, last) = (train[0], train[train.len() - 1]);
        let [a, b] = &dataset.schema.features[..] else {
            panic!("two features")
        };
        assert_eq!(
            (a.decode(a.low), a.decode(a.high)),
            (first as f64, last as f64)
        );
        assert!(a.integer && !b.integer);
        let other = dataset.clone().with_split(Seed::new(5));
        let train = other.part(Part::Train);
        assert_ne!(train, dataset.part(Part::Train));
        let a = &other.schema.features[0];
        assert_eq!(a.decode(a.low), train[0] as f64);
        assert_eq!(a.decode(a.high), train[train.len() - 1] as f64);
    }

    #[test]
    fn rows_that_do_not_fit_together_are_refused_in_words() {
        let values = |count: usize| vec![0.5; count];
        for (refused, sentence) in [
            (
                refusal(values(0), labels(12), &[]),
                "the names of the features must not be empty",
            ),
            (
                refusal(values(24), labels(12), &["a", "a"]),
                "the features must have different names, got `a` twice",
            ),
            (
                refusal(values(23), labels(12), &["a", "b"]),
                "the values of all rows must have length 24, got 23",
            ),
            (
                refusal([values(11), vec![f32::NAN]].concat(), labels(12), &["a"]),
                "the values of all rows must be finite, got NaN at index 11",
            ),
            (
                refusal(values(8), labels(8), &["a"]),
                "`rows` has 8 usable rows, expected at least 10",
            ),
            (
                refusal(values(12), vec![0; 12], &["a"]),
                "every row has the class `0`",
            ),
            (
                refusal(values(12), [vec![0; 6], vec![2; 6]].concat(), &["a"]),
                "class 1 has no row, though there is a label 2",
            ),
            (refusal(values(0), Vec::new(), &["a"]), "`rows` has no rows"),
        ] {
            assert!(
                refused.contains(sentence),
                "`{sentence}` is not in: {refused}"
            );
        }
    }

    #[test]
    fn classes_are_numbered_until_they_are_named() {
        let dataset = Dataset::from_rows(vec![0.5; 12], labels(12), &["a"]).unwrap();
        assert_eq!(dataset.classes, ["0", "1"]);
        let named = dataset.clone().with_classes(["no", "yes"]).unwrap();
        assert_eq!(named.classes, ["no", "yes"]);
        let three = dataset.clone().with_classes(["a", "b", "c"]).unwrap_err();
        assert!(three.to_string().contains("must have length 2, got 3"));
        let twice = dataset.with_classes(["a", "a"]).unwrap_err().to_string();
        assert!(twice.contains("different names, got `a` twice"), "{twice}");
    }
}
