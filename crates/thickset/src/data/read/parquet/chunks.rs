//! A Parquet file some rows at a time: the columns of one row group are read side by side, so that memory does not grow with the
//! file.

use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::ColumnDescPtr;

use super::column::{Sink, drain_some, unit};
use super::{Budget, FREE_CELLS, MAGIC, Opened, names_of, open, pages, plan, without_panic};
use crate::data::read::read_rule::{ReadRule, Wanted};
use crate::data::read::table::{Column, ColumnType, Table, Values};
use crate::{Error, Result};

/// Rows that are read at a time where they are passed over.
const SKIPPED_ROWS: usize = 8192;

/// An open file.
pub struct ParquetReader {
    path: String,
    file: Arc<File>,
    metadata: ParquetMetaData,
    /// Where the footer lies.
    footer: Range<u64>,
    columns: Vec<Planned>,
    rule: ReadRule,
    wanted: Wanted,
    budget: Budget,
    notes: Vec<String>,
    /// The next row group, the readers of the one that has begun, and how many of its rows are left.
    group: usize,
    readers: Vec<Reader>,
    left: u64,
}

/// A column that is read.
pub(super) struct Planned {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) descriptor: ColumnDescPtr,
    pub(super) kind: Option<ColumnType>,
}

struct Reader {
    pages: ColumnReader,
    batch: usize,
}

impl ParquetReader {
    /// Opens a file.
    ///
    /// # Errors
    /// If the file is broken.
    pub fn open(path: &Path, rule: &ReadRule, wanted: &Wanted) -> Result<Self> {
        let name = path.display().to_string();
        let opened = without_panic(|| open(path));
        let Opened {
            file,
            metadata,
            size,
            footer,
        } = opened.unwrap_or_else(|| Err(gave_up(&name)))?;
        let mut notes = Vec::new();
        let mut columns = plan(&name, &metadata, wanted, &mut notes)?;
        columns.retain(|column| {
            let kind = column.descriptor.physical_type();
            let readable = !matches!(kind, Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY);
            if !readable {
                notes.push(format!(
                    "column `{}` has the type {kind}, which is neither number nor text; it is left out",
                    column.name
                ));
            }
            readable
        });
        Ok(Self {
            path: name,
            file: Arc::new(file),
            metadata,
            footer: footer..size,
            columns,
            rule: rule.clone(),
            wanted: wanted.clone(),
            budget: Budget::new(size, FREE_CELLS),
            notes,
            group: 0,
            readers: Vec::new(),
            left: 0,
        })
    }

    /// Passes over rows, at most so many: row groups that are passed over to their end are not decoded, of the next one what must
    /// be is; how many there were.
    ///
    /// # Errors
    /// As [`ParquetReader::next`].
    pub fn skip(&mut self, most: u64) -> Result<u64> {
        let mut left = most;
        if !self.readers.is_empty() && self.left <= left {
            left -= std::mem::take(&mut self.left);
            self.readers.clear();
        }
        while self.readers.is_empty() && self.group < self.metadata.num_row_groups() {
            let rows = self.rows_of(self.group);
            if rows > left {
                break;
            }
            left -= rows;
            self.group += 1;
        }
        while left > 0 {
            let step = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(SKIPPED_ROWS);
            match self.next(step)? {
                None => break,
                Some(table) => left -= table.rows() as u64,
            }
        }
        Ok(most - left)
    }

    /// How many rows are left, as the footer says.
    #[must_use]
    pub fn rows_left(&self) -> u64 {
        let groups = self.group..self.metadata.num_row_groups();
        let rows = groups.map(|group| self.rows_of(group));
        rows.fold(self.left, u64::saturating_add)
    }

    /// Where the bytes lie that these rows are decoded from, counted from the first row of the file: the file's first bytes, its
    /// footer, and in the row groups that hold some of the rows, the columns that are wanted. In order, none twice.
    #[must_use]
    pub fn bytes_of(&self, rows: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut places = vec![0..MAGIC.len() as u64, self.footer.clone()];
        let mut first = 0_u64;
        for group in self.metadata.row_groups() {
            let end = first.saturating_add(u64::try_from(group.num_rows()).unwrap_or(0));
            if rows.iter().any(|rows| rows.start < end && first < rows.end) {
                places.extend(self.columns.iter().map(|column| {
                    let (start, length) = group.column(column.index).byte_range();
                    start..start.saturating_add(length)
                }));
            }
            first = end;
        }
        places.sort_by_key(|place| place.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(places.len());
        for place in places {
            match joined.last_mut() {
                Some(last) if place.start <= last.end => last.end = last.end.max(place.end),
                _ => joined.push(place),
            }
        }
        joined
    }

    fn rows_of(&self, group: usize) -> u64 {
        u64::try_from(self.metadata.row_group(group).num_rows()).unwrap_or(0)
    }

    /// The next rows, at most so many; `None` at the end.
    ///
    /// # Errors
    /// If the file is broken, or a number column has a text.
    pub fn next(&mut self, most: usize) -> Result<Option<Table>> {
        let path = self.path.clone();
        without_panic(AssertUnwindSafe(|| self.next_rows(most)))
            .unwrap_or_else(|| Err(gave_up(&path)))
    }

    fn next_rows(&mut self, most: usize) -> Result<Option<Table>> {
        if most == 0 || self.columns.is_empty() {
            return Ok(None);
        }
        loop {
            if self.readers.is_empty() && !self.next_group()? {
                return Ok(None);
            }
            let columns = self.some(most)?;
            let rows = columns.first().map_or(0, |column| column.values.len());
            if let Some(other) = columns.iter().find(|column| column.values.len() != rows) {
                return Err(Error::Malformed {
                    path: self.path.clone(),
                    line: None,
                    problem: format!(
                        "column `{}` has {} rows where others have {rows}",
                        other.name,
                        other.values.len()
                    ),
                });
            }
            // Shards are cut by what row groups say of themselves, so it must be true.
            let left = self.left.checked_sub(rows as u64);
            self.left = left.filter(|left| rows > 0 || *left == 0).ok_or_else(|| {
                let claimed = self.rows_of(self.group.saturating_sub(1));
                Error::Malformed {
                    path: self.path.clone(),
                    line: None,
                    problem: format!(
                        "row group {} does not have the {claimed} rows that it claims",
                        self.group
                    ),
                }
            })?;
            if rows > 0 {
                return Ok(Some(self.table(columns)));
            }
            self.readers.clear();
        }
    }

    /// Opens the columns of the next row group; false after the last one.
    fn next_group(&mut self) -> Result<bool> {
        if self.group >= self.metadata.num_row_groups() {
            return Ok(false);
        }
        self.left = self.rows_of(self.group);
        let group = self.metadata.row_group(self.group);
        self.group += 1;
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX);
        for column in &self.columns {
            let chunk = group.column(column.index);
            let claims = pages::check(&self.file, chunk, &self.path)?;
            self.budget.unpack(claims.unpacked, &self.path)?;
            let optional = column.descriptor.max_def_level() > 0;
            let pages = pages::Pages::open(&self.file, chunk, rows, optional, self.budget.cells);
            let pages = pages.map_err(|source| Error::Parquet {
                path: self.path.clone(),
                source,
            })?;
            self.readers.push(Reader {
                pages: get_column_reader(Arc::clone(&column.descriptor), Box::new(pages)),
                batch: claims.batch(),
            });
        }
        Ok(true)
    }

    /// At most so many values of each column.
    fn some(&mut self, most: usize) -> Result<Vec<Column>> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for (column, reader) in self.columns.iter().zip(&mut self.readers) {
            let mut sink = Sink {
                path: &self.path,
                column: &column.name,
                missing: &self.rule.missing,
                form: self.rule.forms.get(&column.name),
                wanted: &self.wanted,
                kind: column.kind,
                values: None,
                budget: &mut self.budget,
                error: None,
            };
            drain_some(
                &mut reader.pages,
                &column.descriptor,
                reader.batch,
                most,
                &mut sink,
            )
            .map_err(|source| Error::Parquet {
                path: self.path.clone(),
                source,
            })?;
            if let Some(error) = sink.error {
                return Err(error);
            }
            let empty = || Values::new(column.kind.unwrap_or(ColumnType::Number));
            columns.push(Column {
                name: column.name.clone(),
                values: sink.values.unwrap_or_else(empty),
            });
        }
        Ok(columns)
    }

    fn table(&mut self, columns: Vec<Column>) -> Table {
        let units = self.columns.iter().filter_map(|column| {
            let unit = unit(&column.descriptor)?;
            Some((column.name.clone(), unit.to_owned()))
        });
        let units: BTreeMap<String, String> = units.collect();
        Table {
            path: self.path.clone(),
            columns,
            notes: std::mem::take(&mut self.notes),
            forms: self.rule.forms.clone(),
            names: names_of(&self.metadata),
            units,
        }
    }
}

fn gave_up(path: &str) -> Error {
    Error::Malformed {
        path: path.to_owned(),
        line: None,
        problem: "the Parquet reader gave up on its content".to_owned(),
    }
}
