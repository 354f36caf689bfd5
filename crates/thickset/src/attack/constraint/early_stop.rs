//! Early stop: a row goes no further than the last step that kept its predictions.

use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "early-stop",
    label: "early stop",
    family: Family::Constraint,
    summary: "A row stays for ever where it was before the first step that changes its prediction",
    formula: "x_{t+1} = x_t from the first t with argmax f(x_{t+1}) != argmax f(x_0)",
    source: "R2ET's released code",
    direction: None,
    cost: "none",
    defaults: &[],
};
