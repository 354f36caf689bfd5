//! Filling the features of one column, row by row.

use std::collections::BTreeMap;

use super::feature_rule::{CategoryRule, FlagRule, Group, Unseen};
use super::given::{Given, GivenValues, loses_digits};
use super::number_encoding::NumberEncoding;
use crate::data::read::table::{Values, alike, is_truth_value};
use crate::{Error, Result};

/// The matrix columns from `first` on.
pub struct Cells<'a> {
    /// The whole matrix, row-major.
    pub values: &'a mut [f32],
    /// Features of a row.
    pub width: usize,
    /// The first of the column's features.
    pub first: usize,
    /// What the features do not tell.
    pub given: &'a mut GivenValues,
    /// The place of the column.
    pub column: usize,
}

impl Cells<'_> {
    fn set(&mut self, row: usize, offset: usize, value: f32) {
        self.values[row * self.width + self.first + offset] = value;
    }

    fn note(&mut self, row: usize, given: Given) {
        self.given.push(row, self.column, given);
    }
}

impl NumberEncoding {
    /// Sets the number, and the indicator where the value is missing.
    ///
    /// # Errors
    /// If a value is so far from the scale that single precision has no number for it.
    pub fn fill(
        &self,
        source: Option<&Values>,
        rows: usize,
        cells: &mut Cells,
        path: &str,
    ) -> Result<()> {
        for row in 0..rows {
            let value = source.and_then(|values| values.number(row));
            if self.required && value.is_none() {
                return Err(Error::RequiredValue {
                    path: path.to_owned(),
                    row: row + 1,
                    column: self.column.clone(),
                });
            }
            let encoded = self.encode(value.unwrap_or(self.impute));
            if !encoded.is_finite() {
                return Err(Error::BeyondScale {
                    path: path.to_owned(),
                    row: row + 1,
                    column: self.column.clone(),
                    value: value.unwrap_or(self.impute),
                });
            }
            cells.set(row, 0, encoded);
            match value {
                None if self.indicator => cells.set(row, 1, 1.0),
                None => cells.note(row, Given::Missing),
                Some(value) => {
                    let is_beyond = self.clip && !(self.low..=self.high).contains(&value);
                    if is_beyond || loses_digits(value) {
                        cells.note(row, Given::Number(value));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Sets 1 where the value is one of the flag's; returns how many rows had a value that it does not list.
pub fn fill_flag(
    rule: &FlagRule,
    source: Option<&Values>,
    rows: usize,
    cells: &mut Cells,
) -> usize {
    let Some(values) = source else {
        (0..rows).for_each(|row| cells.note(row, Given::Missing));
        return 0;
    };
    let lists = |list: &[String], is_it: &dyn Fn(&str) -> bool| list.iter().any(|one| is_it(one));
    let decide = |is_it: &dyn Fn(&str) -> bool| {
        let (on, off) = (lists(&rule.on, is_it), lists(&rule.off, is_it));
        (on || off).then_some((on, false))
    };
    let unlisted = (false, !rule.off.is_empty());
    let mut unseen = 0;
    for_each_level(
        values,
        rows,
        unlisted,
        |text| {
            text.map_or((false, false), |text| {
                decide(&|one| one == text)
                    .or_else(|| decide(&|one| alike(one, text)))
                    .unwrap_or(unlisted)
            })
        },
        |row, (on, is_unseen)| {
            cells.set(row, 0, f32::from(u8::from(on)));
            unseen += usize::from(is_unseen);
            let side = if on { &rule.on } else { &rule.off };
            note_text(values, row, cells, is_unseen, |text| {
                !text.is_empty() && side.len() == 1
            });
        },
    );
    unseen
}

/// Sets the group of every row; returns how many rows had a value that no group lists. A missing value is not one.
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
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (group, members) in members.iter().enumerate() {
        for member in members {
            places.entry(member).or_insert(group);
        }
    }
    let find = |text: Option<&str>| {
        let text = text.unwrap_or_default();
        let found = places.get(text).copied();
        found.or_else(|| {
            // Only truth values are spelled in several ways; a group may have thousands of members.
            let is_alike = |group: &Vec<String>| group.iter().any(|member| alike(member, text));
            is_truth_value(text).then(|| members.iter().position(is_alike))?
        })
    };
    let is_missing = |row| source.is_none_or(|values| values.is_missing(row));
    let mut unseen = 0;
    let mut refused = None;
    let mut place = |row: usize, group: Option<usize>| {
        if group.is_none() {
            unseen += usize::from(!is_missing(row));
            if rule.unseen == Unseen::Error && refused.is_none() {
                refused = Some(row);
            }
        }
        if let Some(group) = group.or(other) {
            cells.set(row, group, 1.0);
        }
        match source {
            Some(values) => {
                let is_unseen = group.is_none() && !values.is_missing(row);
                let is_told = |text: &str| {
                    group.is_some_and(|group| {
                        // A group of the missing value alone says that it is missing, and one of another value alone is another name
                        // for it.
                        if text.is_empty() {
                            members[group][..] == [""]
                        } else {
                            members[group].len() == 1 || rule.groups[group].name == text
                        }
                    })
                };
                note_text(values, row, cells, is_unseen, is_told);
            }
            None if group.is_none_or(|group| members[group][..] != [""]) => {
                cells.note(row, Given::Missing);
            }
            None => {}
        }
    };
    match source {
        Some(values) => for_each_level(values, rows, None, find, &mut place),
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

/// Notes the text of a row where the features do not tell it; the text is empty where it is missing.
fn note_text(
    values: &Values,
    row: usize,
    cells: &mut Cells,
    is_unseen: bool,
    is_told: impl Fn(&str) -> bool,
) {
    if values.is_missing(row) {
        if !is_told("") {
            cells.note(row, Given::Missing);
        }
        return;
    }
    let text = match values {
        // Most texts are told, so none is copied to see it.
        Values::Text(texts) => {
            let text = texts.get(row);
            if !is_unseen && text.is_some_and(&is_told) {
                return;
            }
            text.map(str::to_owned)
        }
        Values::Number(_) => values.text(row).filter(|text| is_unseen || !is_told(text)),
    };
    match text {
        Some(text) if !is_unseen => cells.note(row, Given::Text(text)),
        None if matches!(values, Values::Number(_)) => {}
        text => cells.note(row, Given::Unseen(text)),
    }
}

/// Calls `decide` once a different text and `place` once a row; the text is `None` where it is missing. A text that was not
/// kept is none of a rule's, so it is `unlisted`.
fn for_each_level<T: Copy>(
    values: &Values,
    rows: usize,
    unlisted: T,
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
        let decided = match texts.code(row) {
            Some(code) => by_level[code],
            None if texts.is_missing(row) => missing,
            None => unlisted,
        };
        place(row, decided);
    }
}
