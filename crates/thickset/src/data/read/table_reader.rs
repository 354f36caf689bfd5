//! The rows of a table's file, or of several files one after the other, some at a time.

use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::csv::CsvReader;
use super::parquet::{self, ParquetReader};
use super::read_rule::{ReadRule, Wanted};
use super::source;
use super::table::Table;
use crate::{Error, Result};

/// Rows of files with the same columns, in the order of the files.
pub struct TableReader {
    files: VecDeque<PathBuf>,
    rule: ReadRule,
    wanted: Wanted,
    current: Option<Current>,
    is_empty: bool,
    /// The first of the files, for messages.
    first: String,
}

/// Some bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBytes {
    /// The file.
    pub path: PathBuf,
    /// How many bytes it has.
    pub size: u64,
    /// Where those lie that are wanted, in order.
    pub places: Vec<Range<u64>>,
}

enum Current {
    Csv(Box<CsvReader<Box<dyn Read + Send>>>),
    Parquet(Box<ParquetReader>),
}

impl TableReader {
    /// A reader of these files.
    #[must_use]
    pub fn new(files: &[PathBuf], rule: &ReadRule, wanted: &Wanted) -> Self {
        let first = files.first().map(|path| path.display().to_string());
        Self {
            files: files.iter().cloned().collect(),
            rule: rule.clone(),
            wanted: wanted.clone(),
            current: None,
            is_empty: true,
            first: first.unwrap_or_default(),
        }
    }

    /// The next rows, at most so many, all of one file; `None` at the end.
    ///
    /// # Errors
    /// For whatever is wrong with a file, and if there is no row in any of them.
    pub fn next(&mut self, most: usize) -> Result<Option<Table>> {
        loop {
            let table = match &mut self.current {
                None => None,
                Some(Current::Csv(reader)) => reader.next(most)?,
                Some(Current::Parquet(reader)) => reader.next(most)?,
            };
            if table.is_some() {
                self.is_empty = false;
                return Ok(table);
            }
            let Some(path) = self.files.pop_front() else {
                return if self.is_empty {
                    Err(Error::NoRows {
                        path: self.first.clone(),
                    })
                } else {
                    Ok(None)
                };
            };
            self.current = Some(self.open(&path)?);
        }
    }

    /// Takes the columns of a table as they are for those of all files that follow.
    pub fn take_for_granted(&mut self, table: &Table) {
        (self.rule, self.wanted) = granted(table, &self.rule, &self.wanted);
    }

    /// Passes over rows, at most so many; how many there were.
    ///
    /// # Errors
    /// As [`TableReader::next`].
    pub fn skip(&mut self, most: u64) -> Result<u64> {
        let mut left = most;
        loop {
            let skipped = match &mut self.current {
                None => 0,
                Some(Current::Csv(reader)) => reader.skip(left)?,
                Some(Current::Parquet(reader)) => reader.skip(left)?,
            };
            self.is_empty &= skipped == 0;
            left -= skipped.min(left);
            if left == 0 {
                return Ok(most);
            }
            let Some(path) = self.files.pop_front() else {
                return Ok(most - left);
            };
            self.current = Some(self.open(&path)?);
        }
    }

    /// How many rows there are from here on, at most so many: those of Parquet files as their footers say. What was counted is read no
    /// more.
    ///
    /// # Errors
    /// As [`TableReader::next`].
    pub fn count(mut self, most: u64) -> Result<u64> {
        let mut rows = 0_u64;
        while rows < most {
            rows = rows.saturating_add(match self.current.take() {
                None => 0,
                Some(Current::Csv(mut reader)) => reader.skip(most - rows)?,
                Some(Current::Parquet(reader)) => reader.rows_left(),
            });
            let Some(path) = self.files.pop_front() else {
                break;
            };
            self.current = Some(self.open(&path)?);
        }
        Ok(rows.min(most))
    }

    /// Where the bytes lie that these rows are read from, file by file, before any was read. Of a CSV file these are all.
    ///
    /// # Errors
    /// As [`TableReader::next`].
    pub fn bytes_of(self, rows: &[Range<u64>]) -> Result<Vec<FileBytes>> {
        let mut first = 0_u64;
        let mut found = Vec::with_capacity(self.files.len());
        for path in &self.files {
            let size = fs::metadata(path).map_err(|source| Error::io("read", path, source))?;
            let size = size.len();
            let (places, count) = match self.open(path)? {
                Current::Csv(mut reader) => {
                    let all = Range {
                        start: 0,
                        end: size,
                    };
                    (vec![all], reader.skip(u64::MAX)?)
                }
                Current::Parquet(reader) => {
                    let inside = |row: u64| row.saturating_sub(first);
                    let rows: Vec<Range<u64>> = rows
                        .iter()
                        .map(|rows| inside(rows.start)..inside(rows.end))
                        .collect();
                    (reader.bytes_of(&rows), reader.rows_left())
                }
            };
            found.push(FileBytes {
                path: path.clone(),
                size,
                places,
            });
            first = first.saturating_add(count);
        }
        Ok(found)
    }

    fn open(&self, path: &Path) -> Result<Current> {
        if parquet::is_parquet(path)? {
            let reader = ParquetReader::open(path, &self.rule, &self.wanted)?;
            return Ok(Current::Parquet(Box::new(reader)));
        }
        let name = path.display().to_string();
        let reader = CsvReader::new(source::open(path)?, &name, &self.rule, &self.wanted)?;
        Ok(Current::Csv(Box::new(reader)))
    }
}

/// Reads the whole of the files as one table. What the first one is taken for holds for the others.
///
/// # Errors
/// For whatever is wrong with a file, and if one lacks a column of the first.
pub fn read_all(files: &[PathBuf], rule: &ReadRule, wanted: &Wanted) -> Result<Table> {
    let read = |path: &Path, rule: &ReadRule, wanted: &Wanted| {
        if parquet::is_parquet(path)? {
            parquet::read(path, rule, wanted)
        } else {
            super::csv::read(path, rule, wanted)
        }
    };
    let Some((first, rest)) = files.split_first() else {
        return Err(Error::NoRows {
            path: String::new(),
        });
    };
    let mut table = read(first, rule, wanted)?;
    if rest.is_empty() {
        return Ok(table);
    }
    let (rule, wanted) = granted(&table, rule, wanted);
    for path in rest {
        table.append(&read(path, &rule, &wanted)?)?;
    }
    Ok(table)
}

/// What is read of other files if their columns are those of this table.
fn granted(table: &Table, rule: &ReadRule, wanted: &Wanted) -> (ReadRule, Wanted) {
    let rule = ReadRule {
        forms: table.forms.clone(),
        ..rule.clone()
    };
    let columns = table.columns.iter();
    let types = columns
        .clone()
        .map(|column| (column.name.clone(), column.values.kind()));
    let wanted = Wanted {
        only: Some(columns.clone().map(|column| column.name.clone()).collect()),
        types: types.collect(),
        levels: wanted.levels.clone(),
        ..Wanted::default()
    };
    (rule, wanted)
}
