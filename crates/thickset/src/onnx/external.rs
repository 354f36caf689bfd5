//! Weights that lie in a file beside the model, as PyTorch's exporter writes them. Nothing outside of the model's folder is opened.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Component, Path, PathBuf};

use thickset_engine::open_regular;

use super::problem::{OnnxError, Result, broken, short};
use super::proto::TensorProto;

/// Where external data may lie.
#[derive(Clone, Debug)]
pub(super) enum Beside {
    /// In the folder of the model.
    Folder(PathBuf),
    /// Nowhere: the model came as bytes.
    Nothing,
}

impl Beside {
    /// The bytes of all files that tensors say they lie in; those that cannot be opened count for nothing here.
    pub(super) fn size<'t>(&self, tensors: impl Iterator<Item = &'t TensorProto>) -> usize {
        let Self::Folder(folder) = self else {
            return 0;
        };
        let entries = tensors.flat_map(|tensor| &tensor.external_data);
        let locations = entries.filter(|entry| entry.key.as_deref() == Some("location"));
        let mut known: Vec<&str> = locations
            .filter_map(|entry| entry.value.as_deref())
            .collect();
        known.sort_unstable();
        known.dedup();
        let size = |location: &&str| -> Option<u64> {
            let path = inside(folder, location).ok()?;
            Some(open_regular(&path).ok()?.metadata().ok()?.len())
        };
        let sizes = known.iter().filter_map(size);
        sizes
            .map(|size| usize::try_from(size).unwrap_or(usize::MAX))
            .fold(0, usize::saturating_add)
    }

    /// The bytes of a tensor, which must be exactly `expected`.
    ///
    /// # Errors
    /// If the place is outside of the folder, is no regular file, or does not hold so many bytes.
    pub(super) fn read(&self, tensor: &TensorProto, expected: usize) -> Result<Vec<u8>> {
        let name = tensor.name.as_deref().unwrap_or_default();
        let entry = |key: &str| {
            let entries = tensor.external_data.iter();
            let mut found = entries.filter(|entry| entry.key.as_deref() == Some(key));
            found.next().and_then(|entry| entry.value.as_deref())
        };
        let location = entry("location")
            .ok_or_else(|| broken(format!("tensor `{name}` does not say where its data lies")))?;
        let count = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => text.trim().parse::<u64>().map(Some).map_err(|_| {
                broken(format!(
                    "`{key}` of tensor `{name}` must be a number, got `{text}`"
                ))
            }),
        };
        let offset = count("offset")?.unwrap_or(0);
        let Self::Folder(folder) = self else {
            return Err(OnnxError::Refused {
                problem: short(format!(
                    "the weights of `{name}` lie in another file, `{location}`"
                )),
                instead: "give the path of the model, or write it with its weights inside (`onnx.save(model, path, save_as_external_data=False)`)".to_owned(),
            });
        };
        let path = inside(folder, location)?;
        let failed = |error: std::io::Error| {
            broken(format!(
                "the data of tensor `{name}` in `{location}` cannot be read: {error}"
            ))
        };
        let mut file = open_regular(&path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let length = count("length")?.unwrap_or_else(|| size.saturating_sub(offset));
        if length != expected as u64 || offset.saturating_add(length) > size {
            return Err(broken(format!(
                "the data of tensor `{name}` must be {expected} bytes, got {length} from {offset} on in `{location}` of {size} bytes"
            )));
        }
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let mut bytes = vec![0; expected];
        file.read_exact(&mut bytes).map_err(failed)?;
        Ok(bytes)
    }
}

/// The path of a file that lies in the folder or below it, links followed.
fn inside(folder: &Path, location: &str) -> Result<PathBuf> {
    let outside = || {
        broken(format!(
            "`{location}` is outside of the model's folder, and is not opened"
        ))
    };
    let relative = Path::new(location);
    let is_plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if location.is_empty() || !is_plain {
        return Err(outside());
    }
    let missing = |error: std::io::Error| broken(format!("`{location}` cannot be opened: {error}"));
    let folder = folder.canonicalize().map_err(missing)?;
    let path = folder.join(relative).canonicalize().map_err(missing)?;
    if path.starts_with(&folder) {
        Ok(path)
    } else {
        Err(outside())
    }
}
