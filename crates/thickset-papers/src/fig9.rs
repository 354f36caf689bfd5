//! Figure 9: P@k against k', the number of pairs whose gap R2ET without the Hessian term widens.

use thickset::Result;
use thickset::bench::{Bench, Figure, Series, Style};
use thickset::objective::ObjectiveConfig;
use thickset::objective::term::gap::Pairs;

use crate::column::PERCENT;
use crate::count::as_f64;
use crate::draft::Draft;
use crate::lab::{Bed, Entry, Lab, attack, er_attack};
use crate::method::{Kin, Method};
use crate::sheet::{Datasets, Printed, SEEDS, datasets};

/// The two variants: which method lends its weights, and which pairs it takes k' of (B.2.5 has those at rank k).
const VARIANTS: [(&str, Pairs); 2] = [
    ("r2et-no-h", Pairs::Boundary),
    ("r2et-mm-no-h", Pairs::Closest),
];

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new(
        "fig9",
        "Figure 9: P@k under ERAttack against the number of pairs k'",
    );
    draft.training(lab);
    let Datasets { here, dashes } = datasets(lab, &["bank"], &Printed::figure(&[]))?;
    for name in here {
        let bed = lab.open(&name, SEEDS)?;
        draft.bed(&bed);
        let mut series = Vec::new();
        for (id, pairs) in VARIANTS {
            let method = Method::find(id)?;
            let points = points(lab, &bed, method, pairs)?;
            let half = bed.fields[0].k / 2;
            let mean = |many: bool| {
                let of: Vec<f64> = points
                    .iter()
                    .filter(|p| (p[0] > as_f64(half)) == many)
                    .map(|p| p[1])
                    .collect();
                of.iter().sum::<f64>() / as_f64(of.len().max(1))
            };
            draft.finding(format!(
                "{name}, {}: are more pairs better? mean P@k {:.1} for k' above {half}, {:.1} for fewer",
                method.label,
                mean(true),
                mean(false)
            ));
            series.push(Series {
                name: method.label.to_owned(),
                points,
            });
        }
        draft.figure(Figure {
            title: format!("{name}: P@k against k'"),
            caption: "Mean over seeds, each k' with weights chosen on validation rows.".to_owned(),
            x_label: "k'".to_owned(),
            y_label: "P@k in per cent under ERAttack".to_owned(),
            style: Style::Lines,
            series,
        });
    }
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    Ok(draft.done())
}

fn points(lab: &Lab<'_>, bed: &Bed, method: &Method, pairs: Pairs) -> Result<Vec<[f64; 2]>> {
    let counts = 1..=bed.fields[0].k;
    let entries = counts.clone().map(|count| {
        let mut entry = Entry::new(method, bed);
        entry.kin = Kin::R2et;
        entry.id = format!("{} k'={count}", entry.id);
        for objective in &mut entry.settings {
            if let ObjectiveConfig::R2et(config) = objective {
                config.pairs = pairs;
                config.pair_count = Some(count);
            }
        }
        entry
    });
    let grid = lab.grid(bed, entries.collect())?;
    let found = lab.measure_chosen(bed, &grid, "ERAttack", |field| {
        attack(er_attack(field), field)
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
