//! No constraint: all weight on the objective.

use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "none",
    label: "unconstrained",
    family: Family::Constraint,
    summary: "The attack ignores the prediction",
    formula: "w = (1, 0, …, 0)",
    source: "R2ET, B.2.3",
    direction: None,
    cost: "none",
    defaults: &[],
};
