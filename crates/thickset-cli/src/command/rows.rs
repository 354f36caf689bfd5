//! Where rows come from, and which of them fit a model.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use thickset::Seed;
use thickset::audit::RowSource;
use thickset::audit::result::Split;
use thickset::config::RunConfig;
use thickset::data::{
    self, AttackDefaults, Dataset, Encoded, Encoding, Known, OpenOptions, Part, Schema,
};
use thickset::model::Model;

/// Where rows come from.
#[derive(Args)]
pub struct DataSource {
    /// A dataset's name, a CSV, Parquet or IDX file, or a folder of images or graphs
    #[arg(long, value_name = "NAME|FILE")]
    data: String,
    /// A data folder to look in before `$THICKSET_DATA` and the platform's data folder
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Scale the images of a folder to this height and width
    #[arg(long, value_name = "HEIGHTxWIDTH", value_parser = super::data::parse_size)]
    image_size: Option<(usize, usize)>,
    /// The part of a dataset to take rows from; a table's file is taken whole [default: test]
    #[arg(long, value_enum)]
    part: Option<PartName>,
    /// Decides the split of a dataset, as in training [default: the run's, else 0]
    #[arg(long, value_name = "SEED")]
    split_seed: Option<u64>,
    /// Split all rows at random, even where there is an official test set, as in training
    #[arg(long)]
    random_test: bool,
    /// Decides every random draw
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartName {
    Train,
    Validation,
    Test,
    All,
}

/// Rows that fit a model, and all that is known of them.
pub enum Opened {
    /// Rows of a dataset.
    Dataset {
        dataset: Box<Dataset>,
        rows: Vec<usize>,
        part: Option<Part>,
        split: Split,
    },
    /// A file's rows, encoded as the model wants them.
    File {
        schema: Schema,
        values: Vec<f32>,
        /// As many as there are rows.
        labels: Vec<Option<usize>>,
    },
}

impl Opened {
    pub fn schema(&self) -> &Schema {
        match self {
            Self::Dataset { dataset, .. } => &dataset.schema,
            Self::File { schema, .. } => schema,
        }
    }

    /// What attacks on this dataset use unless told otherwise.
    pub fn attack(&self) -> Option<AttackDefaults> {
        match self {
            Self::Dataset { dataset, .. } => dataset.attack,
            Self::File { .. } => None,
        }
    }

    /// Rows of the part, or of the file.
    pub fn len(&self) -> usize {
        match self {
            Self::Dataset { rows, .. } => rows.len(),
            Self::File { labels, .. } => labels.len(),
        }
    }

    /// Only the first `count` rows.
    pub fn truncate(&mut self, count: usize) {
        match self {
            Self::Dataset { rows, .. } => rows.truncate(count),
            Self::File { labels, .. } => labels.truncate(count),
        }
    }

    /// For an audit.
    pub fn source(&self) -> RowSource<'_> {
        match self {
            Self::Dataset {
                dataset,
                rows,
                part,
                split,
            } => RowSource::Dataset {
                dataset,
                rows,
                part: *part,
                split,
            },
            Self::File {
                schema,
                values,
                labels,
            } => RowSource::File {
                schema,
                values,
                labels,
            },
        }
    }
}

impl DataSource {
    /// As it was given.
    pub fn name(&self) -> &str {
        &self.data
    }

    pub fn seed(&self) -> Seed {
        Seed::new(self.seed)
    }

    /// The rows for a model. A table's file is taken whole, encoded by the model, and its target is not looked at; of
    /// anything else, the part asked for.
    pub fn open(&self, model: &Model) -> Result<Opened> {
        self.open_with(model, |path, encoding| {
            let encoded = data::read_encoded(path, encoding)?;
            let rows = encoded.values.len() / encoding.schema().len().max(1);
            Ok((encoded, vec![None; rows]))
        })
    }

    fn open_with(&self, model: &Model, read: ReadFile) -> Result<Opened> {
        let encoding = model.description.encoding.as_ref();
        let opened = match encoding {
            Some(encoding) if self.is_file() => {
                self.refuse_choice()?;
                let (encoded, labels) = read(Path::new(&self.data), encoding)?;
                for (column, count) in &encoded.unseen {
                    say!("{count} rows have a `{column}` that the model has never seen");
                }
                for (column, count) in &encoded.missing {
                    say!("{count} rows have no `{column}`");
                }
                Opened::File {
                    schema: encoding.schema(),
                    values: encoded.values,
                    labels,
                }
            }
            _ => {
                let split = Split {
                    seed: self.split_seed.unwrap_or(0),
                    random_test: self.random_test,
                    image_size: self.image_size,
                    recipe: None,
                };
                let options = OpenOptions {
                    data_dir: self.data_dir.clone(),
                    seed: Seed::new(split.seed),
                    random_test: split.random_test,
                    image_size: split.image_size,
                    ..OpenOptions::default()
                };
                let dataset = data::open(&self.data, &options)?;
                self.part_of(dataset, encoding, split)?
            }
        };
        self.fitting(opened, model)
    }

    /// The same with labels where the file has the target. And data that the model's own run was trained on is read and split
    /// as it was there, where nothing else is given, and the part asked for is taken.
    pub fn open_labelled(&self, run: Option<&RunConfig>, model: &Model) -> Result<Opened> {
        let Some(run) = run.filter(|run| same(&run.data.source, &self.data)) else {
            return self.open_with(model, data::read_labelled);
        };
        let mut config = run.data.clone();
        if let Some(folder) = &self.data_dir {
            config.folder = Some(folder.clone());
        }
        config.random_test |= self.random_test;
        config.image_size = self.image_size.or(config.image_size);
        let split = Split {
            seed: self.split_seed.unwrap_or(run.seed.number()),
            random_test: config.random_test,
            image_size: config.image_size,
            recipe: config.recipe.as_deref().map(file_name),
        };
        let dataset = config.open(Seed::new(split.seed))?;
        let encoding = model.description.encoding.as_ref();
        let opened = self.part_of(dataset, encoding, split)?;
        self.fitting(opened, model)
    }

    /// Refuses options that would do nothing: a table's file is taken whole.
    fn refuse_choice(&self) -> Result<()> {
        let is_part = self.part.is_some_and(|part| part != PartName::All);
        if is_part || self.split_seed.is_some() || self.random_test {
            bail!(
                "`{}` is a table's file and is taken whole; --part, --split-seed and --random-test choose rows of a dataset",
                self.data
            );
        }
        Ok(())
    }

    fn is_file(&self) -> bool {
        Known::find(&self.data).is_none() && Path::new(&self.data).is_file()
    }

    fn part_of(
        &self,
        dataset: Dataset,
        encoding: Option<&Encoding>,
        split: Split,
    ) -> Result<Opened> {
        if encoding.is_some() && dataset.encoding.as_ref() != encoding {
            bail!(
                "`{}` is encoded by other training rows than the model; give --split-seed and --random-test as in training",
                self.data
            );
        }
        let part = match self.part.unwrap_or(PartName::Test) {
            PartName::Train => Some(Part::Train),
            PartName::Validation => Some(Part::Validation),
            PartName::Test => Some(Part::Test),
            PartName::All => None,
        };
        let rows = match part {
            Some(part) => dataset.part(part).to_vec(),
            None => (0..dataset.rows()).collect(),
        };
        Ok(Opened::Dataset {
            dataset: Box::new(dataset),
            rows,
            part,
            split,
        })
    }

    fn fitting(&self, opened: Opened, model: &Model) -> Result<Opened> {
        let (shape, wanted) = (&opened.schema().shape, &model.description.input);
        if shape != wanted {
            bail!("`{}` holds {shape}, the model takes {wanted}", self.data);
        }
        let (features, takes) = (opened.schema().len(), model.description.features);
        if features != takes {
            bail!(
                "`{}` has rows of {features} features, the model takes {takes}",
                self.data
            );
        }
        Ok(opened)
    }
}

/// Reads a file by an encoding, with the rows' labels.
type ReadFile = fn(&Path, &Encoding) -> thickset::Result<(Encoded, Vec<Option<usize>>)>;

/// Whether both name the same dataset or file.
fn same(first: &str, second: &str) -> bool {
    let place = |path: &str| std::fs::canonicalize(path).ok();
    first == second || place(first).is_some_and(|first| Some(first) == place(second))
}

/// The last part of a path.
pub fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
