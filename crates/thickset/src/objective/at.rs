//! Adversarial training of explanations: `L = CE(f(x~), y)`, x~ where the mean gap of x's own salient set is least
//! (R2ET, section 6.1). One step of the attack by default, as fast adversarial training has it; more by `attack.steps`.

use serde::{Deserialize, Deserializer, Serialize};
use thickset_engine::{Output, Tensor};

use super::term::gap::Pairs;
use super::term::inner_attack::{InnerAttack, Norm, PartialAttack, Start};
use super::term::reading::constant;
use super::{Batch, Loss, Objective};
use crate::Result;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "at",
    label: "AT (explanation)",
    family: Family::Objective,
    summary: "The class loss on inputs whose explanation is attacked",
    formula: "L = CE(f(x~), y), x~ = argmin over the ball of sum over i <= k < j of (I_i - I_j)(x~)",
    source: "R2ET, section 6.1 (AT); the budget is ours",
    direction: None,
    cost: "one input gradient and one backward pass a step of the attack, and a vanilla step",
    defaults: &[Setting::new("attack", "the search for x~")],
};

/// The search for perturbed inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AtConfig {
    /// The search for x~.
    #[serde(deserialize_with = "attack_over_defaults")]
    pub attack: InnerAttack,
}

impl Default for AtConfig {
    fn default() -> Self {
        Self {
            attack: InnerAttack {
                norm: Norm::L2,
                epsilon: 0.5,
                steps: 1,
                step_size: None,
                start: Start::Input,
                range: None,
            },
        }
    }
}

fn attack_over_defaults<'d, D: Deserializer<'d>>(
    text: D,
) -> std::result::Result<InnerAttack, D::Error> {
    Ok(PartialAttack::deserialize(text)?.over(&AtConfig::default().attack))
}

impl AtConfig {
    fn perturbed(&self, batch: &Batch<'_>) -> Result<Tensor<2>> {
        batch.perturbed_or(|draws| {
            let mut frozen = batch.network.clone();
            frozen.untrack();
            let pass = frozen.pass(constant(&batch.x));
            let classes = batch.predicted(&pass)?;
            let gradient = pass.input_gradient(Output::Probability, classes.clone());
            let weights = batch.pair_weights(&gradient.value(), Pairs::All, None)?;
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    Ok(-Batch::gap_at(network, x, classes.clone(), &weights))
                })
        })
    }
}

impl Objective for AtConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        self.attack.check()
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        Ok(batch.class_loss(self.perturbed(batch)?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::batch::sample;
    use super::super::term::reading::value;
    use super::*;

    /// The mean gap of x's own salient set and class, at other rows.
    fn gap_at(batch: &Batch<'_>, rows: Tensor<2>) -> f64 {
        let pass = batch.network.pass(batch.x.clone());
        let classes = batch.predicted(&pass).unwrap();
        let gradient = pass.input_gradient(Output::Probability, classes.clone());
        let weights = batch.pair_weights(&gradient.value(), Pairs::All, None);
        value(&Batch::gap_at(
            batch.network,
            rows,
            classes,
            &weights.unwrap(),
        ))
    }

    #[test]
    fn what_the_search_finds_has_a_smaller_gap_and_more_steps_find_a_smaller_one() {
        let network = sample::network();
        let batch = sample::batch(&network);
        let mut last = gap_at(&batch, batch.x.clone());
        for steps in [1, 5] {
            let mut config = AtConfig::default();
            config.attack.steps = steps;
            let found = gap_at(&batch, config.perturbed(&batch).unwrap());
            assert!(found < last, "{steps} steps: {found}, before {last}");
            last = found;
        }
    }
}
