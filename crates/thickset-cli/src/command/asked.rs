//! A model and the rows that `explain` and `attack` ask it about.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use thickset::Seed;
use thickset::data::{AttackDefaults, Schema};
use thickset::explain::Rows;
use thickset::model::Model;

use super::rows::{DataSource, Opened};

/// A model and some of the rows.
#[derive(Args)]
pub struct Source {
    /// The model file
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    data: DataSource,
    /// Only this row, counted from 1; repeatable
    #[arg(long, value_name = "NUMBER", conflicts_with = "limit", value_parser = clap::value_parser!(u64).range(1..))]
    row: Vec<u64>,
    /// At most so many rows, from the first on; 0 for all
    #[arg(long, value_name = "ROWS", default_value_t = 10)]
    limit: usize,
}

/// A model and rows that fit it.
pub struct Loaded {
    pub model: Model,
    pub schema: Schema,
    pub seed: Seed,
    /// What attacks on this dataset use unless told otherwise.
    pub attack: Option<AttackDefaults>,
    values: Vec<f64>,
    ids: Vec<u64>,
    features: Vec<String>,
}

impl Loaded {
    /// The names of the encoded features.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// The radius of the l2 ball that attacks on this dataset use.
    pub fn radius(&self) -> Option<f64> {
        self.attack.map(|attack| attack.epsilon)
    }

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
        let opened = self.data.open(&model)?;
        let attack = opened.attack();
        let (values, chosen, schema) = match opened {
            Opened::Dataset { dataset, rows, .. } => {
                let chosen = self.chosen(&rows, dataset.rows())?;
                (dataset.gather(&chosen), chosen, dataset.schema)
            }
            Opened::File {
                schema,
                values,
                labels,
            } => {
                let all: Vec<usize> = (0..labels.len()).collect();
                let chosen = self.chosen(&all, all.len())?;
                let width = schema.len();
                let row = |row: &usize| &values[row * width..(row + 1) * width];
                let values = chosen.iter().flat_map(row).copied().collect();
                (values, chosen, schema)
            }
        };
        Ok(Loaded {
            values: values.into_iter().map(f64::from).collect(),
            ids: chosen.into_iter().map(|row| row as u64).collect(),
            seed: self.data.seed(),
            features: schema.features.iter().map(|one| one.name.clone()).collect(),
            model,
            schema,
            attack,
        })
    }

    /// The rows asked for; of all there are for `--row`, of the part for `--limit`.
    fn chosen(&self, part: &[usize], count: usize) -> Result<Vec<usize>> {
        let name = self.data.name();
        if !self.row.is_empty() {
            let place = |number: &u64| match usize::try_from(number - 1) {
                Ok(row) if row < count => Ok(row),
                _ => bail!("`{name}` has {count} rows, so there is no row {number}"),
            };
            return self.row.iter().map(place).collect();
        }
        let limit = if self.limit == 0 {
            part.len()
        } else {
            self.limit.min(part.len())
        };
        if limit == 0 {
            bail!("`{name}` has no rows in that part");
        }
        Ok(part[..limit].to_vec())
    }
}
