//! The class loss and the whole Hessian's norm: `L = CE + w ||H||_F`, H the Jacobian of the predicted class's explanation,
//! for the gradient the input Hessian, by one exact product a feature.

use serde::{Deserialize, Serialize};
use thickset_engine::Slopes;

use super::r2et::at_once::gradient_reduction;
use super::term::hessian_norm::{frobenius, mean_length_slopes};
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig};
use crate::Result;
use crate::check::check_weight;
use crate::explain::{InlineExplain, predicted};
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "exact-h",
    label: "Exact-H",
    family: Family::Objective,
    summary: "The class loss and the Frobenius norm of the input Hessian",
    formula: "L = CE + w ||H||_F",
    source: "R2ET, section 6.1 (Exact-H); the weight is ours, that of Est-H",
    direction: None,
    cost: "one Hessian product a feature and step: for tables",
    defaults: &[
        Setting::new("weight", "w, the weight of the norm"),
        Setting::new("adaptive", "weigh relative to the class loss"),
        EXPLAIN,
    ],
};

/// The norm's weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExactHConfig {
    /// The weight of the norm.
    pub weight: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// Whose change is bounded; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
}

impl Default for ExactHConfig {
    fn default() -> Self {
        Self {
            weight: 0.01,
            adaptive: false,
            explain: None,
        }
    }
}

impl ExactHConfig {
    /// The loss in plain numbers, where the network has that way. Of two classes and a piecewise linear network the Hessian is a
    /// multiple of `g g'`, so its norm is the length of its product with the unit gradient. It is largest in that direction, which can so
    /// be a constant for the slopes.
    fn loss_at_once(&self, batch: &Batch<'_>) -> Result<Option<Loss>> {
        let network = batch.network;
        let is_rank_one = network.classes() == 2 && network.is_piecewise_linear();
        // An adaptive weight is known only after its term.
        if self.adaptive || !is_rank_one || gradient_reduction(batch).is_none() {
            return Ok(None);
        }
        let Some(mut step) = network.training_step(&batch.x) else {
            return Ok(None);
        };
        let class = step.cross_entropy(&batch.labels);
        let classes = predicted(step.logits(), network.classes())?;
        let features = network.features();
        let mut directions = step.input_gradient(&classes).to_vec();
        for row in directions.chunks_exact_mut(features) {
            let length = row.iter().map(|it| it * it).sum::<f64>().sqrt();
            let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
            for entry in row {
                *entry *= scale;
            }
        }
        let product = step.hessian_product(directions);
        let (norm, of_product) = mean_length_slopes(product, features, self.weight);
        let slopes = Slopes {
            product: of_product,
            ..Slopes::default()
        };
        let total = step.loss(class + self.weight * norm, slopes);
        let terms = [("class", 1.0, class), ("hessian", self.weight, norm)];
        Ok(Some(Loss::of_whole(total, &terms)))
    }
}

impl Objective for ExactHConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`exact-h.weight`", self.weight)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        if self.weight == 0.0 {
            return Ok(batch.class_loss(batch.x.clone()));
        }
        if let Some(loss) = self.loss_at_once(batch)? {
            return Ok(loss);
        }
        let pass = batch.network.pass(batch.x.clone());
        let loss = batch.class_loss_of(&pass);
        let explainer = batch.explainer(&pass)?;
        let norm = frobenius(&explainer.at(&pass));
        Ok(loss.plus("hessian", self.weight, norm, self.adaptive))
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
    fn the_norm_of_an_outer_product_by_hand() {
        // H = -3/32 w w', whose Frobenius norm is 3/32 of the square of w's length, 21.
        let config = ExactHConfig {
            weight: 0.1,
            ..ExactHConfig::default()
        };
        let expected = -0.75_f64.ln() + 0.1 * 3.0 / 32.0 * 21.0;
        toy::assert_close(&[sample::toy_loss(config, toy::row(), None)], &[expected]);
    }
}
