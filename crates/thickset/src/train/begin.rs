//! The model that a retraining begins with: a file of ours, or another framework's, whose layers and encoding the run then takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::settings::RetrainConfig;
use crate::config::{DataConfig, RunConfig};
use crate::data::{self, Dataset};
use crate::model::Model;
use crate::onnx::{self, OnnxOptions, ScaleChoice};
use crate::{Error, Result};

/// What an ONNX file to begin with does not say itself. Everything may be left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnnxSource {
    /// Names of the columns of the graph's input, in order; those of the data where absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Names of the classes, in order; those of the file where absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The output that holds scores or probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The unit of each column of numbers that has one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub units: BTreeMap<String, String>,
    /// What scales columns of numbers that the graph does not scale.
    #[serde(skip_serializing_if = "ScaleChoice::is_unsaid")]
    pub scale: ScaleChoice,
}

impl OnnxSource {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl RetrainConfig {
    /// Whether it begins with a model of another framework.
    #[must_use]
    pub fn is_onnx(&self) -> bool {
        onnx::is_onnx(&self.from)
    }

    /// The model to begin with, for these data.
    ///
    /// # Errors
    /// If the file cannot be read, or the data are needed for it and cannot be.
    pub(super) fn model(&self, data: &DataConfig) -> Result<Model> {
        if self.is_onnx() {
            let model = self.imported(data)?.model;
            model.check_written()?;
            return Ok(model);
        }
        Model::load(&self.from)
    }

    /// The model of another framework, for these data.
    pub(super) fn imported(&self, data: &DataConfig) -> Result<onnx::Imported> {
        let OnnxSource {
            columns,
            classes,
            output,
            units,
            scale,
        } = self.onnx.clone();
        let file = table_files(data)?.and_then(|files| files.into_iter().next());
        let options = OnnxOptions {
            output,
            columns,
            classes,
            units,
            target: target(data, file.as_deref())?,
            ..OnnxOptions::default()
        };
        let (imported, _) = onnx::open_for_data(&self.from, file.as_deref(), &options, scale)?;
        Ok(imported)
    }
}

impl RetrainConfig {
    /// A retrained model as a file that takes the place of the one it began with.
    pub(super) fn written_back(&self, model: &Model, data: &DataConfig) -> Result<Vec<u8>> {
        model.to_onnx_like(&self.imported(data)?)
    }
}

/// The files of a table, if that is what the data are.
fn table_files(data: &DataConfig) -> Result<Option<Vec<PathBuf>>> {
    if data.source.is_empty() || data::Known::find(&data.source).is_some() {
        return Ok(None);
    }
    data::find_table_files(&data.source)
}

/// The column to predict: as it is given, or the last one.
fn target(data: &DataConfig, file: Option<&Path>) -> Result<Option<String>> {
    match (&data.target, file) {
        (Some(target), _) => Ok(Some(target.clone())),
        (None, Some(file)) => Ok(onnx::column_names(file, None)?.pop()),
        (None, None) => Ok(None),
    }
}

impl RunConfig {
    /// Opens the run's data: as the model encodes them that it begins with, where that is another framework's; else as `data` says.
    ///
    /// # Errors
    /// For whatever is missing or wrong with the data, and if that model cannot be read.
    pub fn open_data(&self) -> Result<Dataset> {
        let foreign = self.retrain.as_ref().filter(|retrain| retrain.is_onnx());
        let Some(retrain) = foreign else {
            return self.data.open(self.seed);
        };
        let model = retrain.model(&self.data)?;
        self.open_data_for(&model)
    }

    /// Opens the run's data as this model encodes them.
    pub(crate) fn open_data_for(&self, model: &Model) -> Result<Dataset> {
        let Some(encoding) = &model.description.encoding else {
            return self.data.open(self.seed);
        };
        let Some(files) = table_files(&self.data)? else {
            // What cannot be opened at all is told as such.
            self.data.open(self.seed)?;
            return Err(Error::MissingSetting {
                setting: "data.source",
                expected: "the file of a table, whose columns the model of another framework encodes itself",
            });
        };
        let mut encoding = encoding.clone();
        encoding.read = self.data.read_rule();
        Dataset::by_encoding(&self.data.source, &files, &encoding, self.seed)
    }
}
