//! Rows as Parquet: cells wait column by column until there are enough for a row group.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::{Cell, CellType, OutputColumn};
use crate::{Error, Result};

/// Cells of a row group: some megabytes in memory.
const GROUP_CELLS: usize = 1 << 20;

/// The most rows of a row group.
const GROUP_ROWS: usize = 1 << 16;

pub(super) struct ParquetRows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    waiting: Vec<Waiting>,
    rows: usize,
    most: usize,
}

/// The cells of a column that are not yet written, and for each row whether it has one.
struct Waiting {
    present: Vec<i16>,
    cells: Cells,
}

enum Cells {
    Whole(Vec<i64>),
    Number(Vec<f64>),
    Text(Vec<ByteArray>),
    Flag(Vec<bool>),
}

impl<W: Write + Send> ParquetRows<W> {
    pub(super) fn new(columns: &[OutputColumn], out: W) -> Result<Self> {
        let writer = schema(columns).and_then(|schema| {
            let properties = WriterProperties::builder()
                .set_compression(Compression::SNAPPY)
                .build();
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        });
        let waiting = columns.iter().map(|column| Waiting {
            present: Vec::new(),
            cells: match column.kind {
                CellType::Whole => Cells::Whole(Vec::new()),
                CellType::Number => Cells::Number(Vec::new()),
                CellType::Text => Cells::Text(Vec::new()),
                CellType::Flag => Cells::Flag(Vec::new()),
            },
        });
        Ok(Self {
            writer: writer.map_err(failed)?,
            waiting: waiting.collect(),
            rows: 0,
            most: (GROUP_CELLS / columns.len().max(1)).clamp(1, GROUP_ROWS),
        })
    }

    pub(super) fn write(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        for (waiting, cell) in self.waiting.iter_mut().zip(cells) {
            let present = match (&mut waiting.cells, cell) {
                (Cells::Whole(cells), Cell::Whole(whole)) => {
                    cells.push(*whole);
                    true
                }
                (Cells::Number(cells), Cell::Number(number)) if number.is_finite() => {
                    cells.push(*number);
                    true
                }
                (Cells::Text(cells), Cell::Text(text)) => {
                    cells.push(ByteArray::from(text.as_bytes().to_vec()));
                    true
                }
                (Cells::Flag(cells), Cell::Flag(flag)) => {
                    cells.push(*flag);
                    true
                }
                _ => false,
            };
            waiting.present.push(i16::from(present));
        }
        self.rows += 1;
        if self.rows == self.most {
            self.write_group().map_err(failed)?;
        }
        Ok(())
    }

    fn write_group(&mut self) -> std::result::Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for waiting in &mut self.waiting {
            let Some(mut column) = group.next_column()? else {
                break;
            };
            let present = Some(&waiting.present[..]);
            match &mut waiting.cells {
                Cells::Whole(cells) => {
                    column
                        .typed::<Int64Type>()
                        .write_batch(cells, present, None)?;
                    cells.clear();
                }
                Cells::Number(cells) => {
                    column
                        .typed::<DoubleType>()
                        .write_batch(cells, present, None)?;
                    cells.clear();
                }
                Cells::Text(cells) => {
                    column
                        .typed::<ByteArrayType>()
                        .write_batch(cells, present, None)?;
                    cells.clear();
                }
                Cells::Flag(cells) => {
                    column
                        .typed::<BoolType>()
                        .write_batch(cells, present, None)?;
                    cells.clear();
                }
            }
            waiting.present.clear();
            column.close()?;
        }
        group.close()?;
        self.rows = 0;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<W> {
        if self.rows > 0 {
            self.write_group().map_err(failed)?;
        }
        self.writer.into_inner().map_err(failed)
    }
}

fn schema(columns: &[OutputColumn]) -> std::result::Result<Type, ParquetError> {
    let field = |column: &OutputColumn| {
        let kind = match column.kind {
            CellType::Whole => PhysicalType::INT64,
            CellType::Number => PhysicalType::DOUBLE,
            CellType::Text => PhysicalType::BYTE_ARRAY,
            CellType::Flag => PhysicalType::BOOLEAN,
        };
        let mut field =
            Type::primitive_type_builder(&column.name, kind).with_repetition(Repetition::OPTIONAL);
        if column.kind == CellType::Text {
            field = field
                .with_logical_type(Some(LogicalType::String))
                .with_converted_type(ConvertedType::UTF8);
        }
        field.build().map(Arc::new)
    };
    let fields = columns
        .iter()
        .map(field)
        .collect::<std::result::Result<Vec<_>, _>>()?;
    Type::group_type_builder("thickset")
        .with_fields(fields)
        .build()
}

/// What the file system refuses is not the format's fault.
fn failed(error: ParquetError) -> Error {
    let source = match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(source) => *source,
            Err(cause) => std::io::Error::other(cause),
        },
        other => std::io::Error::other(other),
    };
    Error::Output { source }
}
