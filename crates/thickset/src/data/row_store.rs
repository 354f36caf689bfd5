//! Encoded rows of a file: in memory, or, where they are too many, in a file of the temporary folder that has no name and is gone
//! with the process. So a table larger than memory can be audited: rows are asked for one by one.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;

use super::encode::given::GivenValues;
use crate::{Error, Result};

/// Bytes of rows that are kept in memory.
const IN_MEMORY: usize = 512 << 20;

/// The label of a row without one.
const NO_LABEL: u32 = u32::MAX;

/// Rows of the same width, with the class of each where it is known.
#[derive(Clone, Debug)]
pub struct RowStore {
    width: usize,
    labels: Vec<u32>,
    given: GivenValues,
    kept: Kept,
}

#[derive(Clone)]
enum Kept {
    Memory(Arc<Vec<f32>>),
    Disk(Arc<Spilled>),
}

/// A file that only this process sees.
struct Spilled {
    file: File,
}

impl fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Memory(_) => "rows in memory",
            Self::Disk(_) => "rows on disk",
        })
    }
}

/// Rows while they come.
pub struct RowStoreWriter {
    width: usize,
    most: usize,
    labels: Vec<u32>,
    given: GivenValues,
    memory: Vec<f32>,
    disk: Option<BufWriter<File>>,
}

impl RowStoreWriter {
    /// No row yet; each will have `width` values.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self::keeping(width, IN_MEMORY)
    }

    /// The same with this many bytes in memory.
    pub(crate) fn keeping(width: usize, most: usize) -> Self {
        Self {
            width,
            most,
            labels: Vec::new(),
            given: GivenValues::default(),
            memory: Vec::new(),
            disk: None,
        }
    }

    /// Notes what the features of the next rows do not tell; before these rows are added.
    ///
    /// # Errors
    /// As [`RowStoreWriter::push`].
    pub(crate) fn note(&mut self, given: &GivenValues) -> Result<()> {
        self.given.append(given, self.labels.len() as u64)
    }

    /// Adds rows, one after the other, with the class of each.
    ///
    /// # Errors
    /// If the temporary folder is full or cannot be written to.
    pub fn push(&mut self, values: &[f32], labels: &[Option<usize>]) -> Result<()> {
        let label = |label: &Option<usize>| {
            label
                .and_then(|label| u32::try_from(label).ok())
                .unwrap_or(NO_LABEL)
        };
        self.labels.extend(labels.iter().map(label));
        if self.disk.is_none() && size_of_val(&self.memory[..]) + size_of_val(values) <= self.most {
            self.memory.extend_from_slice(values);
            return Ok(());
        }
        let failed = |source| Error::io("write", std::env::temp_dir(), source);
        if self.disk.is_none() {
            let mut file = BufWriter::with_capacity(1 << 20, nameless().map_err(failed)?);
            let memory = std::mem::take(&mut self.memory);
            write(&mut file, &memory).map_err(failed)?;
            self.disk = Some(file);
        }
        if let Some(file) = &mut self.disk {
            write(file, values).map_err(failed)?;
        }
        Ok(())
    }

    /// Ends it.
    ///
    /// # Errors
    /// As [`RowStoreWriter::push`].
    pub fn finish(mut self) -> Result<RowStore> {
        let kept = match self.disk {
            None => {
                self.memory.shrink_to_fit();
                Kept::Memory(Arc::new(self.memory))
            }
            Some(file) => {
                let file = file.into_inner().map_err(|error| {
                    Error::io("write", std::env::temp_dir(), error.into_error())
                })?;
                Kept::Disk(Arc::new(Spilled { file }))
            }
        };
        self.labels.shrink_to_fit();
        Ok(RowStore {
            width: self.width,
            labels: self.labels,
            given: self.given,
            kept,
        })
    }
}

impl RowStore {
    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// What the features of the rows do not tell.
    pub(crate) fn given(&self) -> &GivenValues {
        &self.given
    }

    /// The class of a row, if it is known.
    #[must_use]
    pub fn label(&self, row: usize) -> Option<usize> {
        Some(self.labels[row])
            .filter(|label| *label != NO_LABEL)
            .map(|label| label as usize)
    }

    /// Copies a row. One that the disk does not give back is not a number in every place, which no model takes.
    ///
    /// # Panics
    /// If there is no such row, or the target has another length.
    pub fn copy(&self, row: usize, target: &mut [f32]) {
        assert!(row < self.rows() && target.len() == self.width);
        match &self.kept {
            Kept::Memory(values) => {
                let start = row * self.width;
                target.copy_from_slice(&values[start..start + self.width]);
            }
            Kept::Disk(spilled) => {
                let mut bytes = vec![0; size_of_val(target)];
                let start = row as u64 * bytes.len() as u64;
                if read_at(&spilled.file, &mut bytes, start).is_err() {
                    target.fill(f32::NAN);
                    return;
                }
                for (value, bytes) in target.iter_mut().zip(bytes.as_chunks().0) {
                    *value = f32::from_le_bytes(*bytes);
                }
            }
        }
    }

    /// Whether the rows are on disk.
    #[cfg(test)]
    fn is_on_disk(&self) -> bool {
        matches!(self.kept, Kept::Disk(_))
    }
}

fn write(file: &mut BufWriter<File>, values: &[f32]) -> io::Result<()> {
    for value in values {
        file.write_all(&value.to_le_bytes())?;
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, start)
}

#[cfg(windows)]
pub(super) fn read_at(file: &File, mut bytes: &mut [u8], mut start: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, bytes, start)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        start += count as u64;
        bytes = &mut bytes[count..];
    }
    Ok(())
}

/// A new file in the temporary folder, whose name is removed at once where the system allows that.
pub(super) fn nameless() -> io::Result<File> {
    let random = RandomState::new().hash_one(std::process::id());
    let path = std::env::temp_dir().join(format!("thickset-rows-{random:016x}"));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path)?;
    // Where an open file cannot lose its name, it stays in the folder of temporary files.
    let _ = std::fs::remove_file(&path);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_on_disk_are_the_rows_in_memory() {
        let values: Vec<f32> = (0_u16..3000).map(|value| f32::from(value) / 7.0).collect();
        let labels: Vec<Option<usize>> = (0..1000)
            .map(|row| (row % 3 > 0).then_some(row % 3))
            .collect();
        let store = |most: usize| {
            let mut writer = RowStoreWriter::keeping(3, most);
            for (values, labels) in values.chunks(300).zip(labels.chunks(100)) {
                writer.push(values, labels).unwrap();
            }
            writer.finish().unwrap()
        };
        let (memory, disk) = (store(usize::MAX), store(2000));
        assert!(!memory.is_on_disk() && disk.is_on_disk());
        assert_eq!((memory.rows(), disk.rows()), (1000, 1000));
        let (mut one, mut other) = ([0.0; 3], [0.0; 3]);
        for row in [0, 1, 165, 166, 167, 500, 999] {
            memory.copy(row, &mut one);
            disk.copy(row, &mut other);
            assert_eq!(one.map(f32::to_bits), other.map(f32::to_bits), "{row}");
            assert_eq!(memory.label(row), disk.label(row));
            assert_eq!(memory.label(row), labels[row]);
        }
    }
}
