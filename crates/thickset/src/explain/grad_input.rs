//! The gradient times the input: `I = x ∂f_c/∂x`.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Tensor};

use super::{Attribution, Explanation, Of};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "grad-input",
    label: "Grad x Input",
    family: Family::Explanation,
    summary: "Gradient of the class's output times the input",
    formula: "I(x) = x ∂f_c(x)/∂x",
    source: "R2ET, section 3 and A.5; Shrikumar et al. 2017",
    direction: None,
    cost: "one forward and one pullback",
    defaults: &[Setting::new(
        "of",
        "probability, logit or loss of the class",
    )],
};

/// Its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GradInputConfig {
    /// Which output.
    pub of: Of,
}

pub(super) struct GradInput {
    pub(super) of: Output,
    pub(super) classes: Tensor<2>,
}

impl Explanation for GradInput {
    fn attribute(&self, network: &Network, x: Tensor<2>) -> Attribution {
        let pass = network.pass(x.clone());
        let gradient = pass.input_gradient(self.of, self.classes.clone()).value();
        Attribution {
            value: x * gradient,
            logits: Some(pass.logits()),
        }
    }

    /// `u g + H (u x)`. The appendix of R2ET drops the x of the second term.
    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        slope: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let pass = network.pass(x.clone());
        let gradient = pass.input_gradient(self.of, self.classes.clone());
        let u = slope(Attribution {
            value: x.clone() * gradient.value(),
            logits: Some(pass.logits()),
        });
        u.clone() * gradient.value() + gradient.hessian_product(u * x)
    }
}
