//! How stable explanations could be at all: the limit that the rows' geometry sets to models that tell them these features.

use thickset::Result;
use thickset::bench::Bench;

use crate::TABLES;
use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{ChosenDatasets, PaperTable, SEEDS, choose_datasets};
use crate::measure::Measure;
use crate::runner::{BenchRunner, Grid, GridEntry, SeededDatasets};
use crate::seeded_dataset::SeededDataset;
use crate::table_column::{Better, PERCENT, TableColumn, labels, table};
use crate::usual_measure::{clean, explain, suite};

/// The methods of the table where none is named.
const METHODS: [&str; 3] = ["linear", "vanilla", "segmented"];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "limit",
        "The stability limit: the highest mean P@k that the rows' geometry allows, beside what the suite leaves",
    );
    bench.note_training(runner);
    bench.add_setting(
        "the limit",
        "the linear program P(x) + P(y) <= 1 + overlap(x, y) over attacked rows of one predicted class within two radii, between which the model \
         predicts that class too; the sets are the model's own",
    );
    let ChosenDatasets { to_run, .. } = choose_datasets(runner, &TABLES, &PaperTable::figure(&[]))?;
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let entries = GridEntry::of(runner.options.methods_or(&METHODS)?, &datasets)?;
        let grid = runner.grid(&datasets, entries)?;
        let worst = runner.measure_chosen(&datasets, &grid, "suite", |data| {
            suite(data, runner.options)
        })?;
        let told = runner.measure_chosen(&datasets, &grid, "clean", clean)?;
        let [limit, near] = columns(runner, &datasets, &grid)?;
        let found = TableColumn::of_rows(
            "suite".to_owned(),
            &grid,
            &worst,
            "precision",
            (PERCENT, Better::Unmarked),
            |_| None,
        )?;
        let distinct = TableColumn::of_numbers(
            "distinctness".to_owned(),
            &grid,
            &told,
            "distinctness",
            Better::Unmarked,
            |_| None,
        )?;
        let title = format!("{}: the limit of P@k in per cent", datasets.name);
        bench.add_table(table(
            &title,
            &labels(&grid),
            &[limit, found, near, distinct],
        )?);
    }
    Ok(bench.finish())
}

/// The limit, and the share of near pairs, of every row of a grid.
pub(crate) fn columns(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
) -> Result<[TableColumn; 2]> {
    let found = runner.measure_chosen(datasets, grid, "limit", limit)?;
    let column = |name: &str, what| -> Result<TableColumn> {
        let name = name.to_owned();
        let column = TableColumn::of_numbers(name, grid, &found, what, Better::Unmarked, |_| None)?;
        Ok(TableColumn {
            whole: Some(PERCENT),
            ..column
        })
    };
    Ok([
        column("limit", "limit")?,
        column("near pairs, %", "near pairs")?,
    ])
}

fn limit(data: &SeededDataset) -> Measure {
    Measure::Limit {
        k: data.k,
        radius: data.radius,
        explain: explain(data),
    }
}
