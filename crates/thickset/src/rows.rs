//! Rows that a model is asked about: numbers in memory, or some rows of a dataset. Predictions, explanations, attacks and audits
//! all take them, and read them chunk by chunk.

use std::ops::Range;

use thickset_engine::{Network, Tensor};

use crate::audit::result::SplitRecord;
use crate::data::row_store::RowStore;
use crate::data::{AttackDefaults, Dataset, Given, GivenValues, Part, Schema};
use crate::{Error, Result};

/// Rows, borrowed. Nothing is copied until a model is asked.
///
/// ```
/// use thickset::{Rows, Schema};
///
/// let schema = Schema::table(&["age", "income"]);
/// let rows = Rows::new(&[0.3, 0.5, 0.9, 0.1], &schema)?;
/// assert_eq!(rows.len(), 2);
/// # Ok::<(), thickset::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    source: Source<'a>,
    /// Their numbers in the source; all of the source's rows where absent.
    numbers: Option<&'a [usize]>,
    /// The first of them, and how many there are.
    start: usize,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Values {
        /// Row-major.
        values: &'a [f32],
        schema: &'a Schema,
        labels: Labels<'a>,
        /// Their numbers, where they are not counted from 0.
        ids: Option<&'a [u64]>,
        /// What the features do not tell.
        given: Option<&'a GivenValues>,
    },
    Stored {
        store: &'a RowStore,
        schema: &'a Schema,
        /// The number of the first of them.
        first: u64,
    },
    Dataset {
        dataset: &'a Dataset,
        part: Option<Part>,
        split: Option<&'a SplitRecord>,
    },
}

#[derive(Clone, Copy, Debug)]
enum Labels<'a> {
    None,
    All(&'a [usize]),
    Some(&'a [Option<usize>]),
}

impl<'a> Rows<'a> {
    /// Rows of numbers, one after the other, each with as many values as the schema has features.
    ///
    /// # Errors
    /// If the last row is not whole.
    pub fn new(values: &'a [f32], schema: &'a Schema) -> Result<Self> {
        let width = schema.len();
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(Error::LengthMismatch {
                what: "the values of the rows",
                expected: values.len().div_ceil(width.max(1)) * width,
                got: values.len(),
            });
        }
        Ok(Self {
            source: Source::Values {
                values,
                schema,
                labels: Labels::None,
                ids: None,
                given: None,
            },
            numbers: None,
            start: 0,
            len: values.len() / width,
        })
    }

    /// Rows of a store; `first` is the number of the first of them.
    pub(crate) fn stored(store: &'a RowStore, schema: &'a Schema, first: u64) -> Self {
        Self {
            source: Source::Stored {
                store,
                schema,
                first,
            },
            numbers: None,
            start: 0,
            len: store.rows(),
        }
    }

    /// The same rows of numbers with the number of each, counted from 0, by which its random streams are named: for rows that are
    /// some of a larger table's. Rows of a dataset keep their own.
    ///
    /// # Errors
    /// If there are not as many numbers as rows.
    pub fn numbered(mut self, numbers: &'a [u64]) -> Result<Self> {
        if numbers.len() != self.len {
            return Err(Error::LengthMismatch {
                what: "the numbers of the rows",
                expected: self.len,
                got: numbers.len(),
            });
        }
        if let Source::Values { ids, .. } = &mut self.source {
            *ids = Some(numbers);
        }
        Ok(self)
    }

    /// The same rows of numbers with what their features do not tell of the table they come from, as
    /// [`Encoding::apply`](crate::data::Encoding::apply) found it. Rows of a dataset have it already.
    #[must_use]
    pub fn with_given(mut self, values: &'a GivenValues) -> Self {
        if let Source::Values { given, .. } = &mut self.source {
            *given = Some(values);
        }
        self
    }

    /// The same rows with the class of each. Rows of a dataset have their classes already and keep them.
    ///
    /// # Errors
    /// If there are not as many labels as rows.
    pub fn with_labels(self, labels: &'a [usize]) -> Result<Self> {
        self.labelled(Labels::All(labels), labels.len())
    }

    /// The same where only some classes are known.
    ///
    /// # Errors
    /// If there are not as many labels as rows.
    pub fn with_some_labels(self, labels: &'a [Option<usize>]) -> Result<Self> {
        self.labelled(Labels::Some(labels), labels.len())
    }

    fn labelled(mut self, given: Labels<'a>, got: usize) -> Result<Self> {
        if got != self.len {
            return Err(Error::LengthMismatch {
                what: "the labels of the rows",
                expected: self.len,
                got,
            });
        }
        if let Source::Values { labels, .. } = &mut self.source {
            *labels = given;
        }
        Ok(self)
    }

    /// The rows of the same dataset or list of values that have these numbers, counted from 0.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn only(self, rows: &'a [usize]) -> Result<Self> {
        let whole = match self.source {
            Source::Values { values, schema, .. } => values.len() / schema.len(),
            Source::Stored { store, .. } => store.rows(),
            Source::Dataset { dataset, .. } => dataset.rows(),
        };
        if let Some(&got) = rows.iter().find(|row| **row >= whole) {
            return Err(Error::IndexOutOfRange {
                what: "the number of a row",
                bound: whole,
                got,
            });
        }
        Ok(Self {
            numbers: Some(rows),
            start: 0,
            len: rows.len(),
            ..self
        })
    }

    /// The rows of a part of a dataset, or all of them.
    #[must_use]
    pub fn of_part(dataset: &'a Dataset, part: Option<Part>) -> Self {
        let rows = part.map(|part| dataset.part(part));
        Self {
            source: Source::Dataset {
                dataset,
                part,
                split: None,
            },
            numbers: rows,
            start: 0,
            len: rows.map_or(dataset.rows(), <[usize]>::len),
        }
    }

    /// The same, saying how the dataset was split, for the record of an audit.
    #[must_use]
    pub fn split_by(mut self, how: &'a SplitRecord) -> Self {
        if let Source::Dataset { split, .. } = &mut self.source {
            *split = Some(how);
        }
        self
    }

    /// Some of the rows, by their places among these.
    ///
    /// # Panics
    /// If there are not so many rows.
    #[must_use]
    pub fn slice(self, places: Range<usize>) -> Self {
        assert!(places.start <= places.end && places.end <= self.len);
        Self {
            start: self.start + places.start,
            len: places.len(),
            ..self
        }
    }

    /// At most the first `count` rows.
    #[must_use]
    pub fn first(self, count: usize) -> Self {
        self.slice(0..count.min(self.len))
    }

    /// How many rows there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What the values of a row are.
    #[must_use]
    pub fn schema(&self) -> &'a Schema {
        match self.source {
            Source::Values { schema, .. } | Source::Stored { schema, .. } => schema,
            Source::Dataset { dataset, .. } => &dataset.schema,
        }
    }

    /// The number of the row at this place in its file, dataset or slice, counted from 0. Its random streams are named by it.
    ///
    /// # Panics
    /// If there is no such place.
    #[must_use]
    pub fn id(&self, place: usize) -> u64 {
        let row = self.row(place);
        match self.source {
            Source::Values { ids: Some(ids), .. } => ids[row],
            Source::Stored { first, .. } => first + row as u64,
            _ => row as u64,
        }
    }

    /// The class of the row at this place, if it is known.
    ///
    /// # Panics
    /// If there is no such place.
    #[must_use]
    pub fn label(&self, place: usize) -> Option<usize> {
        let row = self.row(place);
        match self.source {
            Source::Values { labels, .. } => match labels {
                Labels::None => None,
                Labels::All(labels) => Some(labels[row]),
                Labels::Some(labels) => labels[row],
            },
            Source::Stored { store, .. } => store.label(row),
            Source::Dataset { dataset, .. } => Some(dataset.labels[row]),
        }
    }

    /// What the table of the row at this place says where its features do not tell it: places of columns, and values. None where
    /// nothing is known of such a table.
    ///
    /// # Panics
    /// If there is no such place.
    #[must_use]
    pub fn given(&self, place: usize) -> Option<Vec<(usize, Given)>> {
        let row = self.row(place);
        let given = match self.source {
            Source::Values { given, .. } => given,
            Source::Stored { store, .. } => Some(store.given()),
            Source::Dataset { dataset, .. } => dataset.given(),
        };
        given.map(|given| given.row(row))
    }

    /// The numbers of the rows at these places in their source, as [`Rows::only`] takes them.
    pub(crate) fn numbers(&self, places: impl IntoIterator<Item = usize>) -> Vec<usize> {
        places.into_iter().map(|place| self.row(place)).collect()
    }

    /// Copies the row at this place.
    ///
    /// # Panics
    /// If there is no such place, or the target has another length than a row.
    pub fn copy(&self, place: usize, target: &mut [f32]) {
        let row = self.row(place);
        match self.source {
            Source::Values { values, .. } => {
                let start = row * target.len();
                target.copy_from_slice(&values[start..start + target.len()]);
            }
            Source::Stored { store, .. } => store.copy(row, target),
            Source::Dataset { dataset, .. } => dataset.copy_row(row, target),
        }
    }

    fn row(&self, place: usize) -> usize {
        assert!(place < self.len, "row {place} of {}", self.len);
        let place = self.start + place;
        self.numbers.map_or(place, |numbers| numbers[place])
    }

    /// The part of the dataset that these rows are, if they are one.
    #[must_use]
    pub fn part(&self) -> Option<Part> {
        match self.source {
            Source::Dataset { part, .. } => part,
            Source::Values { .. } | Source::Stored { .. } => None,
        }
    }

    /// How the dataset was split, if that was said.
    pub(crate) fn split(&self) -> Option<&'a SplitRecord> {
        match self.source {
            Source::Dataset { split, .. } => split,
            Source::Values { .. } | Source::Stored { .. } => None,
        }
    }

    /// The name of the dataset, if these rows are of one.
    #[must_use]
    pub fn dataset_name(&self) -> Option<&'a str> {
        match self.source {
            Source::Dataset { dataset, .. } => Some(&dataset.name),
            Source::Values { .. } | Source::Stored { .. } => None,
        }
    }

    /// What attacks on this dataset use unless other values are given.
    pub(crate) fn attack_defaults(&self) -> Option<AttackDefaults> {
        match self.source {
            Source::Dataset { dataset, .. } => dataset.attack,
            Source::Values { .. } | Source::Stored { .. } => None,
        }
    }

    /// The dataset with training rows, if there are some.
    pub(crate) fn training(&self) -> Option<&'a Dataset> {
        match self.source {
            Source::Dataset { dataset, .. } => {
                (!dataset.part(Part::Train).is_empty()).then_some(dataset)
            }
            Source::Values { .. } | Source::Stored { .. } => None,
        }
    }

    /// At most so many training rows of the same dataset, spread evenly over all of them, row-major; none where there are none.
    pub(crate) fn donors(&self, most: usize) -> Vec<f64> {
        let Some(dataset) = self.training() else {
            return Vec::new();
        };
        let all = dataset.part(Part::Train);
        let count = most.min(all.len());
        let chosen = (0..count).map(|number| all[number * all.len() / count]);
        let values = dataset.gather(&chosen.collect::<Vec<usize>>());
        values.into_iter().map(f64::from).collect()
    }

    /// The numbers of all rows.
    pub(crate) fn ids(&self) -> Vec<u64> {
        (0..self.len).map(|place| self.id(place)).collect()
    }

    /// The rows as a tensor that the network reads.
    pub(crate) fn tensor(&self, network: &Network) -> Tensor<2> {
        let width = self.schema().len();
        let mut values = vec![0.0; self.len * width];
        for (place, target) in values.chunks_exact_mut(width).enumerate() {
            self.copy(place, target);
        }
        network.batch_f32(&values)
    }

    /// The rows at these places, row-major, in the double precision that searches move points in.
    pub(crate) fn gather(&self, places: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let mut row = vec![0.0; self.schema().len()];
        let mut values = Vec::new();
        for place in places {
            self.copy(place, &mut row);
            values.extend(row.iter().copied().map(f64::from));
        }
        values
    }

    /// The rows in parts of at most `count`.
    pub(crate) fn parts(self, count: usize) -> impl Iterator<Item = Rows<'a>> {
        let starts = (0..self.len).step_by(count.max(1));
        starts.map(move |start| self.slice(start..(start + count).min(self.len)))
    }

    /// Refuses rows that do not fit the network, or hold a number that is not finite.
    ///
    /// # Errors
    /// [`Error::RowWidth`] or [`Error::NotFinite`].
    pub(crate) fn check(&self, network: &Network) -> Result<()> {
        let (expected, got) = (network.features(), self.schema().len());
        if expected != got {
            return Err(Error::RowWidth { expected, got });
        }
        let mut row = vec![0.0; got];
        for place in 0..self.len {
            self.copy(place, &mut row);
            if let Some(feature) = row.iter().position(|value| !value.is_finite()) {
                return Err(Error::NotFinite {
                    what: "the rows",
                    index: place * got + feature,
                    value: f64::from(row[feature]),
                });
            }
        }
        Ok(())
    }
}

impl Dataset {
    /// The rows that numbers are reported on.
    #[must_use]
    pub fn test(&self) -> Rows<'_> {
        Rows::of_part(self, Some(Part::Test))
    }

    /// The rows that choose among epochs.
    #[must_use]
    pub fn validation(&self) -> Rows<'_> {
        Rows::of_part(self, Some(Part::Validation))
    }

    /// The rows that weights are learned from.
    #[must_use]
    pub fn training(&self) -> Rows<'_> {
        Rows::of_part(self, Some(Part::Train))
    }

    /// All rows.
    #[must_use]
    pub fn all(&self) -> Rows<'_> {
        Rows::of_part(self, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(rows: Rows<'_>) -> Vec<u64> {
        rows.ids()
    }

    #[test]
    fn a_slice_of_a_slice_keeps_the_rows_own_numbers_values_and_labels() {
        let schema = Schema::of_shape(&crate::data::InputShape::Table, 2);
        let values: Vec<f32> = (0_u8..10).map(f32::from).collect();
        let labels = [0, 1, 0, 1, 1];
        let rows = Rows::new(&values, &schema).unwrap();
        let rows = rows.with_labels(&labels).unwrap().slice(1..5).slice(1..3);
        assert_eq!(ids(rows), [2, 3]);
        assert_eq!(rows.gather(0..2), [4.0, 5.0, 6.0, 7.0]);
        assert_eq!([rows.label(0), rows.label(1)], [Some(0), Some(1)]);
        let parts: Vec<Vec<u64>> = rows.parts(1).map(ids).collect();
        assert_eq!(parts, [[2], [3]]);
    }

    #[test]
    fn rows_that_are_not_whole_are_refused() {
        let schema = Schema::of_shape(&crate::data::InputShape::Table, 2);
        let error = Rows::new(&[1.0, 2.0, 3.0], &schema).unwrap_err();
        assert!(error.to_string().contains("length 4"), "{error}");
        let rows = Rows::new(&[1.0, 2.0], &schema).unwrap();
        assert!(rows.with_labels(&[0, 1]).is_err());
    }
}
