//! From what a user names to the files of a table: one file, a folder of CSV or Parquet files, or a pattern like `rows/*.parquet`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::read::graph_folder;
use crate::{Error, Result};

/// Endings of files that are tables.
const ENDINGS: [&str; 6] = [".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", ".pq"];

/// The files that `what` names, by name; `None` if it names no table's file. A folder names those of its files that end like
/// tables, unless it is a folder of graphs or has folders in it, as one of images has.
///
/// # Errors
/// If a folder cannot be read, or a pattern fits no file.
pub fn find(what: &str) -> Result<Option<Vec<PathBuf>>> {
    let path = Path::new(what);
    if path.is_file() {
        return Ok(Some(vec![path.to_owned()]));
    }
    if path.is_dir() {
        if path.join(graph_folder::LABELS).is_file() || has_folders(path)? {
            return Ok(None);
        }
        let files = files_of(path, &|name| {
            let name = name.to_lowercase();
            ENDINGS.iter().any(|ending| name.ends_with(ending))
        })?;
        return Ok((!files.is_empty()).then_some(files));
    }
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let Some(pattern) = name.filter(|name| name.contains(['*', '?'])) else {
        return Ok(None);
    };
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let files = files_of(folder.unwrap_or(Path::new(".")), &|name| {
        fits(pattern.as_bytes(), name.as_bytes())
    })?;
    if files.is_empty() {
        return Err(Error::NoRows {
            path: what.to_owned(),
        });
    }
    Ok(Some(files))
}

fn has_folders(folder: &Path) -> Result<bool> {
    let fail = |source| Error::io("read", folder, source);
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !is_hidden && entry.path().is_dir() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The visible regular files of a folder whose names are wanted, by name, so that no file system's order matters.
fn files_of(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let fail = |source| Error::io("read", folder, source);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let path = entry.map_err(fail)?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.filter(|name| !name.starts_with('.') && is_wanted(name));
        if name.is_some() && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Whether a name fits a pattern: `*` stands for any letters, `?` for one byte.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    // Where to go on after the last `*` if what follows does not fit.
    let (mut at, mut place, mut back) = (0, 0, None);
    while place < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                back = Some((at, place));
                at += 1;
            }
            Some(letter) if *letter == b'?' || *letter == name[place] => {
                at += 1;
                place += 1;
            }
            _ => match back {
                Some((star, from)) => {
                    back = Some((star, from + 1));
                    at = star + 1;
                    place = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_fit_names() {
        for (pattern, name, expected) in [
            ("*.csv", "a.csv", true),
            ("*.csv", "a.csv.gz", false),
            ("part-?.parquet", "part-3.parquet", true),
            ("part-?.parquet", "part-13.parquet", false),
            ("*a*b", "xaxbxab", true),
            ("*a*b", "xaxbx", false),
            ("**", "", true),
        ] {
            assert_eq!(
                fits(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }

    #[test]
    fn a_folder_names_its_tables_in_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.parquet", "notes.txt", ".hidden.csv"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let found = |what: &str| -> Vec<String> {
            let files = find(&folder.path().join(what).display().to_string()).unwrap();
            let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
            files.unwrap().into_iter().map(name).collect()
        };
        assert_eq!(found(""), ["a.parquet", "b.csv"]);
        assert_eq!(found("*.csv"), ["b.csv"]);
        assert_eq!(found("b.csv"), ["b.csv"]);
        let nothing = find(&folder.path().join("*.json").display().to_string());
        assert!(matches!(nothing, Err(Error::NoRows { .. })));
        assert_eq!(find("no such thing").unwrap(), None);
    }
}
