//! ART: `L = CE(f(x~), y) + w log(1 + exp(-(d* - d_y)))`, `d_i = 1 - cos(g_i(x), x)`, `g_i` the gradient of class i's logit
//! and * the best class other than y (IGR, Eq. 42 to 44, after Singh et al. 2020). x~ is where the same term is largest.
//!
//! It pulls the true class's gradient towards the input and pushes the next class's away.

use serde::{Deserialize, Deserializer, Serialize};
use thickset_engine::kernel::softplus;
use thickset_engine::{Network, Output, Tensor};

use super::term::inner_attack::{InnerAttack, PartialAttack};
use super::term::reading::{constant, mean_over_rows, predicted_one_hot};
use super::term::similarity::cosine;
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::check::check_weight;
use crate::host::read;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "art",
    label: "ART",
    family: Family::Objective,
    summary: "The class loss on an attacked input and the alignment of gradient and input",
    formula: "L = CE(f(x~), y) + w log(1 + exp(cos(g*(x), x) - cos(g_y(x), x)))",
    source: "IGR, Eq. 42 to 44, after Singh et al. 2020, whose weight is 0.5 and whose search has 3 steps",
    direction: None,
    cost: "two input gradients a step of the attack, and two more",
    defaults: &[
        Setting::new("weight", "w, the weight of the alignment"),
        Setting::new("attack", "the search for x~"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// The alignment's weight and the search for perturbed inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ArtConfig {
    /// The weight of the alignment.
    pub weight: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
    /// The search for x~.
    #[serde(deserialize_with = "attack_over_defaults")]
    pub attack: InnerAttack,
}

impl Default for ArtConfig {
    fn default() -> Self {
        Self {
            weight: 0.5,
            adaptive: false,
            attack: InnerAttack {
                steps: 3,
                ..InnerAttack::default()
            },
        }
    }
}

/// The mean over rows of the soft margin between the two alignments.
fn alignment(network: &Network, x: &Tensor<2>, labels: &Tensor<2>) -> Result<Tensor<1>> {
    let pass = network.pass(x.clone());
    // The labels' logits are put below all others, so that the best class is another one.
    let logits = constant(&pass.logits());
    let span = read(logits.clone())
        .iter()
        .fold(1.0_f64, |most, logit| most.max(logit.abs()));
    let others = logits - labels.clone() * (4.0 * span);
    let rival = predicted_one_hot(network, &others)?;
    let cosine_of = |classes: Tensor<2>| {
        let gradient = pass.input_gradient(Output::Logit, classes).value();
        cosine(gradient, x.clone())
    };
    let margin = cosine_of(rival) - cosine_of(labels.clone());
    Ok(mean_over_rows(softplus(margin, 1.0)))
}

fn attack_over_defaults<'d, D: Deserializer<'d>>(
    text: D,
) -> std::result::Result<InnerAttack, D::Error> {
    Ok(PartialAttack::deserialize(text)?.over(&ArtConfig::default().attack))
}

impl ArtConfig {
    /// The rows where the soft margin is largest: the true class's gradient is turned away from the input, the rival's
    /// towards it.
    fn perturbed(&self, batch: &Batch<'_>) -> Result<Tensor<2>> {
        batch.perturbed_or(|draws| {
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    alignment(network, &x, &batch.labels)
                })
        })
    }
}

impl Objective for ArtConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`art.weight`", self.weight)?;
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let loss = batch.class_loss(self.perturbed(batch)?);
        if self.weight == 0.0 {
            return Ok(loss);
        }
        let alignment = alignment(batch.network, &batch.x, &batch.labels)?;
        Ok(loss.plus("alignment", self.weight, alignment, self.adaptive))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::super::term::reading::value;
    use super::*;

    #[test]
    fn the_search_turns_the_true_classs_gradient_away_from_the_input() {
        let (network, explain) = (sample::network(), sample::explain());
        let batch = sample::batch(&network, &explain);
        let found = ArtConfig::default().perturbed(&batch).unwrap();
        let of = |x: &Tensor<2>| value(&alignment(&network, x, &batch.labels).unwrap());
        let (before, after) = (of(&batch.x), of(&found));
        assert!(after > 1.01 * before, "{after}, before {before}");
        // The margin is rival less true: it is above log 2 where the rival's gradient is nearer to the input.
        let cosine_of = |x: &Tensor<2>| {
            let pass = network.pass(x.clone());
            let gradient = pass.input_gradient(Output::Logit, batch.labels.clone());
            value(&mean_over_rows(cosine(gradient.value(), x.clone())))
        };
        assert!(cosine_of(&found) < cosine_of(&batch.x));
    }

    #[test]
    fn the_alignment_of_one_row_by_hand() {
        // The true class's gradient is (4, -2, 1), the other's is zero; the row is (1, 0, 0).
        let got = sample::toy_loss(ArtConfig::default(), [1.0, 0.0, 0.0], Some([1.0, 1.0, 0.0]));
        let alignment = sample::cross_entropy(4.0 / 21.0_f64.sqrt());
        let expected = sample::cross_entropy(2.0) + 0.5 * alignment;
        assert!((got - expected).abs() < 1e-9, "{got} {expected}");
    }
}
