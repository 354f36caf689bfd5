//! A model and the rows that `explain` and `attack` are about.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use thickset::model::{OpenedRows, RowChoice, RowStream, Selection};
use thickset::{Model, Rows, Seed};

use super::model_file::ModelFileOptions;
use super::rows::{DataSource, SelectionOptions, say_notes};

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
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["max_rows", "limit", "shard"], value_parser = clap::value_parser!(u64).range(1..))]
    row: Vec<u64>,
    #[command(flatten)]
    selection: SelectionOptions,
}

/// Rows that are shown where no number of them is given.
const SHOWN: usize = 10;

/// A model and rows that are gone through once.
pub struct Streamed {
    pub model: Model,
    pub seed: Seed,
    pub rows: RowStream,
    /// The rows follow others that another machine has.
    pub continued: bool,
    /// Only the first few rows, because nothing else was said.
    pub is_preview: bool,
}

/// A model and rows that fit it.
pub struct Loaded {
    pub model: Model,
    pub seed: Seed,
    opened: OpenedRows,
}

impl Loaded {
    pub fn rows(&self) -> Rows<'_> {
        self.opened.rows()
    }

    /// The rows follow others that another machine has.
    pub fn continued(&self) -> bool {
        self.opened.follows_another()
    }

    /// The number of the row at this place, counted from 1.
    pub fn number(&self, place: usize) -> u64 {
        self.rows().id(place) + 1
    }
}

impl ModelRows {
    /// Holds the rows.
    pub fn load(&self) -> Result<Loaded> {
        let model = self.file.load(&self.model, self.data.name())?;
        let opened = model.open_selected(&self.data.config(), &self.selected())?;
        say_notes(&opened);
        Ok(Loaded {
            seed: self.data.seed(),
            model,
            opened,
        })
    }

    /// Opens the rows to be gone through once.
    pub fn stream(&self) -> Result<Streamed> {
        let model = self.file.load(&self.model, self.data.name())?;
        let selection = self.selected();
        let rows = model.stream_rows(&self.data.config(), &selection)?;
        Ok(Streamed {
            continued: rows.follows_another(),
            rows,
            seed: self.data.seed(),
            model,
            is_preview: selection.choice == RowChoice::First(SHOWN),
        })
    }

    fn selected(&self) -> Selection {
        if self.row.is_empty() {
            let usual = RowChoice::First(SHOWN);
            return self.selection.selection(usual, self.data.seed());
        }
        Selection {
            choice: RowChoice::Only(self.row.clone()),
            ..Selection::default()
        }
    }
}

impl Streamed {
    /// Says that there may be more rows, to a person who gave no number of them.
    pub fn say_preview(is_preview: bool, rows: usize) {
        if is_preview && rows == SHOWN {
            say!("the first {SHOWN} rows; --max-rows 0 takes all, --max-rows 100 a sample of 100");
        }
    }
}
