//! Where a command's rows go, as they come: a table or JSON lines on stdout, or a file of CSV, JSON lines or Parquet.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use thickset::row_writer::{Cell, OutputColumn, RowFormat, RowWriter};
use thickset_engine::write_whole;

use super::interrupt::Interrupted;
use super::output::print_some;

/// Bytes that wait before they are printed.
const WAITING: usize = 64 << 10;

/// The options of every command that gives a result for each row.
#[derive(Args)]
pub struct OutputOptions {
    /// Print one JSON object a row
    #[arg(long, conflicts_with = "out")]
    pub json: bool,
    /// Write the rows to this file instead: .csv, .jsonl or .parquet
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// One row of results in every form.
pub trait OutputRow {
    /// For people: a line, or several, with its end.
    fn text(&self) -> Result<String>;
    /// For programs: one JSON object, without an end of line.
    fn json(&self) -> Result<String>;
    /// The columns of a flat file; the same for every row.
    fn columns(&self) -> Vec<OutputColumn>;
    /// What stands in them, for a row that is one line.
    fn cells(&self) -> Result<Vec<Cell<'_>>>;
    /// The lines of the row.
    fn lines(&self) -> Result<Vec<Vec<Cell<'_>>>> {
        Ok(vec![self.cells()?])
    }
}

/// Takes rows one by one.
pub struct RowOutput<'f> {
    kind: Kind<'f>,
    waiting: String,
    /// The rows are appended to others, so a CSV has no header.
    continued: bool,
    rows: u64,
}

enum Kind<'f> {
    Table,
    Lines,
    LinesFile(BufWriter<&'f mut File>),
    /// The file while there is no row, and what writes to it afterwards.
    RowsFile(
        RowFormat,
        Option<BufWriter<&'f mut File>>,
        Option<Writer<'f>>,
    ),
}

type Writer<'f> = Box<RowWriter<BufWriter<&'f mut File>>>;

impl OutputOptions {
    /// Runs `work` with the output that was asked for. A file appears whole or not at all.
    pub fn run(
        &self,
        continued: bool,
        work: impl FnOnce(&mut RowOutput<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(path) = &self.out else {
            let kind = if self.json { Kind::Lines } else { Kind::Table };
            let mut output = RowOutput::new(kind, continued);
            work(&mut output)?;
            // A pipe that was closed here ends nothing: it is the end.
            let _ = output.flush()?;
            return Ok(());
        };
        let format = RowFormat::of_path(path)?;
        let mut rows = 0;
        let written = write_whole(path, |file| -> Result<(), Failed> {
            let file = BufWriter::new(file);
            let kind = match format {
                RowFormat::JsonLines => Kind::LinesFile(file),
                _ => Kind::RowsFile(format, Some(file), None),
            };
            let mut output = RowOutput::new(kind, continued);
            work(&mut output)?;
            rows = output.rows;
            output.finish()?;
            Ok(())
        });
        written.map_err(|Failed(error)| {
            // Whoever stopped the command is told no error.
            if error.is::<Interrupted>() {
                error
            } else {
                error.context(format!("`{}` was not written", path.display()))
            }
        })?;
        say!("wrote {rows} rows to {}", path.display());
        Ok(())
    }
}

/// What is kept of rows when their user stops the command.
pub fn stopped(options: &OutputOptions, rows: usize) -> Interrupted {
    Interrupted(match &options.out {
        Some(path) => format!(
            "{rows} rows were done, and `{}` is not written",
            path.display()
        ),
        None => format!("{rows} rows were done and printed"),
    })
}

struct Failed(anyhow::Error);

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self(error.into())
    }
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

/// A writer of these columns.
fn begun(
    format: RowFormat,
    columns: Vec<OutputColumn>,
    file: BufWriter<&mut File>,
    continued: bool,
) -> Result<Writer<'_>> {
    let begin = if continued {
        RowWriter::continued
    } else {
        RowWriter::new
    };
    Ok(Box::new(begin(format, columns, file)?))
}

impl<'f> RowOutput<'f> {
    fn new(kind: Kind<'f>, continued: bool) -> Self {
        Self {
            kind,
            waiting: String::new(),
            continued,
            rows: 0,
        }
    }

    /// The head of a table; nothing where there is none.
    pub fn head(&mut self, text: &str) {
        if matches!(self.kind, Kind::Table) {
            self.waiting.push_str(text);
        }
    }

    /// Begins a flat file that may end without a row.
    pub fn begin(&mut self, columns: Vec<OutputColumn>) -> Result<()> {
        if let Kind::RowsFile(format, file, writer) = &mut self.kind
            && let Some(file) = file.take()
        {
            *writer = Some(begun(*format, columns, file, self.continued)?);
        }
        Ok(())
    }

    /// Takes a row; breaks when nobody reads any more.
    pub fn row(&mut self, row: &dyn OutputRow) -> Result<ControlFlow<()>> {
        self.rows += 1;
        match &mut self.kind {
            Kind::Table => self.waiting.push_str(&row.text()?),
            Kind::Lines => {
                self.waiting.push_str(&row.json()?);
                self.waiting.push('\n');
            }
            Kind::LinesFile(file) => {
                file.write_all(row.json()?.as_bytes())?;
                file.write_all(b"\n")?;
            }
            Kind::RowsFile(format, file, writer) => {
                if let Some(file) = file.take() {
                    *writer = Some(begun(*format, row.columns(), file, self.continued)?);
                }
                if let Some(writer) = writer {
                    for line in row.lines()? {
                        writer.write(&line)?;
                    }
                }
            }
        }
        if self.waiting.len() >= WAITING {
            return self.flush();
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Prints what waits; breaks when nobody reads any more.
    pub fn flush(&mut self) -> Result<ControlFlow<()>> {
        if self.waiting.is_empty() {
            return Ok(ControlFlow::Continue(()));
        }
        print_some(&std::mem::take(&mut self.waiting))
    }

    /// Ends a file.
    fn finish(self) -> Result<()> {
        match self.kind {
            Kind::Table | Kind::Lines | Kind::RowsFile(_, _, None) => Ok(()),
            Kind::LinesFile(mut file) => Ok(file.flush()?),
            Kind::RowsFile(_, _, Some(writer)) => Ok(writer.finish()?.flush()?),
        }
    }
}
