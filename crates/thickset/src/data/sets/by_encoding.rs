//! Datasets of a table's files by an encoding that is known already: that of a model of another framework, which is to be trained further.

use std::path::PathBuf;

use super::assemble::check_labels;
use super::split::Split;
use crate::data::dataset::Dataset;
use crate::data::encode::encoding::{ColumnEncoding, Encoding, unseen_note};
use crate::data::read::table::Table;
use crate::data::read::table_reader::read_all;
use crate::{Result, Seed};

impl Dataset {
    /// The rows of files that have a class, encoded as `encoding` says and split by the seed. Nothing of the encoding is learned but how
    /// far numbers reach and whether they are whole, from the training rows.
    ///
    /// # Errors
    /// For whatever is missing or wrong, with file and line where there are some; if there are fewer than ten rows or two classes.
    pub fn by_encoding(
        name: &str,
        files: &[PathBuf],
        encoding: &Encoding,
        seed: Seed,
    ) -> Result<Self> {
        let mut table = read_all(files, &encoding.read, &encoding.wanted(true))?;
        let mut notes = std::mem::take(&mut table.notes);
        let target = &encoding.target.column;
        let labels = encoding.labels(&table)?;
        let is_labelled: Vec<bool> = labels.iter().map(Option::is_some).collect();
        let unlabelled = is_labelled.iter().filter(|&&is| !is).count();
        if unlabelled > 0 {
            notes.push(format!(
                "left out {unlabelled} rows without a value of `{target}`"
            ));
            table.retain(&is_labelled);
        }
        let labels: Vec<usize> = labels.into_iter().flatten().collect();
        let classes = &encoding.target.classes;
        check_labels(&table.path, target, &labels, classes, |class| &class.name)?;
        let split = Split::stratified(&labels, seed);
        let mut encoding = encoding.clone();
        encoding.learn_ranges(&table, &split.train);
        let encoded = encoding.apply(table)?;
        for (column, rows) in &encoded.unseen {
            notes.push(unseen_note(column, *rows));
        }
        let mut dataset = Self {
            name: name.to_owned(),
            title: format!("{name}, predicting `{}`", encoding.target.column),
            recipe: None,
            labels,
            classes: classes_of(&encoding),
            schema: encoding.schema(),
            split,
            encoding: Some(encoding),
            missing: encoded.missing,
            notes,
            attack: None,
            values: encoded.values,
            pairs: None,
            weights: None,
            given: Some(encoded.given),
        };
        dataset.learn_references();
        Ok(dataset)
    }
}

fn classes_of(encoding: &Encoding) -> Vec<String> {
    let classes = encoding.target.classes.iter();
    classes.map(|class| class.name.clone()).collect()
}

impl Encoding {
    /// Learns how far each column of numbers reaches in these rows of a table, and whether all of them are whole. A column that the
    /// table does not have, or that has no number there, stays as it is.
    pub(crate) fn learn_ranges(&mut self, table: &Table, rows: &[usize]) {
        for column in &mut self.columns {
            let ColumnEncoding::Number(number) = column else {
                continue;
            };
            let found = table.columns.iter().find(|one| one.name == number.column);
            let Some(values) = found.map(|column| &column.values) else {
                continue;
            };
            let known: Vec<f64> = rows
                .iter()
                .filter_map(|&row| values.number(row))
                .filter(|value| value.is_finite())
                .collect();
            let low = known.iter().copied().fold(f64::INFINITY, f64::min);
            let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if low <= high {
                (number.low, number.high) = (low, high);
                number.integer = known.iter().all(|value| value.fract() == 0.0);
            }
        }
    }

    /// Whether both make the same features of the same columns: how far numbers reach in some rows may differ.
    pub(crate) fn makes_the_same(&self, other: &Self) -> bool {
        let plain = |encoding: &Self| -> Vec<ColumnEncoding> {
            let columns = encoding.columns.iter().cloned();
            columns
                .map(|mut column| {
                    if let ColumnEncoding::Number(number) = &mut column {
                        (number.low, number.high, number.integer) = (0.0, 0.0, false);
                    }
                    column
                })
                .collect()
        };
        plain(self) == plain(other)
    }
}
