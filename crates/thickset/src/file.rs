//! Files and folders, with errors that name them.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use thickset_engine::{FolderLock, LockError, read_regular, read_regular_text, write_whole};

use crate::{Error, Result};

/// The most bytes of a file that is read at once: what a million rows' audit takes, ten times over.
const MOST_BYTES: u64 = 4 << 30;

/// The most bytes of a text that a person writes, such as a configuration or a recipe.
const MOST_TEXT: u64 = 16 << 20;

/// A file's bytes.
///
/// # Errors
/// If it cannot be read, is no regular file, or is longer than any file of ours.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_regular(path, MOST_BYTES).map_err(|source| Error::io("read", path, source))
}

/// The text of a file that a person wrote.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    read_regular_text(path, MOST_TEXT).map_err(|source| Error::io("read", path, source))
}

/// Writes a whole file: beside first, then renamed, so that no half-written one is ever seen.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole(path, |file| file.write_all(bytes))
        .map_err(|source| Error::io("write", path, source))
}

/// Makes a folder and those above it, where they are not there.
///
/// # Errors
/// If they cannot be made.
pub fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|source| Error::io("create", path, source))
}

/// Takes a folder for this process, making it where it is not there.
///
/// # Errors
/// If another process has it, with who that is.
pub fn lock_folder(path: &Path) -> Result<FolderLock> {
    create_folder(path)?;
    FolderLock::take(path).map_err(|error| match error {
        LockError::Held(holder) => Error::FolderInUse {
            path: path.display().to_string(),
            holder,
        },
        LockError::Io(source) => Error::io("write", path, source),
    })
}
