//! The figures over all rows, from the rows in brief.

use super::gate::{self, Rule};
use super::result::{FeatureCount, Requirement, RowRecord, Summary};
use super::row_list::RowList;
use super::running_totals::RunningTotals;
use crate::Result;
use crate::check::as_f64;
use crate::metric::{accuracy, auc, distinctness};
use crate::statistics::{self, Estimate};

/// How often each feature is a reason.
pub(super) fn features(rows: &RowList, totals: &RunningTotals) -> Vec<FeatureCount> {
    let count = as_f64(rows.len());
    let mut features: Vec<FeatureCount> = totals
        .importance
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

/// The figures of at least one row.
pub(super) fn summary(rows: &RowList, features: &[FeatureCount], k: usize) -> Result<Summary> {
    let mean = |figure: fn(&RowRecord) -> f64| -> Result<Estimate> {
        let values: Vec<f64> = rows.iter().map(|row| figure(&row)).collect();
        // All of them lie in [0, 1].
        Ok(statistics::mean::estimate(&values)?.of_share())
    };
    let unchanged = rows.iter().filter(|row| row.precision >= 1.0).count();
    let in_top: Vec<usize> = features.iter().map(|feature| feature.in_top).collect();
    let quality = quality(rows.iter().filter_map(|row| {
        let label = row.label?;
        Some((row.probabilities, row.class, label))
    }))?;
    Ok(Summary {
        precision_at_k: mean(|row| row.precision)?,
        noise: mean(|row| row.noise)?,
        unchanged: as_f64(unchanged) / as_f64(rows.len()),
        thickness: mean(|row| row.thickness)?,
        distinctness: distinctness::of_counts(&in_top, rows.len(), k),
        auc: quality.auc,
        accuracy: quality.accuracy,
        dffot: mean(|row| row.dffot)?,
        comprehensiveness: mean(|row| row.comprehensiveness)?,
        sufficiency: mean(|row| row.sufficiency)?,
    })
}

/// How well labelled rows are predicted.
pub(super) struct Quality {
    pub(super) auc: Option<Estimate>,
    pub(super) accuracy: Option<f64>,
}

/// Of the labelled rows, as (probabilities, predicted class, label).
pub(super) fn quality(rows: impl Iterator<Item = (Vec<f64>, usize, usize)>) -> Result<Quality> {
    let mut probabilities = Vec::new();
    let (mut predicted, mut labels) = (Vec::new(), Vec::new());
    for (row, class, label) in rows {
        probabilities.push(row);
        predicted.push(class);
        labels.push(label);
    }
    if labels.is_empty() {
        return Ok(Quality {
            auc: None,
            accuracy: None,
        });
    }
    let area = auc::score(&probabilities, &labels)?;
    Ok(Quality {
        auc: area.as_ref().map(statistics::auc::estimate),
        accuracy: Some(accuracy::score(&predicted, &labels)?),
    })
}

/// Whether each requirement holds.
pub(super) fn gate(rules: &[Rule], summary: &Summary) -> Vec<Requirement> {
    let judge = |rule: &Rule| rule.judge(|name| gate::figure(summary, name));
    rules.iter().map(judge).collect()
}
