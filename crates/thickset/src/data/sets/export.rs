//! Writing the encoded matrix with part and label, as CSV or Parquet: what a peer needs to train on the same numbers.
//!
//! Columns: `split` (train, validation, test), `label` (the number of the class), `class` (its name), then the features.
//! A CSV number is the shortest text that reads as the same single-precision number.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{ByteArray, ByteArrayType, FloatType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use thickset_engine::write_whole;

use super::split::Part;
use crate::data::dataset::Dataset;
use crate::data::read::table::parse_number;
use crate::{Error, Result};

/// Rows of a row group.
const GROUP: usize = 1 << 16;

/// The columns before the features.
const LEADING: [&str; 3] = ["split", "label", "class"];

/// Writes a dataset to a file that ends in `.csv` or `.parquet`. The file appears whole or not at all.
///
/// # Errors
/// If the ending is another one, or the file cannot be written.
pub fn export(dataset: &Dataset, path: &Path) -> Result<()> {
    let name = path.display().to_string();
    let ending = path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    let io = |source| Error::io("write", &name, source);
    match ending.as_deref() {
        Some("csv") => write_whole(path, |file| write_csv(dataset, file)).map_err(io),
        Some("parquet") => {
            write_whole(path, |file| write_parquet(dataset, file)).map_err(|error| match error {
                // What the file system refuses is not the format's fault.
                ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                    Ok(source) => io(*source),
                    Err(cause) => Error::Parquet {
                        path: name.clone(),
                        source: ParquetError::External(cause),
                    },
                },
                source => Error::Parquet {
                    path: name.clone(),
                    source,
                },
            })
        }
        _ => Err(Error::Malformed {
            path: name,
            line: None,
            problem: "expected a file name that ends in `.csv` or `.parquet`".to_owned(),
        }),
    }
}

/// Names of the feature columns; one that is named like a leading column gets `feature ` before it.
fn names(dataset: &Dataset) -> Vec<String> {
    let name = |name: &String| {
        if LEADING.contains(&name.as_str()) {
            format!("feature {name}")
        } else {
            name.clone()
        }
    };
    dataset
        .schema
        .features
        .iter()
        .map(|feature| name(&feature.name))
        .collect()
}

/// A text that a spreadsheet shows instead of running it as a formula: one that begins like a formula, and is no number, gets an
/// apostrophe before it.
pub(crate) fn inert(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) && parse_number(text).is_none() {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn write_csv(dataset: &Dataset, file: &mut File) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    let names = names(dataset);
    let names: Vec<String> = names.iter().map(|name| inert(name)).collect();
    let classes: Vec<String> = dataset.classes.iter().map(|class| inert(class)).collect();
    writer.write_record(LEADING.into_iter().chain(names.iter().map(String::as_str)))?;
    let parts = dataset.split.parts(dataset.rows());
    let mut values = vec![0.0; dataset.features()];
    let mut text = String::new();
    for (row, part) in parts.into_iter().enumerate() {
        let label = dataset.labels[row];
        writer.write_field(part.name())?;
        writer.write_field(label.to_string())?;
        writer.write_field(&classes[label])?;
        dataset.copy_row(row, &mut values);
        for value in &values {
            use std::fmt::Write as _;
            text.clear();
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{value}");
            writer.write_field(&text)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer
        .into_inner()
        .map_err(|error| io::Error::other(error.to_string()))?
        .flush()
}

fn write_parquet(dataset: &Dataset, file: &mut File) -> std::result::Result<(), ParquetError> {
    let text = |name: &str| {
        Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8)
            .build()
    };
    let plain = |name: &str, kind| {
        Type::primitive_type_builder(name, kind)
            .with_repetition(Repetition::REQUIRED)
            .build()
    };
    let mut fields = vec![
        text(LEADING[0])?,
        plain(LEADING[1], PhysicalType::INT32)?,
        text(LEADING[2])?,
    ];
    for name in names(dataset) {
        fields.push(plain(&name, PhysicalType::FLOAT)?);
    }
    let schema = Type::group_type_builder("thickset")
        .with_fields(fields.into_iter().map(Arc::new).collect())
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .build();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))?;
    let parts = dataset.split.parts(dataset.rows());
    for start in (0..dataset.rows()).step_by(GROUP) {
        let rows: Vec<usize> = (start..(start + GROUP).min(dataset.rows())).collect();
        let mut group = writer.next_row_group()?;
        write_group(dataset, &parts, &rows, &mut group)?;
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn write_group(
    dataset: &Dataset,
    parts: &[Part],
    rows: &[usize],
    group: &mut SerializedRowGroupWriter<&mut File>,
) -> std::result::Result<(), ParquetError> {
    let width = dataset.features();
    let values = dataset.gather(rows);
    let mut index = 0;
    while let Some(mut column) = group.next_column()? {
        match index {
            0 => {
                let texts: Vec<ByteArray> =
                    rows.iter().map(|&row| parts[row].name().into()).collect();
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&texts, None, None)?;
            }
            1 => {
                let labels: Vec<i32> = rows
                    .iter()
                    .map(|&row| i32::try_from(dataset.labels[row]).unwrap_or(i32::MAX))
                    .collect();
                column
                    .typed::<Int32Type>()
                    .write_batch(&labels, None, None)?;
            }
            2 => {
                let texts: Vec<ByteArray> = rows
                    .iter()
                    .map(|&row| dataset.classes[dataset.labels[row]].as_str().into())
                    .collect();
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&texts, None, None)?;
            }
            _ => {
                let feature: Vec<f32> = values
                    .iter()
                    .skip(index - LEADING.len())
                    .step_by(width)
                    .copied()
                    .collect();
                column
                    .typed::<FloatType>()
                    .write_batch(&feature, None, None)?;
            }
        }
        column.close()?;
        index += 1;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_spreadsheet_would_run_is_made_inert() {
        for (text, expected) in [
            ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("-1", "-1"),
            ("+1e5", "+1e5"),
            ("age", "age"),
        ] {
            assert_eq!(inert(text), expected);
        }
    }
}
