//! The figures over all rows, from the rows in brief.

use super::figure::{AllRows, FIGURES, Figure, FigureValue, Predictions, Summary};
use super::gate::Rule;
use super::result::{FeatureCount, Requirement};
use super::row_list::RowList;
use super::running_totals::RunningTotals;
use crate::check::as_f64;
use crate::{Error, Result};

/// How often each feature is a reason.
pub(super) fn features(rows: &RowList, totals: &RunningTotals) -> Vec<FeatureCount> {
    let count = as_f64(rows.len());
    let mut features: Vec<FeatureCount> = totals
        .importance()
        .iter()
        .map(|sum| FeatureCount {
            in_top: 0,
            left: 0,
            entered: 0,
            importance: sum / count,
        })
        .collect();
    for row in rows {
        for &feature in &row.top {
            features[feature].in_top += 1;
            features[feature].left += usize::from(!row.attacked_top.contains(&feature));
        }
        for &feature in &row.attacked_top {
            features[feature].entered += usize::from(!row.top.contains(&feature));
        }
    }
    features
}

/// How many rows have each of so many features among their top k.
pub(super) fn in_top(rows: &RowList, features: usize) -> Vec<usize> {
    let mut in_top = vec![0; features];
    for feature in rows.iter().flat_map(|row| row.top) {
        in_top[feature] += 1;
    }
    in_top
}

/// The figures of at least one row.
pub(super) fn summary(rows: &RowList, features: &[FeatureCount], k: usize) -> Result<Summary> {
    let in_top: Vec<usize> = features.iter().map(|feature| feature.in_top).collect();
    let all = AllRows {
        rows,
        in_top: &in_top,
        k,
        predictions: &Predictions::of(rows),
    };
    of_figures(FIGURES.iter().copied(), &all)
}

/// These figures of the rows, P@k among them.
pub(super) fn of_figures(
    figures: impl Iterator<Item = &'static Figure>,
    all: &AllRows<'_>,
) -> Result<Summary> {
    let figures = figures
        .map(|figure| Ok((figure, figure.of_all(all)?)))
        .collect::<Result<Vec<_>>>()?;
    Summary::of(figures).ok_or(Error::Empty {
        what: "the rows to audit",
    })
}

/// Whether each requirement holds.
pub(super) fn gate(rules: &[Rule], summary: &Summary) -> Vec<Requirement> {
    let figure = |id: &str| -> Option<FigureValue> {
        let figure = FIGURES.iter().find(|figure| figure.id == id)?;
        summary.get(figure)
    };
    rules.iter().map(|rule| rule.judge(figure)).collect()
}
