//! The gradient of the explained output: `I = ∂f_c/∂x`.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, Output, Tensor};

use super::{Attribution, Explanation, Of};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "grad",
    label: "Grad",
    family: Family::Explanation,
    summary: "Gradient of the class's output in the input",
    formula: "I(x) = ∂f_c(x)/∂x",
    source: "R2ET, section 3; Simonyan et al. 2013",
    direction: None,
    cost: "one forward and one pullback",
    defaults: &[Setting {
        name: "of",
        value: "\"probability\"",
        meaning: "probability, logit or loss of the class",
    }],
};

/// Its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which output.
    pub of: Of,
}

pub(super) struct Grad {
    pub(super) of: Output,
    pub(super) classes: Tensor<2>,
}

impl Explanation for Grad {
    fn attribute(&self, network: &Network, x: Tensor<2>) -> Attribution {
        let pass = network.pass(x);
        Attribution {
            value: pass.input_gradient(self.of, self.classes.clone()).value(),
            logits: Some(pass.logits()),
        }
    }

    /// `H u`: the Hessian is symmetric.
    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        slope: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let pass = network.pass(x);
        let gradient = pass.input_gradient(self.of, self.classes.clone());
        let u = slope(Attribution {
            value: gradient.value(),
            logits: Some(pass.logits()),
        });
        gradient.hessian_product(u)
    }
}
