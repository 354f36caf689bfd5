//! Finished cells of a bench on disk: `cells/<key>.json`, where the key is a hash of everything that decides the cell.
//!
//! A bench that was stopped finds the cells it had finished, and benches that need the same cell share it. Cells are always
//! read back from their text, so that what a bench computes and what it finds are the same to the last bit. A cell carries
//! the hash of its key and text: one that was damaged, edited or put in another's place is computed again.

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

    /// The cell, if it is finished. A file whose content is not what was written there is none.
    pub(crate) fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        let path = self.cell(key);
        match fs::read(&path) {
            Ok(bytes) => {
                let text = std::str::from_utf8(&bytes).ok();
                let cell = text.and_then(|text| opened(key, text));
                Ok(cell.and_then(|cell| serde_json::from_str(cell).ok()))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::io("read", &path, source)),
        }
    }

    /// Keeps a cell, and gives it back as it will be read.
    pub(crate) fn write<T: Serialize + DeserializeOwned>(&self, key: &str, cell: T) -> Result<T> {
        let text = serde_json::to_string(&cell).expect("a cell is plain data");
        file::write(&self.cell(key), sealed(key, &text).as_bytes())?;
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

/// What stands around the hash in the text of a cell.
const BEFORE_HASH: &str = "{\"sha256\":\"";
const AFTER_HASH: &str = "\",\"cell\":";

/// The content of a file: the cell of this key with its hash.
fn sealed(key: &str, cell: &str) -> String {
    let hash = hexadecimal(&Sha256::digest(format!("{key}\n{cell}")));
    format!("{BEFORE_HASH}{hash}{AFTER_HASH}{cell}}}")
}

/// The cell of this key in the content of a file; none if its hash is another.
fn opened<'t>(key: &str, text: &'t str) -> Option<&'t str> {
    let (_, cell) = text.strip_prefix(BEFORE_HASH)?.split_once(AFTER_HASH)?;
    let cell = cell.strip_suffix('}')?;
    (sealed(key, cell) == text).then_some(cell)
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

    #[test]
    fn a_cell_that_was_edited_damaged_or_moved_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path()).unwrap();
        assert_eq!(store.read::<f64>("a").unwrap(), None);
        assert_eq!(
            store.write("a", 0.25_f64).unwrap().to_bits(),
            0.25_f64.to_bits()
        );
        assert_eq!(store.read::<f64>("a").unwrap(), Some(0.25));
        let honest = fs::read_to_string(store.cell("a")).unwrap();
        fs::write(store.cell("b"), &honest).unwrap();
        assert_eq!(store.read::<f64>("b").unwrap(), None, "another's place");
        for wrong in [
            honest.replace("0.25", "0.95"),
            "0.25".to_owned(),
            String::new(),
        ] {
            fs::write(store.cell("a"), wrong).unwrap();
            assert_eq!(store.read::<f64>("a").unwrap(), None);
        }
        fs::write(store.cell("a"), [0xff, 0xfe]).unwrap();
        assert_eq!(store.read::<f64>("a").unwrap(), None, "not even text");
    }
}
