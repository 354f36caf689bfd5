//! Certificates as arrays.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use thickset::{Model, Rows};

use crate::arrays::{list, places};
use crate::errors::bad_value;
use crate::options::{Options, read};
use crate::parts::in_parts;
use crate::rows::RowsArgument;
use crate::supervise::supervise;

/// Rows that are certified between two reports of progress.
const PART: usize = 32;

/// What no small move of a row can do to its explanation, proved.
///
/// # Errors
/// If the options or the rows do not fit, or nothing can be proved of the model.
pub fn certify<'py>(
    py: Python<'py>,
    model: &Model,
    rows: &RowsArgument<'_>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = read::<Options>("the options", options)?.certify();
    let rows = rows.borrow(None)?;
    let rows = rows.rows(model.schema())?;
    let found = supervise(py, progress.as_ref(), |reporter| {
        let ask = |part: &Rows<'_>, _| model.certify(part, &options);
        in_parts(rows, PART, reporter, ask, |all, mut found| {
            all.rows.append(&mut found.rows);
        })
    })?;
    let Some(found) = found else {
        return Err(bad_value("there are no rows to certify"));
    };
    let answer = PyDict::new(py);
    answer.set_item("k", found.k)?;
    answer.set_item("radius", found.radius)?;
    let radii = || found.rows.iter().map(|row| &row.radius);
    let worst = || found.rows.iter().map(|row| &row.worst_case);
    let certified: Vec<f64> = radii().map(|radius| radius.certified).collect();
    answer.set_item("certified_radius", list(py, certified))?;
    let status: Vec<&str> = radii().map(|radius| radius.status.name()).collect();
    answer.set_item("radius_status", status)?;
    let reached = radii().map(|radius| {
        let found = radius.counterexample.as_ref();
        found.map_or(f64::NAN, |found| found.size)
    });
    answer.set_item("change_at", list(py, reached.collect::<Vec<f64>>()))?;
    let status: Vec<&str> = worst().map(|worst| worst.status.name()).collect();
    answer.set_item("worst_case_status", status)?;
    let least = worst().map(|worst| worst.kept_at_least);
    answer.set_item("kept_at_least", places(py, least))?;
    let most = worst().map(|worst| worst.kept_at_most);
    answer.set_item("kept_at_most", places(py, most))?;
    Ok(answer)
}
