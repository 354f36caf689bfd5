//! Audits of two functions that Python computes, without gradients. The library searches; here its points become rows in the columns'
//! own units and back. The functions run on the calling thread, which holds the interpreter anyway, so Ctrl-C is theirs.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use thickset::audit::{
    Answers, Event, GradientFreeAudit, GradientFreeConfig, gradient_free_observed,
};
use thickset::{Error, Rows, Schema};

use crate::arrays::{list, matrix, places};
use crate::errors::{OrRaise as _, bad_value, failure};
use crate::model::json;
use crate::options::read;
use crate::rows::{LabelsArgument, labels};

/// What an audit of functions came to.
#[pyclass(frozen, name = "FunctionAudit", module = "thickset._native")]
pub struct PyFunctionAudit {
    audit: GradientFreeAudit,
    /// The worst points in the columns' own units, row by row.
    perturbed: Vec<f64>,
}

#[pymethods]
impl PyFunctionAudit {
    /// The bytes of `audit.json`.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.audit.to_json().as_bytes())
    }

    /// The report's page.
    fn html(&self) -> PyResult<String> {
        thickset_report::gradient_free(&self.audit).map_err(|error| failure(&error.to_string()))
    }

    /// Everything but the rows, as JSON.
    fn summary(&self) -> PyResult<String> {
        let figures = self.audit.figures().into_iter().map(|(id, value)| {
            let interval = value.interval();
            serde_json::json!({
                "id": id,
                "value": value.value(),
                "low": interval.map(|interval| interval.low),
                "high": interval.map(|interval| interval.high),
            })
        });
        json(&serde_json::json!({
            "figures": figures.collect::<Vec<_>>(),
            "gate": self.audit.gate,
            "evaluations": self.audit.evaluations,
            "weaker": self.audit.weaker,
        }))
    }

    /// The worst point of each row, in the columns' own units.
    fn perturbed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let width = self.audit.features.len();
        Ok(matrix(py, self.perturbed.clone(), width)?.into_any())
    }

    /// The rows in brief: one array a field.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let rows = || self.audit.rows.iter();
        let answer = PyDict::new(py);
        answer.set_item("row", list(py, rows().map(|row| row.row).collect()))?;
        answer.set_item("class", places(py, rows().map(|row| row.class)))?;
        let found: Vec<&str> = rows().map(|row| row.found.name()).collect();
        answer.set_item("p_at_k", list(py, rows().map(|row| row.p_at_k).collect()))?;
        let noise = rows().map(|row| row.noise_p_at_k);
        answer.set_item("noise_p_at_k", list(py, noise.collect()))?;
        let falls = rows().map(|row| row.comprehensiveness);
        answer.set_item("comprehensiveness", list(py, falls.collect()))?;
        answer.set_item("found", found)?;
        Ok(answer)
    }
}

/// Numbers as the search moves them, and as the functions take them.
struct Units {
    schema: Schema,
    /// The own value of each number that a row has, so that what does not move is what it was to the last bit.
    exact: Vec<HashMap<u32, f64>>,
}

impl Units {
    fn new(names: &[String], low: &[f64], size: &[f64], moves: &[bool]) -> Self {
        let mut schema = Schema::table(names);
        let features = schema.features.iter_mut().zip(low).zip(size).zip(moves);
        for (((feature, &low), &size), &moves) in features {
            feature.offset = low;
            feature.factor = size;
            feature.immutable = !moves;
        }
        Self {
            exact: vec![HashMap::new(); names.len()],
            schema,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the search is single precision"
    )]
    fn scale(&mut self, rows: &PyReadonlyArray2<'_, f64>) -> Vec<f32> {
        let mut values = Vec::with_capacity(rows.as_array().len());
        for row in rows.as_array().rows() {
            let features = self.schema.features.iter().zip(&mut self.exact);
            for (&value, (feature, exact)) in row.iter().zip(features) {
                let scaled = ((value - feature.offset) / feature.factor) as f32;
                exact.entry(scaled.to_bits()).or_insert(value);
                values.push(scaled);
            }
        }
        values
    }

    fn own(&self, points: &[f32]) -> Vec<f64> {
        let width = self.schema.len();
        let mut own = Vec::with_capacity(points.len());
        for point in points.chunks_exact(width) {
            let features = self.schema.features.iter().zip(&self.exact);
            for (&value, (feature, exact)) in point.iter().zip(features) {
                let known = exact.get(&value.to_bits()).copied();
                own.push(known.unwrap_or_else(|| feature.decode(value)));
            }
        }
        own
    }
}

/// Audits `explain` of `predict`: both take rows in own units, `[rows, columns]` in double precision, and give probabilities and importances
/// in such arrays. A row moves in units of `size` from `low` on, where `moves` says so.
#[pyfunction]
#[pyo3(signature = (predict, explain, rows, names, low, size, moves, classes, labels_, settings, require, progress=None))]
#[expect(clippy::too_many_arguments, reason = "named where it is called")]
pub fn audit_functions(
    py: Python<'_>,
    predict: &Bound<'_, PyAny>,
    explain: &Bound<'_, PyAny>,
    rows: PyReadonlyArray2<'_, f64>,
    names: Vec<String>,
    low: Vec<f64>,
    size: Vec<f64>,
    moves: Vec<bool>,
    classes: usize,
    labels_: LabelsArgument<'_>,
    settings: &str,
    require: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyFunctionAudit> {
    let config: GradientFreeConfig = read("the settings", settings)?;
    let width = rows.as_array().ncols();
    if [names.len(), low.len(), size.len(), moves.len()] != [width; 4] {
        return Err(bad_value("every column must have a name and a range"));
    }
    let mut units = Units::new(&names, &low, &size, &moves);
    let values = units.scale(&rows);
    let labels = labels(&labels_);
    // What a function raises; the library's error only carries it past the search.
    let raised: RefCell<Option<PyErr>> = RefCell::new(None);
    let keep = |error: PyErr| {
        *raised.borrow_mut() = Some(error);
        Error::Empty {
            what: "the answer of a function that failed",
        }
    };
    let asked = |function: &Bound<'_, PyAny>, points: &[f32]| -> thickset::Result<Vec<f64>> {
        let answer = || -> PyResult<Vec<f64>> {
            py.check_signals()?;
            let points = matrix(py, units.own(points), width)?;
            let answer = function.call1((points,))?;
            let answer: PyReadonlyArray1<'_, f64> = answer.extract()?;
            Ok(answer.as_array().to_vec())
        };
        answer().map_err(keep)
    };
    let mut answers = Answers {
        classes,
        probabilities: &mut |points| asked(predict, points),
        importances: &mut |points| asked(explain, points),
    };
    let mut given = Rows::new(&values, &units.schema).or_raise()?;
    if let Some(labels) = labels.as_deref() {
        given = given.with_some_labels(labels).or_raise()?;
    }
    let mut watch = |event: &Event<'_>| {
        let (done, total, text) = match event {
            Event::Begin { rows, done } => (*done, *rows, String::new()),
            Event::Rows {
                done,
                rows,
                precision_at_k,
            } => (*done, *rows, format!("P@k {precision_at_k:.3} so far")),
            _ => return ControlFlow::Continue(()),
        };
        let answer = progress
            .as_ref()
            .map(|progress| progress.call1(py, (done, total, text)));
        match answer {
            Some(Err(error)) => {
                keep(error);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    };
    let found = gradient_free_observed(&mut answers, &given, &config, &mut watch);
    if let Some(error) = raised.into_inner() {
        return Err(error);
    }
    let found = found.or_raise()?;
    let mut audit = found.ok_or_else(|| failure("the audit was stopped"))?;
    audit.require(&require).or_raise()?;
    "functions".clone_into(&mut audit.name);
    let worst: Vec<f32> = audit
        .rows
        .iter()
        .flat_map(|row| row.worst.clone())
        .collect();
    Ok(PyFunctionAudit {
        perturbed: units.own(&worst),
        audit,
    })
}
