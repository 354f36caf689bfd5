//! Table 9: faithfulness of the explanations, by DFFOT, COMP and SUFF.

use super::column::{Better, Column};
use super::draft::Draft;
use super::lab::{Lab, explain};
use super::measure::Measure;
use super::paper;
use super::result::Bench;
use super::sheet::{Printed, sheet};
use crate::Result;

/// The three metrics: what they are called, where they are measured, and which way is better.
const METRICS: [(&str, &str, Better); 3] = [
    ("DFFOT", "dffot", Better::Lower),
    ("COMP", "comprehensiveness", Better::Higher),
    ("SUFF", "sufficiency", Better::Lower),
];

pub(super) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new("table9", "Table 9: faithfulness of the explanations");
    draft.setting("a removed feature", "is set to 0 in encoded units");
    let printed = Printed {
        table: "table9",
        numbers: |_| &["DFFOT", "COMP", "SUFF"],
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    sheet(
        lab,
        &mut draft,
        "DFFOT (lower is better), COMP (higher), SUFF (lower)",
        &printed,
        |_, bed| {
            let grid = lab.grid(bed, lab.entries(bed)?)?;
            let found =
                lab.measure_chosen(bed, &grid, "faithfulness", |field| Measure::Faithfulness {
                    explain: explain(field),
                })?;
            let mut columns = Vec::new();
            for (index, (name, what, better)) in METRICS.into_iter().enumerate() {
                columns.push(Column::of_rows(
                    name.to_owned(),
                    &grid,
                    &found,
                    what,
                    (1.0, better),
                    |entry| paper::number("table9", &bed.name, &entry.id, index),
                )?);
            }
            Ok((grid, columns))
        },
    )?;
    Ok(draft.done())
}
