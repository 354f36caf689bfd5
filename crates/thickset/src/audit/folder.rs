//! Where an audit's files are: `audit.json`, `report.html`, and while it runs `audit.json.partial`.

use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thickset_engine::{FolderLock, disk, open_regular, write_whole};

use super::part::AuditPart;
use super::result::{Audit, SCHEMA};
use super::row_file;
use super::row_list::RowList;
use crate::{Error, Result, file};

/// The name of one machine's part.
pub const PART: &str = "audit.part.json";

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

    /// One machine's part of an audit that several make.
    #[must_use]
    pub fn part(&self) -> PathBuf {
        self.path.join(PART)
    }

    /// Writes such a part as it goes, like [`AuditFolder::write`].
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_part(&self, part: &AuditPart) -> Result<()> {
        write_json(&self.part(), part)
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
        let rows = self.path.join(row_file::NAME);
        if audit.rows.len() > row_file::MOST_INLINE {
            row_file::write(&rows, audit)?;
            let without = Audit {
                rows_file: Some(row_file::NAME.to_owned()),
                rows: RowList::default(),
                ..audit.clone()
            };
            return write_json(&self.audit(), &without);
        }
        write_json(&self.audit(), audit)?;
        // What an earlier, larger audit left would not be of this one.
        remove(&rows)
    }

    /// Removes what let the audit continue: for when all is written.
    ///
    /// # Errors
    /// If the file is there and cannot be removed.
    pub fn finish(&self) -> Result<()> {
        remove(&self.partial())
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_report(&self, page: &str) -> Result<()> {
        file::write(&self.report(), page.as_bytes())
    }
}

/// Writes a line of JSON whose text is never whole in memory.
fn write_json(path: &Path, content: &impl serde::Serialize) -> Result<()> {
    let write = |file: &mut File| {
        let mut file = BufWriter::new(file);
        serde_json::to_writer(&mut file, content)?;
        file.write_all(b"\n")?;
        file.flush()
    };
    write_whole(path, write).map_err(|source| Error::io("write", path, source))
}

fn remove(path: &Path) -> Result<()> {
    match disk::remove(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Error::io("remove", path, source))
        }
        _ => Ok(()),
    }
}

impl Audit {
    /// Reads an `audit.json`, and the rows from the file beside it where they are there. An audit whose rows' file is gone has
    /// none.
    ///
    /// # Errors
    /// If it cannot be read, is none, or is one of another schema.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = file::read(path)?;
        let shown = path.display().to_string();
        let text = String::from_utf8(bytes).map_err(|_| Error::NotUtf8 {
            path: shown.clone(),
            line: 1,
        })?;
        let audit = Self::parse(&text, &shown)?;
        audit.with_rows_beside(path)
    }

    /// The same audit with the rows of the file beside it, if it names one and that is there.
    ///
    /// # Errors
    /// If the file does not hold this audit's rows.
    pub fn with_rows_beside(mut self, path: &Path) -> Result<Self> {
        // The name is always the same, so that a stranger's audit cannot name another file.
        let rows = path.with_file_name(row_file::NAME);
        if self.rows_file.is_some() && self.rows.is_empty() && rows.is_file() {
            self.rows = row_file::read(&rows, &self)?;
        }
        Ok(self)
    }

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
