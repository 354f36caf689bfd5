//! The network beside a linear model fitted to the same rows.

use thickset::audit::Audit;
use thickset::audit::figure::{Baseline, FIGURES, Figure, Summary};
use thickset::explain::ExplanationConfig;

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

/// The comparison; none without a linear model.
pub fn of(audit: &Audit) -> Option<LinearComparison> {
    let linear = audit.linear.as_ref()?;
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
