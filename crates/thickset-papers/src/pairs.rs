//! Pairs of threes and eights: whether a Siamese network learns from every seed. Not in the papers, which say nothing of seeds.

use thickset::Result;
use thickset::bench::{Bench, Cell, Table, TableRow};

use crate::bench_builder::BenchBuilder;
use crate::dataset_tables::{PaperTable, over_datasets};
use crate::method::{BenchMethod, VANILLA};
use crate::runner::{BenchRunner, GridEntry, SeededDatasets, TrainingPlan};
use crate::usual_measure::clean;

/// Seeds where the options name no number.
const SEEDS: u64 = 10;
/// Epochs where the options name no number: the AUC hardly rises after them.
const EPOCHS: usize = 5;
/// The test AUC that counts as having learnt.
const LEARNT: f64 = 0.98;

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut options = runner.options.clone();
    options.epochs.get_or_insert(EPOCHS);
    let runner = &BenchRunner::new(&options, runner.on_step)?;
    let mut bench = BenchBuilder::new("pairs", "Pairs: vanilla's AUC from every seed");
    bench.add_setting(
        "epochs",
        format!(
            "{}, the one with the best validation AUC is kept",
            options.training_epochs()
        ),
    );
    let own = ["mnist-3-8-pairs"];
    over_datasets(
        runner,
        &mut bench,
        (&own, &PaperTable::figure(&[])),
        SEEDS,
        |bench, datasets| {
            bench.note_datasets(datasets);
            judge(runner, bench, datasets)
        },
    )?;
    Ok(bench.finish())
}

fn judge(
    runner: &BenchRunner<'_>,
    bench: &mut BenchBuilder,
    datasets: &SeededDatasets,
) -> Result<()> {
    let plan = TrainingPlan {
        by_auc: true,
        ..runner.scratch(datasets)
    };
    let vanilla = GridEntry::new(BenchMethod::find(VANILLA)?, datasets)?;
    let grid = runner.grid_by(datasets, vec![vanilla], &plan)?;
    let row = &grid.rows[0];
    let trained: Vec<_> = row.trained.iter().flatten().collect();
    let Some(found) = runner
        .measure_chosen(datasets, &grid, "clean", clean)?
        .remove(0)
    else {
        bench.add_finding(format!("{}: no number, {}", datasets.name, row.dash()));
        return Ok(());
    };
    let (mut rows, mut least) = (Vec::new(), f64::INFINITY);
    for ((data, trained), found) in datasets.seeds.iter().zip(trained).zip(&found) {
        let test = found.number("auc")?;
        least = least.min(test);
        let selected = trained.selected.map_or(Cell::dash(&trained.ending), |one| {
            Cell::Text(one.epoch.to_string())
        });
        rows.push(TableRow {
            label: data.seed.number().to_string(),
            cells: vec![selected, Cell::number(trained.best_auc), Cell::number(test)],
        });
    }
    let learnt = if least > LEARNT { "yes" } else { "no" };
    bench.add_finding(format!(
        "{}: does every seed learn, with a test AUC above {LEARNT}? {learnt}: the least of {} is {least:.4}",
        datasets.name,
        rows.len()
    ));
    bench.add_table(Table {
        title: format!("{}: AUC of vanilla", datasets.name),
        corner: "seed".to_owned(),
        columns: ["epoch", "validation AUC", "test AUC"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    });
    Ok(())
}
