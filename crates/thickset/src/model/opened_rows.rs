//! From the name of a dataset or a file to the rows of it that a model is asked about.

use std::path::{Path, PathBuf};

use super::Model;
use crate::audit::result::SplitRecord;
use crate::config::RunConfig;
use crate::data::{self, Dataset, Encoded, Encoding, Known, OpenOptions, Part, Schema};
use crate::{Error, Result, Rows, Seed};

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

/// Rows that fit a model, held in memory.
#[derive(Clone, Debug)]
pub struct OpenedRows {
    /// What a person should know of them, in sentences.
    pub notes: Vec<String>,
    /// As it was given.
    data: String,
    source: Source,
    /// The numbers of the rows that are taken.
    chosen: Vec<usize>,
    /// How many rows the part or the file has.
    all: usize,
}

#[derive(Clone, Debug)]
enum Source {
    Dataset {
        dataset: Box<Dataset>,
        part: Option<Part>,
        split: SplitRecord,
    },
    /// A table's file, encoded as the model wants it.
    File {
        schema: Schema,
        values: Vec<f32>,
        labels: Vec<Option<usize>>,
    },
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
                values,
                labels,
            } => Rows::new(values, schema).and_then(|rows| rows.with_some_labels(labels)),
        };
        let rows = rows.and_then(|rows| rows.only(&self.chosen));
        rows.expect("rows that were chosen exist")
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
            Source::File { .. } => None,
        }
    }

    /// At most the first `count` rows of the part or file.
    ///
    /// # Errors
    /// If there is no row.
    pub fn first(mut self, count: usize) -> Result<Self> {
        self.chosen.truncate(count);
        if self.chosen.is_empty() {
            return Err(Error::EmptyPart { data: self.data });
        }
        Ok(self)
    }

    /// Only the rows with these numbers, counted from 1 in the whole dataset or file.
    ///
    /// # Errors
    /// If there is no such row.
    pub fn only(mut self, numbers: &[u64]) -> Result<Self> {
        let rows = match &self.source {
            Source::Dataset { dataset, .. } => dataset.rows(),
            Source::File { labels, .. } => labels.len(),
        };
        let row = |number: &u64| {
            let row = number.checked_sub(1).and_then(|row| row.try_into().ok());
            row.filter(|row| *row < rows)
                .ok_or_else(|| Error::NoSuchRow {
                    data: self.data.clone(),
                    rows,
                    number: *number,
                })
        };
        self.chosen = numbers.iter().map(row).collect::<Result<_>>()?;
        Ok(self)
    }
}

impl Model {
    /// Opens rows to explain or attack. A table's file is taken whole, encoded by the model, and its target is not looked at; of
    /// anything else, and of the data that the model's own run was trained on where a part is asked for, that part.
    ///
    /// # Errors
    /// For whatever is missing or wrong, and if the rows do not fit the model.
    pub fn open_rows(&self, config: &RowsConfig) -> Result<OpenedRows> {
        if config.chooses_part() {
            return self.open_labelled_rows(config);
        }
        self.open_other(config, |path, encoding| {
            let encoded = data::read_encoded(path, encoding)?;
            let rows = encoded.values.len() / encoding.schema().len().max(1);
            Ok((encoded, vec![None; rows]))
        })
    }

    /// Opens rows to audit: with labels where a file has the target. Data that the model's own run was trained on is read and
    /// split as it was there, where nothing else is given, and the part asked for is taken.
    ///
    /// # Errors
    /// As for [`Model::open_rows`].
    pub fn open_labelled_rows(&self, config: &RowsConfig) -> Result<OpenedRows> {
        let run = self.origin()?.run;
        match run.filter(|run| is_same(&run.data.source, &config.data)) {
            Some(run) => self.open_as_in_run(config, &run),
            None => self.open_other(config, data::read_labelled),
        }
    }

    fn open_as_in_run(&self, config: &RowsConfig, run: &RunConfig) -> Result<OpenedRows> {
        let mut data = run.data.clone();
        if let Some(folder) = &config.folder {
            data.folder = Some(folder.clone());
        }
        data.random_test |= config.random_test;
        data.image_size = config.image_size.or(data.image_size);
        let split = SplitRecord {
            seed: config.split_seed.unwrap_or(run.seed.number()),
            random_test: data.random_test,
            image_size: data.image_size,
            recipe: data.recipe.as_deref().map(file_name),
        };
        let dataset = data.open(Seed::new(split.seed))?;
        self.part_of(config, dataset, split)
    }

    fn open_other(&self, config: &RowsConfig, read: ReadFile) -> Result<OpenedRows> {
        let encoding = self.description.encoding.as_ref();
        if let Some(encoding) = encoding.filter(|_| config.is_file()) {
            if config.chooses_part() {
                return Err(Error::WholeFile {
                    path: config.data.clone(),
                });
            }
            let (encoded, labels) = read(Path::new(&config.data), encoding)?;
            let unseen = encoded.unseen.iter().map(|(column, count)| {
                format!("{count} rows have a `{column}` that the model has never seen")
            });
            let missing = encoded.missing.iter();
            let missing = missing.map(|(column, count)| format!("{count} rows have no `{column}`"));
            return self.fitting(OpenedRows {
                notes: unseen.chain(missing).collect(),
                data: config.data.clone(),
                chosen: (0..labels.len()).collect(),
                all: labels.len(),
                source: Source::File {
                    schema: self.schema().clone(),
                    values: encoded.values,
                    labels,
                },
            });
        }
        let split = SplitRecord {
            seed: config.split_seed.unwrap_or(0),
            random_test: config.random_test,
            image_size: config.image_size,
            recipe: None,
        };
        let options = OpenOptions {
            data_dir: config.folder.clone(),
            seed: Seed::new(split.seed),
            random_test: split.random_test,
            image_size: split.image_size,
            ..OpenOptions::default()
        };
        let dataset = data::open(&config.data, &options)?;
        self.part_of(config, dataset, split)
    }

    fn part_of(
        &self,
        config: &RowsConfig,
        dataset: Dataset,
        split: SplitRecord,
    ) -> Result<OpenedRows> {
        let encoding = self.description.encoding.as_ref();
        if let (Some(own), theirs) = (encoding, dataset.encoding.as_ref())
            && theirs != Some(own)
        {
            let data = config.data.clone();
            return Err(if has_columns_of(own, theirs) {
                Error::OtherTrainingRows { data }
            } else {
                Error::OtherColumns { data }
            });
        }
        let part = match config.part.unwrap_or(PartChoice::Part(Part::Test)) {
            PartChoice::Part(part) => Some(part),
            PartChoice::All => None,
        };
        let chosen = match part {
            Some(part) => dataset.part(part).to_vec(),
            None => (0..dataset.rows()).collect(),
        };
        self.fitting(OpenedRows {
            notes: Vec::new(),
            data: config.data.clone(),
            all: chosen.len(),
            chosen,
            source: Source::Dataset {
                dataset: Box::new(dataset),
                part,
                split,
            },
        })
    }

    fn fitting(&self, opened: OpenedRows) -> Result<OpenedRows> {
        let schema = match &opened.source {
            Source::Dataset { dataset, .. } => &dataset.schema,
            Source::File { schema, .. } => schema,
        };
        let description = &self.description;
        if schema.shape != description.input {
            return Err(Error::RowsShape {
                data: opened.data,
                expected: description.input.to_string(),
                got: schema.shape.to_string(),
            });
        }
        if schema.len() != description.features {
            return Err(Error::RowsWidth {
                data: opened.data,
                expected: description.features,
                got: schema.len(),
            });
        }
        Ok(opened)
    }
}

impl RowsConfig {
    /// Whether the options choose rows of a dataset, so that a table's file cannot be taken whole.
    fn chooses_part(&self) -> bool {
        let is_part = self.part.is_some_and(|part| part != PartChoice::All);
        is_part || self.split_seed.is_some() || self.random_test
    }

    fn is_file(&self) -> bool {
        Known::find(&self.data).is_none() && Path::new(&self.data).is_file()
    }
}

/// Reads a file by an encoding, with the rows' labels.
type ReadFile = fn(&Path, &Encoding) -> Result<(Encoded, Vec<Option<usize>>)>;

/// Whether an encoding is of the same columns, so that only what was learned from the rows differs.
fn has_columns_of(own: &Encoding, other: Option<&Encoding>) -> bool {
    let names = |encoding: &Encoding| -> Vec<String> {
        let schema = encoding.schema();
        let columns = schema.by_column().into_iter();
        columns.map(|(name, _)| name.to_owned()).collect()
    };
    other.is_some_and(|other| names(own) == names(other))
}

/// Whether both name the same dataset or file.
fn is_same(first: &str, second: &str) -> bool {
    let place = |path: &str| std::fs::canonicalize(path).ok();
    first == second || place(first).is_some_and(|first| Some(first) == place(second))
}

/// The last part of a path.
fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
