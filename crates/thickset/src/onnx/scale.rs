//! Names and scales of columns from a table's file, for graphs that have neither.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::columns::ColumnScale;
use super::import::{Imported, OnnxOptions};
use crate::data::{Column, ColumnEncoding, Table, Values, Wanted, read_table, table_of};
use crate::{Error, Result};

/// The columns of a file in order, without the target: names for a graph whose input is one matrix.
///
/// # Errors
/// If the file cannot be read.
pub fn column_names(path: &Path, target: Option<&str>) -> Result<Vec<String>> {
    let table = read(path)?;
    let names = table.columns.into_iter().map(|column| column.name);
    Ok(names.filter(|name| Some(name.as_str()) != target).collect())
}

/// The mean and the standard deviation, as offset and factor, of every column of numbers that the graph itself does not scale,
/// with its range; learned from all rows of a file. To be given to [`super::OnnxOptions::scales`].
///
/// # Errors
/// If the file cannot be read or lacks a column.
pub fn scales(path: &Path, imported: &Imported) -> Result<BTreeMap<String, ColumnScale>> {
    scales_of(&read(path)?, imported)
}

/// The same, learned from columns in memory; `name` is what messages call them.
///
/// # Errors
/// If columns differ in length or one is not there.
pub fn scales_of_columns(
    name: &str,
    columns: Vec<Column>,
    imported: &Imported,
) -> Result<BTreeMap<String, ColumnScale>> {
    scales_of(&table_of(name, columns)?, imported)
}

fn scales_of(table: &Table, imported: &Imported) -> Result<BTreeMap<String, ColumnScale>> {
    let Some(encoding) = &imported.model.description.encoding else {
        return Ok(BTreeMap::new());
    };
    let mut scales = BTreeMap::new();
    for column in &encoding.columns {
        let ColumnEncoding::Number(number) = column else {
            continue;
        };
        let values = &table.column(&number.column)?.values;
        let numbers: Vec<f64> = (0..values.len())
            .filter_map(|row| values.number(row))
            .collect();
        if numbers.is_empty() {
            return Err(Error::Empty {
                what: "a column of numbers to take a scale from",
            });
        }
        scales.insert(number.column.clone(), scale(&numbers, number));
    }
    Ok(scales)
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
#[expect(
    clippy::float_cmp,
    reason = "a graph without a scaler leaves these exactly"
)]
fn scale(numbers: &[f64], number: &crate::data::NumberEncoding) -> ColumnScale {
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let deviation = (numbers
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count)
        .sqrt();
    let is_scaled = number.offset != 0.0 || number.factor != 1.0;
    let (offset, factor) = if is_scaled {
        (number.offset, number.factor)
    } else if deviation > 0.0 && deviation.is_finite() {
        (mean, deviation)
    } else {
        (mean, 1.0)
    };
    ColumnScale {
        offset,
        factor,
        low: numbers.iter().copied().fold(f64::INFINITY, f64::min),
        high: numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        integer: numbers.iter().all(|value| value.fract() == 0.0),
    }
}

fn read(path: &Path) -> Result<Table> {
    let table = read_table(path, &crate::data::ReadRule::default(), &Wanted::default())?;
    if table
        .columns
        .iter()
        .all(|column| matches!(&column.values, Values::Number(values) if values.is_empty()))
    {
        return Err(Error::Empty {
            what: "the rows of the file",
        });
    }
    Ok(table)
}

/// What is done about columns of numbers that the graph does not scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScaleChoice {
    /// Nothing was said: such a graph is refused.
    #[default]
    #[serde(rename = "unsaid")]
    Unsaid,
    /// The mean and the standard deviation of the data.
    #[serde(rename = "data")]
    FromData,
    /// Distances are in the columns' own units.
    #[serde(rename = "none")]
    AsItIs,
}

impl ScaleChoice {
    /// Whether nothing was said.
    #[must_use]
    pub fn is_unsaid(&self) -> bool {
        *self == Self::Unsaid
    }
}

/// Reads the model of a file for rows of a table's file, which may name the columns of a matrix and give them a scale. The
/// sentences say what was taken from it.
///
/// # Errors
/// As for [`super::open`]; [`Error::NoScale`] where columns have no scale and nothing was said about it.
pub fn open_for_data(
    path: &Path,
    data: Option<&Path>,
    options: &OnnxOptions,
    scale: ScaleChoice,
) -> Result<(Imported, Vec<String>)> {
    let mut options = options.clone();
    let mut imported = super::open(path, &options)?;
    let mut notes = Vec::new();
    let raw: usize = imported
        .inputs()
        .iter()
        .map(|(_, columns)| columns.len())
        .sum();
    let is_matrix = imported
        .inputs()
        .iter()
        .any(|(_, columns)| columns.len() > 1);
    if let Some(data) = data.filter(|_| is_matrix && options.columns.is_empty()) {
        let mut names = column_names(data, options.target.as_deref())?;
        if options.target.is_none() && names.len() == raw + 1 {
            // As for tables that are trained on: the last column is the target, where none is named.
            options.target = names.pop();
        }
        if names.len() == raw {
            notes.push(format!(
                "the columns of the graph's input are taken to be those of `{}`, in order",
                data.display()
            ));
            options.columns = names;
            imported = super::open(path, &options)?;
        }
    }
    if let Some(data) = data.filter(|_| options.columns.is_empty()) {
        let own: Vec<String> = imported
            .inputs()
            .into_iter()
            .flat_map(|(_, columns)| columns)
            .collect();
        if let Some(renamed) = renamed(&own, &column_names(data, None)?) {
            notes.push(format!(
                "columns whose names the exporter changed are taken to be those of `{}` (`{}`)",
                data.display(),
                renamed
                    .iter()
                    .find(|name| !own.contains(name))
                    .map_or("", String::as_str)
            ));
            options.columns = renamed;
            imported = super::open(path, &options)?;
        }
    }
    if imported.about.wants_scale {
        match (scale, data) {
            (ScaleChoice::FromData, Some(data)) => {
                options.scales = scales(data, &imported)?;
                notes.push(format!(
                    "distances are in standard deviations of the columns of `{}`, since the graph has no scaler",
                    data.display()
                ));
                imported = super::open(path, &options)?;
            }
            (ScaleChoice::AsItIs, _) => {}
            _ => {
                return Err(Error::NoScale {
                    file: path.display().to_string(),
                });
            }
        }
    }
    Ok((imported, notes))
}

/// The columns of a graph by the names of the data, where exporters have put other letters for some: `installment rate` is
/// `installment_rate` in skl2onnx's files. `None` where nothing is to be renamed, or it is not sure.
fn renamed(own: &[String], data: &[String]) -> Option<Vec<String>> {
    let plain = |name: &String| -> String {
        let letters = name.chars();
        letters
            .map(|letter| {
                if letter.is_alphanumeric() {
                    letter
                } else {
                    '_'
                }
            })
            .collect()
    };
    let mut is_other = false;
    let names = own.iter().map(|name| {
        if data.contains(name) {
            return name.clone();
        }
        let mut alike = data.iter().filter(|other| plain(other) == plain(name));
        let (Some(found), None) = (alike.next(), alike.next()) else {
            // A column that the model does not read may be missing.
            return name.clone();
        };
        is_other = true;
        found.clone()
    });
    let names: Vec<String> = names.collect();
    is_other.then_some(names)
}

/// Probabilities of a table's file for so many rows: one column a class, in order, or one column for the second of two classes. A first
/// line of 0, 1, 2 and so on before all rows is how data frames name columns that have no names.
///
/// # Errors
/// If the file cannot be read or holds something else than numbers.
pub fn read_probabilities(path: &Path, rows: usize) -> Result<Vec<f64>> {
    let wanted = Wanted {
        only_numbers: true,
        ..Wanted::default()
    };
    let table = read_table(path, &crate::data::ReadRule::default(), &wanted)?;
    let count = table.rows();
    #[expect(clippy::cast_precision_loss, reason = "few classes")]
    let is_numbered = (0..table.columns.len())
        .all(|place| table.columns[place].values.number(0) == Some(place as f64));
    let first = usize::from(count == rows + 1 && is_numbered);
    let mut values = Vec::with_capacity(count * table.columns.len());
    for row in first..count {
        for column in &table.columns {
            let value = column.values.number(row);
            values.push(value.ok_or_else(|| Error::RequiredValue {
                path: path.display().to_string(),
                row: row + 1,
                column: column.name.clone(),
            })?);
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_column_numbers_is_no_row_of_probabilities() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("probabilities.csv");
        std::fs::write(&path, "0,1\n0.25,0.75\n0,1\n").unwrap();
        assert_eq!(
            read_probabilities(&path, 2).unwrap(),
            [0.25, 0.75, 0.0, 1.0]
        );
        assert_eq!(read_probabilities(&path, 3).unwrap().len(), 6);
        std::fs::write(&path, "bad,good\n0.25,0.75\n").unwrap();
        assert_eq!(read_probabilities(&path, 1).unwrap(), [0.25, 0.75]);
    }

    #[test]
    fn names_that_an_exporter_changed_are_found_and_doubtful_ones_left() {
        let names =
            |list: &[&str]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
        let own = names(&["age", "installment_rate", "x_y"]);
        let data = names(&["age", "installment rate", "x y", "x-y", "risk"]);
        let expected = names(&["age", "installment rate", "x_y"]);
        assert_eq!(renamed(&own, &data), Some(expected));
        assert_eq!(renamed(&own, &own), None);
    }
}
