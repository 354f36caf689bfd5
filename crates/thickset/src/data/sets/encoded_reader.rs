//! The rows of a table's files as a model takes them, some at a time: encoded as they come.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::data::encode::encoding::Encoding;
use crate::data::encode::given::GivenValues;
use crate::data::read::table_reader::TableReader;
use crate::{Error, Result};

/// Encoded rows.
#[derive(Clone, Debug)]
pub struct EncodedRows {
    /// Row-major, `[rows, features]`.
    pub values: Vec<f32>,
    /// The class of each row, where it is known.
    pub labels: Vec<Option<usize>>,
    /// The number of the first row, counted from 0 over all files.
    pub first: u64,
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

    /// The next rows, at most so many; `None` at the end.
    ///
    /// # Errors
    /// For whatever is missing or wrong, with file and line where there are some.
    pub fn next(&mut self, most: usize) -> Result<Option<EncodedRows>> {
        let Some(table) = self.tables.next(most)? else {
            return Ok(None);
        };
        let (rows, first) = (table.rows(), self.rows);
        let target = &self.encoding.target.column;
        let has_target = table.columns.iter().any(|column| column.name == *target);
        let labels = if self.with_labels && has_target {
            self.encoding.labels(&table)?
        } else {
            vec![None; rows]
        };
        let encoded = self
            .encoding
            .apply(table)
            .map_err(|error| moved(error, first))?;
        for (total, found) in [
            (&mut self.unseen, encoded.unseen),
            (&mut self.missing, encoded.missing),
        ] {
            for (column, count) in found {
                *total.entry(column).or_default() += count;
            }
        }
        self.rows += rows as u64;
        Ok(Some(EncodedRows {
            values: encoded.values,
            labels,
            first,
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
        let unseen = self.unseen.iter().map(|(column, count)| {
            format!(
                "{} a `{column}` that is none of the model's categories",
                rows(count)
            )
        });
        let missing = self.missing.iter();
        let missing = missing.map(|(column, count)| format!("{} no `{column}`", rows(count)));
        unseen.chain(missing).collect()
    }
}

/// The same error with the row's number in the whole of the files.
fn moved(error: Error, first: u64) -> Error {
    let by = usize::try_from(first).unwrap_or(usize::MAX);
    match error {
        Error::BeyondScale {
            path,
            row,
            column,
            value,
        } => Error::BeyondScale {
            path,
            row: row.saturating_add(by),
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
            row: row.saturating_add(by),
            column,
            value,
        },
        other => other,
    }
}
