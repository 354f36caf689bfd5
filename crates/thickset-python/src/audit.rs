//! Audits and comparisons of two of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use thickset::audit::compare::{self as comparing, Compared};
use thickset::audit::figure::FIGURES;
use thickset::audit::{Audit, Event};

use crate::arrays::{list, places};
use crate::errors::{OrRaise as _, failure};
use crate::model::{PyModel, json};
use crate::options::{Options, read};
use crate::rows::{LabelsArgument, RowsArgument, labels};
use crate::supervise::{Reporter, supervise};

/// What an audit came to.
#[pyclass(frozen, name = "Audit", module = "thickset._native")]
pub struct PyAudit {
    audit: Arc<Audit>,
}

impl PyAudit {
    pub fn new(audit: Audit) -> Self {
        Self {
            audit: Arc::new(audit),
        }
    }
}

#[pymethods]
impl PyAudit {
    /// Reads an `audit.json`.
    #[staticmethod]
    fn parse(text: &str, path: &str) -> PyResult<Self> {
        Audit::parse(text, path).or_raise().map(Self::new)
    }

    /// The bytes of `audit.json`.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.audit.to_bytes())
    }

    /// The report's page of this audit and others.
    #[pyo3(signature = (others=Vec::new()))]
    fn html(&self, others: Vec<Bound<'_, PyAudit>>) -> PyResult<String> {
        let mut audits = vec![(*self.audit).clone()];
        audits.extend(others.iter().map(|one| (*one.get().audit).clone()));
        thickset_report::audit(&audits).map_err(|error| failure(&error.to_string()))
    }

    /// Everything but the rows, as JSON.
    fn summary(&self) -> PyResult<String> {
        let audit = &*self.audit;
        let figures: Vec<_> = FIGURES
            .iter()
            .filter_map(|figure| {
                let value = audit.summary.get(figure)?;
                let interval = value.interval();
                Some(serde_json::json!({
                    "id": figure.id,
                    "label": figure.short(audit.settings.k),
                    "value": value.value(),
                    "low": interval.map(|interval| interval.low),
                    "high": interval.map(|interval| interval.high),
                }))
            })
            .collect();
        json(&serde_json::json!({
            "figures": figures,
            "gate": audit.gate,
            "model": audit.model.name,
            "data": audit.data.name,
            "features": audit.data.features,
            "k": audit.settings.k,
            "rows": audit.rows.len(),
            "classes": audit.model.classes,
        }))
    }

    /// Whether everything that was required holds.
    #[getter]
    fn passed(&self) -> bool {
        self.audit.gate.iter().all(|one| one.holds)
    }

    /// The rows in brief: one array a field.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = || self.audit.rows.iter();
        let answer = PyDict::new(py);
        answer.set_item("row", list(py, rows().map(|row| row.row).collect()))?;
        let label = |label: Option<usize>| label.and_then(|label| i64::try_from(label).ok());
        let labels = rows().map(|row| label(row.label).unwrap_or(-1));
        answer.set_item("label", list(py, labels.collect()))?;
        answer.set_item("class", places(py, rows().map(|row| row.class)))?;
        let precision = rows().map(|row| row.precision);
        answer.set_item("p_at_k", list(py, precision.collect::<Vec<f64>>()))?;
        let attacks: Vec<&str> = rows().map(|row| row.attack.name()).collect();
        answer.set_item("attack", attacks)?;
        for figure in FIGURES.iter().filter(|figure| figure.id != "p_at_k") {
            let values: Vec<Option<f64>> = rows().map(|row| figure.of_row(&row)).collect();
            if values.iter().any(Option::is_some) {
                let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
                answer.set_item(figure.id, list(py, values.collect::<Vec<f64>>()))?;
            }
        }
        Ok(answer)
    }
}

/// Two models on the same rows.
#[pyclass(frozen, name = "Comparison", module = "thickset._native")]
pub struct PyComparison {
    compared: Compared,
    audits: [Arc<Audit>; 2],
}

#[pymethods]
impl PyComparison {
    /// The bytes of `compare.json`.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.compared.to_bytes())
    }

    /// The audits of both.
    #[getter]
    fn audits(&self) -> (PyAudit, PyAudit) {
        let [a, b] = &self.audits;
        let one = |audit: &Arc<Audit>| PyAudit {
            audit: Arc::clone(audit),
        };
        (one(a), one(b))
    }

    /// Whether everything that was required holds.
    #[getter]
    fn passed(&self) -> bool {
        self.compared.gate.iter().all(|one| one.holds)
    }
}

/// Audits two models on the same rows with the same settings, those of the first, and compares them row by row.
#[pyfunction]
#[pyo3(signature = (a, rows_a, b, rows_b, labels_, options, progress=None))]
#[expect(clippy::too_many_arguments, reason = "named where it is called")]
pub fn compare(
    py: Python<'_>,
    a: &Bound<'_, PyModel>,
    rows_a: RowsArgument<'_>,
    b: &Bound<'_, PyModel>,
    rows_b: RowsArgument<'_>,
    labels_: LabelsArgument<'_>,
    options: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyComparison> {
    let mut options = read::<Options>("the options", options)?.audit();
    let require = std::mem::take(&mut options.require);
    let labels = labels(&labels_);
    let (a, b) = (&a.get().model, &b.get().model);
    let (rows_a, rows_b) = (
        rows_a.borrow(labels.as_deref())?,
        rows_b.borrow(labels.as_deref())?,
    );
    let (rows_a, rows_b) = (rows_a.rows(a.schema())?, rows_b.rows(b.schema())?);
    let found = supervise(py, progress.as_ref(), |reporter| {
        let (of_a, of_b) = (a.origin()?, b.origin()?);
        let rules = comparing::rules(&of_b.require(&require))?;
        comparing::check_targets(
            &a.audit_target(&of_a, &rows_a, &options),
            &b.audit_target(&of_b, &rows_b, &options),
        )?;
        let config = a.audit_config(&of_a, &rows_a, &options)?;
        let mut watch = watching(reporter);
        let first = a.audit_as(&of_a, &rows_a, &options, &config, &mut watch)?;
        let second = b.audit_as(&of_b, &rows_b, &options, &config, &mut watch)?;
        let (Some(first), Some(second)) = (first, second) else {
            return Ok(None);
        };
        let compared = comparing::compare(&first, &second, &rules)?;
        Ok(Some(PyComparison {
            compared,
            audits: [first, second].map(Arc::new),
        }))
    })?;
    found.ok_or_else(|| failure("the comparison was stopped"))
}

/// Reports the rows of an audit.
pub fn watching(reporter: &Reporter) -> impl FnMut(&Event<'_>) -> ControlFlow<()> {
    |event| {
        match event {
            Event::Begin { rows, done } => reporter.say(*done, *rows, || "auditing".to_owned()),
            Event::Rows {
                done,
                rows,
                precision_at_k,
            } => reporter.say(*done, *rows, || format!("P@k {precision_at_k:.3} so far")),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
