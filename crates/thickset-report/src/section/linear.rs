//! The network beside a linear model fitted to the same rows.

use thickset::audit::Audit;

use crate::number::{estimate, percent, score};
use crate::prose::worth;

/// A table of two rows and what it says.
pub struct Comparison {
    /// The linear model first.
    pub lines: Vec<Line>,
    /// A sentence each.
    pub said: Vec<String>,
}

/// A model's figures.
pub struct Line {
    /// The model.
    pub name: String,
    /// Its cells.
    pub cells: Vec<String>,
}

/// The comparison; none without a linear model.
pub fn of(audit: &Audit) -> Option<Comparison> {
    let linear = audit.linear.as_ref()?;
    let summary = &audit.summary;
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
    let line = |name: &str, cells: [Option<String>; 4]| Line {
        name: name.to_owned(),
        cells: cells.into_iter().map(or_dash).collect(),
    };
    Some(Comparison {
        lines: vec![
            line(
                "linear model",
                [
                    Some(estimate(&linear.precision_at_k, percent)),
                    linear.distinctness.map(score),
                    linear.auc.as_ref().map(|auc| estimate(auc, score)),
                    linear.accuracy.map(percent),
                ],
            ),
            line(
                &audit.model.name,
                [
                    Some(estimate(&summary.precision_at_k, percent)),
                    summary.distinctness.map(score),
                    summary.auc.as_ref().map(|auc| estimate(auc, score)),
                    summary.accuracy.map(percent),
                ],
            ),
        ],
        said: worth::of(summary, linear),
    })
}
