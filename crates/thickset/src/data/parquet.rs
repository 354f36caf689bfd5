//! Reading a table from Parquet, column by column in batches, without Arrow: flat columns of numbers, booleans and texts.
//!
//! The codecs are those written in Rust: none, Snappy, gzip and LZ4.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use super::read_rule::{ReadRule, Wanted};
use super::table::{Column, ColumnType, Table, Values, parse_number};
use crate::{Error, Result};

/// First and last bytes of every Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// Values that are read at a time.
const BATCH: usize = 8192;

/// Whether a file starts like a Parquet file.
///
/// # Errors
/// If it cannot be read.
pub fn is_parquet(path: &Path) -> Result<bool> {
    let fail = |source| Error::Io {
        action: "read",
        path: path.display().to_string(),
        source,
    };
    let mut start = Vec::new();
    File::open(path)
        .map_err(fail)?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut start)
        .map_err(fail)?;
    Ok(start == MAGIC)
}

/// Reads the wanted columns of a file. The reader underneath panics on some broken files; that is an error here.
///
/// # Errors
/// If the file is broken, or a number column has a text.
pub fn read(path: &Path, rule: &ReadRule, wanted: &Wanted) -> Result<Table> {
    std::panic::catch_unwind(|| read_columns(path, rule, wanted)).unwrap_or_else(|_| {
        Err(Error::Malformed {
            path: path.display().to_string(),
            line: None,
            problem: "the Parquet reader gave up on its content".to_owned(),
        })
    })
}

/// Nested columns, and types without a meaning as number or text, are left out with a note. Of `rule`, only the texts
/// for missing values matter.
fn read_columns(path: &Path, rule: &ReadRule, wanted: &Wanted) -> Result<Table> {
    let name = path.display().to_string();
    let broken = |source| Error::Parquet {
        path: name.clone(),
        source,
    };
    let file = File::open(path).map_err(|source| Error::Io {
        action: "read",
        path: name.clone(),
        source,
    })?;
    let reader = SerializedFileReader::new(file).map_err(broken)?;
    check_offsets(&name, reader.metadata(), path)?;
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut table = Table {
        path: name.clone(),
        columns: Vec::new(),
        notes: Vec::new(),
    };
    for index in 0..schema.num_columns() {
        let descriptor = schema.column(index);
        let column = descriptor.name().to_owned();
        if wanted
            .only
            .as_ref()
            .is_some_and(|only| !only.contains(&column))
        {
            continue;
        }
        if descriptor.max_rep_level() > 0 || descriptor.path().parts().len() > 1 {
            table.notes.push(format!(
                "left out column `{}`: it is nested",
                descriptor.path().string()
            ));
            continue;
        }
        if table.columns.iter().any(|other| other.name == column) {
            return Err(Error::DuplicateColumn {
                path: name,
                column,
                first: 1,
                second: index + 1,
            });
        }
        let last = index + 1 == schema.num_columns();
        let mut sink = Sink {
            path: &name,
            column: &column,
            missing: &rule.missing,
            values: None,
            wanted: wanted
                .types
                .get(&column)
                .copied()
                .or((wanted.last_is_text && last).then_some(ColumnType::Text)),
            error: None,
        };
        let mut readable = true;
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group).map_err(broken)?;
            let pages = group.get_column_reader(index).map_err(broken)?;
            readable &= drain(pages, &descriptor, &mut sink).map_err(broken)?;
            if let Some(error) = sink.error.take() {
                return Err(error);
            }
        }
        match sink.values.filter(|_| readable) {
            Some(mut values) => {
                values.shrink();
                table.columns.push(Column {
                    name: column,
                    values,
                });
            }
            None => table.notes.push(format!(
                "left out column `{column}`: its type {} is neither number nor text",
                descriptor.physical_type()
            )),
        }
    }
    let rows = table.rows();
    if rows == 0 {
        return Err(Error::NoRows { path: name });
    }
    match table
        .columns
        .iter()
        .find(|column| column.values.len() != rows)
    {
        None => Ok(table),
        Some(column) => Err(Error::Malformed {
            path: name,
            line: None,
            problem: format!(
                "column `{}` has {} rows, expected {rows}",
                column.name,
                column.values.len()
            ),
        }),
    }
}

/// Refuses places outside of the file, which the reader underneath takes on trust.
fn check_offsets(name: &str, metadata: &ParquetMetaData, path: &Path) -> Result<()> {
    let io = |source| Error::Io {
        action: "read",
        path: name.to_owned(),
        source,
    };
    let size = path.metadata().map_err(io)?.len();
    for column in metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns)
    {
        let start = column
            .dictionary_page_offset()
            .unwrap_or_else(|| column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        let inside = |place: i64| u64::try_from(place).is_ok_and(|place| place <= size);
        let counts = column.num_values() >= 0 && column.compressed_size() >= 0;
        if !counts
            || !inside(start)
            || !inside(column.data_page_offset())
            || !end.is_some_and(inside)
        {
            return Err(Error::Malformed {
                path: name.to_owned(),
                line: None,
                problem: format!(
                    "column `{}` lies outside of the file",
                    column.column_path().string()
                ),
            });
        }
    }
    Ok(())
}

/// One value of a column.
enum Cell<'a> {
    Missing,
    Number(f64),
    Text(&'a str),
}

/// A column while it is read.
struct Sink<'a> {
    path: &'a str,
    column: &'a str,
    missing: &'a [String],
    wanted: Option<ColumnType>,
    values: Option<Values>,
    error: Option<Error>,
}

impl Sink<'_> {
    fn push(&mut self, kind: ColumnType, cell: &Cell) {
        let wanted = self.wanted.unwrap_or(kind);
        let values = self.values.get_or_insert_with(|| Values::new(wanted));
        match (values, cell) {
            (Values::Number(values), Cell::Missing) => values.push(f64::NAN),
            (Values::Text(texts), Cell::Missing) => texts.push(None),
            (Values::Number(values), Cell::Number(number)) => values.push(*number),
            (Values::Text(texts), Cell::Number(number)) => texts.push(Some(&number.to_string())),
            (Values::Text(texts), Cell::Text(text)) => {
                let missing = text.is_empty() || self.missing.iter().any(|marker| marker == text);
                texts.push((!missing).then_some(*text));
            }
            (Values::Number(values), Cell::Text(text)) => {
                if let Some(number) = parse_number(text) {
                    values.push(number);
                } else if text.is_empty() || self.missing.iter().any(|marker| marker == text) {
                    values.push(f64::NAN);
                } else {
                    self.error.get_or_insert(Error::NotANumber {
                        path: self.path.to_owned(),
                        line: values.len() as u64 + 1,
                        column: self.column.to_owned(),
                        value: text.chars().take(60).collect(),
                    });
                }
            }
        }
    }
}

/// Reads one row group of a column; false if its type has no meaning here.
fn drain(
    pages: ColumnReader,
    descriptor: &ColumnDescriptor,
    sink: &mut Sink,
) -> std::result::Result<bool, ParquetError> {
    let scale = decimal_scale(descriptor);
    let number = move |value: f64| {
        if value.is_finite() {
            Cell::Number(value * scale)
        } else {
            Cell::Missing
        }
    };
    let optional = descriptor.max_def_level() > 0;
    match pages {
        ColumnReader::BoolColumnReader(pages) => {
            each(pages, optional, |value| match value {
                None => sink.push(ColumnType::Text, &Cell::Missing),
                Some(value) => sink.push(
                    ColumnType::Text,
                    &Cell::Text(if *value { "true" } else { "false" }),
                ),
            })?;
        }
        ColumnReader::Int32ColumnReader(pages) => {
            each(pages, optional, |value| {
                push_number(sink, value.map(|value| number(f64::from(*value))));
            })?;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a double is what a number column holds"
        )]
        ColumnReader::Int64ColumnReader(pages) => {
            each(pages, optional, |value| {
                push_number(sink, value.map(|value| number(*value as f64)));
            })?;
        }
        ColumnReader::FloatColumnReader(pages) => {
            each(pages, optional, |value| {
                push_number(sink, value.map(|value| number(f64::from(*value))));
            })?;
        }
        ColumnReader::DoubleColumnReader(pages) => {
            each(pages, optional, |value| {
                push_number(sink, value.map(|value| number(*value)));
            })?;
        }
        ColumnReader::ByteArrayColumnReader(pages) => {
            each(pages, optional, |value: Option<&ByteArray>| {
                match value.map(ByteArray::as_utf8) {
                    None => sink.push(ColumnType::Text, &Cell::Missing),
                    Some(Ok(text)) => sink.push(ColumnType::Text, &Cell::Text(text.trim())),
                    Some(Err(_)) => {
                        let line = sink.values.as_ref().map_or(0, Values::len) as u64 + 1;
                        sink.error.get_or_insert(Error::NotUtf8 {
                            path: sink.path.to_owned(),
                            line,
                        });
                    }
                }
            })?;
        }
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            return Ok(false);
        }
    }
    Ok(true)
}

fn push_number(sink: &mut Sink, cell: Option<Cell>) {
    sink.push(ColumnType::Number, &cell.unwrap_or(Cell::Missing));
}

/// Decimals are stored as whole numbers times a power of ten.
fn decimal_scale(descriptor: &ColumnDescriptor) -> f64 {
    let is_decimal = matches!(
        descriptor.logical_type_ref(),
        Some(LogicalType::Decimal { .. })
    ) || descriptor.converted_type() == ConvertedType::DECIMAL;
    if is_decimal {
        10_f64.powi(-descriptor.type_scale())
    } else {
        1.0
    }
}

/// Calls `visit` once a row, with `None` for a null.
fn each<T: DataType>(
    mut pages: ColumnReaderImpl<T>,
    optional: bool,
    mut visit: impl FnMut(Option<&T::T>),
) -> std::result::Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    loop {
        values.clear();
        levels.clear();
        let (records, ..) = pages.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Ok(());
        }
        if optional {
            let mut present = values.iter();
            for &level in &levels {
                visit(if level > 0 { present.next() } else { None });
            }
        } else {
            for value in &values {
                visit(Some(value));
            }
        }
    }
}
