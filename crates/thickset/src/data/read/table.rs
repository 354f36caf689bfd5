//! A table as it was read: typed columns in memory, before any encoding.

use std::collections::{BTreeMap, HashMap};

use super::number_form::NumberForm;
use crate::{Error, Result};

/// A text column keeps at most this many different values; beyond it, it can only be an identifier or free text.
const MOST_LEVELS: usize = 100_000;

/// A text column keeps at most this many bytes of different values, for the same reason.
const MOST_LEVEL_BYTES: usize = 64 << 20;

/// The code of a missing text.
const MISSING: u32 = u32::MAX;

/// The code of a text that is not kept.
const NOT_KEPT: u32 = u32::MAX - 1;

/// How the values of a column are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Finite numbers.
    Number,
    /// Texts; a small number of different ones is a category.
    Text,
}

/// A named column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Unique within its table.
    pub name: String,
    /// One value a row.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug)]
pub enum Values {
    /// Numbers; NaN stands for a missing one and for nothing else.
    Number(Vec<f64>),
    /// Texts.
    Text(Texts),
}

/// Texts as codes into the list of different ones.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    codes: Vec<u32>,
    levels: Vec<String>,
    index: HashMap<String, u32>,
    /// Bytes of all levels.
    bytes: usize,
    /// How many of the first levels are kept whatever comes.
    known: usize,
    /// There were more different values than we keep; only the known levels have codes.
    overflow: bool,
}

impl Texts {
    /// No row yet; these texts are kept however many others come.
    #[must_use]
    pub fn knowing(levels: &[String]) -> Self {
        let mut texts = Self::default();
        for level in levels {
            texts.code_of(level);
        }
        texts.known = texts.levels.len();
        texts
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "far fewer than 2^32 levels"
    )]
    fn code_of(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.index.get(text) {
            return code;
        }
        if self.overflow {
            return NOT_KEPT;
        }
        let is_full = self.levels.len() >= self.known + MOST_LEVELS
            || self.bytes + text.len() > MOST_LEVEL_BYTES;
        if is_full {
            self.overflow();
            return NOT_KEPT;
        }
        let code = self.levels.len() as u32;
        self.bytes += text.len();
        self.levels.push(text.to_owned());
        self.index.insert(text.to_owned(), code);
        code
    }

    /// Adds a row.
    pub fn push(&mut self, value: Option<&str>) {
        let code = value.map_or(MISSING, |text| self.code_of(text));
        self.codes.push(code);
    }

    /// Adds the rows of others.
    pub(in crate::data) fn append(&mut self, other: &Self) {
        // Codes here of the others' levels, found when they come first, so that levels stay in order of appearance.
        let mut codes: Vec<Option<u32>> = vec![None; other.levels.len()];
        self.codes.reserve(other.codes.len());
        for &code in &other.codes {
            let level = usize::try_from(code)
                .ok()
                .filter(|code| *code < other.levels.len());
            let code = match level {
                None if code == MISSING => MISSING,
                None => {
                    self.overflow();
                    NOT_KEPT
                }
                Some(level) => match codes[level] {
                    Some(known) if !self.overflow => known,
                    _ => {
                        let known = self.code_of(&other.levels[level]);
                        codes[level] = Some(known);
                        known
                    }
                },
            };
            self.codes.push(code);
        }
    }

    /// Keeps the known levels alone from now on.
    fn overflow(&mut self) {
        if self.overflow {
            return;
        }
        self.overflow = true;
        let known = self.known;
        self.levels.truncate(known);
        self.bytes = self.levels.iter().map(String::len).sum();
        self.index.retain(|_, code| (*code as usize) < known);
    }

    /// The text of a row; `None` if it is missing, or one of too many different texts to keep.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        self.levels
            .get(self.codes[row] as usize)
            .map(String::as_str)
    }

    /// Whether the row has no value.
    #[must_use]
    pub fn is_missing(&self, row: usize) -> bool {
        self.codes[row] == MISSING
    }

    /// The code of a row, an index into [`Texts::levels`]; `None` as in [`Texts::get`].
    #[must_use]
    pub fn code(&self, row: usize) -> Option<usize> {
        let code = self.codes[row] as usize;
        (code < self.levels.len()).then_some(code)
    }

    /// The different texts, known ones first, then in order of first appearance; only the known ones if there were too many
    /// to keep.
    #[must_use]
    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    /// Whether there were too many different texts to keep.
    #[must_use]
    pub fn overflowed(&self) -> bool {
        self.overflow
    }
}

impl Values {
    /// An empty column.
    #[must_use]
    pub fn new(kind: ColumnType) -> Self {
        match kind {
            ColumnType::Number => Self::Number(Vec::new()),
            ColumnType::Text => Self::Text(Texts::default()),
        }
    }

    /// An empty column of texts of which these are kept however many others come.
    #[must_use]
    pub fn knowing(levels: &[String]) -> Self {
        Self::Text(Texts::knowing(levels))
    }

    /// How the values are kept.
    #[must_use]
    pub fn kind(&self) -> ColumnType {
        match self {
            Self::Number(_) => ColumnType::Number,
            Self::Text(_) => ColumnType::Text,
        }
    }

    /// Rows so far.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Number(values) => values.len(),
            Self::Text(texts) => texts.codes.len(),
        }
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the row has no value.
    #[must_use]
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Self::Number(values) => values[row].is_nan(),
            Self::Text(texts) => texts.is_missing(row),
        }
    }

    /// How many rows have no value.
    #[must_use]
    pub fn missing(&self) -> usize {
        (0..self.len()).filter(|&row| self.is_missing(row)).count()
    }

    /// The value of a row as a number, if it is one.
    #[must_use]
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Number(values) => Some(values[row]).filter(|value| !value.is_nan()),
            Self::Text(texts) => texts.get(row).and_then(parse_number),
        }
    }

    /// The value of a row as a text, if it has one.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<String> {
        match self {
            Self::Number(values) => Some(values[row])
                .filter(|value| !value.is_nan())
                .map(|value| value.to_string()),
            Self::Text(texts) => texts.get(row).map(ToOwned::to_owned),
        }
    }

    /// Bytes of the different texts that are kept.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        match self {
            Self::Number(_) => 0,
            Self::Text(texts) => texts.bytes,
        }
    }

    /// Gives back what growing reserved beyond need.
    pub fn shrink(&mut self) {
        match self {
            Self::Number(values) => values.shrink_to_fit(),
            Self::Text(texts) => texts.codes.shrink_to_fit(),
        }
    }

    fn retain(&mut self, keep: &[bool]) {
        let mut flags = keep.iter();
        let mut next = || *flags.next().unwrap_or(&false);
        match self {
            Self::Number(values) => values.retain(|_| next()),
            Self::Text(texts) => texts.codes.retain(|_| next()),
        }
    }
}

/// Whether two texts are the same value: equal, or the same of `true` and `false` in upper or lower case, which programs
/// spell as they like.
#[must_use]
pub fn alike(first: &str, second: &str) -> bool {
    first == second || (is_truth_value(first) && first.eq_ignore_ascii_case(second))
}

/// Whether a text is `true` or `false`, in capitals or not.
#[must_use]
pub fn is_truth_value(text: &str) -> bool {
    ["true", "false"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(text))
}

/// A number as a table writes it; never NaN or infinite.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Columns of equal length.
#[derive(Clone, Debug)]
pub struct Table {
    /// The file, for messages.
    pub path: String,
    /// The columns, in the file's order.
    pub columns: Vec<Column>,
    /// What the reader decided or changed, for the user to know.
    pub notes: Vec<String>,
    /// How the numbers of columns were written, where that is not the way of programs.
    pub forms: BTreeMap<String, NumberForm>,
    /// The units that the file itself names, by column.
    pub units: BTreeMap<String, String>,
    /// The names of all columns that the file has, whether they were wanted or not.
    pub names: Vec<String>,
}

impl Table {
    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The column of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.columns
            .iter()
            .find(|column| column.name == name)
            .ok_or_else(|| self.unknown(name))
    }

    /// The error of a column that is not there.
    #[must_use]
    pub fn unknown(&self, name: &str) -> Error {
        Error::UnknownColumn {
            path: self.path.clone(),
            column: name.to_owned(),
            known: self.names.clone(),
        }
    }

    /// Keeps the rows whose flag is set.
    pub fn retain(&mut self, keep: &[bool]) {
        for column in &mut self.columns {
            column.values.retain(keep);
        }
    }

    /// Adds the rows of a table with the same columns.
    ///
    /// # Errors
    /// If a column is missing there.
    pub fn append(&mut self, other: &Table) -> Result<()> {
        for column in &mut self.columns {
            let more = &other.column(&column.name)?.values;
            for row in 0..more.len() {
                match &mut column.values {
                    Values::Number(values) => values.push(more.number(row).unwrap_or(f64::NAN)),
                    Values::Text(texts) => texts.push(more.text(row).as_deref()),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts_keep_their_codes_however_many_others_come() {
        let known = ["Graz", "Linz"].map(str::to_owned);
        let mut texts = Texts::knowing(&known);
        texts.push(Some("Linz"));
        for number in 0..=MOST_LEVELS {
            texts.push(Some(&number.to_string()));
        }
        texts.push(Some("Graz"));
        texts.push(None);
        assert!(texts.overflowed());
        assert_eq!(texts.levels(), known);
        assert_eq!(texts.get(0), Some("Linz"));
        assert_eq!(texts.get(1), None);
        assert!(!texts.is_missing(1));
        assert_eq!(texts.code(MOST_LEVELS + 2), Some(0));
        assert!(texts.is_missing(MOST_LEVELS + 3));
    }
}
