//! Figure 2: how many steps `ERAttack` needs to the first flip, against the row's thickness and against its Hessian norm.

use thickset::Result;
use thickset::bench::{Bench, Figure, Series, Style};

use crate::correlation::{FlipData, METRICS, flips};
use crate::draft::Draft;
use crate::lab::{Entry, Lab};
use crate::method::Method;
use crate::sheet::{Datasets, Printed, SEEDS, datasets};

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new(
        "fig2",
        "Figure 2: steps to the first flip against thickness and Hessian norm, R2ET on COMPAS",
    );
    draft.training(lab);
    let ids = if lab.options.methods.is_empty() {
        vec!["r2et".to_owned()]
    } else {
        lab.options.methods.clone()
    };
    let Datasets { here, dashes } = datasets(lab, &["compas"], &Printed::figure(&[]))?;
    for name in here {
        let bed = lab.open(&name, SEEDS)?;
        draft.bed(&bed);
        let methods = Method::chosen(&ids)?;
        let entries = methods
            .into_iter()
            .map(|method| Entry::new(method, &bed))
            .collect();
        let grid = lab.grid(&bed, entries)?;
        for (row, data) in grid.rows.iter().zip(flips(lab, &bed, &grid)?) {
            let Some(data) = data else {
                draft.finding(format!(
                    "{name}, {}: no number, {}",
                    row.entry.label,
                    row.dash()
                ));
                continue;
            };
            for (metric, label) in METRICS {
                draft.figure(figure(&name, &row.entry.label, metric, label, &data)?);
            }
            draft.finding(sentence(&name, &row.entry.label, &data)?);
        }
    }
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    Ok(draft.done())
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
