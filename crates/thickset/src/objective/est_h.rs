//! The class loss and the Hessian norm along one direction: `L = CE + w ||H z||_2`, R2ET without the gap.

use serde::{Deserialize, Serialize};

use super::term::hessian_norm::HessianMethod;
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig, r2et};
use crate::Result;
use crate::check::{check_positive, check_weight};
use crate::explain::InlineExplain;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "est-h",
    label: "Est-H",
    family: Family::Objective,
    summary: "The class loss and the Hessian norm along the gradient's sign",
    formula: "L = CE + w ||H z||_2, z = sign(g) / ||sign(g)||_2",
    source: "R2ET, section 6.1 (Est-H), after Dombrowski et al. 2022 and Moosavi-Dezfooli et al. 2019; weight and step are ours, measured on the tables",
    direction: None,
    cost: "one input gradient and one Hessian product a step, about three vanilla steps",
    defaults: &[
        Setting::new("weight", "w, the weight of the norm"),
        Setting::new("hessian", "or \"finite-difference\", as the paper"),
        Setting::new("step", "length of the finite difference"),
        Setting::new("adaptive", "weigh relative to the class loss"),
        EXPLAIN,
    ],
};

/// The norm's weight and how it is computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EstHConfig {
    /// The weight of the norm.
    pub weight: f64,
    /// How it is computed.
    pub hessian: HessianMethod,
    /// Length of the finite difference.
    pub step: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// Whose change is bounded; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

impl Default for EstHConfig {
    fn default() -> Self {
        Self {
            weight: 0.01,
            hessian: HessianMethod::Exact,
            step: 0.01,
            adaptive: false,
            explain: None,
        }
    }
}

impl Objective for EstHConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`est-h.weight`", self.weight)?;
        check_positive("`est-h.step`", self.step)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let without_gap = r2et::R2etConfig {
            gap_weight: 0.0,
            hessian_weight: self.weight,
            hessian: self.hessian,
            step: self.step,
            adaptive: self.adaptive,
            ..r2et::R2etConfig::default()
        };
        without_gap.loss(batch)
    }

    fn explain(&self) -> Option<&InlineExplain> {
        self.explain.as_ref()
    }

    fn with_explain(&self, explain: &InlineExplain) -> Option<ObjectiveConfig> {
        let explain = Some(explain.clone());
        Some(
            Self {
                explain,
                ..self.clone()
            }
            .into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::*;
    use crate::toy;

    #[test]
    fn the_hessian_norm_along_one_direction_by_hand() {
        // As in R2ET: 21/32 sqrt 7.
        let config = EstHConfig {
            weight: 0.1,
            ..EstHConfig::default()
        };
        let expected = -0.75_f64.ln() + 0.1 * 21.0 / 32.0 * 7.0_f64.sqrt();
        toy::assert_close(&[sample::toy_loss(config, toy::row(), None)], &[expected]);
    }
}
