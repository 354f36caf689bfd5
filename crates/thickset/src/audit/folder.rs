//! Where an audit's files are: `audit.json`, `report.html`, and while it runs `audit.json.partial`.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, ErrorKind, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use thickset_engine::{FolderLock, open_regular, write_whole};

use super::result::{Audit, SCHEMA};
use crate::{Error, Result, file};

/// A folder that an audit is written to; no other process writes to it meanwhile.
#[derive(Clone, Debug)]
pub struct AuditFolder {
    path: PathBuf,
    /// Held until the last copy is gone.
    _lock: Arc<FolderLock>,
}

impl AuditFolder {
    /// The folder at this path, made if it does not exist.
    ///
    /// # Errors
    /// If it cannot be made, or another process has it.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let lock = Arc::new(file::lock_folder(&path)?);
        Ok(Self { path, _lock: lock })
    }

    /// The result.
    #[must_use]
    pub fn audit(&self) -> PathBuf {
        self.path.join("audit.json")
    }

    /// The page made of it.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// The rows done so far, while the audit runs.
    #[must_use]
    pub fn partial(&self) -> PathBuf {
        self.path.join("audit.json.partial")
    }

    /// The name of the model's file that the folder's result is of, if there is a result that says so.
    #[must_use]
    pub fn model_file(&self) -> Option<String> {
        #[derive(serde::Deserialize)]
        struct Found {
            model: Named,
        }
        #[derive(serde::Deserialize)]
        struct Named {
            file: String,
        }
        let file = open_regular(&self.audit()).ok()?;
        let found: Found = serde_json::from_reader(BufReader::new(file)).ok()?;
        Some(found.model.file)
    }

    /// Writes the result as it goes, so that its text is never whole in memory: beside first, then renamed.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, audit: &Audit) -> Result<()> {
        let write = |file: &mut File| {
            let mut file = BufWriter::new(file);
            serde_json::to_writer(&mut file, audit)?;
            file.write_all(b"\n")?;
            file.flush()
        };
        write_whole(&self.audit(), write).map_err(|source| Error::io("write", self.audit(), source))
    }

    /// Removes what let the audit continue: for when all is written.
    ///
    /// # Errors
    /// If the file is there and cannot be removed.
    pub fn finish(&self) -> Result<()> {
        match fs::remove_file(self.partial()) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", self.partial(), source))
            }
            _ => Ok(()),
        }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_report(&self, page: &str) -> Result<()> {
        file::write(&self.report(), page.as_bytes())
    }
}

impl Audit {
    /// The bytes of `audit.json`.
    ///
    /// # Panics
    /// Never: an audit is plain data.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec(self).expect("an audit is plain data");
        bytes.push(b'\n');
        bytes
    }

    /// Reads an `audit.json`; `path` is for messages.
    ///
    /// # Errors
    /// If the text is none, or one of another schema.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        #[derive(serde::Deserialize)]
        struct Versioned {
            schema: u32,
        }
        let refuse = |source| Error::ResultFile {
            path: path.to_owned(),
            what: "an audit",
            source,
        };
        let versioned: Versioned = serde_json::from_str(text).map_err(refuse)?;
        if versioned.schema != SCHEMA {
            return Err(Error::ResultSchema {
                path: path.to_owned(),
                expected: SCHEMA,
                got: versioned.schema,
            });
        }
        serde_json::from_str(text).map_err(refuse)
    }
}
