//! Options that name the rows a model is asked about.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use thickset::Seed;
use thickset::data::Part;
use thickset::model::{OpenedRows, PartChoice, RowChoice, RowsConfig, Selection, Shard};

use super::output::one_line;

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

impl DataSource {
    /// As it was given.
    pub fn name(&self) -> &str {
        &self.data
    }

    pub fn seed(&self) -> Seed {
        Seed::new(self.seed)
    }

    pub fn config(&self) -> RowsConfig {
        RowsConfig {
            data: self.data.clone(),
            folder: self.data_dir.clone(),
            image_size: self.image_size,
            part: self.part.map(|part| match part {
                PartName::Train => PartChoice::Part(Part::Train),
                PartName::Validation => PartChoice::Part(Part::Validation),
                PartName::Test => PartChoice::Part(Part::Test),
                PartName::All => PartChoice::All,
            }),
            split_seed: self.split_seed,
            random_test: self.random_test,
        }
    }
}

/// How many of the rows, and which machine's.
#[derive(Args)]
pub struct SelectionOptions {
    /// At most so many rows, a random sample of all by --seed; 0 for all
    #[arg(long, value_name = "ROWS", conflicts_with = "limit")]
    max_rows: Option<usize>,
    /// The older spelling: at most so many rows from the first on; 0 for all
    #[arg(long, value_name = "ROWS", hide = true)]
    limit: Option<usize>,
    /// This machine's share of the rows, like 3/64 for the third of 64 machines
    #[arg(
        long,
        value_name = "NUMBER/OF",
        default_value = "1/1",
        hide_default_value = true
    )]
    shard: Shard,
}

impl SelectionOptions {
    /// The rows; `usual` where no number is given.
    pub fn selection(&self, usual: RowChoice, seed: Seed) -> Selection {
        let choice = match (self.max_rows, self.limit) {
            (None, None) if self.shard.is_whole() => usual,
            (Some(0) | None, Some(0) | None) => RowChoice::All,
            (Some(count), _) => RowChoice::Sample { count, seed },
            (None, Some(count)) => RowChoice::First(count),
        };
        Selection {
            choice,
            shard: self.shard,
        }
    }

    pub fn shard(&self) -> Shard {
        self.shard
    }
}

/// Says what a person should know of the rows.
pub fn say_notes(rows: &OpenedRows) {
    say_all(&rows.notes);
}

/// Says each of these on a line of its own.
pub fn say_all(notes: &[String]) {
    for note in notes {
        say!("{}", one_line(note));
    }
}
