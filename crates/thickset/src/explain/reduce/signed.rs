//! Raw attributions as they are: a feature that speaks against the class comes last.

use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "signed",
    label: "signed",
    family: Family::Reduction,
    summary: "Attributions as they are: what speaks against the class comes last",
    formula: "I_i = a_i",
    source: "R2ET, section 3",
    direction: None,
    cost: "none",
    defaults: &[],
};
