//! The native half of the Python package `thickset`: a thin binding. Every function here is a call into the library, with arrays in
//! and out; settings come as JSON in the form that `run.toml` has. The other half, in `python/thickset`, turns what people have
//! (data frames, pipelines, modules) into these calls and the answers into result objects.

mod arrays;
mod attack;
mod audit;
mod certify;
mod columns;
mod command;
mod dataset;
mod errors;
mod explain;
mod foreign;
mod functions;
mod model;
mod onnx;
mod options;
mod parts;
mod reasons;
mod row_settings;
mod rows;
mod supervise;
mod train;

use pyo3::prelude::*;

/// The module `thickset._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::audit::{PyAudit, PyComparison, compare};
    #[pymodule_export]
    use super::command::{command, methods};
    #[pymodule_export]
    use super::dataset::PyDataset;
    #[pymodule_export]
    use super::functions::{PyFunctionAudit, audit_functions};
    #[pymodule_export]
    use super::model::PyModel;
    #[pymodule_export]
    use super::onnx::{load_onnx, parse_onnx};
    #[pymodule_export]
    use super::reasons::PyReasons;
    #[pymodule_export]
    use super::rows::{PyEncodedRows, PyRows};
    #[pymodule_export]
    use super::train::{train, train_run};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("instruction_set", thickset_engine::instruction_set())?;
        // Texts that stand for a missing value, as in files.
        module.add("missing_texts", thickset::data::ReadRule::default().missing)
    }
}
