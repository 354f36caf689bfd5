//! The gradient times the input: `I = x ∂f_c/∂x`.

use serde::{Deserialize, Serialize};
use thickset_engine::{InputGradient, Network, Output, Pass, Tensor};

use super::{Binding, Explain, Explanation, ExplanationAt, ExplanationConfig, Of, hot};
use crate::Result;
use crate::data::Schema;
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

impl Explain for GradInputConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self, _schema: &Schema) -> Result<ExplanationConfig> {
        Ok((*self).into())
    }

    fn bind(&self, network: &Network, to: Binding<'_>) -> Box<dyn Explanation> {
        Box::new(GradInput {
            of: self.of.into(),
            classes: hot(network, to.classes),
        })
    }
}

struct GradInput {
    of: Output,
    classes: Tensor<2>,
}

struct GradInputAt<'p> {
    x: Tensor<2>,
    gradient: InputGradient<'p>,
}

impl Explanation for GradInput {
    fn at<'p>(&'p self, pass: &'p Pass<'p>) -> Box<dyn ExplanationAt + 'p> {
        Box::new(GradInputAt {
            x: pass.input(),
            gradient: pass.input_gradient(self.of, self.classes.clone()),
        })
    }
}

impl ExplanationAt for GradInputAt<'_> {
    fn value(&self) -> Tensor<2> {
        self.x.clone() * self.gradient.value()
    }

    /// `v g + x H v`.
    fn tangent(&self, direction: Tensor<2>) -> Tensor<2> {
        let along = direction.clone() * self.gradient.value();
        along + self.x.clone() * self.gradient.hessian_product(direction)
    }

    /// `u g + H (u x)`. The appendix of R2ET drops the x of the second term.
    fn pull_back(&self, weights: Tensor<2>) -> Tensor<2> {
        let along = weights.clone() * self.gradient.value();
        along + self.gradient.hessian_product(weights * self.x.clone())
    }

    fn input_gradient(&self) -> Option<Tensor<2>> {
        Some(self.gradient.value())
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::explained;
    use super::*;
    use crate::toy;

    #[test]
    fn the_gradient_times_the_input_by_hand() {
        let x = toy::row();
        let [value, tangent, pulled] = explained(GradInputConfig::default(), x, [1.0, 0.0, 0.0]);
        toy::assert_close(&value, &[0.75 * x[0], -0.375, 0.375]);
        // v g + x H v with H v = (-1.5, 0.75, -0.375).
        toy::assert_close(&tangent, &[0.75 - 1.5 * x[0], 0.75, -0.75]);
        // u g + H (u x), which is x0 times H u.
        toy::assert_close(&pulled, &[0.75 - 1.5 * x[0], 0.75 * x[0], -0.375 * x[0]]);
    }
}
