//! Columns of a data frame: numbers as they are, texts as codes into a list.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use thickset::data::{Column, Texts, Values};

/// `(name, numbers)` with NaN for a missing one, or `(name, codes, texts)` with a negative code for a missing one.
#[derive(FromPyObject)]
pub enum PyColumn<'py> {
    Text(String, PyReadonlyArray1<'py, i64>, Vec<String>),
    Number(String, PyReadonlyArray1<'py, f64>),
}

/// The library's columns; a copy, since they may be strided and the library keeps its own form.
pub fn columns(given: Vec<PyColumn<'_>>) -> Vec<Column> {
    let column = |one| match one {
        PyColumn::Number(name, numbers) => Column {
            name,
            values: Values::Number(numbers.as_array().iter().copied().collect()),
        },
        PyColumn::Text(name, codes, levels) => {
            let mut texts = Texts::default();
            for &code in codes.as_array() {
                let level = usize::try_from(code).ok();
                texts.push(level.and_then(|code| levels.get(code)).map(String::as_str));
            }
            Column {
                name,
                values: Values::Text(texts),
            }
        }
    };
    given.into_iter().map(column).collect()
}
