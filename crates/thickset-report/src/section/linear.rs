//! The network beside a linear model fitted to the same rows.

use thickset::audit::Audit;
use thickset::audit::figure::{Baseline, FIGURES, Figure, Summary};
use thickset::explain::ExplanationConfig;
use thickset::model::ModelConfig;

use crate::cell::Cell;
use crate::number::count;
use crate::prose::{Nouns, worth};

/// A table of two rows and what it says.
pub struct LinearComparison {
    /// The figures that both have.
    pub columns: Vec<String>,
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

/// Whether the audited model is itself a linear one.
pub fn is_linear(audit: &Audit) -> bool {
    matches!(audit.model.architecture, ModelConfig::Linear(_))
}

/// Why there is no comparison, where there is none.
pub fn absence(audit: &Audit) -> String {
    if is_linear(audit) {
        "This model is a linear one itself, so there is no other to compare it with.".to_owned()
    } else {
        format!(
            "There were no training rows to fit a linear model to, so there is none to compare with. {}",
            use_of(audit)
        )
    }
}

/// The comparison; none without a linear model, or where the audited one is linear itself.
pub fn of(audit: &Audit) -> Option<LinearComparison> {
    let linear = audit.linear.as_ref().filter(|_| !is_linear(audit))?;
    let attacked = linear.precision_at_k().count;
    let caption = if attacked == audit.summary.precision_at_k().count {
        "A linear model fitted to the same training rows and attacked alike; 95% intervals below."
            .to_owned()
    } else {
        format!(
            "A linear model fitted to the same training rows and attacked alike, on the first {} of the {}; 95% intervals below.",
            count(attacked),
            Nouns::of(audit).rows
        )
    };
    let figures: Vec<&Figure> = FIGURES
        .iter()
        .copied()
        .filter(|figure| figure.baseline != Baseline::No)
        .collect();
    let line = |name: &str, summary: &Summary| Line {
        name: name.to_owned(),
        cells: figures
            .iter()
            .map(|figure| Cell::figure(summary, figure))
            .collect(),
    };
    Some(LinearComparison {
        columns: figures
            .iter()
            .map(|figure| figure.short(audit.settings.k))
            .collect(),
        lines: vec![
            line("linear model", linear),
            line(&audit.model.name, &audit.summary),
        ],
        caption,
        said: worth::of(&audit.summary, linear),
    })
}
