//! What Figures 2 and 4 share: the steps to the first flip of each row beside what might foretell them.

use std::collections::BTreeMap;

use thickset::metric::spearman;
use thickset::{Error, Result};

use crate::count::as_f64;
use crate::measure::Measure;
use crate::runner::{BenchRunner, Grid, SeededDatasets};
use crate::usual_measure::{adversarial, attack, er_attack, gaussian};

/// What might foretell the steps, and what it is called.
pub(crate) const METRICS: [(&str, &str); 6] = [
    ("adversarial", "thickness along ERAttack"),
    ("hessian", "Hessian norm"),
    ("gaussian", "thickness, mean of gaussian neighbours"),
    ("least", "thickness, least of gaussian neighbours"),
    ("adversarial gap", "mean gap along ERAttack"),
    ("gaussian gap", "mean gap of gaussian neighbours"),
];

/// The rows of all seeds of one method.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlipData {
    /// Steps to the first flip; one more than there are for rows that never flip.
    pub(crate) steps: Vec<f64>,
    /// Rows that never flip.
    pub(crate) never: usize,
    metrics: BTreeMap<&'static str, Vec<f64>>,
}

impl FlipData {
    /// A metric of every row.
    pub(crate) fn metric(&self, name: &'static str) -> Result<Vec<f64>> {
        self.metrics
            .get(name)
            .cloned()
            .ok_or(Error::Empty { what: name })
    }

    /// Spearman's correlation of a metric with the steps.
    pub(crate) fn correlation(&self, name: &'static str) -> Result<f64> {
        spearman::score(&self.steps, &self.metric(name)?)
    }
}

/// The steps and metrics of each row of a grid; `None` where a method has no model.
pub(crate) fn flips(
    runner: &BenchRunner<'_>,
    datasets: &SeededDatasets,
    grid: &Grid,
) -> Result<Vec<Option<FlipData>>> {
    let steps = runner.measure_chosen(datasets, grid, "ERAttack", |data| {
        attack(er_attack(data), data)
    })?;
    let along = runner.measure_chosen(datasets, grid, "adversarial thickness", adversarial)?;
    let around = runner.measure_chosen(datasets, grid, "thickness", gaussian)?;
    let hessian =
        runner.measure_chosen(datasets, grid, "Hessian norm", |_| Measure::HessianNorm)?;
    let most = as_f64(er_attack(&datasets.seeds[0]).steps);
    let mut all = Vec::with_capacity(grid.rows.len());
    for row in 0..grid.rows.len() {
        let Some(found) = &steps[row] else {
            all.push(None);
            continue;
        };
        let mut data = FlipData::default();
        for one in found {
            for first in one.rows("first change")? {
                data.never += usize::from(*first == 0.0);
                data.steps
                    .push(if *first == 0.0 { most + 1.0 } else { *first });
            }
        }
        let sources = [
            ("adversarial", &along, "probability"),
            ("hessian", &hessian, "norm"),
            ("gaussian", &around, "probability"),
            ("least", &around, "least probability"),
            ("adversarial gap", &along, "gap"),
            ("gaussian gap", &around, "gap"),
        ];
        for (name, found, what) in sources {
            let mut values = Vec::new();
            for one in found[row].iter().flatten() {
                values.extend_from_slice(one.rows(what)?);
            }
            data.metrics.insert(name, values);
        }
        all.push(Some(data));
    }
    Ok(all)
}
