//! Results of rows, written as they come: CSV, JSON lines or Parquet. One writer for every command and for library users.
//!
//! ```
//! use thickset::row_writer::{Cell, OutputColumn, RowFormat, RowWriter};
//!
//! let columns = vec![OutputColumn::whole("row"), OutputColumn::text("class"), OutputColumn::number("probability")];
//! let mut writer = RowWriter::new(RowFormat::JsonLines, columns, Vec::new())?;
//! writer.write(&[Cell::Whole(1), Cell::text("repaid"), Cell::Number(0.75)])?;
//! let written = writer.finish()?;
//! assert_eq!(String::from_utf8_lossy(&written), "{\"row\":1,\"class\":\"repaid\",\"probability\":0.75}\n");
//! # Ok::<(), thickset::Error>(())
//! ```

mod parquet_rows;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use thickset_engine::write_whole;

use self::parquet_rows::ParquetRows;
use crate::data::inert;
use crate::{Error, Result};

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFormat {
    /// Text with commas and a header. A text that a spreadsheet would run as a formula gets an apostrophe.
    Csv,
    /// One JSON object a line.
    JsonLines,
    /// Parquet with Snappy, in row groups of bounded size.
    Parquet,
}

impl RowFormat {
    /// The format that a file's name ends with: `.csv`, `.jsonl` (or `.ndjson`), `.parquet`.
    ///
    /// # Errors
    /// If it ends otherwise.
    pub fn of_path(path: &Path) -> Result<Self> {
        let ending = path
            .extension()
            .map(|ending| ending.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("csv") => Ok(Self::Csv),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("parquet") => Ok(Self::Parquet),
            _ => Err(Error::Malformed {
                path: path.display().to_string(),
                line: None,
                problem: "expected a file name that ends in `.csv`, `.jsonl` or `.parquet`"
                    .to_owned(),
            }),
        }
    }
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellType {
    /// Whole numbers.
    Whole,
    /// Numbers.
    Number,
    /// Texts.
    Text,
    /// True or false.
    Flag,
}

/// A column of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// What its cells are.
    pub kind: CellType,
}

impl OutputColumn {
    /// A column of whole numbers.
    #[must_use]
    pub fn whole(name: impl Into<String>) -> Self {
        Self::new(name, CellType::Whole)
    }

    /// A column of numbers.
    #[must_use]
    pub fn number(name: impl Into<String>) -> Self {
        Self::new(name, CellType::Number)
    }

    /// A column of texts.
    #[must_use]
    pub fn text(name: impl Into<String>) -> Self {
        Self::new(name, CellType::Text)
    }

    /// A column of true and false.
    #[must_use]
    pub fn flag(name: impl Into<String>) -> Self {
        Self::new(name, CellType::Flag)
    }

    fn new(name: impl Into<String>, kind: CellType) -> Self {
        Self {
            name: name.into(),
            kind,
        }
    }
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Missing,
    /// A whole number.
    Whole(i64),
    /// A number; one that is not finite is written as missing.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// True or false.
    Flag(bool),
}

impl<'a> Cell<'a> {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// A row's number or a count.
    #[must_use]
    pub fn count(count: impl TryInto<i64>) -> Self {
        count.try_into().map_or(Self::Missing, Self::Whole)
    }

    /// A number that may be missing.
    #[must_use]
    pub fn maybe(number: Option<f64>) -> Self {
        number.map_or(Self::Missing, Self::Number)
    }

    fn fits(&self, kind: CellType) -> bool {
        match self {
            Self::Missing => true,
            Self::Whole(_) => kind == CellType::Whole,
            Self::Number(_) => kind == CellType::Number,
            Self::Text(_) => kind == CellType::Text,
            Self::Flag(_) => kind == CellType::Flag,
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_none(),
            Self::Whole(whole) => serializer.serialize_i64(*whole),
            // JSON has no number for those that are not finite; serde writes null.
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
        }
    }
}

/// Writes rows of the same columns. Memory is bounded: text formats keep nothing, Parquet keeps one row group.
pub struct RowWriter<W: Write + Send> {
    columns: Vec<OutputColumn>,
    rows: u64,
    out: Out<W>,
}

enum Out<W: Write + Send> {
    Csv(Box<csv::Writer<W>>),
    JsonLines(W),
    Parquet(Box<ParquetRows<W>>),
}

impl<W: Write + Send> RowWriter<W> {
    /// Begins the output; a CSV's header is written at once.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(format: RowFormat, columns: Vec<OutputColumn>, out: W) -> Result<Self> {
        let mut writer = Self::continued(format, columns, out)?;
        if let Out::Csv(out) = &mut writer.out {
            let names = writer.columns.iter().map(|column| inert(&column.name));
            out.write_record(names).map_err(from_csv)?;
        }
        Ok(writer)
    }

    /// The same for output that is appended to another one: CSV without its header.
    ///
    /// # Errors
    /// As [`RowWriter::new`].
    pub fn continued(format: RowFormat, columns: Vec<OutputColumn>, out: W) -> Result<Self> {
        let columns = numbered(columns);
        let out = match format {
            RowFormat::Csv => Out::Csv(Box::new(csv::Writer::from_writer(out))),
            RowFormat::JsonLines => Out::JsonLines(out),
            RowFormat::Parquet => Out::Parquet(Box::new(ParquetRows::new(&columns, out)?)),
        };
        Ok(Self {
            columns,
            rows: 0,
            out,
        })
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &[OutputColumn] {
        &self.columns
    }

    /// Rows written so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes one row.
    ///
    /// # Errors
    /// If it cannot be written, or the cells are not those of the columns.
    pub fn write(&mut self, cells: &[Cell<'_>]) -> Result<()> {
        if cells.len() != self.columns.len() {
            return Err(Error::LengthMismatch {
                what: "the cells of a row to write",
                expected: self.columns.len(),
                got: cells.len(),
            });
        }
        let wrong = self
            .columns
            .iter()
            .zip(cells)
            .find(|(column, cell)| !cell.fits(column.kind));
        if let Some((column, cell)) = wrong {
            return Err(Error::Malformed {
                path: "the output".to_owned(),
                line: None,
                problem: format!(
                    "column `{}` expects {:?}, got {cell:?}",
                    column.name, column.kind
                ),
            });
        }
        match &mut self.out {
            Out::Csv(out) => out
                .write_record(cells.iter().map(csv_field))
                .map_err(from_csv)?,
            Out::JsonLines(out) => {
                let object = Object {
                    columns: &self.columns,
                    cells,
                };
                serde_json::to_writer(&mut *out, &object).map_err(|error| Error::Output {
                    source: error.into(),
                })?;
                out.write_all(b"\n")
                    .map_err(|source| Error::Output { source })?;
            }
            Out::Parquet(out) => out.write(cells)?,
        }
        self.rows += 1;
        Ok(())
    }

    /// Hands what was written to whoever reads: at once for text, while Parquet waits for its row group.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        let flushed = match &mut self.out {
            Out::Csv(out) => out.flush(),
            Out::JsonLines(out) => out.flush(),
            Out::Parquet(_) => Ok(()),
        };
        flushed.map_err(|source| Error::Output { source })
    }

    /// Ends the output.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> Result<W> {
        let io = |source| Error::Output { source };
        match self.out {
            Out::Csv(out) => out.into_inner().map_err(|error| {
                io(io::Error::new(
                    error.error().kind(),
                    error.error().to_string(),
                ))
            }),
            Out::JsonLines(mut out) => {
                out.flush().map_err(io)?;
                Ok(out)
            }
            Out::Parquet(out) => out.finish(),
        }
    }
}

/// Writes a file of rows, in the format that its name ends with: beside first, then renamed, so that no half-written one is seen.
/// With `continued`, a CSV has no header.
///
/// # Errors
/// As [`RowFormat::of_path`], and what `write` returns.
pub fn write_file(
    path: &Path,
    columns: Vec<OutputColumn>,
    continued: bool,
    write: impl FnOnce(&mut RowWriter<BufWriter<&mut File>>) -> Result<()>,
) -> Result<()> {
    let format = RowFormat::of_path(path)?;
    let written = write_whole(path, |file| -> std::result::Result<(), Failed> {
        let file = BufWriter::new(file);
        let mut writer = if continued {
            RowWriter::continued(format, columns, file)?
        } else {
            RowWriter::new(format, columns, file)?
        };
        write(&mut writer)?;
        writer.finish()?.flush()?;
        Ok(())
    });
    written.map_err(|failed| match failed {
        Failed::File(source) | Failed::Ours(Error::Output { source }) => {
            Error::io("write", path, source)
        }
        Failed::Ours(error) => error,
    })
}

/// Why a file was not written.
enum Failed {
    File(io::Error),
    Ours(Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

/// The second column of a name gets `.1` appended, the third `.2`, as tables with such columns are read.
fn numbered(mut columns: Vec<OutputColumn>) -> Vec<OutputColumn> {
    let mut taken: BTreeSet<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut seen = BTreeSet::new();
    for column in &mut columns {
        if seen.insert(column.name.clone()) {
            continue;
        }
        let free = (1_usize..).map(|number| format!("{}.{number}", column.name));
        if let Some(name) = free.into_iter().find(|name| !taken.contains(name)) {
            taken.insert(name.clone());
            column.name = name;
        }
    }
    columns
}

/// A row as JSON.
struct Object<'a> {
    columns: &'a [OutputColumn],
    cells: &'a [Cell<'a>],
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.cells.len()))?;
        for (column, cell) in self.columns.iter().zip(self.cells) {
            map.serialize_entry(&column.name, cell)?;
        }
        map.end()
    }
}

fn csv_field(cell: &Cell<'_>) -> String {
    match cell {
        Cell::Whole(whole) => whole.to_string(),
        Cell::Number(number) if number.is_finite() => number.to_string(),
        Cell::Missing | Cell::Number(_) => String::new(),
        Cell::Text(text) => inert(text),
        Cell::Flag(flag) => flag.to_string(),
    }
}

fn from_csv(error: csv::Error) -> Error {
    let text = error.to_string();
    let source = match error.into_kind() {
        csv::ErrorKind::Io(source) => source,
        _ => io::Error::other(text),
    };
    Error::Output { source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<OutputColumn> {
        vec![
            OutputColumn::whole("row"),
            OutputColumn::text("class"),
            OutputColumn::number("p"),
            OutputColumn::flag("held"),
        ]
    }

    fn rows() -> [[Cell<'static>; 4]; 2] {
        [
            [
                Cell::count(1_u64),
                Cell::text("=x, y"),
                Cell::Number(0.1),
                Cell::Flag(true),
            ],
            [
                Cell::count(2_u64),
                Cell::Missing,
                Cell::Number(f64::NAN),
                Cell::Missing,
            ],
        ]
    }

    fn written(format: RowFormat) -> Vec<u8> {
        let mut writer = RowWriter::new(format, columns(), Vec::new()).unwrap();
        for row in rows() {
            writer.write(&row).unwrap();
        }
        assert_eq!(writer.rows(), 2);
        writer.finish().unwrap()
    }

    #[test]
    fn text_formats_by_hand() {
        let csv = String::from_utf8(written(RowFormat::Csv)).unwrap();
        assert_eq!(csv, "row,class,p,held\n1,\"'=x, y\",0.1,true\n2,,,\n");
        let lines = String::from_utf8(written(RowFormat::JsonLines)).unwrap();
        assert_eq!(
            lines,
            "{\"row\":1,\"class\":\"=x, y\",\"p\":0.1,\"held\":true}\n{\"row\":2,\"class\":null,\"p\":null,\"held\":null}\n"
        );
    }

    #[test]
    fn parquet_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, written(RowFormat::Parquet)).unwrap();
        let table = crate::data::read_parquet(
            &path,
            &crate::data::ReadRule::default(),
            &crate::data::Wanted::default(),
        )
        .unwrap();
        let texts = |column: usize| -> Vec<Option<String>> {
            (0..2)
                .map(|row| table.columns[column].values.text(row))
                .collect()
        };
        assert_eq!(texts(0), [Some("1".to_owned()), Some("2".to_owned())]);
        assert_eq!(texts(1), [Some("=x, y".to_owned()), None]);
        assert_eq!(texts(2), [Some("0.1".to_owned()), None]);
        assert_eq!(texts(3), [Some("true".to_owned()), None]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut writer = RowWriter::new(RowFormat::Csv, columns(), Vec::new()).unwrap();
        assert!(writer.write(&[Cell::Missing]).is_err());
        let wrong = [
            Cell::Number(1.0),
            Cell::Missing,
            Cell::Missing,
            Cell::Missing,
        ];
        assert!(
            writer
                .write(&wrong)
                .unwrap_err()
                .to_string()
                .contains("`row`")
        );
        let twice = ["a", "a", "a.1"].map(OutputColumn::whole).to_vec();
        let writer = RowWriter::new(RowFormat::Csv, twice, Vec::new()).unwrap();
        assert_eq!(writer.finish().unwrap(), b"a,a.2,a.1\n");
        assert!(RowFormat::of_path(Path::new("a.txt")).is_err());
        assert_eq!(
            RowFormat::of_path(Path::new("a.CSV")).unwrap(),
            RowFormat::Csv
        );
    }
}
