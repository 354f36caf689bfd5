//! Where an audit's files are: `audit.json`, `report.html`, and while it runs `audit.json.partial`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::result::{Audit, SCHEMA};
use crate::train::write_whole;
use crate::{Error, Result};

/// A folder that an audit is written to.
#[derive(Clone, Debug)]
pub struct AuditFolder(PathBuf);

impl AuditFolder {
    /// The folder at this path, made if it does not exist.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        fs::create_dir_all(&path).map_err(|source| failed("create", &path, source))?;
        Ok(Self(path))
    }

    /// The result.
    #[must_use]
    pub fn audit(&self) -> PathBuf {
        self.0.join("audit.json")
    }

    /// The page made of it.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// The rows done so far, while the audit runs.
    #[must_use]
    pub fn partial(&self) -> PathBuf {
        self.0.join("audit.json.partial")
    }

    /// Writes the result; what let the audit continue is needed no more and goes.
    ///
    /// # Errors
    /// If a file cannot be written or removed.
    pub fn finish(&self, audit: &Audit) -> Result<()> {
        write_whole(&self.audit(), &audit.to_bytes())?;
        match fs::remove_file(self.partial()) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(failed("remove", &self.partial(), source))
            }
            _ => Ok(()),
        }
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_report(&self, page: &str) -> Result<()> {
        write_whole(&self.report(), page.as_bytes())
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

fn failed(action: &'static str, path: &Path, source: std::io::Error) -> Error {
    Error::Io {
        action,
        path: path.display().to_string(),
        source,
    }
}
