//! Reading a table from Parquet, column by column in batches, without Arrow: flat columns of numbers, booleans and texts.
//!
//! The codecs are those written in Rust: none, Snappy, gzip and LZ4. The decoder underneath believes what a file says about
//! itself, and neither a stack that overflows nor memory that is refused can be caught. So footer and page headers are walked
//! first ([`footer`], [`pages`]), and memory is bounded by the file's size.

#[cfg(test)]
mod bombs;
mod chunks;
mod column;
mod delta;
mod footer;
mod pages;
mod thrift;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::panic::{self, UnwindSafe};
use std::path::Path;
use std::sync::{Arc, Once};

use parquet::basic::Type;
use parquet::column::reader::get_column_reader;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use thickset_engine::open_regular;

pub use self::chunks::ParquetReader;
use self::chunks::Planned;
use self::column::{Sink, drain_some};
use super::read_rule::{ReadRule, Wanted};
use super::table::{Column, ColumnType, Table};
use crate::{Error, Result};

/// First and last bytes of every Parquet file.
const MAGIC: &[u8] = b"PAR1";

/// The most cells that a file may unpack to, per byte of the file: a run of one value takes no room however long it is.
const MOST_RATIO: u64 = 200;

/// A file may always have this many cells.
const FREE_CELLS: u64 = 1 << 23;

/// The most columns of a file.
const MOST_COLUMNS: usize = 100_000;

/// The most bytes of different texts that are kept, per byte of the file: texts that repeat the start of the text before take
/// little room in the file.
const MOST_KEPT_RATIO: u64 = 64;

/// A file may always have this many.
const FREE_KEPT: u64 = 64 << 20;

/// The most bytes of texts that are looked at, per byte of the file.
const MOST_TEXT_RATIO: u64 = 1024;

/// A file may always have this many.
const FREE_TEXT: u64 = 1 << 30;

/// A file may always unpack to this many bytes, page by page.
const FREE_UNPACKED: u64 = 256 << 20;

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
    open_regular(path)
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

/// A file whose footer was checked.
struct Opened {
    file: File,
    metadata: ParquetMetaData,
    size: u64,
    /// Where the footer begins; it ends with the file.
    footer: u64,
}

/// Opens a file and checks what it says about itself.
fn open(path: &Path) -> Result<Opened> {
    let name = path.display().to_string();
    let io = |source| Error::io("read", &name, source);
    let file = open_regular(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    let footer = footer::check(&file, size, &name)?;
    let metadata = ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .map_err(|source| Error::Parquet {
            path: name.clone(),
            source,
        })?;
    check_offsets(&name, &metadata, size)?;
    Ok(Opened {
        file,
        metadata,
        size,
        footer,
    })
}

/// The names of all columns.
fn names_of(metadata: &ParquetMetaData) -> Vec<String> {
    let columns = metadata.file_metadata().schema_descr().columns().iter();
    columns.map(|column| column.name().to_owned()).collect()
}

/// The columns that are wanted and flat; nested ones are left out with a note.
fn plan(
    path: &str,
    metadata: &ParquetMetaData,
    wanted: &Wanted,
    notes: &mut Vec<String>,
) -> Result<Vec<Planned>> {
    let schema = metadata.file_metadata().schema_descr_ptr();
    let mut names = BTreeSet::new();
    let mut planned = Vec::new();
    for index in 0..schema.num_columns() {
        let descriptor = schema.column(index);
        let name = descriptor.name().to_owned();
        let is_wanted = wanted.only.as_ref().is_none_or(|only| only.contains(&name));
        if !is_wanted {
            continue;
        }
        if descriptor.max_rep_level() > 0 || descriptor.path().parts().len() > 1 {
            let nested = descriptor.path().string();
            notes.push(format!("column `{nested}` is nested; it is left out"));
            continue;
        }
        if !names.insert(name.clone()) {
            return Err(Error::DuplicateColumn {
                path: path.to_owned(),
                column: name,
                first: 1,
                second: index + 1,
            });
        }
        let is_last = index + 1 == schema.num_columns();
        let text = (wanted.last_is_text && is_last).then_some(ColumnType::Text);
        planned.push(Planned {
            kind: wanted.types.get(&name).copied().or(text),
            index,
            name,
            descriptor,
        });
    }
    Ok(planned)
}

/// Column by column. Types without a meaning as number or text are left out with a note. Of `rule`, only the texts for missing
/// values and the forms of numbers matter.
fn read_columns(path: &Path, rule: &ReadRule, wanted: &Wanted, free_cells: u64) -> Result<Table> {
    let name = path.display().to_string();
    let broken = |source| Error::Parquet {
        path: name.clone(),
        source,
    };
    let Opened {
        file,
        metadata,
        size,
        ..
    } = open(path)?;
    let file = Arc::new(file);
    let mut budget = Budget::new(size, free_cells);
    let mut table = Table {
        path: name.clone(),
        columns: Vec::new(),
        notes: Vec::new(),
        forms: rule.forms.clone(),
        units: BTreeMap::new(),
        names: names_of(&metadata),
    };
    let planned = plan(&name, &metadata, wanted, &mut table.notes)?;
    for column in planned {
        let descriptor = &column.descriptor;
        let mut sink = Sink {
            path: &name,
            column: &column.name,
            missing: &rule.missing,
            form: rule.forms.get(&column.name),
            values: None,
            wanted,
            kind: column.kind,
            budget: &mut budget,
            error: None,
        };
        let readable = !matches!(
            descriptor.physical_type(),
            Type::INT96 | Type::FIXED_LEN_BYTE_ARRAY
        );
        for group in metadata.row_groups().iter().filter(|_| readable) {
            let chunk = group.column(column.index);
            let claims = pages::check(&file, chunk, &name)?;
            sink.budget.unpack(claims.unpacked, &name)?;
            let rows = usize::try_from(group.num_rows()).unwrap_or(0);
            let optional = descriptor.max_def_level() > 0;
            let pages = pages::Pages::open(&file, chunk, rows, optional, sink.budget.cells);
            let pages = Box::new(pages.map_err(broken)?);
            let mut reader = get_column_reader(Arc::clone(descriptor), pages);
            drain_some(
                &mut reader,
                descriptor,
                claims.batch(),
                usize::MAX,
                &mut sink,
            )
            .map_err(broken)?;
            if let Some(error) = sink.error.take() {
                return Err(error);
            }
        }
        match sink.values {
            Some(mut values) => {
                values.shrink();
                if let Some(unit) = column::unit(descriptor) {
                    table.units.insert(column.name.clone(), unit.to_owned());
                }
                table.columns.push(Column {
                    name: column.name,
                    values,
                });
            }
            None => table.notes.push(format!(
                "column `{}` has the type {}, which is neither number nor text; it is left out",
                column.name,
                descriptor.physical_type()
            )),
        }
    }
    same_length(table)
}

/// What may still be taken from a file.
struct Budget {
    /// Values of all columns.
    cells: u64,
    /// Bytes of different texts that are kept.
    kept: u64,
    /// Bytes of texts that are looked at.
    text: u64,
    /// Bytes that pages unpack to.
    unpacked: u64,
}

impl Budget {
    /// What a file of this many bytes may hold.
    fn new(size: u64, free_cells: u64) -> Self {
        Self {
            cells: size.saturating_mul(MOST_RATIO).max(free_cells),
            kept: size.saturating_mul(MOST_KEPT_RATIO).max(FREE_KEPT),
            text: size.saturating_mul(MOST_TEXT_RATIO).max(FREE_TEXT),
            unpacked: size.saturating_mul(MOST_RATIO).max(FREE_UNPACKED),
        }
    }

    /// Takes the bytes that a column's pages unpack to.
    fn unpack(&mut self, bytes: u64, path: &str) -> Result<()> {
        self.unpacked = self
            .unpacked
            .checked_sub(bytes)
            .ok_or_else(|| Error::TooLarge {
                path: path.to_owned(),
                what: "what all of its pages unpack to".to_owned(),
                limit: format!("{MOST_RATIO} times its bytes"),
            })?;
        Ok(())
    }
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

/// Refuses places outside of the file, which the reader underneath takes on trust, and columns that share their bytes.
fn check_offsets(name: &str, metadata: &ParquetMetaData, size: u64) -> Result<()> {
    let mut total = 0_u64;
    for column in metadata
        .row_groups()
        .iter()
        .flat_map(RowGroupMetaData::columns)
    {
        total = total.saturating_add(u64::try_from(column.compressed_size()).unwrap_or(0));
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
    if total > size {
        return Err(Error::Malformed {
            path: name.to_owned(),
            line: None,
            problem: format!("its columns claim {total} of the file's {size} bytes"),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as PhysicalType};
    use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
    use parquet::file::properties::{WriterProperties, WriterVersion};
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
    fn every_codec_and_encoding_of_texts_reads_back() {
        let texts: Vec<Option<String>> = (0..3000_u32)
            .map(|row| {
                let length = row.wrapping_mul(2_654_435_761) % 90;
                let text = format!("{}-{}", "prefix".repeat(length as usize), row % 700);
                (row % 7 != 0).then_some(text)
            })
            .collect();
        let present: Vec<ByteArray> = texts
            .iter()
            .flatten()
            .map(|text| text.as_str().into())
            .collect();
        let levels: Vec<i16> = texts.iter().map(|text| i16::from(text.is_some())).collect();
        let kind = Type::primitive_type_builder("a", PhysicalType::BYTE_ARRAY)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(ConvertedType::UTF8);
        let schema = schema(vec![Arc::new(kind.build().unwrap())]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for codec in [
                Compression::UNCOMPRESSED,
                Compression::SNAPPY,
                Compression::GZIP(parquet::basic::GzipLevel::default()),
                Compression::LZ4,
                Compression::LZ4_RAW,
            ] {
                for encoding in [
                    None,
                    Some(Encoding::PLAIN),
                    Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
                    Some(Encoding::DELTA_BYTE_ARRAY),
                ] {
                    let mut properties = WriterProperties::builder()
                        .set_writer_version(version)
                        .set_compression(codec)
                        .set_data_page_row_count_limit(500)
                        .set_write_batch_size(100)
                        .set_dictionary_enabled(encoding.is_none());
                    if let Some(encoding) = encoding {
                        properties = properties.set_encoding(encoding);
                    }
                    let file = File::create(&path).unwrap();
                    let properties = Arc::new(properties.build());
                    let mut writer =
                        SerializedFileWriter::new(file, Arc::clone(&schema), properties).unwrap();
                    let mut group = writer.next_row_group().unwrap();
                    let mut column = group.next_column().unwrap().unwrap();
                    let typed = column.typed::<ByteArrayType>();
                    typed.write_batch(&present, Some(&levels), None).unwrap();
                    column.close().unwrap();
                    group.close().unwrap();
                    writer.close().unwrap();
                    let table = read(&path, &ReadRule::default(), &Wanted::default());
                    let table = table.unwrap_or_else(|error| {
                        panic!("{version:?} {codec:?} {encoding:?}: {error:?}")
                    });
                    let found: Vec<Option<String>> = (0..table.rows())
                        .map(|row| table.columns[0].values.text(row))
                        .collect();
                    assert_eq!(found, texts, "{version:?} {codec:?} {encoding:?}");
                }
            }
        }
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
            .set_writer_version(WriterVersion::PARQUET_2_0)
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
