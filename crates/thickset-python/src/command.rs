//! The command, and the registry of methods.

use std::ffi::OsString;

use pyo3::prelude::*;
use thickset::registry;

/// Runs the command `thickset` with these arguments, the first of which is its name, and returns its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| thickset_cli::run(arguments))
}

/// Every method of the registry: its id, family and summary.
#[pyfunction]
pub fn methods() -> Vec<(String, String, String)> {
    let all = registry::METHODS.iter();
    all.map(|info| {
        (
            info.id.to_owned(),
            info.family.name().to_owned(),
            info.summary.to_owned(),
        )
    })
    .collect()
}
