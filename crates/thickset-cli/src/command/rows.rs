//! Options that name the rows a model is asked about.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use thickset::Seed;
use thickset::data::Part;
use thickset::model::{OpenedRows, PartChoice, RowsConfig};

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

/// Says what a person should know of the rows.
pub fn say_notes(rows: &OpenedRows) {
    for note in &rows.notes {
        say!("{}", one_line(note));
    }
}
