//! Which rows of a file or dataset: the command's `--data`, `--part`, `--row` and `--max-rows` as settings.

use std::path::PathBuf;

use pyo3::PyResult;
use serde::Deserialize;
use thickset::Seed;
use thickset::data::Part;
use thickset::model::{PartChoice, RowChoice, RowsConfig, Selection};

use crate::errors::bad_value;

/// Which rows of a file or dataset.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowSettings {
    data: String,
    folder: Option<PathBuf>,
    part: Option<String>,
    split_seed: Option<u64>,
    #[serde(default)]
    random_test: bool,
    image_size: Option<(usize, usize)>,
    max_rows: Option<usize>,
    /// Decides a sample of rows.
    #[serde(default)]
    seed: u64,
    numbers: Option<Vec<u64>>,
}

impl RowSettings {
    /// As the command's `--row` and `--max-rows` say it.
    pub fn selection(&self) -> Selection {
        let choice = match (&self.numbers, self.max_rows) {
            (Some(numbers), _) => RowChoice::Only(numbers.clone()),
            (None, None | Some(0)) => RowChoice::All,
            (None, Some(count)) => RowChoice::Sample {
                count,
                seed: Seed::new(self.seed),
            },
        };
        Selection {
            choice,
            ..Selection::default()
        }
    }

    /// Where they are.
    ///
    /// # Errors
    /// If there is no such part.
    pub fn config(self) -> PyResult<RowsConfig> {
        let part = match self.part.as_deref() {
            None => None,
            Some("train") => Some(PartChoice::Part(Part::Train)),
            Some("validation") => Some(PartChoice::Part(Part::Validation)),
            Some("test") => Some(PartChoice::Part(Part::Test)),
            Some("all") => Some(PartChoice::All),
            Some(other) => {
                return Err(bad_value(&format!(
                    "a part is `train`, `validation`, `test` or `all`, got `{other}`"
                )));
            }
        };
        Ok(RowsConfig {
            data: self.data,
            folder: self.folder,
            image_size: self.image_size,
            part,
            split_seed: self.split_seed,
            random_test: self.random_test,
        })
    }
}
