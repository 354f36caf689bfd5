//! Training: in memory from settings, or as the command does it from a `run.toml`.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pyo3::prelude::*;
use thickset::Dataset;
use thickset::config::{CheckedRun, RunConfig};
use thickset::train::{Event, RunFolder, Trained, train_into, train_observed};

use crate::dataset::PyDataset;
use crate::errors::{OrRaise as _, bad_value, failure};
use crate::model::PyModel;
use crate::options::read;
use crate::supervise::{Reporter, supervise};

/// A model, its epochs as JSON, the number of the selected one, and why training ended.
type Answer = (PyModel, String, usize, String);

/// Trains by settings in the form of `run.toml`, as JSON, and keeps all in memory.
#[pyfunction]
#[pyo3(signature = (settings, dataset, progress=None))]
pub fn train(
    py: Python<'_>,
    settings: &str,
    dataset: &Bound<'_, PyDataset>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    let run: RunConfig = read("the settings", settings)?;
    let run = run.check().or_raise()?;
    let dataset = &dataset.get().dataset;
    let trained = supervise(py, progress.as_ref(), |reporter| {
        observed(&run, dataset, reporter)
    })?;
    answer(trained)
}

/// Trains by a `run.toml` with single settings over it, as `thickset train` does: on its data, into the run's folder under `out`,
/// or in memory where `out` is absent.
#[pyfunction]
#[pyo3(signature = (path, overrides, out=None, resume=false, progress=None))]
pub fn train_run(
    py: Python<'_>,
    path: PathBuf,
    overrides: Vec<String>,
    out: Option<PathBuf>,
    resume: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    let text = thickset::file::read_text(&path).or_raise()?;
    let shown = path.display().to_string();
    let run = RunConfig::parse_with(&text, &shown, &overrides)
        .and_then(RunConfig::check)
        .or_raise()?;
    if !run.config().sweep.is_empty() {
        return Err(bad_value(
            "the configuration is a sweep of many runs; `thickset train` runs it",
        ));
    }
    let trained = supervise(py, progress.as_ref(), |reporter| {
        let config = run.config();
        let dataset = config.data.open(config.seed)?;
        match &out {
            None => observed(&run, &dataset, reporter),
            Some(out) => {
                let folder = RunFolder::new(out.join(&config.name));
                let mut watch = watching(reporter);
                train_into(&run, &dataset, &folder, resume, &mut watch)
            }
        }
    })?;
    answer(trained)
}

fn observed(
    run: &CheckedRun,
    dataset: &Dataset,
    reporter: &Reporter,
) -> thickset::Result<Option<Trained>> {
    train_observed(run, dataset, &mut watching(reporter))
}

/// Reports epochs.
fn watching(reporter: &Reporter) -> impl FnMut(&Event<'_>) -> ControlFlow<()> {
    let mut total = 0;
    move |event| {
        match event {
            Event::Begin { epochs, .. } => {
                total = *epochs;
                reporter.say(0, total, || "training".to_owned());
            }
            Event::Epoch(record) => reporter.say(record.epoch, total, || {
                let auc = record.auc.unwrap_or(record.accuracy);
                format!("loss {:.4}, validation {auc:.4}", record.loss)
            }),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn answer(trained: Option<Trained>) -> PyResult<Answer> {
    let Some(trained) = trained else {
        return Err(failure("the training was stopped"));
    };
    let epochs = serde_json::to_string(&trained.epochs)
        .map_err(|error| failure(&format!("the epochs are not plain data: {error}")))?;
    let model = PyModel::new(trained.model).or_raise()?;
    Ok((model, epochs, trained.selected.epoch, trained.reason))
}
