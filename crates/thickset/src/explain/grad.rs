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
    defaults: &[Setting::new(
        "of",
        "probability, logit or loss of the class",
    )],
};

/// Its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GradConfig {
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
    ///
    /// On a binary network whose logits are piecewise linear, p depends on x through the margin `m = z_c - z_other` alone, and
    /// its gradient g does too. So `H u = (p''/p') g <∇m, u> = -tanh(m/2) 4 cosh(m/2)^2 g <g, u>`, half the work. It also
    /// says that whatever an attack wants of the explanation, it can only follow the gradient of the probability.
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
        let margin_tells = self.of == Output::Probability
            && network.classes() == 2
            && network.is_piecewise_linear();
        if !margin_tells {
            return gradient.hessian_product(u);
        }
        let sides = self.classes.clone() * 2.0 - 1.0;
        let margin = (pass.logits() * sides).sum_dim(1);
        let g = gradient.value();
        let along = (g.clone() * u).sum_dim(1);
        // With e = exp(-|m|): 4 cosh(m/2)^2 = (1 + e)^2 / e, and tanh(m/2) = sign(m) (1 - e) / (1 + e).
        let e = (margin.clone().abs() * -1.0).exp();
        let bend = (e.clone() + 1.0) * (e.clone() * -1.0 + 1.0) * (e + TINY).recip();
        g * (along * bend * margin.sign() * -1.0)
    }
}

/// Where a row is so sure that its gradient is zero in the network's numbers, the product is zero too.
const TINY: f64 = 1e-37;
