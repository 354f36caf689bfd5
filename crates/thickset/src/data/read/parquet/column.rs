//! One column of a Parquet file: its values, row group by row group, as numbers or texts.

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

use super::{Budget, MOST_KEPT_RATIO, MOST_RATIO, MOST_TEXT_RATIO};
use crate::Error;
use crate::data::read::number_form::{NumberForm, is_no_number};
use crate::data::read::read_rule::Wanted;
use crate::data::read::table::{ColumnType, Values, parse_number};

/// Values that are read at a time.
pub(super) const BATCH: usize = 8192;

/// One value of a column.
enum Value<'a> {
    Missing,
    Number(f64),
    Text(&'a str),
}

/// A column while it is read.
pub(super) struct Sink<'a> {
    pub(super) path: &'a str,
    pub(super) column: &'a str,
    pub(super) missing: &'a [String],
    /// How its texts are numbers, if they are not written as programs do.
    pub(super) form: Option<&'a NumberForm>,
    pub(super) wanted: &'a Wanted,
    /// The type asked for; that of the file if absent.
    pub(super) kind: Option<ColumnType>,
    pub(super) values: Option<Values>,
    /// What may still be taken from the file.
    pub(super) budget: &'a mut Budget,
    pub(super) error: Option<Error>,
}

impl Sink<'_> {
    fn push(&mut self, kind: ColumnType, cell: &Value) {
        let kind = self.kind.unwrap_or(kind);
        let values = self
            .values
            .get_or_insert_with(|| self.wanted.empty(self.column, kind));
        let length = match cell {
            Value::Text(text) => text.len() as u64,
            _ => 0,
        };
        let kept_before = values.kept_bytes();
        let spent = [
            (
                &mut self.budget.cells,
                1,
                "the number of its rows times columns",
                MOST_RATIO,
            ),
            (
                &mut self.budget.text,
                length,
                "the length of all of its texts",
                MOST_TEXT_RATIO,
            ),
        ];
        for (left, count, what, ratio) in spent {
            match left.checked_sub(count) {
                Some(rest) => *left = rest,
                None => return refuse(&mut self.error, self.path, what, ratio),
            }
        }
        match (&mut *values, cell) {
            (Values::Number(values), Value::Missing) => values.push(f64::NAN),
            (Values::Text(texts), Value::Missing) => texts.push(None),
            (Values::Number(values), Value::Number(number)) => values.push(*number),
            (Values::Text(texts), Value::Number(number)) => texts.push(Some(&number.to_string())),
            (Values::Text(texts), Value::Text(text)) => {
                let missing = text.is_empty() || self.missing.iter().any(|marker| marker == text);
                texts.push((!missing).then_some(*text));
            }
            (Values::Number(values), Value::Text(text)) => {
                let number = match self.form {
                    None => parse_number(text),
                    Some(form) => form.parse(text),
                };
                if let Some(number) = number {
                    values.push(number);
                } else if text.is_empty()
                    || self.missing.iter().any(|marker| marker == text)
                    || is_no_number(text)
                {
                    values.push(f64::NAN);
                } else {
                    self.error.get_or_insert(Error::NotANumber {
                        path: self.path.to_owned(),
                        line: values.len() as u64 + 1,
                        column: self.column.to_owned(),
                        value: text.chars().take(60).collect(),
                    });
                }
            }
        }
        let kept = values.kept_bytes().saturating_sub(kept_before) as u64;
        if let Some(rest) = self.budget.kept.checked_sub(kept) {
            self.budget.kept = rest;
        } else {
            let what = "the length of its different texts";
            refuse(&mut self.error, self.path, what, MOST_KEPT_RATIO);
        }
    }
}

/// Ends the reading of a file that holds more than a file of its size may.
fn refuse(error: &mut Option<Error>, path: &str, what: &str, ratio: u64) {
    error.get_or_insert_with(|| Error::TooLarge {
        path: path.to_owned(),
        what: what.to_owned(),
        limit: format!("{ratio} a byte"),
    });
}

/// Reads at most `most` rows of a column's row group, `batch` values at a time; nothing if its type has no meaning here.
pub(super) fn drain_some(
    pages: &mut ColumnReader,
    descriptor: &ColumnDescriptor,
    batch: usize,
    most: usize,
    sink: &mut Sink,
) -> std::result::Result<(), ParquetError> {
    let scale = decimal_scale(descriptor);
    let number = move |value: f64| {
        if value.is_finite() {
            Value::Number(value * scale)
        } else {
            Value::Missing
        }
    };
    let optional = descriptor.max_def_level() > 0;
    let unsigned = is_unsigned(descriptor);
    match pages {
        ColumnReader::BoolColumnReader(pages) => {
            each(pages, optional, (batch, most), sink, |sink, value| {
                let word = |value: &bool| Value::Text(if *value { "true" } else { "false" });
                sink.push(ColumnType::Text, &value.map_or(Value::Missing, word));
            })?;
        }
        ColumnReader::Int32ColumnReader(pages) => {
            each(pages, optional, (batch, most), sink, |sink, value| {
                let whole = |value: &i32| {
                    if unsigned {
                        f64::from(value.cast_unsigned())
                    } else {
                        f64::from(*value)
                    }
                };
                push_number(sink, value.map(|value| number(whole(value))));
            })?;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a double is what a number column holds"
        )]
        ColumnReader::Int64ColumnReader(pages) => {
            each(pages, optional, (batch, most), sink, |sink, value| {
                let whole = |value: &i64| {
                    if unsigned {
                        value.cast_unsigned() as f64
                    } else {
                        *value as f64
                    }
                };
                push_number(sink, value.map(|value| number(whole(value))));
            })?;
        }
        ColumnReader::FloatColumnReader(pages) => {
            each(pages, optional, (batch, most), sink, |sink, value| {
                push_number(sink, value.map(|value| number(f64::from(*value))));
            })?;
        }
        ColumnReader::DoubleColumnReader(pages) => {
            each(pages, optional, (batch, most), sink, |sink, value| {
                push_number(sink, value.map(|value| number(*value)));
            })?;
        }
        ColumnReader::ByteArrayColumnReader(pages) => {
            each(
                pages,
                optional,
                (batch, most),
                sink,
                |sink, value: Option<&ByteArray>| match value.map(ByteArray::as_utf8) {
                    None => sink.push(ColumnType::Text, &Value::Missing),
                    Some(Ok(text)) => sink.push(ColumnType::Text, &Value::Text(text.trim())),
                    Some(Err(_)) => {
                        let line = sink.values.as_ref().map_or(0, Values::len) as u64 + 1;
                        sink.error.get_or_insert(Error::NotUtf8 {
                            path: sink.path.to_owned(),
                            line,
                        });
                    }
                },
            )?;
        }
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {}
    }
    Ok(())
}

fn push_number(sink: &mut Sink, cell: Option<Value>) {
    sink.push(ColumnType::Number, &cell.unwrap_or(Value::Missing));
}

/// Decimals are stored as whole numbers times a power of ten.
fn decimal_scale(descriptor: &ColumnDescriptor) -> f64 {
    let is_decimal = matches!(
        descriptor.logical_type_ref(),
        Some(LogicalType::Decimal { .. })
    ) || descriptor.converted_type() == ConvertedType::DECIMAL;
    if is_decimal {
        10_f64.powi(-descriptor.type_scale())
    } else {
        1.0
    }
}

/// What the numbers of a column of dates count.
pub(super) fn unit(descriptor: &ColumnDescriptor) -> Option<&'static str> {
    match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (Some(LogicalType::Date), _) | (_, ConvertedType::DATE) => Some("days since 1970-01-01"),
        (_, ConvertedType::TIMESTAMP_MILLIS) => Some("milliseconds since 1970-01-01"),
        (_, ConvertedType::TIMESTAMP_MICROS) => Some("microseconds since 1970-01-01"),
        _ => None,
    }
}

/// Whether whole numbers are stored as if their highest bit were no sign.
fn is_unsigned(descriptor: &ColumnDescriptor) -> bool {
    matches!(
        descriptor.logical_type_ref(),
        Some(LogicalType::Integer(whole)) if !whole.is_signed
    ) || matches!(
        descriptor.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    )
}

/// Calls `visit` once a row, with `None` for a null, and stops when the sink has an error or after `most` rows.
fn each<T: DataType>(
    pages: &mut ColumnReaderImpl<T>,
    optional: bool,
    (batch, most): (usize, usize),
    sink: &mut Sink,
    visit: impl Fn(&mut Sink, Option<&T::T>),
) -> std::result::Result<(), ParquetError> {
    let batch = batch.min(most);
    let (mut values, mut levels) = (Vec::with_capacity(batch), Vec::with_capacity(batch));
    let mut left = most;
    while left > 0 {
        values.clear();
        levels.clear();
        let next = batch.min(left);
        let (records, ..) = pages.read_records(next, Some(&mut levels), None, &mut values)?;
        if records == 0 || sink.error.is_some() {
            return Ok(());
        }
        left -= records.min(left);
        if optional {
            let mut present = values.iter();
            for &level in &levels {
                visit(sink, if level > 0 { present.next() } else { None });
            }
        } else {
            for value in &values {
                visit(sink, Some(value));
            }
        }
    }
    Ok(())
}
