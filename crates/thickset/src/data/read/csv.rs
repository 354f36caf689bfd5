//! Reading a table of delimited text: delimiter and types inferred, every error with its line.
//!
//! The file is streamed record by record; what stays in memory is the typed columns. Types come from the first
//! [`WINDOW`] records or from the caller; a text in a number column after that is an error that names its line, because
//! guessing again would silently turn a measurement into thousands of categories.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{self, Chain, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::number_form::{NumberForm, is_no_number};
use super::read_rule::{ReadRule, Wanted};
use super::table::{Column, ColumnType, Table, Values, parse_number};
use super::text_encoding::{self, NoLetter, Utf8Reader};
use super::{guess, sniff, source};
use crate::{Error, Result};
use csv::{ByteRecord, ErrorKind, ReaderBuilder, Trim};

/// Records that decide the types of columns.
const WINDOW: usize = 1000;

/// The most columns of a table.
const MOST_COLUMNS: usize = 100_000;

/// The most bytes of a record; a missing closing quote would otherwise swallow the file into memory.
const MOST_RECORD_BYTES: usize = 16 << 20;

/// Bytes that are looked at to find the encoding.
const SNIFFED_RAW_BYTES: u64 = 4 << 10;

/// Bytes that are looked at to find the delimiter.
const SNIFFED_BYTES: u64 = 64 << 10;

/// Columns that one note names.
const MOST_NAMED: usize = 8;

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
    let mut reader = CsvReader::new(input, path, rule, wanted)?;
    let table = reader.next(usize::MAX)?;
    table.ok_or_else(|| Error::NoRows {
        path: path.to_owned(),
    })
}

/// A text file that is read some rows at a time; the types of its columns are decided when it is opened.
pub struct CsvReader<R> {
    records: Records<R>,
    columns: Vec<ColumnPlan>,
    missing: Vec<String>,
    wanted: Wanted,
    /// Records that were read to decide the types.
    window: VecDeque<ByteRecord>,
    /// For the first table.
    notes: Vec<String>,
    forms: BTreeMap<String, NumberForm>,
    /// Of all columns of the file.
    names: Vec<String>,
}

/// A column that is kept.
struct ColumnPlan {
    name: String,
    position: usize,
    kind: ColumnType,
    form: Option<NumberForm>,
}

impl<R: Read> CsvReader<R> {
    /// Opens a text; `path` is for messages.
    ///
    /// # Errors
    /// As [`read`], for what the first records tell.
    pub fn new(input: R, path: &str, rule: &ReadRule, wanted: &Wanted) -> Result<Self> {
        let mut records = Records::new(input, path, rule)?;
        let mut window = Vec::new();
        let mut window_bytes = 0;
        let mut record = ByteRecord::new();
        while window.len() <= WINDOW
            && window_bytes < MOST_RECORD_BYTES
            && records.next(&mut record)?
        {
            window_bytes += record.as_slice().len();
            window.push(record.clone());
        }
        let no_rows = || Error::NoRows {
            path: path.to_owned(),
        };
        let first = window.first().ok_or_else(no_rows)?;
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
            return Err(no_rows());
        }
        let columns = plan(&names, &window, rule, wanted, records.delimiter, &mut notes);
        let forms = columns.iter().filter_map(|column| {
            let form = column.form.clone()?;
            Some((column.name.clone(), form))
        });
        Ok(Self {
            forms: forms.collect(),
            names,
            records,
            columns,
            missing: rule.missing.clone(),
            wanted: wanted.clone(),
            window: window.into(),
            notes,
        })
    }

    /// The next rows, at most so many; `None` at the end.
    ///
    /// # Errors
    /// As [`read`].
    pub fn next(&mut self, most: usize) -> Result<Option<Table>> {
        let mut columns: Vec<Column> = self
            .columns
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                values: self.wanted.empty(&column.name, column.kind),
            })
            .collect();
        let mut rows = 0;
        let mut record = ByteRecord::new();
        while rows < most {
            match self.window.pop_front() {
                Some(first) => record = first,
                None if self.records.next(&mut record)? => {}
                None => break,
            }
            push(
                &self.records.path,
                &record,
                &self.columns,
                &mut columns,
                &self.missing,
            )?;
            rows += 1;
        }
        if rows == 0 {
            return Ok(None);
        }
        for column in &mut columns {
            column.values.shrink();
        }
        let units = self.forms.iter().filter_map(|(name, form)| {
            let unit = form.unit()?;
            Some((name.clone(), unit.to_owned()))
        });
        Ok(Some(Table {
            path: self.records.path.clone(),
            columns,
            notes: std::mem::take(&mut self.notes),
            units: units.collect(),
            forms: self.forms.clone(),
            names: self.names.clone(),
        }))
    }
}

impl<R: Read> CsvReader<R> {
    /// Passes over rows, at most so many, without looking at their cells; how many there were.
    ///
    /// # Errors
    /// If a row has another number of fields than the first, or the file cannot be read.
    pub fn skip(&mut self, most: u64) -> Result<u64> {
        let mut record = ByteRecord::new();
        let mut rows = 0;
        while rows < most
            && (self.window.pop_front().is_some() || self.records.next(&mut record)?)
        {
            rows += 1;
        }
        Ok(rows)
    }
}

/// What each column that is wanted is.
fn plan(
    names: &[String],
    window: &[ByteRecord],
    rule: &ReadRule,
    wanted: &Wanted,
    delimiter: u8,
    notes: &mut Vec<String>,
) -> Vec<ColumnPlan> {
    let is_wanted = |name: &String| wanted.only.as_ref().is_none_or(|only| only.contains(name));
    let positions = (0..names.len()).filter(|&position| is_wanted(&names[position]));
    let mut columns: Vec<ColumnPlan> = positions
        .map(|position| {
            let name = names[position].clone();
            let form = rule.forms.get(&name).cloned();
            ColumnPlan {
                kind: ColumnType::Text,
                position,
                form,
                name,
            }
        })
        .collect();
    let mut unknown = Vec::new();
    for (place, column) in columns.iter_mut().enumerate() {
        let is_last = column.position + 1 == names.len();
        match wanted.types.get(&column.name) {
            Some(&kind) => column.kind = kind,
            None if wanted.last_is_text && is_last => column.kind = ColumnType::Text,
            None if wanted.only_numbers || column.form.is_some() => {
                column.kind = ColumnType::Number;
            }
            None => unknown.push(place),
        }
        if column.kind == ColumnType::Text {
            column.form = None;
        }
    }
    let positions: Vec<usize> = unknown
        .iter()
        .map(|&place| columns[place].position)
        .collect();
    let mut written: BTreeMap<NumberForm, Vec<String>> = BTreeMap::new();
    for (&place, guess) in unknown
        .iter()
        .zip(guess::columns(window, &positions, rule, delimiter))
    {
        let column = &mut columns[place];
        (column.kind, column.form) = (guess.kind, guess.form);
        if let Some(note) = guess.note {
            notes.push(format!("column `{}` {note}", column.name));
        }
        if let Some(form) = &column.form {
            let names = written.entry(form.clone()).or_default();
            names.push(format!("`{}`", column.name));
        }
    }
    for (form, mut names) in written {
        if names.len() > MOST_NAMED {
            let more = names.len() - MOST_NAMED;
            names.truncate(MOST_NAMED);
            names.push(format!("{more} more"));
        }
        notes.push(format!("{}: {}", form.described(), names.join(", ")));
    }
    columns
}

/// The records of a file, with the reader's errors in our words.
struct Records<R> {
    reader: csv::Reader<Text<R>>,
    path: String,
    delimiter: u8,
    meter: Arc<AtomicUsize>,
    /// Lines end with `\r\n`, as far as the start of the file tells.
    carriage_returns: bool,
}

/// The text of a file, from the lines to skip to an end of the last line.
type Text<R> = Metered<Chain<Chain<Cursor<Vec<u8>>, Decoded<R>>, &'static [u8]>>;

/// The bytes after those that were looked at to find the encoding, as UTF-8.
type Decoded<R> = Utf8Reader<Chain<Cursor<Vec<u8>>, R>>;

/// A reader that fails when one record takes more bytes than we accept.
struct Metered<R> {
    inner: R,
    /// Bytes since the record began.
    since: Arc<AtomicUsize>,
}

/// The error inside an `io::Error` when that happens.
#[derive(Debug, thiserror::Error)]
#[error("a record of more than {MOST_RECORD_BYTES} bytes")]
struct RecordTooLong;

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if self.since.fetch_add(count, Ordering::Relaxed) + count > MOST_RECORD_BYTES {
            return Err(std::io::Error::other(RecordTooLong));
        }
        Ok(count)
    }
}

impl<R: Read> Records<R> {
    /// The records of a text: decoded, without a byte order mark and the lines to skip, cut at the delimiter.
    fn new(mut input: R, path: &str, rule: &ReadRule) -> Result<Self> {
        let failed = |error| read_error(path, error);
        let mut start = Vec::new();
        let raw = input
            .by_ref()
            .take(SNIFFED_RAW_BYTES)
            .read_to_end(&mut start);
        raw.map_err(failed)?;
        let (encoding, mark) = text_encoding::detect(&start);
        let encoding = rule.text_encoding.unwrap_or(encoding);
        let start = Cursor::new(start.split_off(mark));
        let mut input = Utf8Reader::new(start.chain(input), encoding);
        let mut head = Vec::new();
        let decoded = input.by_ref().take(SNIFFED_BYTES).read_to_end(&mut head);
        decoded.map_err(failed)?;
        let (mut start, mut skipped) = (0, 0);
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
        let mut lines = vec![b'\n'; skipped];
        lines.extend(head.split_off(start));
        // A last line without an end gets one, so that all are counted alike; beyond an end it is one more empty line.
        let end: &'static [u8] = if carriage_returns { b"\r\n" } else { b"\n" };
        let meter = Arc::new(AtomicUsize::new(0));
        let text = Metered {
            inner: Cursor::new(lines).chain(input).chain(end),
            since: Arc::clone(&meter),
        };
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .trim(Trim::All)
            .comment(rule.comment.and_then(|c| u8::try_from(c).ok()))
            .from_reader(text);
        Ok(Self {
            reader,
            path: path.to_owned(),
            delimiter,
            meter,
            carriage_returns,
        })
    }

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
        let path = &self.path;
        let start = self.reader.position().line();
        self.meter.store(0, Ordering::Relaxed);
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
                ErrorKind::Io(source) => read_error(path, source),
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

/// An error of reading, which may be one of the text's encoding.
fn read_error(path: &str, source: io::Error) -> Error {
    if source
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<NoLetter>)
    {
        return Error::Malformed {
            path: path.to_owned(),
            line: None,
            problem: "some bytes are no text in the encoding that it is read in".to_owned(),
        };
    }
    source::read_error(path, source)
}

fn push(
    path: &str,
    record: &ByteRecord,
    plans: &[ColumnPlan],
    columns: &mut [Column],
    missing: &[String],
) -> Result<()> {
    for (plan, column) in plans.iter().zip(columns) {
        let field = record.get(plan.position).unwrap_or_default();
        let text = std::str::from_utf8(field).map_err(|_| Error::NotUtf8 {
            path: path.to_owned(),
            line: line_of(record),
        })?;
        let present = !sniff::is_missing(text, missing);
        match &mut column.values {
            Values::Text(texts) => texts.push(present.then_some(text)),
            Values::Number(values) if !present => values.push(f64::NAN),
            Values::Number(values) => match number(text, plan.form.as_ref()) {
                Some(value) => values.push(value),
                None if is_no_number(text) => values.push(f64::NAN),
                None => {
                    return Err(Error::NotANumber {
                        path: path.to_owned(),
                        line: line_of(record),
                        column: plan.name.clone(),
                        value: text.chars().take(60).collect(),
                    });
                }
            },
        }
    }
    Ok(())
}

/// A cell of a number column.
fn number(text: &str, form: Option<&NumberForm>) -> Option<f64> {
    match form {
        None => parse_number(text),
        Some(form) => form.parse(text),
    }
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
