//! Reading a table from Parquet, column by column in batches, without Arrow: flat columns of numbers, booleans and texts.
//!
//! The codecs are those written in Rust: none, Snappy, gzip and LZ4.

use std::cell::Cell;
use std::fs::File;
use std::io::Read as _;
use std::panic::{self, UnwindSafe};
use std::path::Path;
use std::sync::Once;

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

/// The most cells that a file may unpack to, per byte of the file: a run of one value takes no room however long it is.
const MOST_RATIO: u64 = 200;

/// A file may always have this many cells.
const FREE_CELLS: u64 = 1 << 25;

thread_local! {
    /// Whether a panic of this thread is expected and says nothing to the user.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`; a panic in it is `None` and prints nothing. What other threads print is not changed.
fn without_panic<T>(work: impl FnOnce() -> T + UnwindSafe) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                print(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(work);
    QUIET.set(before);
    result.ok()
}

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
    without_panic(|| read_columns(path, rule, wanted, FREE_CELLS)).unwrap_or_else(|| {
        Err(Error::Malformed {
            path: path.display().to_string(),
            line: None,
            problem: "the Parquet reader gave up on its content".to_owned(),
        })
    })
}

/// Nested columns, and types without a meaning as number or text, are left out with a note. Of `rule`, only the texts
/// for missing values matter.
fn read_columns(path: &Path, rule: &ReadRule, wanted: &Wanted, free_cells: u64) -> Result<Table> {
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
    let size = path.metadata().map_or(0, |metadata| metadata.len());
    let most_cells = size.saturating_mul(MOST_RATIO).max(free_cells);
    let mut cells = 0;
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
            wanted,
            kind: wanted
                .types
                .get(&column)
                .copied()
                .or((wanted.last_is_text && last).then_some(ColumnType::Text)),
            most: most_cells.saturating_sub(cells),
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
                cells += values.len() as u64;
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
    same_length(table)
}

/// Refuses a table without rows, or with columns of different lengths.
fn same_length(table: Table) -> Result<Table> {
    let name = table.path.clone();
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
enum Value<'a> {
    Missing,
    Number(f64),
    Text(&'a str),
}

/// A column while it is read.
struct Sink<'a> {
    path: &'a str,
    column: &'a str,
    missing: &'a [String],
    wanted: &'a Wanted,
    /// The type asked for; that of the file if absent.
    kind: Option<ColumnType>,
    values: Option<Values>,
    /// The most rows that it may have.
    most: u64,
    error: Option<Error>,
}

impl Sink<'_> {
    fn push(&mut self, kind: ColumnType, cell: &Value) {
        let kind = self.kind.unwrap_or(kind);
        let values = self
            .values
            .get_or_insert_with(|| self.wanted.empty(self.column, kind));
        if values.len() as u64 >= self.most {
            self.error.get_or_insert_with(|| Error::TooLarge {
                path: self.path.to_owned(),
                what: "the number of its rows times columns".to_owned(),
                limit: format!("{MOST_RATIO} a byte"),
            });
            return;
        }
        match (values, cell) {
            (Values::Number(values), Value::Missing) => values.push(f64::NAN),
            (Values::Text(texts), Value::Missing) => texts.push(None),
            (Values::Number(values), Value::Number(number)) => values.push(*number),
            (Values::Text(texts), Value::Number(number)) => texts.push(Some(&number.to_string())),
            (Values::Text(texts), Value::Text(text)) => {
                let missing = text.is_empty() || self.missing.iter().any(|marker| marker == text);
                texts.push((!missing).then_some(*text));
            }
            (Values::Number(values), Value::Text(text)) => {
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
            Value::Number(value * scale)
        } else {
            Value::Missing
        }
    };
    let optional = descriptor.max_def_level() > 0;
    let unsigned = is_unsigned(descriptor);
    match pages {
        ColumnReader::BoolColumnReader(pages) => {
            each(pages, optional, sink, |sink, value| {
                let word = |value: &bool| Value::Text(if *value { "true" } else { "false" });
                sink.push(ColumnType::Text, &value.map_or(Value::Missing, word));
            })?;
        }
        ColumnReader::Int32ColumnReader(pages) => {
            each(pages, optional, sink, |sink, value| {
                let whole = |value: &i32| {
                    if unsigned {
                        f64::from(value.cast_unsigned())
                    } else {
                        f64::from(*value)
                    }
                };
                push_number(sink, value.map(|value| number(whole(value))));
            })?;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a double is what a number column holds"
        )]
        ColumnReader::Int64ColumnReader(pages) => {
            each(pages, optional, sink, |sink, value| {
                let whole = |value: &i64| {
                    if unsigned {
                        value.cast_unsigned() as f64
                    } else {
                        *value as f64
                    }
                };
                push_number(sink, value.map(|value| number(whole(value))));
            })?;
        }
        ColumnReader::FloatColumnReader(pages) => {
            each(pages, optional, sink, |sink, value| {
                push_number(sink, value.map(|value| number(f64::from(*value))));
            })?;
        }
        ColumnReader::DoubleColumnReader(pages) => {
            each(pages, optional, sink, |sink, value| {
                push_number(sink, value.map(|value| number(*value)));
            })?;
        }
        ColumnReader::ByteArrayColumnReader(pages) => {
            each(
                pages,
                optional,
                sink,
                |sink, value: Option<&ByteArray>| match value.map(ByteArray::as_utf8) {
                    None => sink.push(ColumnType::Text, &Value::Missing),
                    Some(Ok(text)) => sink.push(ColumnType::Text, &Value::Text(text.trim())),
                    Some(Err(_)) => {
                        let line = sink.values.as_ref().map_or(0, Values::len) as u64 + 1;
                        sink.error.get_or_insert(Error::NotUtf8 {
                            path: sink.path.to_owned(),
                            line,
                        });
                    }
                },
            )?;
        }
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            return Ok(false);
        }
    }
    Ok(true)
}

fn push_number(sink: &mut Sink, cell: Option<Value>) {
    sink.push(ColumnType::Number, &cell.unwrap_or(Value::Missing));
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

/// Whether whole numbers are stored as if their highest bit were no sign.
fn is_unsigned(descriptor: &ColumnDescriptor) -> bool {
    matches!(
        descriptor.logical_type_ref(),
        Some(LogicalType::Integer(whole)) if !whole.is_signed
    ) || matches!(
        descriptor.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    )
}

/// Calls `visit` once a row, with `None` for a null, and stops when the sink has an error.
fn each<T: DataType>(
    mut pages: ColumnReaderImpl<T>,
    optional: bool,
    sink: &mut Sink,
    visit: impl Fn(&mut Sink, Option<&T::T>),
) -> std::result::Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    loop {
        values.clear();
        levels.clear();
        let (records, ..) = pages.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if records == 0 || sink.error.is_some() {
            return Ok(());
        }
        if optional {
            let mut present = values.iter();
            for &level in &levels {
                visit(sink, if level > 0 { present.next() } else { None });
            }
        } else {
            for value in &values {
                visit(sink, Some(value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::{Encoding, Repetition, Type as PhysicalType};
    use parquet::data_type::{BoolType, Int32Type, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::types::Type;

    use super::*;

    fn field(name: &str, kind: PhysicalType, converted: ConvertedType) -> Arc<Type> {
        let builder = Type::primitive_type_builder(name, kind);
        let builder = builder.with_repetition(Repetition::REQUIRED);
        Arc::new(builder.with_converted_type(converted).build().unwrap())
    }

    fn schema(fields: Vec<Arc<Type>>) -> Arc<Type> {
        Arc::new(
            Type::group_type_builder("a")
                .with_fields(fields)
                .build()
                .unwrap(),
        )
    }

    #[test]
    fn numbers_without_a_sign_read_as_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let file = File::create(&path).unwrap();
        let fields = vec![
            field("a", PhysicalType::INT32, ConvertedType::UINT_32),
            field("b", PhysicalType::INT64, ConvertedType::UINT_64),
            field("c", PhysicalType::INT32, ConvertedType::INT_32),
        ];
        let mut writer = SerializedFileWriter::new(file, schema(fields), Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let large = 4_000_000_000_u32.cast_signed();
        for at in 0..3 {
            let mut column = group.next_column().unwrap().unwrap();
            if at == 1 {
                let values = [(1_u64 << 63).cast_signed()];
                let typed = column.typed::<Int64Type>();
                typed.write_batch(&values, None, None).unwrap();
            } else {
                let typed = column.typed::<Int32Type>();
                typed.write_batch(&[large], None, None).unwrap();
            }
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        let table = read(&path, &ReadRule::default(), &Wanted::default()).unwrap();
        let found: Vec<f64> = table
            .columns
            .iter()
            .map(|column| column.values.number(0).unwrap())
            .collect();
        assert_eq!(found, [4e9, 2_f64.powi(63), f64::from(large)]);
    }

    #[test]
    fn a_small_file_of_long_runs_is_refused_at_the_cap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.parquet");
        let file = File::create(&path).unwrap();
        let fields = vec![field("a", PhysicalType::BOOLEAN, ConvertedType::NONE)];
        let properties = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::RLE)
            .set_writer_version(parquet::file::properties::WriterVersion::PARQUET_2_0)
            .build();
        let mut writer =
            SerializedFileWriter::new(file, schema(fields), Arc::new(properties)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let typed = column.typed::<BoolType>();
        typed.write_batch(&vec![true; 300_000], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        assert!(path.metadata().unwrap().len() * MOST_RATIO < 300_000);
        let read = |free| read_columns(&path, &ReadRule::default(), &Wanted::default(), free);
        assert_eq!(read(300_000).unwrap().rows(), 300_000);
        let refused = read(1000);
        assert!(
            matches!(refused, Err(Error::TooLarge { .. })),
            "{refused:?}"
        );
    }

    #[test]
    fn a_panic_is_caught_and_the_next_one_is_loud_again() {
        assert!(without_panic::<()>(|| panic!("not shown")).is_none());
        assert_eq!(without_panic(|| 3), Some(3));
        assert!(!QUIET.get());
    }
}
