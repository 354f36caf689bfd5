//! A run's folder: `model.safetensors`, `run.toml`, `metrics.jsonl` and `checkpoint/`.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Where a run's files are.
#[derive(Clone, Debug)]
pub struct RunFolder(PathBuf);

impl RunFolder {
    /// The folder at this path, which need not exist yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The selected model.
    #[must_use]
    pub fn model(&self) -> PathBuf {
        self.0.join("model.safetensors")
    }

    /// The resolved configuration.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.0.join("run.toml")
    }

    /// One JSON object an epoch.
    #[must_use]
    pub fn metrics(&self) -> PathBuf {
        self.0.join("metrics.jsonl")
    }

    /// The latest checkpoint.
    #[must_use]
    pub fn latest(&self) -> PathBuf {
        self.0.join("checkpoint").join("latest.safetensors")
    }

    /// The checkpoint before it.
    #[must_use]
    pub fn previous(&self) -> PathBuf {
        self.0.join("checkpoint").join("previous.safetensors")
    }

    /// Makes the folder for a new run, or finds that of an old one. `config` is the resolved configuration's text.
    ///
    /// # Errors
    /// If there is a run already that is not to be resumed, or that has another configuration.
    pub(super) fn prepare(&self, config: &str, resume: bool) -> Result<()> {
        let path = self.0.display().to_string();
        let old = match fs::read_to_string(self.config()) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(source) => return Err(failed("read", &self.config(), source)),
        };
        match old {
            Some(_) if !resume => return Err(Error::RunExists { path }),
            Some(old) if old != config => {
                return Err(Error::RunChanged {
                    path,
                    what: "the configuration",
                });
            }
            Some(_) => return Ok(()),
            None => {}
        }
        let results = [self.model(), self.latest(), self.previous()];
        if results.iter().any(|file| file.exists()) {
            return Err(Error::RunExists { path });
        }
        let checkpoints = self.0.join("checkpoint");
        fs::create_dir_all(&checkpoints)
            .map_err(|source| failed("create", &checkpoints, source))?;
        write(&self.config(), config.as_bytes())
    }

    /// Makes a new checkpoint the latest, and the latest the previous one. At every moment one of the two is whole.
    pub(super) fn write_checkpoint(&self, bytes: &[u8]) -> Result<()> {
        let (latest, previous) = (self.latest(), self.previous());
        let beside = write_beside(&latest, bytes)?;
        if latest.exists() {
            fs::rename(&latest, &previous).map_err(|source| failed("write", &previous, source))?;
        }
        fs::rename(&beside, &latest).map_err(|source| failed("write", &latest, source))
    }

    /// Sets the lines of `metrics.jsonl`, which may have one that belongs to a step done again.
    pub(super) fn write_metrics(&self, lines: &[String]) -> Result<()> {
        let mut text = lines.join("\n");
        if !lines.is_empty() {
            text.push('\n');
        }
        write(&self.metrics(), text.as_bytes())
    }

    /// Appends a line to `metrics.jsonl`.
    pub(super) fn append_metrics(&self, line: &str) -> Result<()> {
        let path = self.metrics();
        let append = || {
            let mut file = OpenOptions::new().append(true).create(true).open(&path)?;
            file.write_all(format!("{line}\n").as_bytes())
        };
        append().map_err(|source| failed("write", &path, source))
    }
}

/// Writes a whole file: beside first, then renamed, so that no half-written one is ever seen.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let beside = write_beside(path, bytes)?;
    fs::rename(beside, path).map_err(|source| failed("write", path, source))
}

fn write_beside(path: &Path, bytes: &[u8]) -> Result<PathBuf> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|source| failed("write", &beside, source))?;
    Ok(beside)
}

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        action,
        path: path.display().to_string(),
        source,
    }
}
