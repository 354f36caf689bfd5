//! `thickset certify --tolerances`: between which values each number of a row may lie.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use thickset::model::{CertifyOptions, ToleratedRange};

use super::super::model_rows::Loaded;
use super::super::output::print;
use super::Arguments;

/// The values that one number of a row may take.
#[derive(Serialize)]
struct ToleranceLine<'a> {
    row: u64,
    #[serde(flatten)]
    range: &'a ToleratedRange,
}

/// Prints the ranges.
pub fn run(arguments: &Arguments, loaded: &Loaded, options: &CertifyOptions) -> Result<()> {
    let found = loaded.model.tolerances(&loaded.rows(), options)?;
    let mut text = String::new();
    for (place, ranges) in found.iter().enumerate() {
        let row = loaded.number(place);
        for range in ranges {
            if arguments.output.json {
                let line = ToleranceLine { row, range };
                writeln!(text, "{}", serde_json::to_string(&line)?)?;
            } else {
                let unit = range.unit.as_deref().unwrap_or_default();
                let line = format!(
                    "row {row}: the reasons hold for any {} between {:.6} and {:.6} {unit}",
                    range.feature, range.from, range.to
                );
                writeln!(text, "{}", line.trim_end())?;
            }
        }
    }
    print(&text)
}
