//! Figure 2: how many steps `ERAttack` needs to the first flip, against the row's thickness and against its Hessian norm.

use thickset::Result;
use thickset::bench::{Bench, Figure, Series, Style};

use crate::bench_builder::BenchBuilder;
use crate::correlation::{FlipData, METRICS, flips};
use crate::dataset_tables::{PaperTable, SEEDS, over_datasets};
use crate::runner::{BenchRunner, GridEntry};

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "fig2",
        "Figure 2: steps to the first flip against thickness and Hessian norm, R2ET on COMPAS",
    );
    bench.note_training(runner);
    over_datasets(
        runner,
        &mut bench,
        (&["compas"], &PaperTable::figure(&[])),
        SEEDS,
        |bench, datasets| {
            let name = &datasets.name;
            bench.note_datasets(datasets);
            let entries = GridEntry::of(runner.options.methods_or(&["r2et"])?, datasets)?;
            let grid = runner.grid(datasets, entries)?;
            for (row, data) in grid.rows.iter().zip(flips(runner, datasets, &grid)?) {
                let Some(data) = data else {
                    bench.add_finding(format!(
                        "{name}, {}: no number, {}",
                        row.entry.label,
                        row.dash()
                    ));
                    continue;
                };
                for (metric, label) in METRICS {
                    bench.add_figure(figure(name, &row.entry.label, metric, label, &data)?);
                }
                bench.add_finding(sentence(name, &row.entry.label, &data)?);
            }
            Ok(())
        },
    )?;
    Ok(bench.finish())
}

fn figure(
    dataset: &str,
    method: &str,
    metric: &'static str,
    label: &str,
    data: &FlipData,
) -> Result<Figure> {
    let points = data
        .steps
        .iter()
        .zip(data.metric(metric)?)
        .map(|(step, value)| [value, *step]);
    Ok(Figure {
        title: format!("{method} on {dataset}: {label}"),
        caption: format!(
            "Each point is a test row of one of the seeds; rank correlation {:.2}. Rows that never flip stand at the number of steps and one more.",
            data.correlation(metric)?
        ),
        x_label: label.to_owned(),
        y_label: "steps to the first flip".to_owned(),
        style: Style::Points,
        series: vec![Series {
            name: method.to_owned(),
            points: points.collect(),
        }],
    })
}

fn sentence(dataset: &str, method: &str, data: &FlipData) -> Result<String> {
    let mut parts = Vec::new();
    for (metric, label) in METRICS {
        parts.push(format!("{label} {:.2}", data.correlation(metric)?));
    }
    Ok(format!(
        "{dataset}, {method}: rank correlation of the steps to the first flip with {}; {} of {} rows never flip",
        parts.join(", "),
        data.never,
        data.steps.len()
    ))
}
