//! Opening a file: plain or gzip, with a cap on what a compressed file may unpack to, and its SHA-256.

use std::io::{self, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use sha2::{Digest as _, Sha256};
use thickset_engine::open_regular;

use crate::{Error, Result};

/// The most that a gzip file may unpack to, per byte of the file. Tables compress 5 to 50 times; a bomb 1000 times.
const MOST_RATIO: u64 = 200;

/// A gzip file may always unpack to this much, so that a small, very regular file is no bomb.
const FREE_BYTES: u64 = 64 << 20;

/// The most that is read from one file into memory at once; the largest known file has 52 MB.
const MOST_IN_MEMORY: u64 = 4 << 30;

/// The error inside an `io::Error` when a cap is reached, so that it can be told from a failing disk.
#[derive(Debug, thiserror::Error)]
#[error("more than {limit} bytes")]
struct CapReached {
    limit: u64,
}

/// A reader that fails, instead of ending, after `limit` bytes.
struct Capped<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other(CapReached { limit: self.limit }))?;
        Ok(count)
    }
}

/// Opens a file for reading its decompressed content, whatever its name says.
///
/// # Errors
/// If the file cannot be opened. Reading fails when a gzip file unpacks to far more than any table does.
pub fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    let fail = |source| Error::io("read", path, source);
    let file = open_regular(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let is_gzip = io::BufRead::fill_buf(&mut reader)
        .map_err(fail)?
        .starts_with(&[0x1f, 0x8b]);
    if !is_gzip {
        return Ok(Box::new(reader));
    }
    let limit = size.saturating_mul(MOST_RATIO).max(FREE_BYTES);
    Ok(Box::new(Capped {
        inner: MultiGzDecoder::new(reader),
        left: limit,
        limit,
    }))
}

/// Reads the decompressed content of a whole file.
///
/// # Errors
/// If the file cannot be read, is a broken gzip file, or unpacks to more than we accept.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut reader = Capped {
        inner: open(path)?,
        left: MOST_IN_MEMORY,
        limit: MOST_IN_MEMORY,
    };
    reader
        .read_to_end(&mut bytes)
        .map_err(|source| read_error(&path.display().to_string(), source))?;
    Ok(bytes)
}

/// Reads a whole file and refuses it unless its decompressed content has this SHA-256.
///
/// # Errors
/// As [`read`], and if the hash differs.
pub fn read_pinned(path: &Path, sha256: Option<&str>) -> Result<Vec<u8>> {
    let bytes = read(path)?;
    if let Some(expected) = sha256 {
        let found = hash(&bytes);
        if found != expected {
            return Err(Error::WrongContent {
                path: path.display().to_string(),
                expected: expected.to_owned(),
                found,
            });
        }
    }
    Ok(bytes)
}

/// The SHA-256 of some bytes, in lower-case hexadecimal.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Tells a cap from a failing disk.
pub fn read_error(path: &str, source: io::Error) -> Error {
    match source
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<CapReached>())
    {
        Some(cap) => Error::TooLarge {
            path: path.to_owned(),
            what: "the decompressed content".to_owned(),
            limit: format!("{} MiB", cap.limit >> 20),
        },
        None => Error::io("read", path, source),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn plain_and_gzip_files_read_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, packed) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&plain, b"a,b\n1,2\n").unwrap();
        std::fs::write(&packed, gzip(b"a,b\n1,2\n")).unwrap();
        assert_eq!(read(&plain).unwrap(), read(&packed).unwrap());
    }

    #[test]
    fn a_gzip_bomb_is_refused_at_the_cap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.csv.gz");
        std::fs::write(
            &path,
            gzip(&vec![b'0'; usize::try_from(FREE_BYTES).unwrap() + 1]),
        )
        .unwrap();
        assert!(matches!(read(&path), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn a_file_with_other_content_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"abc").unwrap();
        let right = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(read_pinned(&path, Some(right)).unwrap(), b"abc");
        let error = read_pinned(&path, Some(&right.replace('b', "0"))).unwrap_err();
        assert!(matches!(error, Error::WrongContent { found, .. } if found == right));
    }
}
