//! The rows done so far, on disk: a line that says which audit it is, then a line a chunk.
//!
//! Lines are only ever appended. A line that a kill cut short is dropped and its rows are done again; the file of another
//! audit is replaced.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thickset_engine::open_regular;

use super::super::result::{Row, SCHEMA};
use super::super::row_list::RowList;
use super::super::tally::Tally;
use crate::{Error, Result};

/// The first line.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    schema: u32,
    /// Tells model, rows and settings from all others.
    fingerprint: String,
}

/// One chunk of rows.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Chunk {
    /// The rows in brief.
    pub(in super::super) rows: Vec<Row>,
    /// The sums over all rows up to here.
    pub(in super::super) tally: Tally,
}

/// The open file.
pub(in super::super) struct Partial {
    path: PathBuf,
    file: File,
}

/// What an earlier session left.
pub(in super::super) struct Found {
    /// Its rows and sums, the latter up to the last of the rows.
    pub(in super::super) rows: RowList,
    pub(in super::super) tally: Tally,
    /// Whether the file was of another audit.
    pub(in super::super) is_other: bool,
    /// Why the file's end was dropped, if it was.
    pub(in super::super) problem: Option<String>,
}

impl Partial {
    /// Opens the file of the audit with this fingerprint, or begins it. `fits` says whether a chunk can follow so many rows.
    pub(in super::super) fn open(
        path: &Path,
        fingerprint: &str,
        fits: impl Fn(usize, &Chunk) -> bool,
    ) -> Result<(Self, Found)> {
        let failed = |source| Error::io("write", path, source);
        let mut found = Found {
            rows: RowList::default(),
            tally: Tally::default(),
            is_other: false,
            problem: None,
        };
        let header = Header {
            schema: SCHEMA,
            fingerprint: fingerprint.to_owned(),
        };
        let whole = match open_regular(path) {
            Ok(file) => read(file, &header, &mut found, fits)
                .map_err(|source| Error::io("read", path, source))?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(source) => {
                return Err(Error::io("read", path, source));
            }
        };
        let open = || {
            let mut file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(false)
                .open(path)?;
            file.set_len(whole)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let mut partial = Self {
            file: open().map_err(failed)?,
            path: path.to_owned(),
        };
        if whole == 0 {
            partial.append(&header)?;
        }
        Ok((partial, found))
    }

    /// Appends a line and waits until the disk has it.
    pub(in super::super) fn append(&mut self, line: &impl Serialize) -> Result<()> {
        let mut bytes = serde_json::to_vec(line).expect("a line is plain data");
        bytes.push(b'\n');
        let mut write = || {
            self.file.write_all(&bytes)?;
            self.file.sync_data()
        };
        write().map_err(|source| Error::io("write", &self.path, source))
    }
}

/// Reads the whole lines of the audit with this header into `found`; how many bytes they are.
fn read(
    file: File,
    header: &Header,
    found: &mut Found,
    fits: impl Fn(usize, &Chunk) -> bool,
) -> std::io::Result<u64> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(0);
    }
    if serde_json::from_slice::<Header>(&line).ok().as_ref() != Some(header) {
        found.is_other = true;
        return Ok(0);
    }
    let mut whole = line.len() as u64;
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(whole);
        }
        let problem = if line.last() == Some(&b'\n') {
            match serde_json::from_slice::<Chunk>(&line) {
                Ok(chunk) if fits(found.rows.len(), &chunk) => {
                    found.rows.extend(chunk.rows);
                    found.tally = chunk.tally;
                    whole += line.len() as u64;
                    continue;
                }
                Ok(_) => "its rows are not those that follow".to_owned(),
                Err(error) => error.to_string(),
            }
        } else {
            "the last line is cut short".to_owned()
        };
        found.problem = Some(problem);
        return Ok(whole);
    }
}
