//! Reading a table of delimited text: delimiter and types inferred, every error with its line.
//!
//! The file is streamed record by record; what stays in memory is the typed columns. Types come from the first
//! [`WINDOW`] records or from the caller; a text in a number column after that is an error that names its line, because
//! guessing again would silently turn a measurement into thousands of categories.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;
use std::rc::Rc;

use super::read_rule::{ReadRule, Wanted};
use super::table::{Column, ColumnType, Table, Values, parse_number};
use super::{sniff, source};
use crate::{Error, Result};
use csv::{ByteRecord, ErrorKind, ReaderBuilder, Trim};

/// Records that decide the types of columns.
const WINDOW: usize = 1000;

/// The most columns of a table.
const MOST_COLUMNS: usize = 100_000;

/// The most bytes of a record; a missing closing quote would otherwise swallow the file into memory.
const MOST_RECORD_BYTES: usize = 16 << 20;

/// Bytes that are looked at to find the delimiter.
const SNIFFED_BYTES: usize = 64 << 10;

/// Reads a file, plain or gzip.
///
/// # Errors
/// For whatever is wrong with the file, with its line where there is one.
pub fn read(path: &Path, rule: &ReadRule, wanted: &Wanted) -> Result<Table> {
    read_from(
        source::open(path)?,
        &path.display().to_string(),
        rule,
        wanted,
    )
}

/// Reads text from any source; `path` is for messages.
///
/// # Errors
/// As [`read`].
pub fn read_from(input: impl Read, path: &str, rule: &ReadRule, wanted: &Wanted) -> Result<Table> {
    let mut records = records(input, path, rule)?;
    let mut window = Vec::new();
    let mut window_bytes = 0;
    let mut record = ByteRecord::new();
    while window.len() <= WINDOW && window_bytes < MOST_RECORD_BYTES && records.next(&mut record)? {
        window_bytes += record.as_slice().len();
        window.push(record.clone());
    }
    let Some(first) = window.first() else {
        return Err(Error::NoRows {
            path: path.to_owned(),
        });
    };
    if first.len() > MOST_COLUMNS {
        return Err(Error::TooLarge {
            path: path.to_owned(),
            what: format!("a row of {} columns", first.len()),
            limit: format!("{MOST_COLUMNS} columns"),
        });
    }
    let mut notes = Vec::new();
    let names = column_names(path, rule, first, &mut notes)?;
    if has_header(rule, first) {
        window.remove(0);
    }
    if window.is_empty() {
        return Err(Error::NoRows {
            path: path.to_owned(),
        });
    }

    let mut sinks = Vec::new();
    for (position, name) in names.iter().enumerate() {
        if wanted.only.as_ref().is_none_or(|only| only.contains(name)) {
            let kind = match wanted.types.get(name) {
                Some(&kind) => kind,
                None if wanted.last_is_text && position + 1 == names.len() => ColumnType::Text,
                None if wanted.only_numbers => ColumnType::Number,
                None => sniff::column_type(&window, position, &rule.missing),
            };
            sinks.push(Sink {
                name,
                position,
                values: wanted.empty(name, kind),
            });
        }
    }
    for record in window.drain(..) {
        push(path, &record, &mut sinks, &rule.missing)?;
    }
    while records.next(&mut record)? {
        push(path, &record, &mut sinks, &rule.missing)?;
    }
    let columns = sinks
        .into_iter()
        .map(|mut sink| {
            sink.values.shrink();
            Column {
                name: sink.name.clone(),
                values: sink.values,
            }
        })
        .collect();
    Ok(Table {
        path: path.to_owned(),
        columns,
        notes,
    })
}

/// The records of a text: without a byte order mark and the lines to skip, cut at the delimiter.
fn records<'a>(
    mut input: impl Read,
    path: &'a str,
    rule: &ReadRule,
) -> Result<Records<'a, impl Read>> {
    let mut head = Vec::new();
    input
        .by_ref()
        .take(SNIFFED_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(|error| source::read_error(path, error))?;
    let mut start = if head.starts_with(b"\xef\xbb\xbf") {
        3
    } else {
        0
    };
    let mut skipped = 0;
    while skipped < rule.skip_lines && start < head.len() {
        let end = head[start..].iter().position(|&byte| byte == b'\n');
        start += end.map_or(head.len() - start, |end| end + 1);
        skipped += 1;
    }
    let delimiter = match rule.delimiter {
        None => sniff::delimiter(&head[start..], rule.comment),
        Some(c) => u8::try_from(c).map_err(|_| Error::Malformed {
            path: path.to_owned(),
            line: None,
            problem: format!("the delimiter must be one ASCII character, got `{c}`"),
        })?,
    };
    let rest = &head[start..];
    let end = rest.iter().position(|&byte| byte == b'\n');
    let carriage_returns = end.is_some_and(|end| rest[..end].ends_with(b"\r"));
    // Empty lines are no records, but they count, so that line numbers stay those of the file.
    let skipped = std::io::Cursor::new(vec![b'\n'; skipped]);
    let text = skipped
        .chain(std::io::Cursor::new(head.split_off(start)))
        .chain(input)
        // A last line without an end gets one, so that all are counted alike; beyond an end it is one more empty line.
        .chain(if carriage_returns {
            &b"\r\n"[..]
        } else {
            b"\n"
        });
    let meter = Rc::new(Cell::new(0));
    let text = Metered {
        inner: text,
        since: Rc::clone(&meter),
    };
    let reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .trim(Trim::All)
        .comment(rule.comment.and_then(|c| u8::try_from(c).ok()))
        .from_reader(text);
    Ok(Records {
        reader,
        path,
        meter,
        carriage_returns,
    })
}

/// A column while it is read.
struct Sink<'a> {
    name: &'a String,
    position: usize,
    values: Values,
}

/// The records of a file, with the reader's errors in our words.
struct Records<'a, R> {
    reader: csv::Reader<R>,
    path: &'a str,
    meter: Rc<Cell<usize>>,
    /// Lines end with `\r\n`, as far as the start of the file tells.
    carriage_returns: bool,
}

/// A reader that fails when one record takes more bytes than we accept.
struct Metered<R> {
    inner: R,
    /// Bytes since the record began.
    since: Rc<Cell<usize>>,
}

/// The error inside an `io::Error` when that happens.
#[derive(Debug, thiserror::Error)]
#[error("a record of more than {MOST_RECORD_BYTES} bytes")]
struct RecordTooLong;

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.since.set(self.since.get() + count);
        if self.since.get() > MOST_RECORD_BYTES {
            return Err(std::io::Error::other(RecordTooLong));
        }
        Ok(count)
    }
}

impl<R: Read> Records<'_, R> {
    /// The line that the record just read starts on. The reader's own is that of the end of the record before, which blank
    /// lines, and the second half of `\r\n`, still separate from it.
    fn line(&self, record: &ByteRecord) -> u64 {
        let inside = record.as_slice().iter().filter(|&&byte| byte == b'\n');
        // The reader stops after the first byte of `\r\n`, so only a lone `\n` is counted already.
        let end = u64::from(!self.carriage_returns);
        let before = self.reader.position().line();
        before.saturating_sub(inside.count() as u64 + end).max(1)
    }

    /// Reads the next record; false at the end.
    fn next(&mut self, record: &mut ByteRecord) -> Result<bool> {
        let path = self.path;
        let start = self.reader.position().line();
        self.meter.set(0);
        let read = self.reader.read_byte_record(record);
        let line = self.line(record);
        if let Some(mut position) = record.position().cloned() {
            position.set_line(line);
            record.set_position(Some(position));
        }
        read.map_err(|error| {
            let text = error.to_string();
            match error.into_kind() {
                ErrorKind::Io(source)
                    if source.get_ref().is_some_and(
                        <dyn std::error::Error + Send + Sync>::is::<RecordTooLong>,
                    ) =>
                {
                    Error::TooLarge {
                        path: path.to_owned(),
                        what: format!(
                            "the record that starts on line {start} (is a closing quote missing?)"
                        ),
                        limit: format!("{} MiB", MOST_RECORD_BYTES >> 20),
                    }
                }
                ErrorKind::Io(source) => source::read_error(path, source),
                ErrorKind::UnequalLengths {
                    expected_len, len, ..
                } => Error::RaggedRow {
                    path: path.to_owned(),
                    line,
                    expected: expected_len,
                    found: len,
                },
                _ => Error::Malformed {
                    path: path.to_owned(),
                    line: None,
                    problem: text,
                },
            }
        })
    }
}

fn line_of(record: &ByteRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

fn has_header(rule: &ReadRule, first: &ByteRecord) -> bool {
    rule.header.unwrap_or_else(|| {
        rule.columns.is_empty()
            && !first.iter().all(|field| {
                std::str::from_utf8(field)
                    .ok()
                    .and_then(parse_number)
                    .is_some()
            })
    })
}

fn column_names(
    path: &str,
    rule: &ReadRule,
    first: &ByteRecord,
    notes: &mut Vec<String>,
) -> Result<Vec<String>> {
    if !rule.columns.is_empty() {
        if rule.columns.len() != first.len() {
            return Err(Error::RaggedRow {
                path: path.to_owned(),
                line: line_of(first),
                expected: rule.columns.len() as u64,
                found: first.len() as u64,
            });
        }
        return Ok(rule.columns.clone());
    }
    if !has_header(rule, first) {
        if rule.header.is_none() {
            notes.push("the first row is all numbers, so the file has no header; columns are named by position".to_owned());
        }
        return Ok((1..=first.len())
            .map(|position| format!("column_{position}"))
            .collect());
    }
    let mut texts: Vec<String> = Vec::with_capacity(first.len());
    let mut numbers = 0;
    for (position, field) in first.iter().enumerate() {
        let text = std::str::from_utf8(field).map_err(|_| Error::NotUtf8 {
            path: path.to_owned(),
            line: line_of(first),
        })?;
        numbers += usize::from(parse_number(text).is_some());
        texts.push(if text.is_empty() {
            format!("column_{}", position + 1)
        } else {
            text.to_owned()
        });
    }
    if rule.header.is_none() && numbers > 0 {
        notes.push(format!(
            "line {} is taken as the header, though {numbers} of its {} fields are numbers; if it is a row, say that \
             there is no header",
            line_of(first),
            texts.len()
        ));
    }
    unique(path, rule, texts)
}

/// Refuses a name that comes twice, or numbers it if the rule says so.
fn unique(path: &str, rule: &ReadRule, texts: Vec<String>) -> Result<Vec<String>> {
    // Where each name stands first, and the last number it got.
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut taken: BTreeSet<String> = texts.iter().cloned().collect();
    let mut names = Vec::with_capacity(texts.len());
    for (position, text) in texts.iter().enumerate() {
        let Some((first_at, times)) = seen.get_mut(text.as_str()) else {
            seen.insert(text, (position, 0));
            names.push(text.clone());
            continue;
        };
        if !rule.number_duplicates {
            return Err(Error::DuplicateColumn {
                path: path.to_owned(),
                column: text.clone(),
                first: *first_at + 1,
                second: position + 1,
            });
        }
        let name = loop {
            *times += 1;
            let name = format!("{text}.{times}");
            if taken.insert(name.clone()) {
                break name;
            }
        };
        names.push(name);
    }
    Ok(names)
}

fn push(path: &str, record: &ByteRecord, sinks: &mut [Sink], missing: &[String]) -> Result<()> {
    for sink in sinks {
        let field = record.get(sink.position).unwrap_or_default();
        let text = std::str::from_utf8(field).map_err(|_| Error::NotUtf8 {
            path: path.to_owned(),
            line: line_of(record),
        })?;
        let present = !sniff::is_missing(text, missing);
        match &mut sink.values {
            Values::Text(texts) => texts.push(present.then_some(text)),
            Values::Number(values) if !present => values.push(f64::NAN),
            Values::Number(values) => match parse_number(text) {
                Some(value) => values.push(value),
                None => {
                    return Err(Error::NotANumber {
                        path: path.to_owned(),
                        line: line_of(record),
                        column: sink.name.clone(),
                        value: text.chars().take(60).collect(),
                    });
                }
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str, rule: &ReadRule) -> Result<Table> {
        read_from(text.as_bytes(), "a.csv", rule, &Wanted::default())
    }

    #[test]
    fn quotes_a_byte_order_mark_and_blank_lines_are_read_as_usual() {
        let text = "\u{feff}name;\"a;b\"\n\"x \"\"y\"\"\";1.5\n\nz;NA\n";
        let table = table(text, &ReadRule::default()).unwrap();
        assert_eq!(table.columns[1].name, "a;b");
        assert_eq!(table.columns[0].values.text(0).as_deref(), Some("x \"y\""));
        assert_eq!(table.columns[1].values.number(0), Some(1.5));
        assert!(table.columns[1].values.is_missing(1));
    }

    #[test]
    fn lines_that_are_skipped_still_count() {
        let rule = ReadRule {
            skip_lines: 2,
            ..ReadRule::default()
        };
        let error = table("one\ntwo, with, commas\na,b\n1,2\n1\n", &rule).unwrap_err();
        assert!(matches!(error, Error::RaggedRow { line: 5, .. }), "{error}");
        let rule = ReadRule {
            skip_lines: usize::MAX,
            ..ReadRule::default()
        };
        assert!(matches!(
            table("a,b\n1,2\n", &rule),
            Err(Error::NoRows { .. })
        ));
    }

    #[test]
    fn an_error_names_its_line_whatever_ends_lines_and_stands_between() {
        for text in [
            "a,b\n1,2\n3,4\n1\n5,6\n",
            "a,b\n1,2\n\n1\n5,6\n",
            "a,b\n\n\n1\n",
            "a,b\n1,2\n3,4\n1",
            "a,b\n\n1,2\n1",
            "a,b\r\n1,2\r\n3,4\r\n1\r\n5,6\r\n",
            "a,b\r\n\r\n1,2\r\n1\r\n",
            "a,b\r\n1,2\r\n\r\n1",
            "a,b\n\"x\ny\",2\n1\n",
        ] {
            let error = table(text, &ReadRule::default()).unwrap_err();
            assert!(
                matches!(error, Error::RaggedRow { line: 4, .. }),
                "{text:?}: {error}"
            );
        }
    }

    #[test]
    fn a_column_of_numbers_with_a_few_texts_is_a_category_only_if_it_has_few_values() {
        let few = (0..100)
            .map(|row| format!("{},x\n", ["1", "2", "3+"][row % 3]))
            .collect::<Vec<_>>()
            .concat();
        assert!(matches!(
            table(&format!("a,b\n{few}"), &ReadRule::default())
                .unwrap()
                .columns[0]
                .values,
            Values::Text(_)
        ));
        let many = (0..100)
            .map(|row| format!("{row},x\n"))
            .collect::<Vec<_>>()
            .concat();
        let error = table(&format!("a,b\n{many}oops,x\n"), &ReadRule::default()).unwrap_err();
        assert!(
            matches!(error, Error::NotANumber { line: 102, .. }),
            "{error}"
        );
    }

    #[test]
    fn columns_of_one_name_are_numbered_when_asked_for() {
        let rule = ReadRule {
            number_duplicates: true,
            ..ReadRule::default()
        };
        let names = |text: &str| -> Vec<String> {
            let columns = table(text, &rule).unwrap().columns;
            columns.into_iter().map(|column| column.name).collect()
        };
        assert_eq!(names("a,b,a,a\n1,2,3,4\n"), ["a", "b", "a.1", "a.2"]);
        assert_eq!(names("a,a,a.1\n1,2,3\n"), ["a", "a.2", "a.1"]);
        assert_eq!(
            names("a,a,a.1,a.1\n1,2,3,4\n"),
            ["a", "a.2", "a.1", "a.1.1"]
        );
    }

    #[test]
    fn a_header_with_numbers_is_told() {
        let text = "Graz,3,1.5\nLinz,4,2.5\n";
        let guessed = table(text, &ReadRule::default()).unwrap();
        assert_eq!(guessed.rows(), 1);
        let note = &guessed.notes[0];
        assert!(
            note.contains("line 1 is taken as the header, though 2 of its 3"),
            "{note}"
        );
        let rule = ReadRule {
            header: Some(false),
            ..ReadRule::default()
        };
        let told = table(text, &rule).unwrap();
        assert_eq!((told.rows(), told.notes.len()), (2, 0));
    }

    #[test]
    fn a_steady_comma_beats_a_steady_space() {
        let table = table(
            "full name,b\nAda King Lovelace,1\nAlan M Turing,2\n",
            &ReadRule::default(),
        );
        assert_eq!(table.unwrap().columns[0].name, "full name");
        let spaced = super::sniff::delimiter(b"a b c\n1 2 3\n", None);
        assert_eq!(spaced, b' ');
        let numbers = super::sniff::delimiter(b"a b,x c\n1 2 3\n", None);
        assert_eq!(numbers, b' ');
        let commas = super::sniff::delimiter(b"x y z,w\n1 2 3,4\n", None);
        assert_eq!(commas, b',');
    }

    #[test]
    fn an_infinite_number_is_refused() {
        let rows = (0..50)
            .map(|row| format!("{row},x\n"))
            .collect::<Vec<_>>()
            .concat();
        let error = table(&format!("a,b\n{rows}inf,x\n"), &ReadRule::default()).unwrap_err();
        assert!(
            matches!(error, Error::NotANumber { line: 52, .. }),
            "{error}"
        );
    }
}
