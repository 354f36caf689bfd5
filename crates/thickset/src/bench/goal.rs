//! What is asked of R2ET's family beyond the paper: that it holds better than vanilla under the suite, that it predicts as
//! well, and that it does not do so by telling everyone the same.

use super::column::{Better, Column, PERCENT, labels};
use super::lab::{Bed, Grid, Lab, clean, suite};
use super::method::{Kin, VANILLA};
use crate::Result;

/// Points of P@k under the suite that count as a gain.
const GAIN: f64 = 5.0;
/// How far an AUC may fall for it.
const AUC_LOSS: f64 = 0.01;
/// Distinctness within this is no loss: two seeds differ by as much.
const DISTINCTNESS_LOSS: f64 = 0.005;

/// What the goal is about, of every row of a grid.
pub(super) struct Goal {
    pub(super) suite: Column,
    pub(super) auc: Column,
    pub(super) distinctness: Column,
}

impl Goal {
    /// Measures the chosen models of a grid.
    pub(super) fn measure(lab: &Lab<'_>, bed: &Bed, grid: &Grid) -> Result<Self> {
        let worst = lab.measure_chosen(bed, grid, "suite", |field| suite(field, lab.options))?;
        let clean = lab.measure_chosen(bed, grid, "clean", clean)?;
        let number = |name: &str, what| {
            Column::of_numbers(name.to_owned(), grid, &clean, what, Better::Higher, |_| {
                None
            })
        };
        Ok(Self {
            suite: Column::of_rows(
                "suite".to_owned(),
                grid,
                &worst,
                "precision",
                (PERCENT, Better::Higher),
                |_| None,
            )?,
            auc: number("AUC", "auc")?,
            distinctness: number("distinctness", "distinctness")?,
        })
    }

    /// The best R2ET variant against vanilla, at what price.
    pub(super) fn sentence(&self, what: &str, grid: &Grid) -> Option<String> {
        let vanilla = grid.rows.iter().position(|row| row.entry.id == VANILLA)?;
        let own = self.suite.best(&[Kin::R2et])?;
        let change = |column: &Column| -> Option<f64> {
            Some(column.places[own].mean()? - column.places[vanilla].mean()?)
        };
        let (gain, auc) = (change(&self.suite)?, change(&self.auc)?);
        let distinctness = change(&self.distinctness)?;
        let is_met = gain >= GAIN && auc >= -AUC_LOSS && distinctness >= -DISTINCTNESS_LOSS;
        let answer = if is_met { "reached" } else { "not reached" };
        Some(format!(
            "{what}: the goal of {GAIN} points over vanilla under the suite, AUC within {AUC_LOSS} and no loss of distinctness, is \
             {answer}: {} has {gain:+.1} points, AUC {auc:+.4}, distinctness {distinctness:+.3}",
            labels(grid)[own]
        ))
    }
}
