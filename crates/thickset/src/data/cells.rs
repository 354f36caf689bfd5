//! Filling the features of one column, row by row.

use super::feature_rule::{CategoryRule, FlagRule, Group, Unseen};
use super::number_encoding::NumberEncoding;
use super::table::Values;
use crate::{Error, Result};

/// The matrix columns from `first` on.
pub struct Cells<'a> {
    /// The whole matrix, row-major.
    pub values: &'a mut [f32],
    /// Features of a row.
    pub width: usize,
    /// The first of the column's features.
    pub first: usize,
}

impl Cells<'_> {
    fn set(&mut self, row: usize, offset: usize, value: f32) {
        self.values[row * self.width + self.first + offset] = value;
    }
}

impl NumberEncoding {
    /// Sets the number, and the indicator where the value is missing.
    pub fn fill(&self, source: Option<&Values>, rows: usize, cells: &mut Cells) {
        for row in 0..rows {
            let value = source.and_then(|values| values.number(row));
            cells.set(row, 0, self.encode(value.unwrap_or(self.impute)));
            if self.indicator && value.is_none() {
                cells.set(row, 1, 1.0);
            }
        }
    }
}

/// Sets 1 where the value is one of the flag's.
pub fn fill_flag(rule: &FlagRule, source: Option<&Values>, rows: usize, cells: &mut Cells) {
    let Some(values) = source else { return };
    let is_on = |text: &str| rule.on.iter().any(|one| one == text);
    for_each_level(
        values,
        rows,
        |text| text.is_some_and(is_on),
        |row, on| cells.set(row, 0, f32::from(u8::from(on))),
    );
}

/// Sets the group of every row; returns how many rows had a value that no group lists.
pub fn fill_category(
    rule: &CategoryRule,
    source: Option<&Values>,
    rows: usize,
    cells: &mut Cells,
    path: &str,
) -> Result<usize> {
    let members: Vec<Vec<String>> = rule.groups.iter().map(Group::members).collect();
    let other = rule
        .groups
        .iter()
        .position(|group| Some(&group.name) == rule.other.as_ref());
    let find = |text: Option<&str>| {
        let text = text.unwrap_or_default();
        members
            .iter()
            .position(|group| group.iter().any(|one| one == text))
    };
    let mut unseen = 0;
    let mut refused = None;
    let mut place = |row: usize, group: Option<usize>| {
        if group.is_none() {
            unseen += 1;
            if rule.unseen == Unseen::Error && refused.is_none() {
                refused = Some(row);
            }
        }
        if let Some(group) = group.or(other) {
            cells.set(row, group, 1.0);
        }
    };
    match source {
        Some(values) => for_each_level(values, rows, find, &mut place),
        None => (0..rows).for_each(|row| place(row, find(None))),
    }
    match refused {
        None => Ok(unseen),
        Some(row) => Err(Error::UnseenCategory {
            path: path.to_owned(),
            row: row + 1,
            column: rule.column.clone(),
            value: source
                .and_then(|values| values.text(row))
                .unwrap_or_default(),
        }),
    }
}

/// Calls `decide` once a different text and `place` once a row; the text is `None` where it is missing.
fn for_each_level<T: Copy>(
    values: &Values,
    rows: usize,
    decide: impl Fn(Option<&str>) -> T,
    mut place: impl FnMut(usize, T),
) {
    let Values::Text(texts) = values else {
        (0..rows).for_each(|row| place(row, decide(values.text(row).as_deref())));
        return;
    };
    let by_level: Vec<T> = texts
        .levels()
        .iter()
        .map(|level| decide(Some(level)))
        .collect();
    let missing = decide(None);
    for row in 0..rows {
        place(row, texts.code(row).map_or(missing, |code| by_level[code]));
    }
}
