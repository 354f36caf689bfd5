//! The rows done so far, on disk: a line that says which audit it is, then a line a chunk.
//!
//! Every line begins with its signature: the HMAC of the line's text and of the signature before it. So a line counts only
//! if the holder of the key wrote it, in this place of this audit. Lines are only ever appended. A line that a kill cut
//! short or that somebody changed is dropped with all that follow, and their rows are measured again; the file of another
//! audit is replaced.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, ErrorKind, Read, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thickset_engine::{disk, open_regular};

use super::super::result::RowRecord;
use super::super::row_list::RowList;
use super::super::running_totals::{BlockTotals, RunningTotals};
use super::key::{ResumeKey, Signature};
use crate::data::hexadecimal;
use crate::{Error, Result};

/// The version of this form.
const FORMAT: u32 = 2;

/// Where the rows done are kept, so that a killed audit can continue, and what signs them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeFile {
    /// The file.
    pub path: PathBuf,
    /// The key; kept where nobody else can read it.
    pub key: ResumeKey,
}

/// The first line.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    format: u32,
    /// Distinguishes model, rows, settings, version and instruction set from all others.
    fingerprint: String,
}

/// One chunk of rows.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Chunk {
    /// The rows in brief.
    pub(in super::super) rows: Vec<RowRecord>,
    /// The sums over all rows up to here.
    pub(in super::super) totals: RunningTotals,
}

/// The open file.
pub(in super::super) struct Partial {
    path: PathBuf,
    file: File,
    chain: Chain,
}

/// The key, and the signature of the last line.
struct Chain {
    key: ResumeKey,
    last: Option<Signature>,
}

impl Chain {
    /// The signature of the next line.
    fn next(&self, text: &[u8]) -> Signature {
        let before = self.last.as_ref().map_or(&[][..], |last| &last[..]);
        self.key.sign(before, text)
    }

    /// The text of a whole line, if its signature is the next one.
    fn verified<'l>(&mut self, line: &'l [u8]) -> Option<&'l [u8]> {
        let (signature, text) = parts(line)?;
        let expected = self.next(text);
        if signature != hexadecimal(&expected).as_bytes() {
            return None;
        }
        self.last = Some(expected);
        Some(text)
    }
}

/// The signature of a line, in hexadecimal, and its text.
fn parts(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(b"\n")?;
    let space = line.iter().position(|byte| *byte == b' ')?;
    Some((&line[..space], &line[space + 1..]))
}

/// What an earlier session left.
pub(in super::super) struct Restored {
    /// Its rows and sums, the latter up to the last of the rows.
    pub(in super::super) rows: RowList,
    pub(in super::super) totals: RunningTotals,
    /// The blocks that were whole, where they are kept.
    pub(in super::super) blocks: Vec<BlockTotals>,
    /// Why the whole file was put aside, if it was.
    pub(in super::super) put_aside: Option<&'static str>,
    /// Why the file's end was dropped, if it was.
    pub(in super::super) problem: Option<String>,
}

impl Restored {
    fn nothing() -> Self {
        Self {
            rows: RowList::default(),
            totals: RunningTotals::default(),
            blocks: Vec::new(),
            put_aside: None,
            problem: None,
        }
    }
}

impl Partial {
    /// Opens the file of the audit with this fingerprint, or begins it.
    pub(in super::super) fn open(
        resume: &ResumeFile,
        fingerprint: &str,
    ) -> Result<(Self, Restored)> {
        let path = &resume.path;
        let failed = |source| Error::io("write", path, source);
        let mut found = Restored::nothing();
        let header = Header {
            format: FORMAT,
            fingerprint: fingerprint.to_owned(),
        };
        let mut chain = Chain {
            key: resume.key.clone(),
            last: None,
        };
        let whole = match open_regular(path) {
            Ok(file) => read(file, &header, &mut chain, &mut found)
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
            path: path.clone(),
            chain,
        };
        if whole == 0 {
            partial.append(&header)?;
        }
        Ok((partial, found))
    }

    /// Appends a line and waits until the disk has it.
    pub(in super::super) fn append(&mut self, line: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec(line).expect("a line is plain data");
        let signature = self.chain.next(&text);
        let mut bytes = hexadecimal(&signature).into_bytes();
        bytes.push(b' ');
        bytes.extend(text);
        bytes.push(b'\n');
        let mut write = || {
            disk::write_all(&mut self.file, &bytes)?;
            disk::sync(&self.file)
        };
        write().map_err(|source| Error::io("write", &self.path, source))?;
        self.chain.last = Some(signature);
        Ok(())
    }
}

/// Reads lines of any text as if an earlier session had signed them.
pub(crate) fn read_signed(text: &[u8]) {
    let header = Header {
        format: FORMAT,
        fingerprint: String::new(),
    };
    let first = serde_json::to_vec(&header).expect("a header is plain data");
    let chain = || Chain {
        key: ResumeKey::new([0; 32]),
        last: None,
    };
    let mut writer = chain();
    let mut signed = Vec::with_capacity(2 * text.len());
    for line in std::iter::once(&first[..]).chain(text.split(|byte| *byte == b'\n')) {
        let signature = writer.next(line);
        signed.extend(hexadecimal(&signature).into_bytes());
        signed.push(b' ');
        signed.extend(line);
        signed.push(b'\n');
        writer.last = Some(signature);
    }
    let mut found = Restored::nothing();
    // Bytes in memory are always read.
    let _ = read(&signed[..], &header, &mut chain(), &mut found);
}

/// Reads the whole lines of the audit with this header into `found`; how many bytes they are.
fn read(
    file: impl Read,
    header: &Header,
    chain: &mut Chain,
    found: &mut Restored,
) -> std::io::Result<u64> {
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(0);
    }
    let text = parts(&line).map(|(_, text)| text);
    let is_same = text.and_then(|text| serde_json::from_slice::<Header>(text).ok());
    if is_same.as_ref() != Some(header) {
        found.put_aside = Some("it is of another model, of other rows or with other settings");
        return Ok(0);
    }
    if chain.verified(&line).is_none() {
        found.put_aside = Some("its rows are not signed with the key of this user");
        return Ok(0);
    }
    let mut whole = line.len() as u64;
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(whole);
        }
        let last = chain.last;
        let problem = if line.last() != Some(&b'\n') {
            "the last line is cut short".to_owned()
        } else if let Some(text) = chain.verified(&line) {
            match serde_json::from_slice::<Chunk>(text) {
                Ok(chunk) => {
                    found.rows.extend(chunk.rows);
                    found.totals = chunk.totals;
                    found.blocks.extend(found.totals.drain_blocks());
                    whole += line.len() as u64;
                    continue;
                }
                Err(error) => error.to_string(),
            }
        } else {
            "a line was changed after it was signed".to_owned()
        };
        chain.last = last;
        found.problem = Some(problem);
        return Ok(whole);
    }
}
