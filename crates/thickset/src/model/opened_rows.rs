//! The rows that a model is asked about: what was asked for, and what was opened.

use std::path::PathBuf;

use super::row_choice::{RowChoice, Sampler, Shard};
use crate::audit::WholeRows;
use crate::audit::result::SplitRecord;
use crate::data::row_store::RowStore;
use crate::data::{Dataset, GivenValues, Part, Schema};
use crate::{Error, Result, Rows};

/// Which rows a model is asked about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowsConfig {
    /// A dataset's name, a CSV, Parquet or IDX file, or a folder of images or graphs.
    pub data: String,
    /// A folder to look for known datasets in.
    pub folder: Option<PathBuf>,
    /// Height and width that the images of a folder are scaled to.
    pub image_size: Option<(usize, usize)>,
    /// The part to take; of a dataset the test rows where absent, of a table's file all rows.
    pub part: Option<PartChoice>,
    /// Decides the split, as in training.
    pub split_seed: Option<u64>,
    /// Splits all rows at random, even where there is an official test set, as in training.
    pub random_test: bool,
}

/// A part of a dataset, or all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartChoice {
    /// One part.
    Part(Part),
    /// Every row.
    All,
}

/// Rows that fit a model: in memory, or on disk where a file has too many.
#[derive(Clone, Debug)]
pub struct OpenedRows {
    /// What a person should know of them, in sentences.
    pub notes: Vec<String>,
    /// As it was given.
    pub(super) data: String,
    pub(super) source: Source,
    /// The numbers of the rows that are taken, in the dataset or in what is held of the file; all of these where absent.
    pub(super) chosen: Option<Vec<usize>>,
    /// How many rows the part or the file has.
    pub(super) all: usize,
    /// How many of these were asked for, before they were shared among machines.
    pub(super) selected: usize,
    pub(super) shard: Shard,
    /// The numbers of all rows that were asked for, where they are shared.
    pub(super) before_share: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    Dataset {
        dataset: Box<Dataset>,
        part: Option<Part>,
        split: SplitRecord,
    },
    /// Rows of a table's file, encoded as the model wants it.
    File {
        schema: Schema,
        store: RowStore,
        /// The number of the first of them.
        first: u64,
    },
    /// Some rows of a file with their numbers, or single images.
    Some {
        schema: Schema,
        values: Vec<f32>,
        labels: Vec<Option<usize>>,
        ids: Vec<u64>,
        /// What the features do not tell.
        given: GivenValues,
    },
}

/// Which rows of those that a [`RowsConfig`] names are taken, and which of them by this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Which rows.
    pub choice: RowChoice,
    /// Which of them, if several machines share them.
    pub shard: Shard,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            choice: RowChoice::All,
            shard: Shard::WHOLE,
        }
    }
}

impl OpenedRows {
    /// The rows.
    ///
    /// # Panics
    /// Never: the numbers were checked when the rows were chosen.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        let rows = match &self.source {
            Source::Dataset {
                dataset,
                part,
                split,
            } => Ok(Rows::of_part(dataset, *part).split_by(split)),
            Source::File {
                schema,
                store,
                first,
            } => Ok(Rows::stored(store, schema, *first)),
            Source::Some {
                schema,
                values,
                labels,
                ids,
                given,
            } => Rows::new(values, schema)
                .and_then(|rows| rows.with_some_labels(labels))
                .and_then(|rows| rows.numbered(ids))
                .map(|rows| rows.with_given(given)),
        };
        let rows = rows.and_then(|rows| match &self.chosen {
            None => Ok(rows),
            Some(chosen) => rows.only(chosen),
        });
        rows.expect("rows that were chosen exist")
    }

    /// The rows of all machines together; they themselves only where they are of a dataset, whose training rows a baseline is
    /// fitted to.
    ///
    /// # Errors
    /// Never: the numbers were checked when the rows were chosen.
    pub fn whole(&self) -> Result<WholeRows<'_>> {
        let rows = match (&self.source, &self.before_share) {
            (
                Source::Dataset {
                    dataset,
                    part,
                    split,
                },
                Some(numbers),
            ) => {
                let rows = Rows::of_part(dataset, *part).split_by(split);
                Some(rows.only(numbers)?)
            }
            (Source::Dataset { .. }, None) => Some(self.rows()),
            _ => None,
        };
        Ok(WholeRows {
            count: self.selected,
            rows,
        })
    }

    /// How many rows were asked for, by all machines together.
    #[must_use]
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Which of the machines that share the rows this one is.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.shard
    }

    /// Whether what is written of the rows follows what another machine writes.
    #[must_use]
    pub fn follows_another(&self) -> bool {
        self.shard.follows_another(self.selected)
    }

    /// How many rows the part or the file has, of which these may be some.
    #[must_use]
    pub fn all(&self) -> usize {
        self.all
    }

    /// The part of a dataset that the rows are from, if they are from one.
    #[must_use]
    pub fn part(&self) -> Option<Part> {
        match &self.source {
            Source::Dataset { part, .. } => *part,
            Source::File { .. } | Source::Some { .. } => None,
        }
    }

    /// At most the first `count` rows of the part or file.
    ///
    /// # Errors
    /// If there is no row.
    pub fn first(self, count: usize) -> Result<Self> {
        self.choose(&RowChoice::First(count))
    }

    /// Only the rows with these numbers, counted from 1 in the whole dataset or file.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn only(self, numbers: &[u64]) -> Result<Self> {
        self.choose(&RowChoice::Only(numbers.to_vec()))
    }

    /// The rows of this choice.
    ///
    /// # Errors
    /// If there is no row, or no row of a number.
    pub fn choose(mut self, choice: &RowChoice) -> Result<Self> {
        let numbers: Vec<usize> = match self.chosen.take() {
            Some(numbers) => numbers,
            None => (0..self.held()).collect(),
        };
        let chosen: Vec<usize> = match choice {
            RowChoice::All => numbers,
            RowChoice::First(count) => numbers.into_iter().take(*count).collect(),
            RowChoice::Sample { count, seed } => {
                let mut sampler = Sampler::new(*count, *seed);
                for number in numbers {
                    sampler.offer(number as u64);
                }
                let rows = sampler.rows().into_iter();
                rows.filter_map(|row| usize::try_from(row).ok()).collect()
            }
            RowChoice::Only(numbers) => {
                let held = self.held();
                let row = |number: &u64| {
                    let row = number.checked_sub(1).and_then(|row| row.try_into().ok());
                    row.filter(|row| *row < held)
                        .ok_or_else(|| Error::NoSuchRow {
                            data: self.data.clone(),
                            rows: held,
                            number: *number,
                        })
                };
                numbers.iter().map(row).collect::<Result<_>>()?
            }
        };
        if chosen.is_empty() {
            return Err(Error::EmptyPart { data: self.data });
        }
        self.selected = chosen.len();
        self.chosen = Some(chosen);
        Ok(self)
    }

    /// What one of several machines takes of the rows; nothing, where there are more machines than blocks of rows.
    #[must_use]
    pub fn share(mut self, shard: Shard) -> Self {
        if shard.is_whole() {
            return self;
        }
        let numbers: Vec<usize> = match self.chosen.take() {
            Some(numbers) => numbers,
            None => (0..self.held()).collect(),
        };
        self.selected = numbers.len();
        self.chosen = Some(numbers[shard.places(numbers.len())].to_vec());
        self.before_share = Some(numbers);
        self.shard = shard;
        self
    }

    /// Rows that are held of the dataset or file.
    fn held(&self) -> usize {
        match &self.source {
            Source::Dataset { dataset, .. } => dataset.rows(),
            Source::File { store, .. } => store.rows(),
            Source::Some { ids, .. } => ids.len(),
        }
    }
}

impl RowsConfig {
    /// Whether the options choose rows of a dataset, so that a table's file cannot be taken whole.
    pub(super) fn chooses_part(&self) -> bool {
        let is_part = self.part.is_some_and(|part| part != PartChoice::All);
        is_part || self.split_seed.is_some() || self.random_test
    }
}
