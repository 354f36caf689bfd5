//! Where the files of known datasets are: `--data-dir`, then `$THICKSET_DATA`, then the platform's data folder.

use std::path::{Path, PathBuf};

/// The environment variable that names a data folder.
pub const VARIABLE: &str = "THICKSET_DATA";

/// The data folders, first to last.
#[must_use]
pub fn folders(given: Option<&Path>) -> Vec<PathBuf> {
    let variable = std::env::var_os(VARIABLE)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    let platform = dirs::data_dir().map(|folder| folder.join("thickset"));
    given
        .map(Path::to_path_buf)
        .into_iter()
        .chain(variable)
        .chain(platform)
        .collect()
}

/// The first folder's file of this relative path, plain or with `.gz`.
#[must_use]
pub fn find(folders: &[PathBuf], path: &str) -> Option<PathBuf> {
    let names = [path.to_owned(), format!("{path}.gz")];
    folders
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)))
        .find(|path| path.is_file())
}
