//! The rows of a table's files as a model takes them, some at a time: encoded as they come.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use crate::data::encode::encoding::{Encoding, unseen_note};
use crate::data::encode::given::GivenValues;
use crate::data::read::table_reader::{FileBytes, TableReader};
use crate::{Error, Result};

/// Encoded rows.
#[derive(Clone, Debug)]
pub struct EncodedRows {
    /// Row-major, `[rows, features]`.
    pub values: Vec<f32>,
    /// The class of each row, where it is known.
    pub labels: Vec<Option<usize>>,
    /// The number of each row, counted from 0 over all files.
    pub ids: Vec<u64>,
    /// The number of the row after those that were read.
    pub end: u64,
    /// What the features do not tell, by the row's place among these.
    pub given: GivenValues,
}

/// Reads files by an encoding that was fitted before, in their order.
pub struct EncodedReader {
    tables: TableReader,
    encoding: Encoding,
    with_labels: bool,
    rows: u64,
    unseen: BTreeMap<String, usize>,
    missing: BTreeMap<String, usize>,
}

impl EncodedReader {
    /// A reader of these files; only the columns of the encoding are read, and the target if labels are wanted.
    #[must_use]
    pub fn new(files: &[PathBuf], encoding: &Encoding, with_labels: bool) -> Self {
        let wanted = encoding.wanted(with_labels);
        Self {
            tables: TableReader::new(files, &encoding.read, &wanted),
            encoding: encoding.clone(),
            with_labels,
            rows: 0,
            unseen: BTreeMap::new(),
            missing: BTreeMap::new(),
        }
    }

    /// Passes over rows, at most so many; how many there were.
    ///
    /// # Errors
    /// As [`EncodedReader::next`].
    pub fn skip(&mut self, most: u64) -> Result<u64> {
        let skipped = self.tables.skip(most)?;
        self.rows += skipped;
        Ok(skipped)
    }

    /// How many rows there are, at most so many; those of Parquet files are not read for it.
    ///
    /// # Errors
    /// As [`EncodedReader::next`].
    pub fn count(self, most: u64) -> Result<u64> {
        self.tables.count(most)
    }

    /// Where the bytes lie that these rows, and nothing but them, are read from; before any was read.
    ///
    /// # Errors
    /// As [`EncodedReader::next`].
    pub fn bytes_of(self, rows: &[Range<u64>]) -> Result<Vec<FileBytes>> {
        self.tables.bytes_of(rows)
    }

    /// The next rows, at most so many; `None` at the end.
    ///
    /// # Errors
    /// For whatever is missing or wrong, with file and line where there are some.
    pub fn next(&mut self, most: usize) -> Result<Option<EncodedRows>> {
        self.next_of(most, |_| true)
    }

    /// Those of the next rows, at most so many, whose numbers are wanted; `None` at the end.
    ///
    /// # Errors
    /// As [`EncodedReader::next`], for the rows that are wanted.
    pub fn next_of(
        &mut self,
        most: usize,
        is_wanted: impl Fn(u64) -> bool,
    ) -> Result<Option<EncodedRows>> {
        let Some(mut table) = self.tables.next(most)? else {
            return Ok(None);
        };
        let read = self.rows..self.rows + table.rows() as u64;
        self.rows = read.end;
        let keep: Vec<bool> = read.clone().map(is_wanted).collect();
        let ids: Vec<u64> = read
            .zip(&keep)
            .filter_map(|(id, keep)| keep.then_some(id))
            .collect();
        if ids.len() < keep.len() {
            table.retain(&keep);
        }
        let target = &self.encoding.target.column;
        let has_target = table.columns.iter().any(|column| column.name == *target);
        let labels = if self.with_labels && has_target {
            self.encoding.labels(&table)?
        } else {
            vec![None; ids.len()]
        };
        let encoded = self
            .encoding
            .apply(table)
            .map_err(|error| numbered(error, &ids))?;
        for (total, found) in [
            (&mut self.unseen, encoded.unseen),
            (&mut self.missing, encoded.missing),
        ] {
            for (column, count) in found {
                *total.entry(column).or_default() += count;
            }
        }
        Ok(Some(EncodedRows {
            values: encoded.values,
            labels,
            ids,
            end: self.rows,
            given: encoded.given,
        }))
    }

    /// What a person should know of the rows so far, in sentences.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let rows = |count: &usize| match count {
            1 => "1 row has".to_owned(),
            count => format!("{count} rows have"),
        };
        let unseen = self.unseen.iter();
        let unseen = unseen.map(|(column, count)| unseen_note(column, *count));
        let missing = self.missing.iter();
        let missing = missing.map(|(column, count)| format!("{} no `{column}`", rows(count)));
        unseen.chain(missing).collect()
    }
}

/// The same error with the row's number, counted from 1 in the whole of the files, where it has its place among these.
fn numbered(error: Error, ids: &[u64]) -> Error {
    let number = |row: usize| {
        let id = row.checked_sub(1).and_then(|place| ids.get(place));
        id.map_or(row, |id| usize::try_from(id + 1).unwrap_or(usize::MAX))
    };
    match error {
        Error::BeyondScale {
            path,
            row,
            column,
            value,
        } => Error::BeyondScale {
            path,
            row: number(row),
            column,
            value,
        },
        Error::UnseenCategory {
            path,
            row,
            column,
            value,
        } => Error::UnseenCategory {
            path,
            row: number(row),
            column,
            value,
        },
        other => other,
    }
}
