//! A run's folder: `model.safetensors`, `run.toml`, `metrics.jsonl` and `checkpoint/`.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use thickset_engine::{FolderLock, disk, read_regular_text};

use crate::file::{create_folder, lock_folder, write};
use crate::{Error, Result};

/// The most bytes of a configuration.
const MOST_CONFIG: u64 = 16 << 20;

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

    /// The selected model as an ONNX file, where the run began with one.
    #[must_use]
    pub fn onnx_model(&self) -> PathBuf {
        self.0.join("model.onnx")
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

    /// What came of a sweep.
    #[must_use]
    pub fn sweep_result(&self) -> PathBuf {
        self.0.join("sweep.json")
    }

    /// The folder of one run of a sweep, counted from 1.
    #[must_use]
    pub fn of_sweep(&self, number: usize) -> Self {
        Self(self.0.join("sweep").join(number.to_string()))
    }

    /// The resolved configuration of a sweep; `run.toml` is that of the run it chose.
    fn sweep_config(&self) -> PathBuf {
        self.0.join("sweep").join("sweep.toml")
    }

    /// Keeps other processes out of the folder for as long as the lock lives.
    ///
    /// # Errors
    /// If another process has it, with who that is.
    pub(super) fn lock(&self) -> Result<FolderLock> {
        lock_folder(&self.0)
    }

    /// Makes the folder for a new run, or finds that of an old one. `config` is the resolved configuration's text.
    ///
    /// # Errors
    /// If there is a run already that is not to be resumed, or that has another configuration.
    pub(super) fn prepare(&self, config: &str, resume: bool) -> Result<()> {
        if self.continues(&self.config(), config, resume)? {
            return Ok(());
        }
        if self.sweep_config().exists() {
            return Err(self.taken());
        }
        let checkpoints = self.0.join("checkpoint");
        create_folder(&checkpoints)?;
        write(&self.config(), config.as_bytes())
    }

    /// The same for a sweep.
    pub(super) fn prepare_sweep(&self, config: &str, resume: bool) -> Result<()> {
        let path = self.sweep_config();
        if self.continues(&path, config, resume)? {
            return Ok(());
        }
        if self.config().exists() {
            return Err(self.taken());
        }
        create_folder(&self.0.join("sweep"))?;
        write(&path, config.as_bytes())
    }

    /// Whether the configuration at `path` is this one and may be gone on with; false if there is no run yet.
    fn continues(&self, path: &Path, config: &str, resume: bool) -> Result<bool> {
        match read_regular_text(path, MOST_CONFIG) {
            Ok(_) if !resume => Err(self.taken()),
            Ok(old) if old != config => Err(Error::RunChanged {
                path: self.0.display().to_string(),
                what: "the configuration",
            }),
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let results = [self.model(), self.latest(), self.previous()];
                if results.iter().any(|file| file.exists()) {
                    return Err(self.taken());
                }
                Ok(false)
            }
            Err(source) => Err(Error::io("read", path, source)),
        }
    }

    fn taken(&self) -> Error {
        Error::RunExists {
            path: self.0.display().to_string(),
        }
    }

    /// Sets a latest checkpoint that cannot be used aside, so that it does not take the place of the one before it.
    pub(super) fn discard_latest(&self) -> Result<()> {
        let (latest, aside) = (
            self.latest(),
            self.latest().with_file_name("broken.safetensors"),
        );
        disk::rename(&latest, &aside).map_err(|source| Error::io("write", &aside, source))
    }

    /// Makes a new checkpoint the latest, and the latest the previous one. At every moment one of the two is whole.
    pub(super) fn write_checkpoint(&self, bytes: &[u8]) -> Result<()> {
        let (latest, previous) = (self.latest(), self.previous());
        let next = self.0.join("checkpoint").join("next.safetensors");
        write(&next, bytes)?;
        if latest.exists() {
            disk::rename(&latest, &previous)
                .map_err(|source| Error::io("write", &previous, source))?;
        }
        disk::rename(&next, &latest).map_err(|source| Error::io("write", &latest, source))
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
            disk::write_all(&mut file, format!("{line}\n").as_bytes())
        };
        append().map_err(|source| Error::io("write", &path, source))
    }
}
