//! What an epoch came to: a line of `metrics.jsonl`, and the sums over its steps.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::checkpoint::{Progress, Sum};
use crate::check::as_f64;
use crate::objective::Loss;
use crate::objective::term::reading::value;

/// One line of `metrics.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// Steps done at its end.
    pub step: u64,
    /// The mean loss over its rows.
    pub loss: f64,
    /// The mean of each term before weighting.
    pub terms: BTreeMap<String, f64>,
    /// The mean weight of each term that is weighed relative to the class loss.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub weights: BTreeMap<String, f64>,
    /// Validation AUC; absent where all rows are of one class.
    pub auc: Option<f64>,
    /// Validation accuracy.
    pub accuracy: f64,
    /// Validation P@k under the quick attack.
    pub precision_at_k: Option<f64>,
    /// When retraining, the share of the reference's salient features that are still salient.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agreement: Option<f64>,
}

/// The name under which the whole loss is summed; no term is called so.
pub(super) const TOTAL: &str = "total";

/// Adds a step to the sums of its epoch; returns the loss's terms.
pub(super) fn add_sums(
    progress: &mut Progress,
    loss: &Loss,
    total: f64,
    rows: usize,
) -> BTreeMap<&'static str, f64> {
    let mut terms = BTreeMap::new();
    for term in &loss.terms {
        let mean = value(&term.value);
        terms.insert(term.name, mean);
        add(&mut progress.sums, term.name, mean, rows);
        if term.adaptive {
            add(&mut progress.weights, term.name, term.weight, rows);
        }
    }
    add(&mut progress.sums, TOTAL, total, rows);
    terms
}

/// Adds the mean of so many rows to the sum of this name.
fn add(sums: &mut Vec<Sum>, name: &str, mean: f64, rows: usize) {
    let place = sums.iter().position(|sum| sum.name == name);
    let place = place.unwrap_or_else(|| {
        sums.push(Sum {
            name: name.to_owned(),
            total: 0.0,
            rows: 0,
        });
        sums.len() - 1
    });
    sums[place].total += mean * as_f64(rows);
    sums[place].rows += rows;
}

/// The mean of each sum, which is then empty.
pub(super) fn means(sums: &mut Vec<Sum>) -> BTreeMap<String, f64> {
    let sums = sums.drain(..);
    sums.map(|sum| (sum.name, sum.total / as_f64(sum.rows.max(1))))
        .collect()
}
