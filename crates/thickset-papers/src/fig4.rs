//! Figure 4: rank correlations of the steps to the first flip with thickness and Hessian norm, by method and dataset.

use thickset::Result;
use thickset::bench::{Bench, Cell, Mark, Table, TableRow};
use thickset::statistics::Estimate;

use crate::TABLES;
use crate::correlation::{METRICS, flips};
use crate::draft::Draft;
use crate::lab::{Entry, Lab};
use crate::method::Method;
use crate::sheet::{Datasets, Printed, SEEDS, datasets};

/// The methods that the paper shows.
const METHODS: [&str; 3] = ["vanilla", "est-h", "r2et"];

pub(crate) fn run(lab: &Lab<'_>) -> Result<Bench> {
    let mut draft = Draft::new(
        "fig4",
        "Figure 4: rank correlations with the steps to the first flip",
    );
    draft.training(lab);
    let ids: Vec<String> = if lab.options.methods.is_empty() {
        METHODS.map(str::to_owned).to_vec()
    } else {
        lab.options.methods.clone()
    };
    let (mut rows, mut higher, mut all) = (Vec::new(), 0_usize, 0_usize);
    let printed = Printed::figure(&["mnist-3-8-pairs", "adhd", "bp"]);
    let Datasets { here, dashes } = datasets(lab, &TABLES, &printed)?;
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
            let mut cells = Vec::new();
            for (metric, _) in METRICS {
                cells.push(match &data {
                    None => Cell::dash(row.dash()),
                    Some(data) => Cell::Number {
                        ours: Estimate {
                            value: data.correlation(metric)?,
                            interval: None,
                            count: data.steps.len(),
                        },
                        paper: None,
                        mark: Mark::None,
                    },
                });
            }
            if let Some(data) = &data {
                // The Hessian norm foretells by being small.
                let hessian = data.correlation("hessian")?.abs();
                for metric in ["adversarial", "gaussian", "least"] {
                    all += 1;
                    higher += usize::from(data.correlation(metric)? > hessian);
                }
            }
            let label = format!("{} on {name}", row.entry.label);
            rows.push(TableRow { label, cells });
        }
    }
    draft.finding(format!(
        "does thickness foretell the first flip better than the Hessian norm? in {higher} of {all} comparisons its rank correlation is higher \
         than the Hessian norm's in absolute value"
    ));
    draft.table(Table {
        title:
            "Spearman's correlation with the steps to the first flip, over the rows of all seeds"
                .to_owned(),
        corner: "model".to_owned(),
        columns: METRICS
            .iter()
            .map(|(_, label)| (*label).to_owned())
            .collect(),
        rows,
    });
    if let Some(dashes) = dashes {
        draft.table(dashes);
    }
    Ok(draft.done())
}
