//! What a graph does not say of its columns, taken from usual rows: how far they reach, and the typical row that others are compared with.

use std::path::Path;

use super::import::Imported;
use crate::Result;
use crate::data::{Encoding, ReadRule, References, read_table};

/// Rows of the data themselves are taken for usual ones from this number on: the median of a few rows says little of others.
pub const LEAST_ROWS: usize = 20;

impl Imported {
    /// Learns from a table's file how far columns of numbers reach, whether they are whole, and the typical row, by which the model can be
    /// explained, attacked and audited as one that was trained here. `data` is the file of the rows that it is asked about: if that is the
    /// file itself and has few rows, nothing is learned. The sentences say what was done.
    ///
    /// # Errors
    /// If the file cannot be read, or its rows cannot be encoded.
    pub fn learn_background(
        &mut self,
        background: Option<&Path>,
        data: Option<&Path>,
    ) -> Result<Vec<String>> {
        let description = &mut self.model.description;
        // What we wrote ourselves knows its own.
        let is_known = description.references.is_some();
        let (Some(encoding), Some(path), false) = (&mut description.encoding, background, is_known)
        else {
            return Ok(Vec::new());
        };
        let table = read_table(path, &ReadRule::default(), &encoding.wanted(true))?;
        let rows = table.rows();
        let is_own = data.is_some_and(|data| data == path);
        if rows < LEAST_ROWS && is_own {
            return Ok(vec![format!(
                "`{}` has {rows} rows, too few to learn usual values from; gradients are explained, without a typical row to compare with (--background names a file of usual rows)",
                path.display()
            )]);
        }
        let all: Vec<usize> = (0..rows).collect();
        encoding.learn_ranges(&table, &all);
        let labels = labels(encoding, &table);
        let classes = description.classes.clone();
        let schema = encoding.schema();
        let values = encoding.apply(table)?.values;
        let (known, labels) = match labels {
            Some(labels) => (classes, labels),
            None => (vec![String::new()], vec![0; rows]),
        };
        let mut references = References::learn(&schema, &known, &values, &labels, &all);
        if let Some(references) = references.as_mut() {
            // The mean of rows whose class is not known is no class's.
            references.class_means.remove("");
        }
        description.references = references;
        self.model.forget_schema();
        Ok(vec![format!(
            "ranges of columns and the typical row are those of the {rows} rows of `{}`",
            path.display()
        )])
    }
}

/// The class of every row, if the table says it of all.
fn labels(encoding: &Encoding, table: &crate::data::Table) -> Option<Vec<usize>> {
    let target = &encoding.target.column;
    table.columns.iter().find(|column| column.name == *target)?;
    encoding.labels(table).ok()?.into_iter().collect()
}
