//! A saved model and the rows it is asked about.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use thickset::Seed;
use thickset::data::{self, Dataset, Known, OpenOptions, Part, Schema};
use thickset::explain::Rows;
use thickset::model::Model;

#[derive(Args)]
pub struct Source {
    /// The model file
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// A dataset's name, a CSV, Parquet or IDX file, or a folder of images or graphs
    #[arg(long, value_name = "NAME|FILE")]
    data: String,
    /// A data folder to look in before `$THICKSET_DATA` and the platform's data folder
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Scale the images of a folder to this height and width
    #[arg(long, value_name = "HEIGHTxWIDTH", value_parser = super::data::parse_size)]
    image_size: Option<(usize, usize)>,
    /// The part of a dataset to take rows from; a table's file is taken whole
    #[arg(long, value_enum, default_value = "test")]
    part: PartName,
    /// Decides the split of a dataset, as in training
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    split_seed: u64,
    /// Split all rows at random, even where there is an official test set, as in training
    #[arg(long)]
    random_test: bool,
    /// Only this row, counted from 1; repeatable
    #[arg(long, value_name = "NUMBER", conflicts_with = "limit", value_parser = clap::value_parser!(u64).range(1..))]
    row: Vec<u64>,
    /// At most so many rows, from the first on; 0 for all
    #[arg(long, value_name = "ROWS", default_value_t = 10)]
    limit: usize,
    /// Decides every random draw
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum PartName {
    Train,
    Validation,
    Test,
    All,
}

/// A model and rows that fit it.
pub struct Loaded {
    pub model: Model,
    pub schema: Schema,
    pub seed: Seed,
    /// What attacks on this dataset use unless told otherwise.
    pub attack: Option<data::AttackDefaults>,
    values: Vec<f64>,
    ids: Vec<u64>,
}

impl Loaded {
    /// The rows; a row's id is its number in the file or dataset, counted from 0.
    pub fn rows(&self) -> Rows<'_> {
        Rows {
            values: &self.values,
            ids: &self.ids,
        }
    }

    /// The row at this place of [`Loaded::rows`].
    pub fn row(&self, place: usize) -> &[f64] {
        let width = self.schema.len();
        &self.values[place * width..(place + 1) * width]
    }

    /// Its number, counted from 1.
    pub fn number(&self, place: usize) -> u64 {
        self.ids[place] + 1
    }

    pub fn class(&self, class: usize) -> &str {
        &self.model.description.classes[class]
    }
}

impl Source {
    pub fn load(&self) -> Result<Loaded> {
        let model = Model::load(&self.model)?;
        let path = Path::new(&self.data);
        let encoding = model.description.encoding.as_ref();
        let (values, chosen, schema, attack) = match encoding {
            Some(encoding) if Known::find(&self.data).is_none() && path.is_file() => {
                let encoded = data::read_encoded(path, encoding)?;
                for (column, count) in &encoded.unseen {
                    eprintln!("{count} rows have a `{column}` that the model has never seen");
                }
                let schema = encoding.schema();
                let width = schema.len();
                let all: Vec<usize> = (0..encoded.values.len() / width.max(1)).collect();
                let chosen = self.chosen(&all, all.len())?;
                let row = |row: &usize| &encoded.values[row * width..(row + 1) * width];
                let values: Vec<f32> = chosen.iter().flat_map(row).copied().collect();
                (values, chosen, schema, None)
            }
            _ => {
                let dataset = self.open()?;
                if encoding.is_some() && dataset.encoding.as_ref() != encoding {
                    bail!(
                        "`{}` is encoded by other training rows than the model; give --split-seed and --random-test as in training",
                        self.data
                    );
                }
                let chosen = self.chosen(&self.rows_of(&dataset), dataset.rows())?;
                let values = dataset.gather(&chosen);
                (values, chosen, dataset.schema, dataset.attack)
            }
        };
        if schema.len() != model.description.features {
            bail!(
                "`{}` has rows of {} features, the model takes {}",
                self.data,
                schema.len(),
                model.description.features
            );
        }
        Ok(Loaded {
            values: values.into_iter().map(f64::from).collect(),
            ids: chosen.into_iter().map(|row| row as u64).collect(),
            seed: Seed::new(self.seed),
            model,
            schema,
            attack,
        })
    }

    fn open(&self) -> Result<Dataset> {
        let options = OpenOptions {
            data_dir: self.data_dir.clone(),
            seed: Seed::new(self.split_seed),
            random_test: self.random_test,
            image_size: self.image_size,
            ..OpenOptions::default()
        };
        Ok(data::open(&self.data, &options)?)
    }

    fn rows_of(&self, dataset: &Dataset) -> Vec<usize> {
        let part = match self.part {
            PartName::Train => Part::Train,
            PartName::Validation => Part::Validation,
            PartName::Test => Part::Test,
            PartName::All => return (0..dataset.rows()).collect(),
        };
        dataset.part(part).to_vec()
    }

    /// The rows asked for; of all there are for `--row`, of the part for `--limit`.
    fn chosen(&self, part: &[usize], count: usize) -> Result<Vec<usize>> {
        if !self.row.is_empty() {
            let place = |number: &u64| match usize::try_from(number - 1) {
                Ok(row) if row < count => Ok(row),
                _ => bail!(
                    "`{}` has {count} rows, so there is no row {number}",
                    self.data
                ),
            };
            return self.row.iter().map(place).collect();
        }
        let limit = if self.limit == 0 {
            part.len()
        } else {
            self.limit.min(part.len())
        };
        if limit == 0 {
            bail!("`{}` has no rows in that part", self.data);
        }
        Ok(part[..limit].to_vec())
    }
}
