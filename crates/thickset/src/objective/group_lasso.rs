//! The class loss with a group lasso on neurons: `L = CE + w sum over hidden neurons of |(W_n, b_n)|`.
//!
//! The length of a neuron's weights, not its square, so that what is not needed goes to zero whole: fewer neurons have fewer kinks.

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;
use thickset_engine::layer::Part;

use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_weight;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "group-lasso",
    label: "Group lasso",
    family: Family::Objective,
    summary: "The class loss and the length of every hidden neuron's weights, so that neurons that are not needed vanish",
    formula: "L = CE + w sum over hidden neurons n of ||(W_n, b_n)||_2",
    source: "thickset; after Yuan and Lin 2006",
    direction: None,
    cost: "as vanilla, and one look at each weight; dense chains alone",
    defaults: &[Setting::new("weight", "w, the weight of the lengths")],
};

/// The penalty's weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GroupLassoConfig {
    /// The weight of the lengths.
    pub weight: f64,
}

impl Default for GroupLassoConfig {
    fn default() -> Self {
        Self { weight: 1e-3 }
    }
}

/// Below this a length has no slope.
const LEAST: f64 = 1e-12;

impl Objective for GroupLassoConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`group-lasso.weight`", self.weight)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let loss = batch.class_loss(batch.x.clone());
        if self.weight == 0.0 {
            return Ok(loss);
        }
        let parts = batch
            .network
            .tracked_chain_parts()
            .ok_or_else(super::term::pre_activations::not_a_chain)?;
        let layers = parts.iter().filter_map(|part| match part {
            Part::Linear { weight, bias } => Some(((*weight).clone(), (*bias).clone())),
            _ => None,
        });
        let mut layers: Vec<_> = layers.collect();
        layers.pop();
        let lengths = layers.into_iter().map(|(weight, bias)| -> Tensor<1> {
            let squares = (weight.clone() * weight).sum_dim(1).transpose() + bias.clone() * bias;
            (squares + LEAST).sqrt().sum()
        });
        Ok(match lengths.reduce(|sum, one| sum + one) {
            Some(sum) => loss.plus("lengths", self.weight, sum, false),
            None => loss,
        })
    }
}
