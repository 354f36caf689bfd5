//! What the source of a row says of a column where the row's features do not tell it: a missing value for which the median stands, a
//! number beyond the range that the encoding keeps, a category of a group, one that the model has not seen. Who is told of a row
//! is told these values, never what stands for them.
//!
//! Only such cells are kept, 24 bytes each, in the order of the rows; many go to a nameless file of the temporary folder.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::sync::Arc;

use crate::data::row_store::{nameless, read_at};
use crate::{Error, Result};

/// The value that a row's source has.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// None.
    Missing,
    /// A number.
    Number(f64),
    /// A text that the encoding lists, perhaps in a group.
    Text(String),
    /// A text that the encoding does not list; nothing where there were too many of them to keep.
    Unseen(Option<String>),
}

/// The cells of some rows that their features do not tell.
#[derive(Clone, Debug, Default)]
pub struct GivenValues {
    cells: Vec<Stored>,
    /// Earlier cells, where there are many.
    disk: Option<Arc<Spilled>>,
    texts: Vec<String>,
    index: HashMap<String, u32>,
    bytes: usize,
}

#[derive(Debug)]
struct Spilled {
    file: File,
    cells: u64,
}

/// One cell, ready for a file.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stored {
    row: u64,
    column: u32,
    kind: u32,
    /// A number's bits, or a text's place.
    payload: u64,
}

const MISSING: u32 = 0;
const NUMBER: u32 = 1;
const TEXT: u32 = 2;
const UNSEEN: u32 = 3;

/// The place of a text that is not kept.
const NO_TEXT: u64 = u64::MAX;

/// Bytes of different texts that are kept; more are not what categories have.
const MOST_TEXT: usize = 64 << 20;

/// Bytes of a cell in a file.
const CELL: usize = 24;

/// Cells that are kept in memory.
const IN_MEMORY: usize = 4 << 20;

/// A number with at most two decimals is an amount, which is told to the cent.
const CENTS: f64 = 100.0;

/// Whole numbers below this, and amounts below a hundredth of it, come back from single precision as they were.
const EXACT: f64 = 1e6;

/// Whether a number within the encoding's range would come back from its feature with other digits than a person wrote.
pub(in crate::data) fn loses_digits(value: f64) -> bool {
    let size = value.abs();
    if size < EXACT / CENTS {
        return false;
    }
    let cents = size * CENTS;
    let is_amount = (cents - cents.round()).abs() <= cents * f64::EPSILON;
    is_amount && (size >= EXACT || size.fract() != 0.0)
}

impl GivenValues {
    /// Notes a cell. Cells may come in any order until [`GivenValues::sort`].
    pub(in crate::data) fn push(&mut self, row: usize, column: usize, given: Given) {
        let (kind, payload) = match given {
            Given::Missing => (MISSING, 0),
            Given::Number(value) => (NUMBER, value.to_bits()),
            Given::Text(text) => (TEXT, self.place_of(&text)),
            Given::Unseen(text) => (UNSEEN, text.map_or(NO_TEXT, |text| self.place_of(&text))),
        };
        self.cells.push(Stored {
            row: row as u64,
            // A recipe's columns are listed in a text.
            column: u32::try_from(column).unwrap_or(u32::MAX),
            kind,
            payload,
        });
    }

    fn place_of(&mut self, text: &str) -> u64 {
        if let Some(&place) = self.index.get(text) {
            return u64::from(place);
        }
        let Ok(place) = u32::try_from(self.texts.len()) else {
            return NO_TEXT;
        };
        if self.bytes + text.len() > MOST_TEXT {
            return NO_TEXT;
        }
        self.bytes += text.len();
        self.texts.push(text.to_owned());
        self.index.insert(text.to_owned(), place);
        u64::from(place)
    }

    /// Puts the cells in the order of rows, then of columns.
    pub(in crate::data) fn sort(&mut self) {
        self.cells.sort_by_key(|cell| (cell.row, cell.column));
    }

    /// Adds the cells of later rows; `first` is the number of the first of them here.
    ///
    /// # Errors
    /// If the temporary folder is full or cannot be written to.
    pub(crate) fn append(&mut self, other: &Self, first: u64) -> Result<()> {
        self.append_keeping(other, first, IN_MEMORY)
    }

    fn append_keeping(&mut self, other: &Self, first: u64, most: usize) -> Result<()> {
        for cell in &other.cells {
            let mut cell = *cell;
            cell.row += first;
            if cell.kind >= TEXT && cell.payload != NO_TEXT {
                cell.payload = match other.text(cell.payload) {
                    Some(text) => self.place_of(text),
                    None => NO_TEXT,
                };
            }
            self.cells.push(cell);
        }
        if self.cells.len() > most {
            self.spill()
                .map_err(|source| Error::io("write", std::env::temp_dir(), source))?;
        }
        Ok(())
    }

    /// Moves the cells to the file.
    fn spill(&mut self) -> std::io::Result<()> {
        let (file, cells) = match &self.disk {
            Some(disk) => (disk.file.try_clone()?, disk.cells),
            None => (nameless()?, 0),
        };
        let mut out = BufWriter::with_capacity(1 << 20, file);
        for cell in &self.cells {
            out.write_all(&cell.bytes())?;
        }
        let file = out
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error)?;
        let cells = cells + self.cells.len() as u64;
        self.disk = Some(Arc::new(Spilled { file, cells }));
        self.cells = Vec::new();
        Ok(())
    }

    /// Adds the cells of the same rows that an encoding of this column alone has noted.
    pub(in crate::data) fn add_column(&mut self, other: &Self, column: usize) {
        for cell in &other.cells {
            let (_, given) = other.opened(cell);
            let row = usize::try_from(cell.row).unwrap_or(usize::MAX);
            self.push(row, column, given);
        }
    }

    /// Adds one row with these cells, as the row `row`.
    pub(crate) fn push_row(&mut self, row: usize, cells: Vec<(usize, Given)>) {
        for (column, given) in cells {
            self.push(row, column, given);
        }
    }

    /// The cells of a row that its features do not tell: the place of the column, and what its source has.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<(usize, Given)> {
        let row = row as u64;
        let mut found = Vec::new();
        if let Some(disk) = &self.disk {
            let mut place = disk.first_of(row);
            while let Some(cell) = disk.cell(place).filter(|cell| cell.row == row) {
                found.push(self.opened(&cell));
                place += 1;
            }
        }
        let start = self.cells.partition_point(|cell| cell.row < row);
        let cells = self.cells[start..].iter();
        found.extend(
            cells
                .take_while(|cell| cell.row == row)
                .map(|cell| self.opened(cell)),
        );
        found
    }

    fn text(&self, place: u64) -> Option<&str> {
        let place = usize::try_from(place).ok()?;
        self.texts.get(place).map(String::as_str)
    }

    fn opened(&self, cell: &Stored) -> (usize, Given) {
        let text = || self.text(cell.payload).map(str::to_owned);
        let given = match cell.kind {
            MISSING => Given::Missing,
            NUMBER => Given::Number(f64::from_bits(cell.payload)),
            TEXT => text().map_or(Given::Unseen(None), Given::Text),
            _ => Given::Unseen(text()),
        };
        (cell.column as usize, given)
    }
}

impl Stored {
    fn bytes(&self) -> [u8; CELL] {
        let mut bytes = [0; CELL];
        bytes[..8].copy_from_slice(&self.row.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.column.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.kind.to_le_bytes());
        bytes[16..].copy_from_slice(&self.payload.to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8; CELL]) -> Self {
        let long = |start: usize| {
            let mut part = [0; 8];
            part.copy_from_slice(&bytes[start..start + 8]);
            u64::from_le_bytes(part)
        };
        let short = |start: usize| {
            let mut part = [0; 4];
            part.copy_from_slice(&bytes[start..start + 4]);
            u32::from_le_bytes(part)
        };
        Self {
            row: long(0),
            column: short(8),
            kind: short(12),
            payload: long(16),
        }
    }
}

impl Spilled {
    /// The cell at a place; none beyond the last, or if the disk does not give it back.
    fn cell(&self, place: u64) -> Option<Stored> {
        if place >= self.cells {
            return None;
        }
        let mut bytes = [0; CELL];
        read_at(&self.file, &mut bytes, place * CELL as u64).ok()?;
        Some(Stored::of_bytes(&bytes))
    }

    /// The place of the first cell that is not of an earlier row.
    fn first_of(&self, row: u64) -> u64 {
        let (mut low, mut high) = (0, self.cells);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.cell(middle) {
                Some(cell) if cell.row < row => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_by_row_from_memory_and_from_disk() {
        let mut all = [GivenValues::default(), GivenValues::default()];
        for chunk in 0..50_u64 {
            let mut part = GivenValues::default();
            // Column by column, as an encoding fills them.
            for column in [1, 0] {
                for row in (0..20).filter(|row| row % 3 == column) {
                    let given = match row % 4 {
                        0 => Given::Missing,
                        1 => Given::Number(f64::from(u32::try_from(row).unwrap()) + 0.5),
                        2 => Given::Text(format!("text {row}")),
                        _ => Given::Unseen((row > 10).then(|| format!("new {chunk}"))),
                    };
                    part.push(row, column, given);
                }
            }
            part.sort();
            all[0]
                .append_keeping(&part, chunk * 20, usize::MAX)
                .unwrap();
            all[1].append_keeping(&part, chunk * 20, 30).unwrap();
        }
        assert!(all[0].disk.is_none() && all[1].disk.is_some());
        for row in 0..1000 {
            assert_eq!(all[0].row(row), all[1].row(row), "{row}");
        }
        assert_eq!(all[1].row(2), []);
        assert_eq!(all[1].row(42), []);
        assert_eq!(all[1].row(21), [(1, Given::Number(1.5))]);
        assert_eq!(
            all[1].row(975),
            [(0, Given::Unseen(Some("new 48".to_owned())))]
        );
    }

    #[test]
    fn amounts_that_single_precision_would_round_are_kept() {
        for value in [12_345.67, 1_234_567.0, -250_000.5] {
            assert!(loses_digits(value), "{value}");
        }
        for value in [
            48.0,
            999_999.0,
            0.123_456_789,
            1234.56,
            10_000.0,
            12_345.678_9,
        ] {
            assert!(!loses_digits(value), "{value}");
        }
    }
}
