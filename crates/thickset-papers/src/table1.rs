//! Table 1: P@k of every method under `ERAttack` and the MSE attack, and what the paper does not show: the suite, a linear
//! baseline, AUC, thickness and distinctness beside them.

use thickset::Result;
use thickset::bench::Bench;
use thickset::metric::spearman;

use crate::column::{Better, Column, METHODS, PERCENT, Place, labels, table};
use crate::count::as_f64;
use crate::draft::Draft;
use crate::goal::Goal;
use crate::lab::{Bed, Grid, Lab, adversarial, attack, er_attack, gaussian, mse_attack};
use crate::method::Kin;
use crate::sheet::{Datasets, Printed, SEEDS, datasets};
use crate::{TABLES, paper};

/// The columns of one dataset.
struct Found {
    dataset: String,
    labels: Vec<String>,
    kins: Vec<Kin>,
    er: Column,
    mse: Column,
    gaussian: Column,
    adversarial: Column,
    goal: Goal,
    /// Whether the goal is reached; none without vanilla or R2ET.
    reached: Option<String>,
}

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let title = "Table 1: P@k of every method under ERAttack, the MSE attack and the suite";
    let mut draft = Draft::new("table1", title);
    draft.training(lab);
    let (mut columns, mut names) = (Vec::new(), Vec::new());
    let printed = Printed {
        table: "table1",
        numbers: |_| &["ERAttack", "MSE"],
        others: &["mnist-3-8-pairs", "cifar10", "roct", "adhd", "bp"],
    };
    let Datasets { here, dashes } = datasets(lab, &TABLES, &printed)?;
    for name in here {
        let bed = lab.open(&name, SEEDS)?;
        draft.bed(&bed);
        let grid = lab.grid(&bed, lab.entries(&bed)?)?;
        let found = found(lab, &bed, &grid)?;
        names = labels(&grid);
        for column in [&found.er, &found.mse, &found.goal.suite] {
            let name = format!("{} {}", bed.name, column.name);
            columns.push(Column {
                name,
                ..column.clone()
            });
        }
        for sentence in sentences(&found) {
            draft.finding(sentence);
        }
        let title = format!("{}: P@k beside AUC, thickness and distinctness", bed.name);
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
        draft.table(table(&title, &names, &own)?);
    }
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    if !columns.is_empty() {
        draft.first_table(table("P@k in per cent", &names, &columns)?);
    }
    Ok(draft.done())
}

/// Measures the chosen models of a bed in every way of this table.
fn found(lab: &Lab<'_>, bed: &Bed, grid: &Grid) -> Result<Found> {
    let er = lab.measure_chosen(bed, grid, "ERAttack", |field| {
        attack(er_attack(field), field)
    })?;
    let mse = lab.measure_chosen(bed, grid, "MSE attack", |field| {
        attack(mse_attack(field), field)
    })?;
    let goal = Goal::measure(lab, bed, grid)?;
    let gaussian = lab.measure_chosen(bed, grid, "thickness", gaussian)?;
    let adversarial = lab.measure_chosen(bed, grid, "adversarial thickness", adversarial)?;
    let paper = |table: &'static str, index: usize| {
        let name = bed.name.clone();
        move |entry: &crate::lab::Entry| paper::number(table, &name, &entry.id, index)
    };
    let precision = |name: &str,
                     found: &[Option<Vec<_>>],
                     paper: &dyn Fn(&crate::lab::Entry) -> Option<f64>| {
        Column::of_rows(
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
                 paper: &dyn Fn(&crate::lab::Entry) -> Option<f64>| {
        Column::of_rows(
            name.to_owned(),
            grid,
            found,
            "probability",
            (1.0, Better::Higher),
            paper,
        )
    };
    let none = |_: &crate::lab::Entry| None;
    Ok(Found {
        dataset: bed.name.clone(),
        labels: labels(grid),
        kins: grid.kins(),
        er: precision("ERAttack", &er, &paper("table1", 0))?,
        mse: precision("MSE", &mse, &paper("table1", 1))?,
        gaussian: share("thickness (gaussian)", &gaussian, &none)?,
        adversarial: share("thickness (ERAttack)", &adversarial, &paper("table5", 1))?,
        reached: goal.sentence(&bed.name, grid),
        goal,
    })
}

/// P@k under the suite less the overlap of two different rows, in points: what a model's stability is worth beyond telling
/// everyone the same. Below 0 an attacked row shares less with itself than with a stranger.
fn beyond_overlap(suite: &Column, distinctness: &Column) -> Column {
    let pairs = suite.places.iter().zip(&distinctness.places);
    let places = pairs.map(
        |(precision, distinctness)| match (precision, distinctness) {
            (
                Place::Found { seeds, .. },
                Place::Found {
                    seeds: distinct, ..
                },
            ) => {
                let beyond = seeds.iter().zip(distinct);
                Place::Found {
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
    Column {
        name: "suite less overlap".to_owned(),
        better: Better::Higher,
        whole: None,
        kins: suite.kins.clone(),
        places: places.collect(),
    }
}

/// Which setting each seed chose, and how many seeds had none with the AUC asked for.
fn settings(grid: &Grid) -> Column {
    let places = grid.rows.iter().map(|row| {
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
        Place::Text(format!("{}{below}", chosen.join(" ")))
    });
    Column {
        name: "settings chosen".to_owned(),
        better: Better::Unmarked,
        whole: None,
        kins: grid.kins(),
        places: places.collect(),
    }
}

/// The paper's claims on one dataset, with our answers.
fn sentences(found: &Found) -> Vec<String> {
    let name = &found.dataset;
    let mut sentences = Vec::new();
    let value = |column: &Column, row: usize| column.places[row].mean().unwrap_or(f64::NAN);
    let best = |column: &Column, of: &[Kin]| column.best(of);
    for (column, what) in [(&found.er, "ERAttack"), (&found.goal.suite, "the suite")] {
        let (Some(first), Some(own), Some(rival)) = (
            best(column, &METHODS),
            best(column, &[Kin::R2et]),
            best(column, &[Kin::Rival]),
        ) else {
            continue;
        };
        let yes = if found.kins[first] == Kin::R2et {
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
        best(&found.er, &[Kin::R2et]),
        paper::best("table1", name, 0),
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

fn mse_sentence(found: &Found) -> Option<String> {
    let places = found.er.places.iter().zip(&found.mse.places);
    let pairs: Vec<(f64, f64)> = places
        .zip(&found.kins)
        .filter(|(_, kin)| **kin != Kin::Baseline)
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

fn thickness_sentence(found: &Found) -> Option<String> {
    let correlation = |thickness: &Column, precision: &Column| -> Option<f64> {
        let pairs = thickness
            .places
            .iter()
            .zip(&precision.places)
            .zip(&found.kins);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for ((thickness, precision), kin) in pairs {
            if let (Some(thickness), Some(precision), true) =
                (thickness.mean(), precision.mean(), *kin != Kin::Baseline)
            {
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
