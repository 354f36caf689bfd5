//! Reasons as a table or as JSON, written part by part.

use std::io::{self, Write};

use serde::Serialize;

use super::{Reason, Reasons, RowReasons};

/// How reasons are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One line a reason, with a header.
    Csv,
    /// One JSON object a row.
    JsonLines,
}

/// Writes reasons as they come; nothing is kept.
pub struct ReasonsWriter<W: Write> {
    out: W,
    format: Format,
    has_header: bool,
}

/// One line of the table. A row that has no reason has one line without any.
#[derive(Serialize)]
struct Line<'a> {
    row: u64,
    decided_against: bool,
    probability: f64,
    score: f64,
    reference_score: f64,
    sum_of_contributions: f64,
    rank: Option<usize>,
    column: &'a str,
    value: &'a str,
    reference: &'a str,
    when: &'a str,
    contribution: Option<f64>,
    code: &'a str,
    text: &'a str,
    holds: Option<f64>,
    all_hold: Option<f64>,
    change_found: Option<f64>,
    certified: Option<f64>,
}

/// One JSON object.
#[derive(Serialize)]
struct Object<'a> {
    adverse: &'a str,
    #[serde(flatten)]
    row: &'a RowReasons,
}

impl<W: Write> ReasonsWriter<W> {
    /// To this place, which is best buffered.
    #[must_use]
    pub fn new(out: W, format: Format) -> Self {
        Self {
            out,
            format,
            has_header: false,
        }
    }

    /// Writes the rows of one part.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn write(&mut self, reasons: &Reasons) -> io::Result<()> {
        match self.format {
            Format::Csv => self.write_csv(reasons),
            Format::JsonLines => {
                for row in &reasons.rows {
                    let adverse = &reasons.adverse;
                    serde_json::to_writer(&mut self.out, &Object { adverse, row })?;
                    self.out.write_all(b"\n")?;
                }
                Ok(())
            }
        }
    }

    fn write_csv(&mut self, reasons: &Reasons) -> io::Result<()> {
        let mut csv = csv::WriterBuilder::new()
            .has_headers(!self.has_header)
            .from_writer(&mut self.out);
        for row in &reasons.rows {
            if row.reasons.is_empty() {
                csv.serialize(line(row, None)).map_err(io::Error::from)?;
            }
            for reason in row.reasons.iter().enumerate() {
                csv.serialize(line(row, Some(reason)))
                    .map_err(io::Error::from)?;
            }
            self.has_header = true;
        }
        csv.flush()
    }

    /// Hands the place back, having written what was buffered.
    ///
    /// # Errors
    /// If it cannot be written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn line<'a>(row: &RowReasons, reason: Option<(usize, &'a Reason)>) -> Line<'a> {
    let place = reason.map(|(place, _)| place + 1);
    let reason = reason.map(|(_, reason)| reason);
    let text = |of: fn(&Reason) -> &str| reason.map_or("", of);
    Line {
        row: row.row,
        decided_against: row.is_adverse,
        probability: row.probability,
        score: row.score,
        reference_score: row.reference_score,
        sum_of_contributions: row.sum,
        rank: place,
        column: text(|one| &one.column),
        value: text(|one| &one.value),
        reference: text(|one| &one.reference),
        when: text(|one| one.when.name()),
        contribution: reason.map(|one| one.contribution),
        code: text(|one| one.code.as_deref().unwrap_or_default()),
        text: text(|one| &one.text),
        holds: reason.and_then(|one| one.holds),
        all_hold: row.holds,
        change_found: row.changes,
        certified: row.certified,
    }
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
        let mut writer = ReasonsWriter::new(Vec::new(), Format::Csv);
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
    fn a_json_object_a_row_says_what_is_adverse() {
        let mut writer = ReasonsWriter::new(Vec::new(), Format::JsonLines);
        writer.write(&reasons()).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let object: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(object["adverse"], "bad");
        assert_eq!(object["reasons"][0]["when"], "above");
    }
}
