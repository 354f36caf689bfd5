//! Where a model comes from: the hash of its file, and what its run says.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thickset_engine::read_regular_text;

use super::Model;
use super::stored::ModelSource;
use crate::audit::NamedModel;
use crate::config::RunConfig;
use crate::data::hash;
use crate::train::{EpochRecord, RunFolder};
use crate::{Error, Result, file};

/// What is known of a model beside its weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The run's name, or that of the file without folders and ending.
    pub name: String,
    /// The file's name without folders.
    pub file: String,
    /// The file's hash, in hexadecimal.
    pub sha256: String,
    /// The configuration of the run it lies in, if it lies in one.
    pub run: Option<RunConfig>,
    /// The epochs of that run.
    pub training: Vec<EpochRecord>,
}

impl Origin {
    /// Looks around a model file. It is a run's if it has the name that runs give and both `run.toml` and `metrics.jsonl` lie
    /// beside it; a configuration alone may be anyone's.
    ///
    /// # Errors
    /// If a file that is there cannot be read.
    pub fn of(file: &Path) -> Result<Self> {
        let bytes = file::read(file)?;
        let folder = RunFolder::new(file.parent().unwrap_or(Path::new("")));
        let mut origin = Self {
            name: shown(file.file_stem()),
            file: shown(file.file_name()),
            sha256: hash(&bytes),
            run: None,
            training: Vec::new(),
        };
        if folder.model().file_name() != file.file_name() {
            return Ok(origin);
        }
        let (Some(text), Some(metrics)) =
            (if_there(&folder.config())?, if_there(&folder.metrics())?)
        else {
            return Ok(origin);
        };
        let run = RunConfig::parse(&text, &folder.config().display().to_string())?;
        origin.name.clone_from(&run.name);
        origin.run = Some(run);
        for (place, line) in metrics.lines().enumerate() {
            let record = serde_json::from_str(line).map_err(|error| Error::Malformed {
                path: folder.metrics().display().to_string(),
                line: Some(place as u64 + 1),
                problem: error.to_string(),
            })?;
            origin.training.push(record);
        }
        Ok(origin)
    }

    /// The model with what is known of it, for an audit.
    #[must_use]
    pub fn named<'a>(&self, model: &'a Model) -> NamedModel<'a> {
        let objective = self
            .run
            .as_ref()
            .map(|run| run.objective.objective().info().id.to_owned());
        NamedModel {
            model,
            name: self.name.clone(),
            file: self.file.clone(),
            sha256: self.sha256.clone(),
            objective,
            training: self.training.clone(),
        }
    }
}

impl Model {
    /// Where the model comes from: the run in memory that trained it, or the file it was read from and the run's folder around it.
    ///
    /// # Errors
    /// If a file of the run's folder cannot be read.
    pub fn origin(&self) -> Result<Origin> {
        let in_memory = |name: &str| Origin {
            name: name.to_owned(),
            file: String::new(),
            sha256: hash(&self.to_bytes()),
            run: None,
            training: Vec::new(),
        };
        match &self.source {
            ModelSource::File(path) => Origin::of(path),
            ModelSource::Bytes(origin) => Ok((**origin).clone()),
            ModelSource::Unknown => Ok(in_memory("model")),
            ModelSource::Run(run) => {
                let (config, epochs) = &**run;
                Ok(Origin {
                    run: Some(config.clone()),
                    training: epochs.clone(),
                    ..in_memory(&config.name)
                })
            }
        }
    }
}

fn shown(part: Option<&OsStr>) -> String {
    part.map(|part| part.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The most bytes of a file of a run: its configuration, or what its epochs measured.
const MOST_BYTES: u64 = 256 << 20;

/// A file's text; none if there is no such file.
fn if_there(path: &Path) -> Result<Option<String>> {
    match read_regular_text(path, MOST_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::io("read", path, source)),
    }
}
