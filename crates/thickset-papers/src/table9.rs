//! Table 9: faithfulness of the explanations, by DFFOT, COMP and SUFF.

use thickset::Result;
use thickset::bench::Bench;

use crate::column::{Better, Column};
use crate::draft::Draft;
use crate::lab::{Lab, explain};
use crate::measure::Measure;
use crate::paper;
use crate::sheet::{Printed, sheet};

/// The three metrics: what they are called, where they are measured, and which way is better.
const METRICS: [(&str, &str, Better); 3] = [
    ("DFFOT", "dffot", Better::Lower),
    ("COMP", "comprehensiveness", Better::Higher),
    ("SUFF", "sufficiency", Better::Lower),
];

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
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
