//! Concepts: the activations that the last layer reads, which stand for what the network has learned to see.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Tensor};

use super::{Attribution, Explanation};
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "concept",
    label: "Concept-based",
    family: Family::Explanation,
    summary: "Activations of the layer before the last, ranked like features",
    formula: "I(x) = a_{L-1}(x)",
    source: "R2ET, section 6 (concept-based explanations)",
    direction: None,
    cost: "one forward",
    defaults: &[],
};

/// It has no settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConceptConfig {}

pub(super) struct Concept;

impl Explanation for Concept {
    fn attribute(&self, network: &Network, x: Tensor<2>) -> Attribution {
        Attribution {
            value: network.penultimate(x),
            logits: None,
        }
    }
}
