//! Models of other frameworks, from the bytes of ONNX files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Deserialize;
use thickset::onnx::{self, Imported, OnnxOptions};

use crate::columns::{PyColumn, columns};
use crate::errors::OrRaise as _;
use crate::model::PyModel;
use crate::options::read;
use crate::supervise::supervise;

/// What a file does not say itself.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OnnxSettings {
    output: Option<String>,
    columns: Vec<String>,
    classes: Vec<String>,
    target: Option<String>,
    units: BTreeMap<String, String>,
}

impl OnnxSettings {
    fn options(self) -> OnnxOptions {
        OnnxOptions {
            output: self.output,
            columns: self.columns,
            classes: self.classes,
            target: self.target,
            units: self.units,
            scales: BTreeMap::new(),
        }
    }
}

/// A model, what was understood of its file, the names of all columns that its inputs have, and whether distances have no scale.
type Answer = (PyModel, String, Vec<String>, bool);

/// Reads an ONNX file; `scale` are columns to take means and deviations from where the graph has no scaler.
#[pyfunction]
#[pyo3(signature = (path, settings, scale=None))]
pub fn load_onnx(
    py: Python<'_>,
    path: PathBuf,
    settings: &str,
    scale: Option<Vec<PyColumn<'_>>>,
) -> PyResult<Answer> {
    imported(py, settings, scale, |options| onnx::open(&path, options))
}

/// The same from the bytes of a file; `name` is what messages call it.
#[pyfunction]
#[pyo3(signature = (bytes, name, settings, scale=None))]
pub fn parse_onnx(
    py: Python<'_>,
    bytes: &[u8],
    name: &str,
    settings: &str,
    scale: Option<Vec<PyColumn<'_>>>,
) -> PyResult<Answer> {
    imported(py, settings, scale, |options| {
        onnx::parse(bytes, name, options)
    })
}

fn imported(
    py: Python<'_>,
    settings: &str,
    scale: Option<Vec<PyColumn<'_>>>,
    open: impl Fn(&OnnxOptions) -> thickset::Result<Imported> + Send + Sync,
) -> PyResult<Answer> {
    let mut options = read::<OnnxSettings>("the settings", settings)?.options();
    let scale = scale.map(columns);
    let (imported, wants_scale) = supervise(py, None, |_| {
        let mut imported = open(&options)?;
        if let Some(columns) = scale
            && imported.about.wants_scale
        {
            options.scales = onnx::scales_of_columns("the rows", columns, &imported)?;
            imported = open(&options)?;
        }
        let wants_scale = imported.about.wants_scale;
        Ok((imported, wants_scale))
    })?;
    let inputs = imported.inputs();
    let names = inputs.iter().flat_map(|(_, columns)| columns.clone());
    let names = names.collect();
    let about = imported.about.to_string();
    let model = PyModel::new(imported.model).or_raise()?;
    Ok((model, about, names, wants_scale))
}
