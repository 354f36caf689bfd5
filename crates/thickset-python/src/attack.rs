//! Attacks as arrays.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thickset::attack::Attacked;
use thickset::{Model, Rows};

use crate::arrays::{list, matrix};
use crate::errors::bad_value;
use crate::explain::explained;
use crate::options::{Options, read};
use crate::parts::in_parts;
use crate::rows::RowsArgument;
use crate::supervise::supervise;

/// Rows that are attacked between two reports of progress.
const PART: usize = 256;

/// How far a small change of a row changes its explanation.
///
/// # Errors
/// If the options or the rows do not fit.
pub fn attack<'py>(
    py: Python<'py>,
    model: &Model,
    rows: &RowsArgument<'_>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = read::<Options>("the options", options)?.attack();
    let rows = rows.borrow(None)?;
    let rows = rows.rows(model.schema())?;
    let found = supervise(py, progress.as_ref(), |reporter| {
        let ask = |part: &Rows<'_>, _| model.attack(part, &options);
        in_parts(rows, PART, reporter, ask, |all, mut found| {
            all.rows.append(&mut found.rows);
        })
    })?;
    let Some(found) = found else {
        return Err(bad_value("there are no rows to attack"));
    };
    let answer = PyDict::new(py);
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut attacked = Vec::new();
    for row in found.rows {
        before.push(row.before);
        after.push(row.after);
        attacked.push(row.found);
    }
    let values = rows_of(&rows).into_iter().map(f64::from).collect();
    answer.set_item("rows", matrix(py, values, rows.schema().len())?)?;
    explained(&answer, "before", &before)?;
    let names = found.names;
    let width = names.len();
    let importance = after.iter().flat_map(|row| row.importance.clone());
    answer.set_item("after", matrix(py, importance.collect(), width)?)?;
    let probabilities = after.iter().flat_map(|row| row.probabilities.clone());
    let classes = model.classes().len();
    answer.set_item(
        "probabilities_after",
        matrix(py, probabilities.collect(), classes)?,
    )?;
    answer.set_item("names", names)?;
    answer.set_item("k", found.k)?;
    attacked_rows(&answer, &rows, attacked)?;
    Ok(answer)
}

/// What attacks found.
fn attacked_rows(
    answer: &Bound<'_, PyDict>,
    rows: &Rows<'_>,
    found: Vec<Attacked>,
) -> PyResult<()> {
    let py = answer.py();
    let precision: Vec<f64> = found.iter().map(|row| row.precision).collect();
    answer.set_item("precision", list(py, precision))?;
    let held: Vec<bool> = found.iter().map(|row| row.held).collect();
    answer.set_item("held", list(py, held))?;
    let attacks: Vec<&str> = found.iter().map(|row| row.attack).collect();
    answer.set_item("attack", attacks)?;
    let perturbed = found.into_iter().flat_map(|row| row.perturbed);
    let width = rows.schema().len();
    answer.set_item("perturbed", matrix(py, perturbed.collect(), width)?)
}

fn rows_of(rows: &Rows<'_>) -> Vec<f32> {
    let width = rows.schema().len();
    let mut values = vec![0.0; rows.len() * width];
    for (place, target) in values.chunks_exact_mut(width.max(1)).enumerate() {
        rows.copy(place, target);
    }
    values
}
