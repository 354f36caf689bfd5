//! Adversarial training of explanations: `L = CE(f(x~), y)`, x~ where the mean gap of x's own salient set is least
//! (R2ET, section 6.1). One step of the attack by default, as fast adversarial training has it; more by `attack.steps`.

use serde::{Deserialize, Deserializer, Serialize};
use thickset_engine::Tensor;

use super::term::gap::Pairs;
use super::term::inner_attack::{InnerAttack, PartialAttack, Start};
use super::term::reading::constant;
use super::{Batch, EXPLAIN, Loss, Objective, ObjectiveConfig};
use crate::Result;
use crate::attack::threat::Norm;
use crate::explain::InlineExplain;
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
    defaults: &[Setting::new("attack", "the search for x~"), EXPLAIN],
};

/// The search for perturbed inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AtConfig {
    /// The search for x~.
    #[serde(deserialize_with = "attack_over_defaults")]
    pub attack: InnerAttack,
    /// What is attacked; the papers' explanation for the kind of data if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<InlineExplain>,
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
            explain: None,
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
            let explainer = batch.explainer(&pass)?;
            let weights = batch.pair_weights(&explainer.at(&pass), Pairs::All, None)?;
            self.attack
                .perturb(batch.network, &batch.x, draws, |network, x| {
                    // An explanation that does not move with x is recorded by the second term alone.
                    let unmoved = (x.clone() * 0.0).sum();
                    Ok(-Batch::gap_at(network, x, &explainer, &weights) + unmoved)
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
    use super::super::term::reading::value;
    use super::*;
    use crate::toy;

    /// The mean gap of x's own salient set and class, at other rows.
    fn gap_at(batch: &Batch<'_>, rows: Tensor<2>) -> f64 {
        let pass = batch.network.pass(batch.x.clone());
        let explainer = batch.explainer(&pass).unwrap();
        let weights = batch.pair_weights(&explainer.at(&pass), Pairs::All, None);
        value(&Batch::gap_at(
            batch.network,
            rows,
            &explainer,
            &weights.unwrap(),
        ))
    }

    #[test]
    fn what_the_search_finds_has_a_smaller_gap_and_more_steps_find_a_smaller_one() {
        let (network, explain) = (sample::network(), sample::explain());
        let batch = sample::batch(&network, &explain);
        let mut last = gap_at(&batch, batch.x.clone());
        for steps in [1, 5] {
            let mut config = AtConfig::default();
            config.attack.steps = steps;
            let found = gap_at(&batch, config.perturbed(&batch).unwrap());
            assert!(found < last, "{steps} steps: {found}, before {last}");
            last = found;
        }
    }

    #[test]
    fn the_search_of_one_row_by_hand() {
        // The gap is p (1 - p) times a constant, so it falls fastest along the weights, to a margin of ln 3 + sqrt 21 / 2.
        let got = sample::toy_loss(AtConfig::default(), toy::row(), None);
        let expected = sample::cross_entropy(3.0_f64.ln() + 21.0_f64.sqrt() / 2.0);
        assert!((got - expected).abs() < 1e-9, "{got} {expected}");
    }
}
