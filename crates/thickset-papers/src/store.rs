//! Finished cells of a bench on disk: `cells/<key>.json`, where the key is a hash of everything that decides the cell.
//!
//! A bench that was stopped finds the cells it had finished, and benches that need the same cell share it. Cells are always
//! read back from their text, so that what a bench computes and what it finds are the same to the last bit.

use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use thickset::{Error, Result, file};

/// Grows when a cell of the same key would hold something else.
const GENERATION: u32 = 2;
/// Bytes of a hash that a key keeps.
const KEY_BYTES: usize = 12;

/// The folder of a bench.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    folder: PathBuf,
}

impl Store {
    /// Makes the folders.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        for inner in ["cells", "models"] {
            let path = folder.join(inner);
            file::create_folder(&path)?;
        }
        Ok(Self {
            folder: folder.to_owned(),
        })
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

    /// The cell, if it is finished. A file that cannot be understood is none.
    pub(crate) fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let path = self.cell(key);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(serde_json::from_str(&text).ok()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::io("read", &path, source)),
        }
    }

    /// Keeps a cell, and gives it back as it will be read.
    pub(crate) fn write<T: Serialize + DeserializeOwned>(&self, key: &str, cell: T) -> Result<T> {
        let text = serde_json::to_string(&cell).expect("a cell is plain data");
        file::write(&self.cell(key), text.as_bytes())?;
        Ok(serde_json::from_str(&text).unwrap_or(cell))
    }

    /// Removes what a finished training leaves behind.
    pub(crate) fn clear_training(&self, key: &str) -> Result<()> {
        let path = self.training(key);
        match fs::remove_dir_all(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(Error::io("remove", &path, source))
            }
            _ => Ok(()),
        }
    }
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
