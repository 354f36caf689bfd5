//! The gradient of the explained output: `I = ∂f_c/∂x`.

use serde::{Deserialize, Serialize};
use thickset_engine::{InputGradient, Network, Output, Pass, Tensor};

use super::{
    Attribution, Binding, Explain, Explanation, ExplanationAt, ExplanationConfig, Of, hot,
};
use crate::Result;
use crate::data::Schema;
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

impl Explain for GradConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn plain_gradient(&self) -> Option<Of> {
        Some(self.of)
    }

    fn check(&self, _schema: &Schema) -> Result<ExplanationConfig> {
        Ok((*self).into())
    }

    fn bind(&self, network: &Network, to: Binding<'_>) -> Box<dyn Explanation> {
        Box::new(Grad {
            of: self.of.into(),
            classes: hot(network, to.classes),
        })
    }
}

struct Grad {
    of: Output,
    classes: Tensor<2>,
}

/// The Hessian is symmetric, so the gradient's tangent is its pullback.
struct GradAt<'p>(InputGradient<'p>);

impl ExplanationAt for GradAt<'_> {
    fn value(&self) -> Tensor<2> {
        self.0.value()
    }

    fn tangent(&self, direction: Tensor<2>) -> Tensor<2> {
        self.0.hessian_product(direction)
    }

    fn pull_back(&self, weights: Tensor<2>) -> Tensor<2> {
        self.0.hessian_product(weights)
    }

    fn input_gradient(&self) -> Option<Tensor<2>> {
        Some(self.0.value())
    }
}

impl Explanation for Grad {
    fn at<'p>(&'p self, pass: &'p Pass<'p>) -> Box<dyn ExplanationAt + 'p> {
        Box::new(GradAt(pass.input_gradient(self.of, self.classes.clone())))
    }

    /// `H u`, with u the function's gradient in the attributions.
    ///
    /// On a binary network whose logits are piecewise linear, p depends on x through the margin `m = z_c - z_other` alone, and
    /// its gradient g does too. So `H u = (p''/p') g <∇m, u> = -tanh(m/2) 4 cosh(m/2)^2 g <g, u>`, half the work. It also
    /// says that whatever an attack wants of the explanation, it can only follow the gradient of the probability.
    fn pull_back(
        &self,
        network: &Network,
        x: Tensor<2>,
        gradient: &mut dyn FnMut(Attribution) -> Tensor<2>,
    ) -> Tensor<2> {
        let pass = network.pass(x);
        let attribution = pass.input_gradient(self.of, self.classes.clone());
        let u = gradient(Attribution {
            value: attribution.value(),
            logits: pass.logits(),
        });
        let depends_on_margin_alone = self.of == Output::Probability
            && network.classes() == 2
            && network.is_piecewise_linear();
        if !depends_on_margin_alone {
            return attribution.hessian_product(u);
        }
        let sides = self.classes.clone() * 2.0 - 1.0;
        let margin = (pass.logits() * sides).sum_dim(1);
        let g = attribution.value();
        let along = (g.clone() * u).sum_dim(1);
        // With e = exp(-|m|): 4 cosh(m/2)^2 = (1 + e)^2 / e, and tanh(m/2) = sign(m) (1 - e) / (1 + e).
        let e = (margin.clone().abs() * -1.0).exp();
        let curvature = (e.clone() + 1.0) * (e.clone() * -1.0 + 1.0) * (e + TINY).recip();
        g * (along * curvature * margin.sign() * -1.0)
    }
}

/// Where a row is so sure that its gradient is zero in the network's numbers, the product is zero too.
const TINY: f64 = 1e-37;

#[cfg(test)]
mod tests {
    use super::super::sample::explained;
    use super::*;
    use crate::toy;

    #[test]
    fn the_gradient_of_two_classes_by_hand() {
        // 3/16 of (4, -2, 1), and along (1, 0, 0) -3/32 * 4 of it.
        let config = GradConfig::default();
        let [value, tangent, pulled] = explained(config, toy::row(), [1.0, 0.0, 0.0]);
        toy::assert_close(&value, &[0.75, -0.375, 0.1875]);
        toy::assert_close(&tangent, &[-1.5, 0.75, -0.375]);
        toy::assert_close(&pulled, &tangent);
    }

    #[test]
    fn the_gradients_of_the_logit_and_of_the_loss_by_hand() {
        let logit = GradConfig { of: Of::Logit };
        let [value, tangent, _] = explained(logit, toy::row(), [1.0, 0.0, 0.0]);
        toy::assert_close(&value, &toy::WEIGHTS);
        toy::assert_close(&tangent, &[0.0; 3]);
        // The loss -log p has the gradient (p - 1) of the weights.
        let loss = GradConfig { of: Of::Loss };
        let [value, _, _] = explained(loss, toy::row(), [1.0, 0.0, 0.0]);
        toy::assert_close(&value, &[-1.0, 0.5, -0.25]);
    }
}
