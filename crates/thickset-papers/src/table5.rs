//! Table 5: P@k under `ERAttack` beside the thickness of the dataset, in its probability form; also towards random neighbours,
//! and as the gap itself.

use thickset::Result;
use thickset::bench::Bench;

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, table_over_datasets};
use crate::paper_numbers;
use crate::runner::BenchRunner;
use crate::table_column::{Better, PERCENT, TableColumn};
use crate::usual_measure::{adversarial, attack, er_attack, gaussian};

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new("table5", "Table 5: P@k under ERAttack and thickness");
    let printed = PaperTable {
        table: "table5",
        numbers: |_| &["P@k", "thickness"],
        others: &["mnist-3-8-pairs", "adhd", "bp"],
    };
    table_over_datasets(
        runner,
        &mut bench,
        "P@k in per cent and thickness",
        &printed,
        |_, datasets| {
            let grid = runner.grid(datasets, runner.entries(datasets)?)?;
            let er = runner.measure_chosen(datasets, &grid, "ERAttack", |data| {
                attack(er_attack(data), data)
            })?;
            let along =
                runner.measure_chosen(datasets, &grid, "adversarial thickness", adversarial)?;
            let around = runner.measure_chosen(datasets, &grid, "thickness", gaussian)?;
            let higher = |scale| (scale, Better::Higher);
            let column = |name: &str, found, what, scale, index: Option<usize>| {
                TableColumn::of_rows(
                    name.to_owned(),
                    &grid,
                    found,
                    what,
                    higher(scale),
                    |entry| paper_numbers::number("table5", &datasets.name, &entry.id, index?),
                )
            };
            let columns = vec![
                column("P@k", &er, "precision", PERCENT, Some(0))?,
                column("thickness (ERAttack)", &along, "probability", 1.0, Some(1))?,
                column("thickness (gaussian)", &around, "probability", 1.0, None)?,
                column("mean gap (gaussian)", &around, "gap", 1.0, None)?,
            ];
            Ok((grid, columns))
        },
    )?;
    Ok(bench.finish())
}
