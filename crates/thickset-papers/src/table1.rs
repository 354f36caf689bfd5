//! Table 1: P@k of every method under `ERAttack` and the MSE attack, and what the paper does not show: the suite, a linear
//! baseline, AUC, thickness and distinctness beside them.

use thickset::Result;
use thickset::bench::Bench;
use thickset::metric::spearman;

use crate::bench_builder::BenchBuilder;
use crate::count::as_f64;
use crate::dataset_tables::{ChosenDatasets, PaperTable, SEEDS, choose_datasets};
use crate::gain_target::GainTarget;
use crate::method::MethodRole;
use crate::runner::{BenchRunner, Grid, SeededDatasets};
use crate::table_column::{Better, COMPETING, ColumnEntry, PERCENT, TableColumn, labels, table};
use crate::usual_measure::{adversarial, attack, er_attack, gaussian, mse_attack};
use crate::{TABLES, paper_numbers};

/// The columns of one dataset.
struct DatasetColumns {
    dataset: String,
    labels: Vec<String>,
    roles: Vec<MethodRole>,
    er: TableColumn,
    mse: TableColumn,
    gaussian: TableColumn,
    adversarial: TableColumn,
    goal: GainTarget,
    /// Whether the goal is reached; none without vanilla or R2ET.
    reached: Option<String>,
}

pub(crate) fn run(runner: &BenchRunner<'_>) -> Result<Bench> {
    let title = "Table 1: P@k of every method under ERAttack, the MSE attack and the suite";
    let mut bench = BenchBuilder::new("table1", title);
    bench.note_training(runner);
    let (mut columns, mut names) = (Vec::new(), Vec::new());
    let printed = PaperTable {
        table: "table1",
        numbers: |_| &["ERAttack", "MSE"],
        others: &["mnist-3-8-pairs", "cifar10", "roct", "adhd", "bp"],
    };
    let ChosenDatasets { to_run, not_run } = choose_datasets(runner, &TABLES, &printed)?;
    for name in to_run {
        let datasets = runner.open(&name, SEEDS)?;
        bench.note_datasets(&datasets);
        let grid = runner.grid(&datasets, runner.entries(&datasets)?)?;
        let found = found(runner, &datasets, &grid)?;
        names = labels(&grid);
        for column in [&found.er, &found.mse, &found.goal.suite] {
            let name = format!("{} {}", datasets.name, column.name);
            columns.push(TableColumn {
                name,
                ..column.clone()
            });
        }
        for sentence in sentences(&found) {
            bench.add_finding(sentence);
        }
        let title = format!(
            "{}: P@k beside AUC, thickness and distinctness",
            datasets.name
        );
        let beyond = beyond_overlap(&found.goal.suite, &found.goal.distinctness);
        let own = [
            found.er,
            found.mse,
            found.goal.suite,
            found.goal.auc,
            found.adversarial,
            found.gaussian,
            found.goal.distinctness,
            beyond,
            settings(&grid),
        ];
        bench.add_table(table(&title, &names, &own)?);
    }
    if let Some(not_run) = not_run {
        bench.add_table(not_run);
    }
    if !columns.is_empty() {
        bench.add_first_table(table("P@k in per cent", &names, &columns)?);
    }
    Ok(bench.finish())
}

/// Measures the chosen models of a dataset in every way of this table.
fn found(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
) -> Result<DatasetColumns> {
    let er = runner.measure_chosen(datasets, grid, "ERAttack", |data| {
        attack(er_attack(data), data)
    })?;
    let mse = runner.measure_chosen(datasets, grid, "MSE attack", |data| {
        attack(mse_attack(data), data)
    })?;
    let goal = GainTarget::measure(runner, datasets, grid)?;
    let gaussian = runner.measure_chosen(datasets, grid, "thickness", gaussian)?;
    let adversarial =
        runner.measure_chosen(datasets, grid, "adversarial thickness", adversarial)?;
    let paper = |table: &'static str, index: usize| {
        let name = datasets.name.clone();
        move |entry: &crate::runner::GridEntry| {
            paper_numbers::number(table, &name, &entry.id, index)
        }
    };
    let precision = |name: &str,
                     found: &[Option<Vec<_>>],
                     paper: &dyn Fn(&crate::runner::GridEntry) -> Option<f64>| {
        TableColumn::of_rows(
            name.to_owned(),
            grid,
            found,
            "precision",
            (PERCENT, Better::Higher),
            paper,
        )
    };
    let share = |name: &str,
                 found: &[Option<Vec<_>>],
                 paper: &dyn Fn(&crate::runner::GridEntry) -> Option<f64>| {
        TableColumn::of_rows(
            name.to_owned(),
            grid,
            found,
            "probability",
            (1.0, Better::Higher),
            paper,
        )
    };
    let none = |_: &crate::runner::GridEntry| None;
    Ok(DatasetColumns {
        dataset: datasets.name.clone(),
        labels: labels(grid),
        roles: grid.roles(),
        er: precision("ERAttack", &er, &paper("table1", 0))?,
        mse: precision("MSE", &mse, &paper("table1", 1))?,
        gaussian: share("thickness (gaussian)", &gaussian, &none)?,
        adversarial: share("thickness (ERAttack)", &adversarial, &paper("table5", 1))?,
        reached: goal.sentence(&datasets.name, grid),
        goal,
    })
}

/// P@k under the suite minus the overlap of two different rows, in points: what a model's stability is worth beyond telling
/// everyone the same. Below 0 an attacked row shares less with itself than with a stranger.
pub(crate) fn beyond_overlap(suite: &TableColumn, distinctness: &TableColumn) -> TableColumn {
    let pairs = suite.entries.iter().zip(&distinctness.entries);
    let entries = pairs.map(
        |(precision, distinctness)| match (precision, distinctness) {
            (
                ColumnEntry::Found { seeds, .. },
                ColumnEntry::Found {
                    seeds: distinct, ..
                },
            ) => {
                let beyond = seeds.iter().zip(distinct);
                ColumnEntry::Found {
                    seeds: beyond
                        .map(|(precision, distinct)| precision - PERCENT * (1.0 - distinct))
                        .collect(),
                    rows: Vec::new(),
                    paper: None,
                }
            }
            (dash, _) => dash.clone(),
        },
    );
    TableColumn {
        name: "suite less overlap".to_owned(),
        better: Better::Higher,
        whole: None,
        roles: suite.roles.clone(),
        entries: entries.collect(),
    }
}

/// Which setting each seed chose, and how many seeds had none whose AUC reaches the threshold.
fn settings(grid: &Grid) -> TableColumn {
    let entries = grid.rows.iter().map(|row| {
        let chosen: Vec<String> = row
            .chosen
            .iter()
            .map(|chosen| {
                chosen.map_or_else(|| "–".to_owned(), |(place, _)| (place + 1).to_string())
            })
            .collect();
        let below = match row.below() {
            0 => String::new(),
            below => format!(", {below} below the AUC"),
        };
        ColumnEntry::Text(format!("{}{below}", chosen.join(" ")))
    });
    TableColumn {
        name: "settings chosen".to_owned(),
        better: Better::Unmarked,
        whole: None,
        roles: grid.roles(),
        entries: entries.collect(),
    }
}

/// The paper's claims on one dataset, with our answers.
fn sentences(found: &DatasetColumns) -> Vec<String> {
    let name = &found.dataset;
    let mut sentences = Vec::new();
    let value = |column: &TableColumn, row: usize| column.entries[row].mean().unwrap_or(f64::NAN);
    let best = |column: &TableColumn, of: &[MethodRole]| column.best(of);
    for (column, what) in [(&found.er, "ERAttack"), (&found.goal.suite, "the suite")] {
        let (Some(first), Some(own), Some(rival)) = (
            best(column, &COMPETING),
            best(column, &[MethodRole::R2et]),
            best(column, &[MethodRole::Rival]),
        ) else {
            continue;
        };
        let yes = if found.roles[first] == MethodRole::R2et {
            "yes"
        } else {
            "no"
        };
        let sure = match column.differ(own, rival) {
            Some(true) => "significant",
            _ => "not significant",
        };
        sentences.push(format!(
            "{name}: is R2ET's family best under {what}? {yes}: {} has {:.1}, the best rival {} has {:.1} ({sure})",
            found.labels[own], value(column, own), found.labels[rival], value(column, rival)
        ));
    }
    sentences.extend(mse_sentence(found));
    sentences.extend(thickness_sentence(found));
    if let (Some(own), Some(goal)) = (
        best(&found.er, &[MethodRole::R2et]),
        paper_numbers::best("table1", name, 0),
    ) {
        let reached = if value(&found.er, own) >= goal {
            "reached"
        } else {
            "not reached"
        };
        sentences.push(format!(
            "{name}: the paper's best cell under ERAttack, {goal:.1}, is {reached} by R2ET's family: {} has {:.1}",
            found.labels[own], value(&found.er, own)
        ));
    }
    sentences.extend(found.reached.clone());
    sentences
}

fn mse_sentence(found: &DatasetColumns) -> Option<String> {
    let entries = found.er.entries.iter().zip(&found.mse.entries);
    let pairs: Vec<(f64, f64)> = entries
        .zip(&found.roles)
        .filter(|(_, role)| **role != MethodRole::Baseline)
        .filter_map(|((er, mse), _)| Some((er.mean()?, mse.mean()?)))
        .collect();
    if pairs.is_empty() {
        return None;
    }
    let weaker = pairs.iter().filter(|(er, mse)| mse > er).count();
    let change: f64 = pairs.iter().map(|(er, mse)| mse - er).sum::<f64>() / as_f64(pairs.len());
    let answer = if 2 * weaker > pairs.len() {
        "yes"
    } else {
        "no"
    };
    Some(format!(
        "{}: is the MSE attack weaker than ERAttack? {answer}: it leaves a higher P@k for {weaker} of {} methods, {change:+.1} points on average",
        found.dataset,
        pairs.len()
    ))
}

fn thickness_sentence(found: &DatasetColumns) -> Option<String> {
    let correlation = |thickness: &TableColumn, precision: &TableColumn| -> Option<f64> {
        let pairs = thickness
            .entries
            .iter()
            .zip(&precision.entries)
            .zip(&found.roles);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for ((thickness, precision), role) in pairs {
            if let (Some(thickness), Some(precision), true) = (
                thickness.mean(),
                precision.mean(),
                *role != MethodRole::Baseline,
            ) {
                first.push(thickness);
                second.push(precision);
            }
        }
        // Two points always lie on a line.
        (first.len() > 2).then(|| spearman::score(&first, &second).ok())?
    };
    Some(format!(
        "{}: does thickness (probability form) track P@k over methods? rank correlation with P@k under ERAttack {:.2} towards \
         gaussian neighbours and {:.2} along ERAttack's way, under the suite {:.2} and {:.2}",
        found.dataset,
        correlation(&found.gaussian, &found.er)?,
        correlation(&found.adversarial, &found.er)?,
        correlation(&found.gaussian, &found.goal.suite)?,
        correlation(&found.adversarial, &found.goal.suite)?,
    ))
}
