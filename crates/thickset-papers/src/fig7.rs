//! Figure 7: the trade-off between AUC and P@k over every setting of every method; and between distinctness and P@k under
//! the suite, which the paper does not look at.

use thickset::Result;
use thickset::bench::{Bench, Figure, Series, Style, front};

use crate::TABLES;
use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{ChosenDatasets, PaperTable, SEEDS, choose_datasets};
use crate::measure::Measure;
use crate::method::{MethodRole, VANILLA};
use crate::runner::{BenchRunner, Grid, SeededDatasets};
use crate::seeded_dataset::SeededDataset;
use crate::table_column::PERCENT;
use crate::usual_measure::{attack, clean, er_attack, suite};

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let mut bench = BenchBuilder::new(
        "fig7",
        "Figure 7: trade-off between AUC and P@k under ERAttack",
    );
    bench.note_training(runner);
    let printed = PaperTable::figure(&["mnist-3-8-pairs", "adhd", "bp"]);
    let ChosenDatasets { to_run, not_run } = choose_datasets(runner, &TABLES, &printed)?;
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let grid = runner.grid(&datasets, runner.entries(&datasets)?)?;
        let trades = trade_offs(runner, &datasets, &grid)?;
        for (trade, series) in TRADES.iter().zip(&trades) {
            let on_front = on_front(series);
            let own: Vec<&str> = grid
                .rows
                .iter()
                .filter(|row| {
                    row.entry.role == MethodRole::R2et && on_front.contains(&row.entry.label)
                })
                .map(|row| row.entry.label.as_str())
                .collect();
            let answer = if own.is_empty() {
                "no".to_owned()
            } else {
                format!("yes, {}", own.join(", "))
            };
            bench.add_finding(format!(
                "{name}, {} and {}: is one of R2ET's family on the Pareto front? {answer}; the front is {}",
                trade.x,
                trade.y,
                on_front.join(", ")
            ));
            bench.add_figure(Figure {
                title: format!("{name}: {} and {}", trade.x, trade.y),
                caption: "A point is a setting of a method, mean over seeds; the line is the Pareto front of methods other than the linear one."
                    .to_owned(),
                x_label: trade.x.to_owned(),
                y_label: trade.y.to_owned(),
                style: Style::Front,
                series: series.clone(),
            });
        }
        bench.add_finding(steady_and_distinct(&name, &grid, &trades));
    }
    Ok(bench.finish())
}

/// The axes of one figure.
struct Trade {
    x: &'static str,
    y: &'static str,
}

const TRADES: [Trade; 3] = [
    Trade {
        x: "clean AUC",
        y: "P@k in per cent under ERAttack",
    },
    Trade {
        x: "adversarial AUC",
        y: "P@k in per cent under ERAttack",
    },
    Trade {
        x: "distinctness",
        y: "P@k in per cent under the suite",
    },
];

/// The points of every method and setting, figure by figure. A linear model has 100 whatever it does, and would be the whole
/// front.
fn trade_offs(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
) -> Result<[Vec<Series>; 3]> {
    let rows = || {
        grid.rows
            .iter()
            .filter(|row| row.entry.role != MethodRole::Baseline)
    };
    let (mut keys, mut places) = (Vec::new(), Vec::new());
    for row in rows() {
        for (index, settings) in row.trained.iter().enumerate() {
            for (setting, trained) in settings.iter().enumerate() {
                if trained.selected.is_some() {
                    keys.push((index, trained.key.clone()));
                    places.push((row.entry.id.as_str(), setting));
                }
            }
        }
    }
    let measured = |what: &str, measure: &dyn Fn(&SeededDataset) -> Measure| {
        let jobs: Vec<(usize, String, Measure)> = keys
            .iter()
            .map(|(index, key)| (*index, key.clone(), measure(&datasets.seeds[*index])))
            .collect();
        runner.measure(datasets, what, &jobs)
    };
    let attacks = measured("ERAttack", &|data| attack(er_attack(data), data))?;
    let cleans = measured("clean", &clean)?;
    let suites = measured("suite", &|data| suite(data, runner.options))?;
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for row in rows() {
        let mut points = [Vec::new(), Vec::new(), Vec::new()];
        for setting in 0..row.entry.settings.len() {
            let (mut sums, mut count) = ([[0.0; 2]; 3], 0);
            for (index, place) in places.iter().enumerate() {
                if *place != (row.entry.id.as_str(), setting) {
                    continue;
                }
                let precision = PERCENT * attacks[index].mean("precision")?;
                let found = [
                    [cleans[index].number("auc of the attacked rows")?, precision],
                    [attacks[index].number("auc")?, precision],
                    [
                        cleans[index].number("distinctness")?,
                        PERCENT * suites[index].mean("precision")?,
                    ],
                ];
                for (sum, found) in sums.iter_mut().flatten().zip(found.iter().flatten()) {
                    *sum += found;
                }
                count += 1;
            }
            // A setting that failed for a seed is no mean over seeds.
            if count == datasets.seeds.len() {
                for (points, sum) in points.iter_mut().zip(sums) {
                    points.push(sum.map(|sum| sum / as_f64(count)));
                }
            }
        }
        for (all, points) in all.iter_mut().zip(points) {
            let name = row.entry.label.clone();
            all.push(Series { name, points });
        }
    }
    Ok(all)
}

/// Points over vanilla's P@k under the suite that count as a gain, and the loss of distinctness that counts as none.
const GAIN: f64 = 5.0;
const DISTINCTNESS_LOSS: f64 = 0.005;

/// Whether some setting is steadier than vanilla and no less distinct, whatever its AUC.
fn steady_and_distinct(name: &str, grid: &Grid, trades: &[Vec<Series>; 3]) -> String {
    let series = &trades[2];
    let vanilla = grid.rows.iter().find(|row| row.entry.id == VANILLA);
    let vanilla = vanilla.and_then(|row| {
        let own = series.iter().find(|one| one.name == row.entry.label)?;
        own.points.first().copied()
    });
    let Some([distinct, steady]) = vanilla else {
        return format!("{name}: without vanilla there is nothing to be steadier than");
    };
    let mut found = Vec::new();
    for one in series {
        for point in &one.points {
            if point[1] >= steady + GAIN && point[0] >= distinct - DISTINCTNESS_LOSS {
                found.push(format!("{} ({:.1}, {:.3})", one.name, point[1], point[0]));
            }
        }
    }
    let found = if found.is_empty() {
        "none".to_owned()
    } else {
        found.join(", ")
    };
    format!(
        "{name}: settings at least {GAIN} points steadier than vanilla under the suite ({steady:.1}) that are no less distinct ({distinct:.3}), \
         whatever their AUC: {found}"
    )
}

/// The series with a point that no other beats in both directions.
fn on_front(series: &[Series]) -> Vec<String> {
    let all: Vec<[f64; 2]> = series
        .iter()
        .flat_map(|one| one.points.iter().copied())
        .collect();
    let front = front::of(&all);
    let free = series
        .iter()
        .filter(|one| one.points.iter().any(|point| front.contains(point)));
    free.map(|one| one.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_has_the_methods_that_no_other_beats() {
        let series = |name: &str, points: &[[f64; 2]]| Series {
            name: name.to_owned(),
            points: points.to_vec(),
        };
        let all = [
            series("a", &[[0.9, 50.0], [0.1, 1.0]]),
            series("b", &[[0.8, 60.0]]),
            series("c", &[[0.8, 55.0]]),
        ];
        assert_eq!(on_front(&all), ["a", "b"]);
    }
}
