//! Explanations as arrays.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thickset::Model;
use thickset::defaults::named;
use thickset::explain::Explained;

use crate::arrays::{list, matrix, places};
use crate::errors::bad_value;
use crate::model::json;
use crate::options::{Options, read};
use crate::parts::in_parts;
use crate::rows::RowsArgument;
use crate::supervise::supervise;

/// Rows that are explained between two reports of progress.
const PART: usize = 4096;

/// Why the model predicts what it predicts, or would predict the target classes.
///
/// # Errors
/// If the options, the rows or the targets do not fit.
pub fn explain<'py>(
    py: Python<'py>,
    model: &Model,
    rows: &RowsArgument<'_>,
    options: &str,
    progress: Option<Py<PyAny>>,
    target: Option<Vec<usize>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = read::<Options>("the options", options)?.explain();
    let rows = rows.borrow(None)?;
    let rows = rows.rows(model.schema())?;
    let target = target.as_deref();
    if let Some(target) = target
        && target.len() != rows.len()
    {
        return Err(bad_value(&format!(
            "there must be one target a row, {}, got {}",
            rows.len(),
            target.len()
        )));
    }
    let found = supervise(py, progress.as_ref(), |reporter| {
        let ask = |part: &thickset::Rows<'_>, start: usize| match target {
            None => model.explain(part, &options),
            Some(target) => {
                let target = &target[start..start + part.len()];
                model.explain_classes(part, target, &options)
            }
        };
        in_parts(rows, PART, reporter, ask, |all, mut found| {
            all.rows.append(&mut found.rows);
        })
    })?;
    let Some(found) = found else {
        return Err(bad_value("there are no rows to explain"));
    };
    let answer = PyDict::new(py);
    answer.set_item("config", json(&found.config)?)?;
    explained(&answer, "importance", &found.rows)?;
    answer.set_item("k", named(&found.config, found.names.len()))?;
    let base = model.base_values(&found.config);
    let base = base.map(|base| found.rows.iter().map(|row| base[row.class]).collect());
    answer.set_item("base", base.map(|base: Vec<f64>| list(py, base)))?;
    answer.set_item("names", found.names)?;
    Ok(answer)
}

/// Importances under a name, probabilities and classes.
///
/// # Errors
/// If Python has no memory left.
pub fn explained(answer: &Bound<'_, PyDict>, name: &str, rows: &[Explained]) -> PyResult<()> {
    let py = answer.py();
    let width = rows.first().map_or(0, |row| row.importance.len());
    let classes = rows.first().map_or(0, |row| row.probabilities.len());
    let importance = rows.iter().flat_map(|row| row.importance.iter().copied());
    answer.set_item(name, matrix(py, importance.collect(), width)?)?;
    let probabilities = rows
        .iter()
        .flat_map(|row| row.probabilities.iter().copied());
    answer.set_item(
        "probabilities",
        matrix(py, probabilities.collect(), classes)?,
    )?;
    answer.set_item("classes", places(py, rows.iter().map(|row| row.class)))
}
