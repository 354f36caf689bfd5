//! Figure 4: rank correlations of the steps to the first flip with thickness and Hessian norm, by method and dataset.

use thickset::Result;
use thickset::bench::{Bench, Cell, Mark, Table, TableRow};
use thickset::statistics::Estimate;

use crate::TABLES;
use crate::bench_builder::BenchBuilder;
use crate::correlation::{METRICS, flips};
use crate::dataset_tables::{ChosenDatasets, PaperTable, SEEDS, choose_datasets};
use crate::runner::{BenchRunner, GridEntry};

/// The methods that the paper shows.
const SHOWN: [&str; 3] = ["vanilla", "est-h", "r2et"];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "fig4",
        "Figure 4: rank correlations with the steps to the first flip",
    );
    bench.note_training(runner);
    let (mut rows, mut higher, mut all) = (Vec::new(), 0_usize, 0_usize);
    let printed = PaperTable::figure(&["mnist-3-8-pairs", "adhd", "bp"]);
    let ChosenDatasets { to_run, not_run } = choose_datasets(runner, &TABLES, &printed)?;
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let entries = GridEntry::of(runner.options.methods_or(&SHOWN)?, &datasets)?;
        let grid = runner.grid(&datasets, entries)?;
        for (row, data) in grid.rows.iter().zip(flips(runner, &datasets, &grid)?) {
            let mut cells = Vec::new();
            for (metric, _) in METRICS {
                cells.push(match &data {
                    None => Cell::dash(row.dash()),
                    Some(data) => Cell::Number {
                        ours: Estimate {
                            value: data.correlation(metric)?,
                            interval: None,
                            count: data.steps.len(),
                        },
                        paper: None,
                        mark: Mark::None,
                    },
                });
            }
            if let Some(data) = &data {
                // The Hessian norm foretells by being small.
                let hessian = data.correlation("hessian")?.abs();
                for metric in ["adversarial", "gaussian", "least"] {
                    all += 1;
                    higher += usize::from(data.correlation(metric)? > hessian);
                }
            }
            let label = format!("{} on {name}", row.entry.label);
            rows.push(TableRow { label, cells });
        }
    }
    bench.add_finding(format!(
        "does thickness foretell the first flip better than the Hessian norm? in {higher} of {all} comparisons its rank correlation is higher \
         than the Hessian norm's in absolute value"
    ));
    bench.add_table(Table {
        title:
            "Spearman's correlation with the steps to the first flip, over the rows of all seeds"
                .to_owned(),
        corner: "model".to_owned(),
        columns: METRICS
            .iter()
            .map(|(_, label)| (*label).to_owned())
            .collect(),
        rows,
    });
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    Ok(bench.finish())
}
