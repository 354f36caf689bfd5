//! Arrays in and out.

use numpy::{PyArray1, PyArray2, PyArrayMethods as _};
use pyo3::prelude::*;

/// A matrix of rows; the width is given for the case that there is no row.
pub fn matrix<T: numpy::Element>(
    py: Python<'_>,
    values: Vec<T>,
    width: usize,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = values.len().checked_div(width).unwrap_or(0);
    PyArray1::from_vec(py, values).reshape([rows, width])
}

/// A list of numbers.
pub fn list<T: numpy::Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyArray1<T>> {
    PyArray1::from_vec(py, values)
}

/// Places as Python counts them.
pub fn places(py: Python<'_>, values: impl Iterator<Item = usize>) -> Bound<'_, PyArray1<i64>> {
    #[expect(clippy::cast_possible_wrap, reason = "places in memory")]
    list(py, values.map(|value| value as i64).collect())
}
