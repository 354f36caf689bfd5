//! Rows that a model is asked about: opened from a file or dataset, or an array of encoded numbers.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use thickset::data::GivenValues;
use thickset::model::OpenedRows;
use thickset::{Rows, Schema};

use crate::arrays::{list, matrix};
use crate::errors::{OrRaise as _, bad_value};

/// Rows of a file or a dataset, encoded for a model.
#[pyclass(frozen, name = "Rows", module = "thickset._native")]
pub struct PyRows {
    pub opened: OpenedRows,
}

#[pymethods]
impl PyRows {
    fn __len__(&self) -> usize {
        self.opened.rows().len()
    }

    /// What a person should know of them, in sentences.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.opened.notes.clone()
    }

    /// The encoded values, `[rows, features]`; a copy.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.opened.rows();
        let width = rows.schema().len();
        let mut values = vec![0.0_f32; rows.len() * width];
        if width > 0 {
            for (place, target) in values.chunks_exact_mut(width).enumerate() {
                rows.copy(place, target);
            }
        }
        Ok(matrix(py, values, width)?.into_any())
    }

    /// The class of each row; -1 where it is not known.
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let rows = self.opened.rows();
        let label = |place| {
            let label = rows.label(place);
            label.and_then(|label| i64::try_from(label).ok())
        };
        let labels = (0..rows.len()).map(|place| label(place).unwrap_or(-1));
        list(py, labels.collect()).into_any()
    }

    /// The number of each row in its file or dataset, counted from 1.
    fn numbers<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let rows = self.opened.rows();
        let numbers = (0..rows.len()).map(|place| rows.id(place) + 1);
        list(py, numbers.collect::<Vec<u64>>()).into_any()
    }
}

/// Rows of columns in memory, encoded for a model, with what those values were that the model does not know.
#[pyclass(frozen, name = "EncodedRows", module = "thickset._native")]
pub struct PyEncodedRows {
    pub values: Vec<f32>,
    pub width: usize,
    pub given: GivenValues,
    pub notes: Vec<String>,
}

#[pymethods]
impl PyEncodedRows {
    fn __len__(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// What a person should know of them, in sentences.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The encoded values, `[rows, features]`; a copy.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(matrix(py, self.values.clone(), self.width)?.into_any())
    }
}

/// What a method may be given as rows.
#[derive(FromPyObject)]
pub enum RowsArgument<'py> {
    Opened(Bound<'py, PyRows>),
    Encoded(Bound<'py, PyEncodedRows>),
    /// Encoded values; without a copy, so they must be single precision and row by row.
    Values(PyReadonlyArray2<'py, f32>),
}

/// Labels as Python gives them: a negative one is not known.
pub type LabelsArgument<'py> = Option<PyReadonlyArray1<'py, i64>>;

/// The labels of an array's rows.
pub fn labels(given: &LabelsArgument<'_>) -> Option<Vec<Option<usize>>> {
    let given = given.as_ref()?;
    let known = given.as_array();
    Some(known.iter().map(|&one| usize::try_from(one).ok()).collect())
}

/// The numbers of an argument, borrowed so that they can be read without the interpreter.
pub enum Borrowed<'a> {
    Opened(&'a OpenedRows),
    Values {
        values: &'a [f32],
        width: usize,
        labels: Option<&'a [Option<usize>]>,
        given: Option<&'a GivenValues>,
    },
}

impl RowsArgument<'_> {
    /// Borrows them, with the labels of an array's.
    ///
    /// # Errors
    /// If an array is not row by row in memory.
    pub fn borrow<'a>(&'a self, labels: Option<&'a [Option<usize>]>) -> PyResult<Borrowed<'a>> {
        match self {
            Self::Opened(rows) => Ok(Borrowed::Opened(&rows.get().opened)),
            Self::Encoded(rows) => {
                let rows = rows.get();
                Ok(Borrowed::Values {
                    values: &rows.values,
                    width: rows.width,
                    labels,
                    given: Some(&rows.given),
                })
            }
            Self::Values(array) => {
                let values = array.as_slice().map_err(|_| {
                    bad_value("the rows must lie one after the other in memory (C order)")
                })?;
                Ok(Borrowed::Values {
                    values,
                    width: array.as_array().ncols(),
                    labels,
                    given: None,
                })
            }
        }
    }
}

impl<'a> Borrowed<'a> {
    /// The rows, of which an array's are what the schema says.
    ///
    /// # Errors
    /// If an array has another width than the schema, or not as many labels as rows.
    pub fn rows(&self, schema: &'a Schema) -> PyResult<Rows<'a>> {
        match *self {
            Self::Opened(opened) => Ok(opened.rows()),
            Self::Values {
                values,
                width,
                labels,
                given,
            } => {
                if width != schema.len() {
                    return Err(bad_value(&format!(
                        "the model takes rows of {} features, got {width}",
                        schema.len()
                    )));
                }
                let mut rows = Rows::new(values, schema).or_raise()?;
                if let Some(given) = given {
                    rows = rows.with_given(given);
                }
                match labels {
                    None => Ok(rows),
                    Some(labels) => rows.with_some_labels(labels).or_raise(),
                }
            }
        }
    }
}
