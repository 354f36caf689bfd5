//! The network beside a linear model fitted to the same rows.

use thickset::audit::Audit;
use thickset::explain::ExplanationConfig;

use crate::cell::Cell;
use crate::number::{count, percent, score};
use crate::prose::{Nouns, worth};

/// A table of two rows and what it says.
pub struct LinearComparison {
    /// The linear model first.
    pub lines: Vec<Line>,
    /// What the table is.
    pub caption: String,
    /// A sentence each.
    pub said: Vec<String>,
}

/// A model's figures.
pub struct Line {
    /// The model.
    pub name: String,
    /// Its cells.
    pub cells: Vec<Cell>,
}

/// What a linear model is there for. With two classes its gradient points the same way everywhere.
pub fn use_of(audit: &Audit) -> &'static str {
    let is_gradient = matches!(
        audit.settings.explain.explanation,
        ExplanationConfig::Grad(_)
    );
    if is_gradient && audit.model.classes.len() == 2 {
        "With two classes a linear model's reasons never change: it says what accuracy comes without giving up any stability."
    } else {
        "A linear model says what accuracy and what stability come without a network."
    }
}

/// The comparison; none without a linear model.
pub fn of(audit: &Audit) -> Option<LinearComparison> {
    let linear = audit.linear.as_ref()?;
    let summary = &audit.summary;
    let attacked = linear.precision_at_k.count;
    let caption = if attacked == summary.precision_at_k.count {
        "A linear model fitted to the same training rows and attacked alike; 95% intervals below."
            .to_owned()
    } else {
        format!(
            "A linear model fitted to the same training rows and attacked alike, on the first {} of the {}; 95% intervals below.",
            count(attacked),
            Nouns::of(audit).rows
        )
    };
    Some(LinearComparison {
        lines: vec![
            Line {
                name: "linear model".to_owned(),
                cells: vec![
                    Cell::estimate(&linear.precision_at_k, percent),
                    Cell::number(linear.distinctness, score),
                    Cell::estimated(linear.auc.as_ref(), score),
                    Cell::number(linear.accuracy, percent),
                ],
            },
            Line {
                name: audit.model.name.clone(),
                cells: vec![
                    Cell::estimate(&summary.precision_at_k, percent),
                    Cell::number(summary.distinctness, score),
                    Cell::estimated(summary.auc.as_ref(), score),
                    Cell::number(summary.accuracy, percent),
                ],
            },
        ],
        caption,
        said: worth::of(summary, linear),
    })
}
