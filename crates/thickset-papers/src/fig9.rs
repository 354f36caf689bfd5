//! Figure 9: P@k against k', the number of pairs whose gap R2ET without the Hessian term widens.

use thickset::Result;
use thickset::bench::{Bench, Figure, Series, Style};
use thickset::objective::ObjectiveConfig;
use thickset::objective::term::gap::Pairs;

use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{PaperTable, SEEDS, over_datasets};
use crate::method::{BenchMethod, MethodRole};
use crate::runner::{BenchRunner, GridEntry, SeededDatasets};
use crate::table_column::PERCENT;
use crate::usual_measure::{attack, er_attack};

/// The two variants: which method lends its weights, and which pairs it takes k' of (B.2.5 has those at rank k).
const VARIANTS: [(&str, Pairs); 2] = [
    ("r2et-no-h", Pairs::Boundary),
    ("r2et-mm-no-h", Pairs::Closest),
];

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "fig9",
        "Figure 9: P@k under ERAttack against the number of pairs k'",
    );
    bench.note_training(runner);
    over_datasets(
        runner,
        &mut bench,
        (&["bank"], &PaperTable::figure(&[])),
        SEEDS,
        |bench, datasets| {
            let name = &datasets.name;
            bench.note_datasets(datasets);
            let mut series = Vec::new();
            for (id, pairs) in VARIANTS {
                let method = BenchMethod::find(id)?;
                let points = points(runner, datasets, method, pairs)?;
                let half = datasets.seeds[0].k / 2;
                let mean = |many: bool| {
                    let of: Vec<f64> = points
                        .iter()
                        .filter(|p| (p[0] > as_f64(half)) == many)
                        .map(|p| p[1])
                        .collect();
                    of.iter().sum::<f64>() / as_f64(of.len().max(1))
                };
                bench.add_finding(format!(
                "{name}, {}: are more pairs better? mean P@k {:.1} for k' above {half}, {:.1} for fewer",
                method.label,
                mean(true),
                mean(false)
            ));
                series.push(Series {
                    name: method.label.clone(),
                    points,
                });
            }
            bench.add_figure(Figure {
                title: format!("{name}: P@k against k'"),
                caption: "Mean over seeds, each k' with weights chosen on validation rows."
                    .to_owned(),
                x_label: "k'".to_owned(),
                y_label: "P@k in per cent under ERAttack".to_owned(),
                style: Style::Lines,
                series,
            });
            Ok(())
        },
    )?;
    Ok(bench.finish())
}

fn points(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    method: &BenchMethod,
    pairs: Pairs,
) -> Result<Vec<[f64; 2]>> {
    let counts = 1..=datasets.seeds[0].k;
    let plain = GridEntry {
        role: MethodRole::R2et,
        ..GridEntry::new(method, datasets)?
    };
    let entries = counts.clone().map(|count| {
        let mut entry = plain.clone();
        entry.id = format!("{} k'={count}", entry.id);
        for objective in &mut entry.settings {
            if let ObjectiveConfig::R2et(config) = objective {
                config.pairs = pairs;
                config.pair_count = Some(count);
            }
        }
        entry
    });
    let grid = runner.grid(datasets, entries.collect())?;
    let found = runner.measure_chosen(datasets, &grid, "ERAttack", |data| {
        attack(er_attack(data), data)
    })?;
    let mut points = Vec::new();
    for (count, found) in counts.zip(found) {
        let Some(found) = found else { continue };
        let mut sum = 0.0;
        for one in &found {
            sum += PERCENT * one.mean("precision")?;
        }
        points.push([as_f64(count), sum / as_f64(found.len().max(1))]);
    }
    Ok(points)
}
