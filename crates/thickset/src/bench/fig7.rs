//! Figure 7: the trade-off between AUC and P@k over every setting of every method.

use super::TABLES;
use super::draft::Draft;
use super::lab::{Bed, Grid, Lab, attack, clean, er_attack};
use super::method::Kin;
use super::result::{Bench, Figure, Series, Style};
use super::sheet::{SEEDS, datasets};
use crate::Result;
use crate::check::as_f64;

pub(super) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new(
        "fig7",
        "Figure 7: trade-off between AUC and P@k under ERAttack",
    );
    draft.training(lab);
    let (here, dashes) = datasets(lab, &TABLES);
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    for name in here {
        let bed = lab.open(&name, SEEDS)?;
        draft.bed(&bed);
        let grid = lab.grid(&bed, lab.entries(&bed)?)?;
        let [clean, adversarial] = trade_offs(lab, &bed, &grid)?;
        for (series, what) in [(clean, "clean"), (adversarial, "adversarial")] {
            let on_front = front(&series);
            let own: Vec<&str> = grid
                .rows
                .iter()
                .filter(|row| row.entry.kin == Kin::R2et && on_front.contains(&row.entry.label))
                .map(|row| row.entry.label.as_str())
                .collect();
            let answer = if own.is_empty() {
                "no".to_owned()
            } else {
                format!("yes, {}", own.join(", "))
            };
            draft.finding(format!(
                "{name}, {what} AUC: is one of R2ET's family on the Pareto front? {answer}; the front is {}",
                on_front.join(", ")
            ));
            draft.figure(Figure {
                title: format!("{name}: {what} AUC and P@k"),
                caption: "A point is a setting of a method, mean over seeds; the line is the Pareto front of methods other than the linear one."
                    .to_owned(),
                x_label: format!("{what} AUC"),
                y_label: "P@k in per cent under ERAttack".to_owned(),
                style: Style::Front,
                series,
            });
        }
    }
    Ok(draft.done())
}

/// P@k against the AUC before and after the attack, for every method and setting. A linear model has 100 whatever it does,
/// and would be the whole front.
fn trade_offs(lab: &Lab<'_>, bed: &Bed, grid: &Grid) -> Result<[Vec<Series>; 2]> {
    let rows = || {
        grid.rows
            .iter()
            .filter(|row| row.entry.kin != Kin::Baseline)
    };
    let (mut attacks, mut cleans, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows() {
        for (index, settings) in row.trained.iter().enumerate() {
            let field = &bed.fields[index];
            for (setting, trained) in settings.iter().enumerate() {
                if trained.selected.is_some() {
                    attacks.push((index, trained.key.clone(), attack(er_attack(field), field)));
                    cleans.push((index, trained.key.clone(), clean(field)));
                    places.push((row.entry.label.clone(), setting));
                }
            }
        }
    }
    let attacks = lab.measure(bed, "ERAttack", &attacks)?;
    let cleans = lab.measure(bed, "clean", &cleans)?;
    let mut both = [Vec::new(), Vec::new()];
    for row in rows() {
        let mut series = [Vec::new(), Vec::new()];
        for setting in 0..row.entry.settings.len() {
            let (mut sums, mut count) = ([0.0; 3], 0);
            for (place, (attacked, clean)) in places.iter().zip(attacks.iter().zip(&cleans)) {
                if *place == (row.entry.label.clone(), setting) {
                    sums[0] += clean.number("auc of the attacked rows")?;
                    sums[1] += attacked.number("auc")?;
                    sums[2] += 100.0 * attacked.mean("precision")?;
                    count += 1;
                }
            }
            // A setting that failed for a seed is no mean over seeds.
            if count == bed.fields.len() {
                let [clean, adversarial, precision] = sums.map(|sum| sum / as_f64(count));
                series[0].push([clean, precision]);
                series[1].push([adversarial, precision]);
            }
        }
        for (all, points) in both.iter_mut().zip(series) {
            let name = row.entry.label.clone();
            all.push(Series { name, points });
        }
    }
    Ok(both)
}

/// The series with a point that no other beats in both directions.
fn front(series: &[Series]) -> Vec<String> {
    let all: Vec<[f64; 2]> = series
        .iter()
        .flat_map(|one| one.points.iter().copied())
        .collect();
    let is_free = |point: &[f64; 2]| {
        !all.iter().any(|other| {
            other[0] >= point[0]
                && other[1] >= point[1]
                && (other[0] > point[0] || other[1] > point[1])
        })
    };
    let free = series.iter().filter(|one| one.points.iter().any(is_free));
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
        assert_eq!(front(&all), ["a", "b"]);
    }
}
