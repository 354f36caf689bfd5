//! Guessing a text file's delimiter and its columns' types from its start.

use std::collections::BTreeSet;

use csv::ByteRecord;

use super::table::{ColumnType, parse_number};

/// In the window, a column with at least this share of numbers, and more than [`FEW_VALUES`] different ones, is a number
/// column with an error in it; otherwise it is a category.
const NUMBER_SHARE: f64 = 0.9;

/// A column with at most this many different numbers beside texts reads as a category, like `1`, `2`, `3+`.
const FEW_VALUES: usize = 20;

/// Delimiters that are tried, the first of equals wins.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The delimiter that cuts the first lines into the same number of fields, and into the most. A space, which texts have as
/// well, is one only if no other cuts all lines alike.
pub fn delimiter(head: &[u8], comment: Option<char>) -> u8 {
    let comment = comment.and_then(|c| u8::try_from(c).ok());
    let lines: Vec<&[u8]> = head
        .split(|&byte| byte == b'\n')
        .filter(|line| {
            !line.trim_ascii().is_empty() && (comment.is_none() || line.first().copied() != comment)
        })
        .take(10)
        .collect();
    let count = |line: &[u8], delimiter: u8| {
        let mut quoted = false;
        line.iter()
            .filter(|&&byte| {
                quoted ^= byte == b'"';
                byte == delimiter && !quoted
            })
            .count()
    };
    let mut best = (0, b',');
    let mut try_one = |delimiter| {
        let least = lines.iter().map(|line| count(line, delimiter)).min();
        let least = least.unwrap_or(0);
        let steady = least > 0 && lines.iter().all(|line| count(line, delimiter) == least);
        // A delimiter that gives every line as many fields beats one that does not.
        let score = if steady { 2 * least } else { least };
        if score > best.0 {
            best = (score, delimiter);
        }
        steady
    };
    let steady = DELIMITERS.map(&mut try_one);
    if !steady.contains(&true) {
        try_one(b' ');
    }
    best.1
}

/// Whether a text stands for no value.
pub fn is_missing(text: &str, missing: &[String]) -> bool {
    text.is_empty() || missing.iter().any(|marker| marker == text)
}

/// The type of the column at `position`, from the first records.
pub fn column_type(window: &[ByteRecord], position: usize, missing: &[String]) -> ColumnType {
    let (mut numbers, mut texts) = (0_u32, 0_u32);
    let mut different = BTreeSet::new();
    for record in window {
        // Bytes that are not text are reported, with their line, when the row is stored.
        let Some(Ok(text)) = record.get(position).map(std::str::from_utf8) else {
            continue;
        };
        if is_missing(text, missing) {
            continue;
        }
        if parse_number(text).is_some() {
            numbers += 1;
            if different.len() <= FEW_VALUES {
                different.insert(text);
            }
        } else {
            texts += 1;
        }
    }
    let share = f64::from(numbers) / f64::from((numbers + texts).max(1));
    let number =
        numbers > 0 && (texts == 0 || (share >= NUMBER_SHARE && different.len() > FEW_VALUES));
    if number {
        ColumnType::Number
    } else {
        ColumnType::Text
    }
}
