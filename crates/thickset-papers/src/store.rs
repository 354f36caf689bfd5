//! Finished cells of a bench on disk: `cells/<key>.json`, where the key is a hash of everything that decides the cell.
//!
//! A bench that was stopped finds the cells it had finished, and benches that need the same cell share it. Cells are always
//! read back from their text, so that what a bench computes and what it finds are the same to the last bit. A cell carries a
//! checksum of its key and content; one that was edited, torn or is no text at all is made again.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thickset::{Error, Result, file};

/// Grows when a cell of the same key would hold something else.
const GENERATION: u32 = 3;
/// Bytes of a hash that a key keeps.
const KEY_BYTES: usize = 12;

/// The folder of a bench.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    /// Locked for as long as this bench is at work, shared with others; none where the file system has no locks.
    _at_work: Option<File>,
}

/// A finished cell as its file holds it.
#[derive(Serialize, Deserialize)]
struct CellFile<T> {
    checksum: String,
    cell: T,
}

impl Store {
    /// Makes the folders.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        for inner in ["cells", "models"] {
            let path = folder.join(inner);
            file::create_folder(&path)?;
        }
        let lock = lock_file(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            _at_work: lock.lock_shared().is_ok().then_some(lock),
        })
    }

    /// Removes what killed benches have half trained, unless a bench is at work in this folder and may be going on with it.
    pub(crate) fn clear_leftovers(folder: &Path) -> Result<()> {
        let lock = lock_file(folder)?;
        if lock.try_lock().is_err() {
            return Ok(());
        }
        remove_folder(&folder.join("training"))
    }

    /// The key of a cell of this kind that is decided by these settings.
    pub(crate) fn key(kind: &str, deciding: &impl Serialize) -> String {
        let text = serde_json::to_string(deciding).expect("settings are plain data");
        let version = env!("CARGO_PKG_VERSION");
        let hash = Sha256::digest(format!("{GENERATION}\n{version}\n{kind}\n{text}"));
        hexadecimal(&hash[..KEY_BYTES])
    }

    /// Where a trained model is kept.
    pub(crate) fn model(&self, key: &str) -> PathBuf {
        self.folder
            .join("models")
            .join(format!("{key}.safetensors"))
    }

    /// Where a training that is not finished stands.
    pub(crate) fn training(&self, key: &str) -> PathBuf {
        self.folder.join("training").join(key)
    }

    fn cell(&self, key: &str) -> PathBuf {
        self.folder.join("cells").join(format!("{key}.json"))
    }

    /// The cell, if it is finished. A file that is not as [`Store::write`] left it is none.
    pub(crate) fn read<T: Serialize + DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let path = self.cell(key);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::io("read", &path, source)),
        };
        Ok(parse(key, &bytes))
    }

    /// Keeps a cell, and gives it back as it will be read.
    pub(crate) fn write<T: Serialize + DeserializeOwned>(&self, key: &str, cell: T) -> Result<T> {
        let text = text_of(&cell);
        let kept = CellFile {
            checksum: checksum_of(key, &text),
            cell: &cell,
        };
        file::write(&self.cell(key), text_of(&kept).as_bytes())?;
        Ok(serde_json::from_str(&text).unwrap_or(cell))
    }

    /// Removes what a finished training leaves behind.
    pub(crate) fn clear_training(&self, key: &str) -> Result<()> {
        remove_folder(&self.training(key))
    }
}

/// The cell that a file holds, if it is as [`Store::write`] left it.
fn parse<T: Serialize + DeserializeOwned>(key: &str, bytes: &[u8]) -> Option<T> {
    let CellFile { checksum, cell } = serde_json::from_slice::<CellFile<T>>(bytes).ok()?;
    let is_whole = checksum == checksum_of(key, &text_of(&cell));
    is_whole.then_some(cell)
}

/// Reads a cell of any content, as if its checksum were right.
///
/// # Panics
/// If what was read and written again is read as another cell.
pub(crate) fn read_sealed<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    let Ok(cell) = serde_json::from_slice::<T>(bytes) else {
        return;
    };
    let text = text_of(&cell);
    let kept = CellFile {
        checksum: checksum_of("fuzz", &text),
        cell,
    };
    if let Some(again) = parse::<T>("fuzz", text_of(&kept).as_bytes()) {
        assert_eq!(text_of(&again), text, "a cell is read as it was written");
    }
}

/// The file whose lock says that a bench is at work in a folder.
fn lock_file(folder: &Path) -> Result<File> {
    let path = folder.join("bench.lock");
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path);
    opened.map_err(|source| Error::io("open", &path, source))
}

fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Error::io("remove", path, source))
        }
        _ => Ok(()),
    }
}

fn text_of(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a cell is plain data")
}

fn checksum_of(key: &str, text: &str) -> String {
    hexadecimal(&Sha256::digest(format!("{key}\n{text}")))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path()).unwrap();
        assert_eq!(store.write("k", vec![0.5, 1.0 / 3.0]).unwrap().len(), 2);
        (folder, store)
    }

    fn found(store: &Store) -> Option<Vec<f64>> {
        store.read("k").unwrap()
    }

    #[test]
    fn a_cell_is_found_as_it_was_written() {
        let (_folder, store) = kept();
        assert_eq!(found(&store), Some(vec![0.5, 1.0 / 3.0]));
        assert_eq!(store.read::<Vec<f64>>("another").unwrap(), None);
    }

    #[test]
    fn an_edited_cell_is_none() {
        let (_folder, store) = kept();
        let path = store.cell("k");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("0.5", "0.9")).unwrap();
        assert_eq!(found(&store), None);
        fs::write(&path, &text).unwrap();
        assert!(found(&store).is_some());
        // Nor is one that was put in the place of another.
        fs::write(store.cell("other"), &text).unwrap();
        assert_eq!(store.read::<Vec<f64>>("other").unwrap(), None);
    }

    #[test]
    fn a_cell_that_is_torn_or_no_text_is_none() {
        let (_folder, store) = kept();
        let path = store.cell("k");
        let bytes = fs::read(&path).unwrap();
        for broken in [&[0xff, 0xfe, 0x00][..], &bytes[..bytes.len() / 2], &[]] {
            fs::write(&path, broken).unwrap();
            assert_eq!(found(&store), None, "{broken:?}");
        }
    }

    #[test]
    fn a_cell_of_any_content_is_read_or_refused() {
        let cell = crate::training_cell::TrainedCell {
            key: "k".to_owned(),
            objective: thickset::objective::ObjectiveConfig::default(),
            selected: None,
            best_auc: 0.75,
            ending: "it was stopped".to_owned(),
            model_sha256: None,
        };
        let text = text_of(&cell);
        crate::fuzzing::cell(text.as_bytes());
        let mut stream = thickset::Seed::new(0).stream("cells");
        for _ in 0..2000 {
            let mut bytes = text.clone().into_bytes();
            for _ in 0..=stream.below(4) {
                let at = stream.below(bytes.len());
                bytes[at] ^= 1 << stream.below(8);
            }
            crate::fuzzing::cell(&bytes);
        }
    }

    #[test]
    fn what_a_killed_bench_leaves_is_removed_unless_another_is_at_work() {
        let (folder, store) = kept();
        let left = store.training("killed");
        fs::create_dir_all(&left).unwrap();
        Store::clear_leftovers(folder.path()).unwrap();
        assert!(left.is_dir(), "a bench is at work");
        drop(store);
        Store::clear_leftovers(folder.path()).unwrap();
        assert!(!left.exists(), "none is");
        // With nothing left it is no failure.
        Store::clear_leftovers(folder.path()).unwrap();
    }
}
