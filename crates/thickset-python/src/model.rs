//! Models: what one asks for predictions, explanations, attacks and certificates.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use thickset::attack::decoded;
use thickset::data::InputShape;
use thickset::model::{Fresh, Origin};
use thickset::onnx::ExportOptions;
use thickset::{Model, Rows, Schema, Seed};
use thickset_engine::NetworkBuilder;

use crate::arrays::matrix;
use crate::attack;
use crate::audit::PyAudit;
use crate::certify;
use crate::columns::{PyColumn, columns};
use crate::errors::{OrRaise as _, bad_value, failure};
use crate::explain;
use crate::foreign::PythonLayer;
use crate::options::{Options, read};
use crate::parts::in_parts;
use crate::reasons::PyReasons;
use crate::row_settings::RowSettings;
use crate::rows::{LabelsArgument, PyEncodedRows, PyRows, RowsArgument, labels};
use crate::supervise::supervise;

/// Rows that reasons are given for between two reports of progress.
const REASONED: usize = 32;

/// A network and what it is.
#[pyclass(frozen, name = "Model", module = "thickset._native")]
pub struct PyModel {
    pub model: Arc<Model>,
}

impl PyModel {
    /// Takes a model, and what its file's folder says of it now: the file may go away later.
    pub fn new(model: Model) -> thickset::Result<Self> {
        Ok(Self {
            model: Arc::new(model.detached()?),
        })
    }
}

#[pymethods]
impl PyModel {
    /// Reads a model file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        Model::load(&path).and_then(Self::new).or_raise()
    }

    /// The model of a file's bytes, and of what was known of it.
    #[staticmethod]
    #[pyo3(signature = (bytes, origin=None))]
    fn from_bytes(bytes: &[u8], origin: Option<&str>) -> PyResult<Self> {
        let origin: Option<Origin> = origin
            .map(|json| read("what is known of the model", json))
            .transpose()?;
        Model::from_bytes(bytes, origin)
            .and_then(Self::new)
            .or_raise()
    }

    /// A model that a Python object computes (see the Rust module `foreign`); `shape` is that of one row.
    #[staticmethod]
    fn foreign(
        network: Py<PyAny>,
        shape: Vec<usize>,
        classes: Vec<String>,
        names: Vec<String>,
    ) -> PyResult<Self> {
        let features = shape.iter().product();
        let schema = match shape[..] {
            [channels @ (1 | 3), height, width] => Schema::image(channels, height, width, 255.0),
            _ if names.is_empty() => Schema::of_shape(&InputShape::Table, features),
            _ => Schema::table(&names),
        };
        let layer = PythonLayer::new(network, features, classes.len());
        let mut source = Fresh::new(Seed::new(0));
        let mut builder = NetworkBuilder::new(features, &mut source);
        let network = builder.then(|_| Ok(layer)).and_then(|_| builder.finish());
        let network = network.map_err(|error| bad_value(&error.to_string()))?;
        Model::of_network(network, schema, classes)
            .and_then(Self::new)
            .or_raise()
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.model.to_bytes())
    }

    /// What is known of it beside its weights, as JSON.
    fn origin(&self) -> PyResult<String> {
        json(&self.model.origin().or_raise()?)
    }

    /// Writes the model's file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.save(&path).or_raise()
    }

    /// What the weights are of, as JSON.
    #[getter]
    fn description(&self) -> PyResult<String> {
        json(&self.model.description)
    }

    /// Names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.model.classes().to_vec()
    }

    /// Names of the encoded features.
    #[getter]
    fn features(&self) -> Vec<String> {
        let features = self.model.schema().features.iter();
        features.map(|feature| feature.name.clone()).collect()
    }

    /// The original columns, in order; none where the model takes numbers as they are.
    #[getter]
    fn columns(&self) -> Option<Vec<String>> {
        let encoding = self.model.description.encoding.as_ref()?;
        let columns = encoding.columns.iter();
        Some(columns.map(|column| column.name().to_owned()).collect())
    }

    /// The original column that each feature comes from.
    #[getter]
    fn column_of_feature(&self) -> Vec<String> {
        let features = self.model.schema().features.iter();
        features.map(|feature| feature.column.clone()).collect()
    }

    /// Rows of columns as the network reads them.
    fn encode(
        &self,
        py: Python<'_>,
        name: &str,
        given: Vec<PyColumn<'_>>,
    ) -> PyResult<PyEncodedRows> {
        let columns = columns(given);
        let model = &self.model;
        let encoded = py.detach(|| model.encode(name, columns)).or_raise()?;
        let unseen = encoded.unseen.iter().map(|(column, count)| {
            format!("{count} rows have a `{column}` that the model has never seen")
        });
        Ok(PyEncodedRows {
            notes: unseen.collect(),
            values: encoded.values,
            given: encoded.given,
            width: self.model.schema().len(),
        })
    }

    /// Opens rows by the name of a dataset or file, as the command's `--data` does.
    #[pyo3(signature = (settings, labelled))]
    fn open_rows(&self, py: Python<'_>, settings: &str, labelled: bool) -> PyResult<PyRows> {
        let settings: RowSettings = read("the rows' settings", settings)?;
        let selection = settings.selection();
        let config = settings.config()?;
        let opened = py.detach(|| {
            if labelled {
                self.model.open_labelled_selected(&config, &selection)
            } else {
                self.model.open_selected(&config, &selection)
            }
        });
        opened.or_raise().map(|opened| PyRows { opened })
    }

    /// The probabilities of the classes, `[rows, classes]`.
    fn predict_proba<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows.borrow(None)?;
        let rows = rows.rows(self.model.schema())?;
        let found = supervise(py, None, |_| self.model.predict(&rows))?;
        let values = found.into_iter().flat_map(|row| row.probabilities);
        let values = values.collect();
        Ok(matrix(py, values, self.model.classes().len())?.into_any())
    }

    /// What the last layer computes, `[rows, classes]`.
    fn logits<'py>(&self, py: Python<'py>, rows: RowsArgument<'_>) -> PyResult<Bound<'py, PyAny>> {
        let rows = rows.borrow(None)?;
        let rows = rows.rows(self.model.schema())?;
        let logits = supervise(py, None, |_| self.model.logits(&rows))?;
        Ok(matrix(py, logits, self.model.classes().len())?.into_any())
    }

    /// Why the model predicts what it predicts, or would predict the target classes.
    #[pyo3(signature = (rows, options, progress=None, target=None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        options: &str,
        progress: Option<Py<PyAny>>,
        target: Option<Vec<usize>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        explain::explain(py, &self.model, &rows, options, progress, target)
    }

    /// How far a small change of a row changes its explanation.
    #[pyo3(signature = (rows, options, progress=None))]
    fn attack<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        options: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        attack::attack(py, &self.model, &rows, options, progress)
    }

    /// What no small move of a row can do to its explanation, proved.
    #[pyo3(signature = (rows, options, progress=None))]
    fn certify<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
        options: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        certify::certify(py, &self.model, &rows, options, progress)
    }

    /// Why rows are decided against, and how far those reasons hold.
    #[pyo3(signature = (rows, options, progress=None))]
    fn reasons(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        options: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyReasons> {
        let options = read::<Options>("the options", options)?;
        let rows = rows.borrow(None)?;
        let rows = rows.rows(self.model.schema())?;
        let found = supervise(py, progress.as_ref(), |reporter| {
            let options = options.reasons()?;
            let ask = |part: &Rows<'_>, _| self.model.reasons(part, &options);
            in_parts(rows, REASONED, reporter, ask, |all, mut found| {
                all.rows.append(&mut found.rows);
            })
        })?;
        found
            .map(PyReasons::new)
            .ok_or_else(|| bad_value("there are no rows to give reasons for"))
    }

    /// A file of codes to begin with, for the model's columns.
    fn codes_template(&self) -> String {
        thickset::reasons::template(self.model.schema())
    }

    /// The bytes of an ONNX file.
    fn to_onnx<'py>(&self, py: Python<'py>, encoded: bool) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.model.to_onnx(ExportOptions { encoded }).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Refuses the model where its probabilities differ from these, `[rows, classes]`; the largest difference.
    fn check_probabilities(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        expected: PyReadonlyArray2<'_, f64>,
        tolerance: f64,
    ) -> PyResult<f64> {
        let expected: Vec<f64> = expected.as_array().iter().copied().collect();
        let rows = rows.borrow(None)?;
        let rows = rows.rows(self.model.schema())?;
        supervise(py, None, |_| {
            let compared = self
                .model
                .compare_probabilities(&rows, &expected, tolerance)?;
            Ok(compared.check()?.largest)
        })
    }

    /// The same model with reference rows learned from encoded ones.
    fn with_references_of(
        &self,
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f32>,
    ) -> PyResult<Self> {
        let values: Vec<f32> = rows.as_array().iter().copied().collect();
        let model = (*self.model).clone();
        supervise(py, None, |_| model.with_references_of(&values)?.detached()).map(|model| Self {
            model: Arc::new(model),
        })
    }

    /// How far the explanations can be trusted, over all rows.
    #[pyo3(signature = (rows, labels_, options, progress=None))]
    fn audit(
        &self,
        py: Python<'_>,
        rows: RowsArgument<'_>,
        labels_: LabelsArgument<'_>,
        options: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyAudit> {
        let options = read::<Options>("the options", options)?.audit();
        let labels = labels(&labels_);
        let rows = rows.borrow(labels.as_deref())?;
        let rows = rows.rows(self.model.schema())?;
        let found = supervise(py, progress.as_ref(), |reporter| {
            let mut watch = crate::audit::watching(reporter);
            self.model.audit_observed(&rows, &options, &mut watch)
        })?;
        found
            .map(PyAudit::new)
            .ok_or_else(|| failure("the audit was stopped"))
    }

    /// The columns of encoded rows as a person knows them: texts, row by row, and numbers, NaN for what is none.
    fn column_values<'py>(
        &self,
        py: Python<'py>,
        rows: RowsArgument<'_>,
    ) -> PyResult<(Vec<Vec<String>>, Bound<'py, PyAny>)> {
        let (mut texts, mut numbers, mut width) = (Vec::new(), Vec::new(), 0);
        let rows = rows.borrow(None)?;
        let rows = rows.rows(self.model.schema())?;
        for place in 0..rows.len() {
            let values = self.model.column_values(&rows, place);
            width = values.len();
            numbers.extend(values.iter().map(|value| value.number.unwrap_or(f64::NAN)));
            texts.push(values.into_iter().map(|value| value.text).collect());
        }
        Ok((texts, matrix(py, numbers, width)?.into_any()))
    }

    /// A row in its columns' own units: pairs of name and value.
    fn decode(&self, py: Python<'_>, row: Vec<f64>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        let schema = self.model.schema();
        if row.len() != schema.len() {
            return Err(bad_value(&format!(
                "a row has {} features, got {}",
                schema.len(),
                row.len()
            )));
        }
        let cells = decoded(schema, &row).into_iter();
        cells
            .map(|cell| Ok((cell.name, value(py, &cell.value)?)))
            .collect()
    }
}

fn value(py: Python<'_>, value: &thickset::attack::Value) -> PyResult<Py<PyAny>> {
    Ok(match value {
        thickset::attack::Value::Number(number) => number.into_pyobject(py)?.into_any().unbind(),
        thickset::attack::Value::Category(text) => text.into_pyobject(py)?.into_any().unbind(),
    })
}

/// Plain data as JSON.
///
/// # Errors
/// Never for plain data.
pub fn json(data: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(data).map_err(|error| failure(&format!("not plain data: {error}")))
}
