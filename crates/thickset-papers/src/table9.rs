//! Table 9: faithfulness of the explanations, by DFFOT, COMP and SUFF.

use thickset::Result;
use thickset::bench::Bench;

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, table_over_datasets};
use crate::measure::Measure;
use crate::paper_numbers;
use crate::runner::BenchRunner;
use crate::table_column::{Better, TableColumn};
use crate::usual_measure::explain;

/// The three metrics: what they are called, where they are measured, and which way is better.
const METRICS: [(&str, &str, Better); 3] = [
    ("DFFOT", "dffot", Better::Lower),
    ("COMP", "comprehensiveness", Better::Higher),
    ("SUFF", "sufficiency", Better::Lower),
];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new("table9", "Table 9: faithfulness of the explanations");
    bench.add_setting("a removed feature", "is set to 0 in encoded units");
    let printed = PaperTable {
        table: "table9",
        numbers: |_| &["DFFOT", "COMP", "SUFF"],
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    table_over_datasets(
        runner,
        &mut bench,
        "DFFOT (lower is better), COMP (higher), SUFF (lower)",
        &printed,
        |_, datasets| {
            let grid = runner.grid(datasets, runner.entries(datasets)?)?;
            let found = runner.measure_chosen(datasets, &grid, "faithfulness", |data| {
                Measure::Faithfulness {
                    explain: explain(data),
                }
            })?;
            let mut columns = Vec::new();
            for (index, (name, what, better)) in METRICS.into_iter().enumerate() {
                columns.push(TableColumn::of_rows(
                    name.to_owned(),
                    &grid,
                    &found,
                    what,
                    (1.0, better),
                    |entry| paper_numbers::number("table9", &datasets.name, &entry.id, index),
                )?);
            }
            Ok((grid, columns))
        },
    )?;
    Ok(bench.finish())
}
