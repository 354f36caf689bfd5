//! Reasons that a person can be given.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use thickset::reasons::{Reasons, ReasonsWriter};
use thickset::row_writer::RowFormat;

use crate::errors::{bad_value, failure};
use crate::model::json;
use crate::options::read;

/// Why rows were decided against.
#[pyclass(frozen, name = "Reasons", module = "thickset._native")]
pub struct PyReasons {
    reasons: Reasons,
}

impl PyReasons {
    pub fn new(reasons: Reasons) -> Self {
        Self { reasons }
    }
}

#[pymethods]
impl PyReasons {
    /// Reads what `content` gave.
    #[staticmethod]
    fn parse(content: &str) -> PyResult<Self> {
        read("the reasons", content).map(Self::new)
    }

    /// All of them, as JSON.
    fn content(&self) -> PyResult<String> {
        json(&self.reasons)
    }

    /// The bytes that `thickset reasons --out` writes: `csv`, `jsonl` or `parquet`.
    fn to_bytes<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let format = match format {
            "csv" => RowFormat::Csv,
            "jsonl" => RowFormat::JsonLines,
            "parquet" => RowFormat::Parquet,
            other => {
                return Err(bad_value(&format!(
                    "reasons are written as `csv`, `jsonl` or `parquet`, got `{other}`"
                )));
            }
        };
        let written = ReasonsWriter::new(Vec::new(), format)
            .and_then(|mut writer| {
                writer.write(&self.reasons)?;
                writer.finish()
            })
            .map_err(|error| failure(&format!("the reasons cannot be written: {error}")))?;
        Ok(PyBytes::new(py, &written))
    }

    /// The letter of the row at this place, a page to print.
    fn letter(&self, place: usize) -> PyResult<String> {
        let Some(row) = self.reasons.rows.get(place) else {
            return Err(bad_value(&format!(
                "there are reasons for {} rows, got place {place}",
                self.reasons.rows.len()
            )));
        };
        thickset_report::letter(&self.reasons, row).map_err(|error| failure(&error.to_string()))
    }
}
