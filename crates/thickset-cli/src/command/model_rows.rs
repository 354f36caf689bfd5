//! A model and the rows that `explain` and `attack` are about.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use thickset::model::OpenedRows;
use thickset::{Model, Rows, Schema, Seed};

use super::model_file::ModelFileOptions;
use super::rows::{DataSource, say_notes};

/// A model and some of the rows.
#[derive(Args)]
pub struct ModelRows {
    /// The model file, of ours or ONNX
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    file: ModelFileOptions,
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
    pub seed: Seed,
    opened: OpenedRows,
    features: Vec<String>,
}

impl Loaded {
    /// The names of the encoded features.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    pub fn rows(&self) -> Rows<'_> {
        self.opened.rows()
    }

    pub fn schema(&self) -> &Schema {
        self.rows().schema()
    }

    /// The values of the row at this place of [`Loaded::rows`].
    pub fn row(&self, place: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.features.len()];
        self.rows().copy(place, &mut row);
        row.into_iter().map(f64::from).collect()
    }

    /// Its number, counted from 1.
    pub fn number(&self, place: usize) -> u64 {
        self.rows().id(place) + 1
    }

    pub fn class(&self, class: usize) -> &str {
        &self.model.classes()[class]
    }
}

impl ModelRows {
    pub fn load(&self) -> Result<Loaded> {
        let model = self.file.load(&self.model, self.data.name())?;
        let opened = model.open_rows(&self.data.config())?;
        say_notes(&opened);
        let opened = if self.row.is_empty() {
            let most = if self.limit == 0 {
                opened.all()
            } else {
                self.limit
            };
            opened.first(most)?
        } else {
            opened.only(&self.row)?
        };
        let features = opened.rows().schema().features.iter();
        Ok(Loaded {
            features: features.map(|one| one.name.clone()).collect(),
            seed: self.data.seed(),
            model,
            opened,
        })
    }
}
