//! Reasons as a table or as JSON lines, written part by part.

use std::io::Write;

use serde::Serialize;

use super::{Reason, Reasons, RowReasons};
use crate::row_writer::{Cell, OutputColumn, RowFormat, RowWriter};
use crate::{Error, Result};

/// Writes reasons as they come: CSV or Parquet with one line a reason, or JSON lines with one object a row. Nothing is kept but a
/// row group of Parquet.
///
/// ```
/// use thickset::reasons::ReasonsWriter;
/// use thickset::row_writer::RowFormat;
///
/// let writer = ReasonsWriter::new(Vec::new(), RowFormat::Csv)?;
/// let text = String::from_utf8_lossy(&writer.finish()?).into_owned();
/// assert!(text.starts_with("row,decided_against,probability"));
/// # Ok::<(), thickset::Error>(())
/// ```
pub struct ReasonsWriter<W: Write + Send> {
    out: Out<W>,
}

enum Out<W: Write + Send> {
    Lines(W),
    Table(Box<RowWriter<W>>),
}

/// One JSON object.
#[derive(Serialize)]
struct Object<'a> {
    adverse: &'a str,
    #[serde(flatten)]
    row: &'a RowReasons,
}

impl<W: Write + Send> ReasonsWriter<W> {
    /// To this place, which is best buffered.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn new(out: W, format: RowFormat) -> Result<Self> {
        let out = match format {
            RowFormat::JsonLines => Out::Lines(out),
            _ => Out::Table(Box::new(RowWriter::new(format, columns(), out)?)),
        };
        Ok(Self { out })
    }

    /// Writes the rows of one part.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn write(&mut self, reasons: &Reasons) -> Result<()> {
        for row in &reasons.rows {
            match &mut self.out {
                Out::Lines(out) => {
                    let text = json(&reasons.adverse, row)?;
                    writeln!(out, "{text}").map_err(|source| Error::Output { source })?;
                }
                Out::Table(out) => {
                    for line in lines(row) {
                        out.write(&line)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Hands the place back, having written what was buffered.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn finish(self) -> Result<W> {
        match self.out {
            Out::Lines(mut out) => {
                out.flush().map_err(|source| Error::Output { source })?;
                Ok(out)
            }
            Out::Table(out) => out.finish(),
        }
    }
}

/// The JSON object of a row.
///
/// # Errors
/// If a number is none that JSON has.
pub fn json(adverse: &str, row: &RowReasons) -> Result<String> {
    serde_json::to_string(&Object { adverse, row }).map_err(|error| Error::Output {
        source: error.into(),
    })
}

/// The columns of a table of reasons, in which a line is a reason. A row that has no reason has one line without any.
#[must_use]
pub fn columns() -> Vec<OutputColumn> {
    vec![
        OutputColumn::whole("row"),
        OutputColumn::flag("decided_against"),
        OutputColumn::number("probability"),
        OutputColumn::number("score"),
        OutputColumn::number("reference_score"),
        OutputColumn::number("sum_of_contributions"),
        OutputColumn::whole("rank"),
        OutputColumn::text("column"),
        OutputColumn::text("value"),
        OutputColumn::text("reference"),
        OutputColumn::text("when"),
        OutputColumn::number("contribution"),
        OutputColumn::text("code"),
        OutputColumn::text("text"),
        OutputColumn::number("holds"),
        OutputColumn::number("all_hold"),
        OutputColumn::number("change_found"),
        OutputColumn::number("certified"),
        OutputColumn::text("tolerance"),
    ]
}

/// The lines of a row, for [`columns`].
#[must_use]
pub fn lines(row: &RowReasons) -> Vec<Vec<Cell<'_>>> {
    if row.reasons.is_empty() {
        return vec![line(row, None)];
    }
    let reasons = row.reasons.iter().enumerate();
    reasons.map(|reason| line(row, Some(reason))).collect()
}

fn line<'a>(row: &'a RowReasons, reason: Option<(usize, &'a Reason)>) -> Vec<Cell<'a>> {
    let rank = reason.map(|(place, _)| place + 1);
    let reason = reason.map(|(_, reason)| reason);
    let text = |of: fn(&Reason) -> &str| {
        let text = reason.map_or("", of);
        if text.is_empty() {
            Cell::Missing
        } else {
            Cell::text(text)
        }
    };
    vec![
        Cell::count(row.row),
        Cell::Flag(row.is_adverse),
        Cell::Number(row.probability),
        Cell::Number(row.score),
        Cell::Number(row.reference_score),
        Cell::Number(row.sum),
        rank.map_or(Cell::Missing, Cell::count),
        text(|one| &one.column),
        text(|one| &one.value),
        text(|one| &one.reference),
        text(|one| one.when.name()),
        Cell::maybe(reason.map(|one| one.contribution)),
        text(|one| one.code.as_deref().unwrap_or_default()),
        text(|one| &one.text),
        Cell::maybe(reason.and_then(|one| one.holds)),
        Cell::maybe(row.holds),
        Cell::maybe(row.changes),
        Cell::maybe(row.certified),
        text(|one| one.tolerance.as_deref().unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reasons::When;

    fn reasons() -> Reasons {
        Reasons {
            adverse: "bad".to_owned(),
            cutoff: None,
            k: 4,
            reference: "median".to_owned(),
            reference_values: vec![],
            reference_probability: 0.2,
            change: None,
            rows: vec![RowReasons {
                row: 7,
                is_adverse: true,
                probability: 0.75,
                score: 1.5,
                reference_score: -1.0,
                sum: 2.5,
                gap: 0.0,
                reasons: vec![Reason {
                    column: "duration".to_owned(),
                    value: "48 months, long".to_owned(),
                    reference: "18 months".to_owned(),
                    when: When::Above,
                    contribution: 2.5,
                    code: Some("R1".to_owned()),
                    text: "It is long.".to_owned(),
                    holds: Some(0.5),
                    tolerance: None,
                }],
                holds: Some(0.5),
                changes: Some(0.9),
                certified: None,
                contributions: vec![2.5],
            }],
        }
    }

    #[test]
    fn a_table_has_one_header_and_one_line_a_reason() {
        let mut writer = ReasonsWriter::new(Vec::new(), RowFormat::Csv).unwrap();
        writer.write(&reasons()).unwrap();
        writer.write(&reasons()).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].starts_with("row,decided_against,probability"));
        assert!(lines[1].contains("\"48 months, long\""), "{text}");
        assert_eq!(lines[1], lines[2]);
    }

    #[test]
    fn parquet_holds_the_same_lines() {
        let mut writer = ReasonsWriter::new(Vec::new(), RowFormat::Parquet).unwrap();
        writer.write(&reasons()).unwrap();
        writer.write(&reasons()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reasons.parquet");
        std::fs::write(&path, writer.finish().unwrap()).unwrap();
        let table = crate::data::read_parquet(
            &path,
            &crate::data::ReadRule::default(),
            &crate::data::Wanted::default(),
        )
        .unwrap();
        assert_eq!(table.rows(), 2);
        let text = |name: &str| table.column(name).unwrap().values.text(1);
        assert_eq!(text("value").as_deref(), Some("48 months, long"));
        assert_eq!(text("contribution").as_deref(), Some("2.5"));
        assert_eq!(text("certified"), None);
    }

    #[test]
    fn a_json_object_a_row_says_what_is_adverse() {
        let mut writer = ReasonsWriter::new(Vec::new(), RowFormat::JsonLines).unwrap();
        writer.write(&reasons()).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let object: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(object["adverse"], "bad");
        assert_eq!(object["reasons"][0]["when"], "above");
    }
}
