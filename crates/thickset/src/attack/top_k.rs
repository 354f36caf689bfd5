//! The iterative top-k attack: lowers the importances of the salient features.

use serde::{Deserialize, Serialize};

use super::goal::Weighted;
use crate::metric::ranking::TopK;
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "top-k",
    label: "Top-k attack",
    family: Family::Attack,
    summary: "Lowers the importances of the salient features",
    formula: "min_x' sum_{i in top k at x} I_i(x')",
    source: "Ghorbani et al. 2019, section 3; IGR, appendix C (IFIA)",
    direction: None,
    cost: "one explanation and one Hessian product a step",
    defaults: super::descent::DEFAULTS,
};

/// It has no settings of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopKConfig {}

pub(super) fn goal(top: &TopK) -> Weighted {
    Weighted::by_salience(top, 1.0, 0.0)
}
