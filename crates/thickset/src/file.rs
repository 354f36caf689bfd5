//! Files and folders, with errors that name them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use thickset_engine::write_whole;

use crate::{Error, Result};

/// A file's bytes.
///
/// # Errors
/// [`Error::Io`], with the path.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|source| Error::io("read", path, source))
}

/// A file's text.
///
/// # Errors
/// [`Error::Io`], with the path.
pub fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|source| Error::io("read", path, source))
}

/// Writes a whole file: beside first, then renamed, so that no half-written one is ever seen.
///
/// # Errors
/// [`Error::Io`], with the path.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, |file| file.write_all(bytes))
        .map_err(|source| Error::io("write", path, source))
}

/// Makes a folder and those above it, where they are not there.
///
/// # Errors
/// [`Error::Io`], with the path.
pub fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|source| Error::io("create", path, source))
}
