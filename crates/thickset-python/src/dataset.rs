//! Datasets: columns in memory, plain rows, or a known name or file.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use serde::Deserialize;
use thickset::config::DataConfig;
use thickset::data::{ColumnsConfig, InferOptions, Part, Scale, Split};
use thickset::{Dataset, Seed};

use crate::arrays::places;
use crate::columns::{PyColumn, columns};
use crate::errors::{OrRaise as _, bad_value};
use crate::options::read;
use crate::supervise::supervise;

/// Rows with labels, names and a split.
#[pyclass(frozen, name = "Dataset", module = "thickset._native")]
pub struct PyDataset {
    pub dataset: Dataset,
}

/// How columns in memory are read.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ColumnSettings {
    name: String,
    target: String,
    seed: u64,
    validation: Option<f64>,
    scale: Scale,
    drop: Vec<String>,
    immutable: Vec<String>,
    keep_numbers: bool,
}

impl Default for ColumnSettings {
    fn default() -> Self {
        let usual = ColumnsConfig::default();
        Self {
            name: usual.name,
            target: usual.target,
            seed: 0,
            validation: None,
            scale: Scale::default(),
            drop: Vec::new(),
            immutable: Vec::new(),
            keep_numbers: false,
        }
    }
}

#[pymethods]
impl PyDataset {
    /// A table of columns, encoded as a file's would be. `labels` are places in `classes`.
    #[staticmethod]
    #[pyo3(signature = (given, labels, classes, settings, weights=None))]
    fn from_columns(
        py: Python<'_>,
        given: Vec<PyColumn<'_>>,
        labels: PyReadonlyArray1<'_, i64>,
        classes: Vec<String>,
        settings: &str,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let settings: ColumnSettings = read("the data's settings", settings)?;
        let config = ColumnsConfig {
            name: settings.name,
            target: settings.target,
            seed: Seed::new(settings.seed),
            validation: settings.validation,
            infer: InferOptions {
                scale: settings.scale,
                drop: settings.drop,
                immutable: settings.immutable,
                keep_numbers: settings.keep_numbers,
                ..InferOptions::default()
            },
        };
        let labels = whole(&labels)?;
        let weights = weights.map(|weights| weights.as_array().iter().copied().collect());
        let columns = columns(given);
        let dataset = supervise(py, None, |_| {
            weighed(
                Dataset::from_columns(columns, labels, classes, &config)?,
                weights,
            )
        })?;
        Ok(Self { dataset })
    }

    /// Rows of numbers that are used as they are.
    #[staticmethod]
    #[pyo3(signature = (values, labels, names, classes, seed=0, validation=None, weights=None))]
    fn from_rows(
        values: PyReadonlyArray2<'_, f32>,
        labels: PyReadonlyArray1<'_, i64>,
        names: Vec<String>,
        classes: Vec<String>,
        seed: u64,
        validation: Option<f64>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let values = values.as_array().iter().copied().collect();
        let labels = whole(&labels)?;
        let dataset = Dataset::from_rows(values, labels, &names)
            .and_then(|dataset| dataset.with_classes(classes))
            .or_raise()?;
        let mut dataset = dataset.with_split(Seed::new(seed));
        if let Some(share) = validation {
            dataset.split = Split::without_test(&dataset.labels, share, Seed::new(seed));
        }
        let weights = weights.map(|weights| weights.as_array().iter().copied().collect());
        weighed(dataset, weights)
            .or_raise()
            .map(|dataset| Self { dataset })
    }

    /// A known dataset's name, or a file or folder; the settings are those under `[data]` in `run.toml`.
    #[staticmethod]
    fn open(py: Python<'_>, settings: &str, seed: u64) -> PyResult<Self> {
        let config: DataConfig = read("the data's settings", settings)?;
        let dataset = supervise(py, None, |_| config.open(Seed::new(seed)))?;
        Ok(Self { dataset })
    }

    fn __len__(&self) -> usize {
        self.dataset.rows()
    }

    /// What was left out or assumed.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.dataset.notes.clone()
    }

    /// Names of the encoded features.
    #[getter]
    fn features(&self) -> Vec<String> {
        let features = self.dataset.schema.features.iter();
        features.map(|feature| feature.name.clone()).collect()
    }

    /// Names of the classes.
    #[getter]
    fn classes(&self) -> Vec<String> {
        self.dataset.classes.clone()
    }

    /// The numbers of the rows of a part (`train`, `validation`, `test`), counted from 0.
    fn part<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let parts = [Part::Train, Part::Validation, Part::Test];
        let Some(part) = parts.into_iter().find(|part| part.name() == name) else {
            return Err(bad_value(&format!(
                "a part is `train`, `validation` or `test`, got `{name}`"
            )));
        };
        let rows = self.dataset.part(part).iter().copied();
        Ok(places(py, rows).into_any())
    }
}

fn whole(labels: &PyReadonlyArray1<'_, i64>) -> PyResult<Vec<usize>> {
    let labels = labels.as_array();
    let label = |&label: &i64| usize::try_from(label);
    labels
        .iter()
        .map(label)
        .collect::<Result<_, _>>()
        .map_err(|_| bad_value("labels must count from 0"))
}

fn weighed(dataset: Dataset, weights: Option<Vec<f64>>) -> thickset::Result<Dataset> {
    match weights {
        None => Ok(dataset),
        Some(weights) => dataset.with_weights(weights),
    }
}
