//! Where a run's rows come from, as a configuration states it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data::{
    self, Dataset, InferOptions, MissingColumn, OpenOptions, ReadRule, Recipe, Scale, TextEncoding,
};
use crate::{Error, Result, Seed};

/// A dataset's name, or a file or folder and how it is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// A known dataset's name, or a path relative to where the command runs.
    pub source: String,
    /// A folder to look for known datasets in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// The column to predict; the last where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// A recipe's file, instead of inference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<PathBuf>,
    /// What separates fields; inferred where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Whether the first row names the columns; inferred where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// How the bytes of a text file stand for letters; UTF-8, or UTF-16 as its first bytes tell, where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_encoding: Option<TextEncoding>,
    /// The decimal mark of numbers that could be read in two ways; decided by the rest of the file where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// Whether dates that could be read in two ways begin with the day; decided by the rest of the file where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day_first: Option<bool>,
    /// Texts that stand for a missing value, beside the usual ones.
    pub missing: Vec<String>,
    /// Columns to read as categories though they look like numbers.
    pub categories: Vec<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Columns a person cannot change.
    pub immutable: Vec<String>,
    /// How numbers are scaled.
    pub scale: Scale,
    /// What happens when rows to be predicted lack a column.
    pub missing_column: MissingColumn,
    /// Splits all rows at random, even where there is an official test set.
    pub random_test: bool,
    /// Height and width that the images of a folder are scaled to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_size: Option<(usize, usize)>,
}

impl DataConfig {
    /// How the text of a file is read.
    pub(crate) fn read_rule(&self) -> ReadRule {
        let mut read = ReadRule {
            delimiter: self.delimiter,
            header: self.header,
            text_encoding: self.text_encoding,
            decimal: self.decimal,
            day_first: self.day_first,
            ..ReadRule::default()
        };
        read.missing.extend(self.missing.iter().cloned());
        read
    }

    /// Opens the data and splits it by the seed.
    ///
    /// # Errors
    /// For whatever is missing or wrong, with file and line where there are some.
    pub fn open(&self, seed: Seed) -> Result<Dataset> {
        if self.source.is_empty() {
            return Err(Error::MissingSetting {
                setting: "data.source",
                expected: "the name of a dataset or the path of a file",
            });
        }
        let recipe = match &self.recipe {
            None => None,
            Some(path) => Some(Recipe::read(path)?),
        };
        let options = OpenOptions {
            data_dir: self.folder.clone(),
            seed,
            random_test: self.random_test,
            recipe,
            target: self.target.clone(),
            read: self.read_rule(),
            categories: self.categories.clone(),
            infer: InferOptions {
                scale: self.scale,
                drop: self.drop.clone(),
                immutable: self.immutable.clone(),
                missing_column: self.missing_column,
                keep_numbers: false,
            },
            image_size: self.image_size,
            ..OpenOptions::default()
        };
        data::open(&self.source, &options)
    }
}
