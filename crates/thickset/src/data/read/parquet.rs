//! Reading a table from Parquet, column by column in batches, without Arrow: flat columns of numbers, booleans and texts.
//!
//! The codecs are those written in Rust: none, Snappy, gzip and LZ4.

mod column;

use std::cell::Cell;
use std::fs::File;
use std::io::Read as _;
use std::panic::{self, UnwindSafe};
use std::path::Path;
use std::sync::Once;

use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader as _, SerializedFileReader};

use self::column::{Sink, drain};
use super::read_rule::{ReadRule, Wanted};
use super::table::{Column, ColumnType, Table};
use crate::{Error, Result};

/// First and last bytes of every Parquet file.
const MAGIC: &[u8] = b"PAR1";

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
    let fail = |source| Error::io("read", path, source);
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
    let file = File::open(path).map_err(|source| Error::io("read", &name, source))?;
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
    let io = |source| Error::io("read", name, source);
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::{ConvertedType, Encoding, Repetition, Type as PhysicalType};
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
