//! Concepts: the activations that the last layer reads, which stand for what the network has learned to see.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Pass, Tensor};

use super::{Binding, Explain, Explanation, ExplanationAt, ExplanationConfig};
use crate::Result;
use crate::data::Schema;
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

impl Explain for ConceptConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn is_of_units(&self) -> bool {
        true
    }

    fn check(&self, _schema: &Schema) -> Result<ExplanationConfig> {
        Ok((*self).into())
    }

    fn bind(&self, _network: &Network, _to: Binding<'_>) -> Box<dyn Explanation> {
        Box::new(Concept)
    }
}

struct Concept;

impl Explanation for Concept {
    fn at<'p>(&'p self, pass: &'p Pass<'p>) -> Box<dyn ExplanationAt + 'p> {
        Box::new(ConceptAt { pass })
    }
}

struct ConceptAt<'p> {
    pass: &'p Pass<'p>,
}

impl ExplanationAt for ConceptAt<'_> {
    fn value(&self) -> Tensor<2> {
        self.pass.penultimate()
    }

    fn tangent(&self, direction: Tensor<2>) -> Tensor<2> {
        self.pass.penultimate_tangent(&direction)
    }

    fn pull_back(&self, weights: Tensor<2>) -> Tensor<2> {
        self.pass.penultimate_pullback(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::explained;
    use super::*;
    use crate::toy;

    #[test]
    fn the_last_layer_of_a_linear_model_reads_the_row_itself() {
        let x = toy::row();
        let [value, tangent, pulled] = explained(ConceptConfig {}, x, [1.0, 2.0, 3.0]);
        toy::assert_close(&value, &x);
        toy::assert_close(&tangent, &[1.0, 2.0, 3.0]);
        toy::assert_close(&pulled, &[1.0, 2.0, 3.0]);
    }
}
