//! What training minimises: a class loss and what is added to it to keep explanations in place.
//!
//! Each objective is a file with its formula. It makes a [`Loss`] of a [`Batch`]: named terms, their weights and the sum,
//! which one `backward` differentiates in the weights. Terms of weight 0 are not computed, so that an objective without
//! its regulariser is its base to the last bit.

pub mod adv_aat;
pub mod art;
pub mod at;
pub mod cl;
pub mod est_h;
pub mod exact_h;
pub mod ig_norm;
pub mod ig_sum_norm;
pub mod igr;
pub mod mart;
pub mod max_thickness;
pub mod pgd_at;
pub mod r2et;
pub mod softplus;
pub mod ssr;
pub mod term;

pub mod trades;
pub mod vanilla;
pub mod weight_decay;

mod batch;
mod loss;

pub use batch::Batch;
pub use loss::{Loss, Term};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::model::ModelConfig;
use crate::registry::Info;

/// Something to minimise.
pub trait Objective {
    /// The registry's entry.
    fn info(&self) -> &'static Info;

    /// Refuses settings that make no sense.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`], with the setting's name.
    fn check(&self) -> Result<()>;

    /// Refuses settings that do not go with a salient set of this size.
    ///
    /// # Errors
    /// [`crate::Error::OutOfRange`], with the setting's name.
    fn check_k(&self, _k: usize) -> Result<()> {
        Ok(())
    }

    /// The loss of one batch.
    ///
    /// # Errors
    /// If the model has diverged, or k does not fit the features.
    fn loss(&self, batch: &Batch<'_>) -> Result<Loss>;

    /// The architecture to train: the given one, unless the objective is about it.
    fn model(&self, model: ModelConfig) -> ModelConfig {
        model
    }
}

/// An objective as a configuration states it: `objective = { kind = "r2et", gap_weight = 0.1 }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ObjectiveConfig {
    /// Cross-entropy alone.
    Vanilla(vanilla::VanillaConfig),
    /// With a penalty on the weights.
    WeightDecay(weight_decay::WeightDecayConfig),
    /// Of a network with softplus for `ReLU`.
    Softplus(softplus::SoftplusConfig),
    /// With the Hessian norm along one direction.
    EstH(est_h::EstHConfig),
    /// With the whole Hessian's norm.
    ExactH(exact_h::ExactHConfig),
    /// With the largest eigenvalue of the loss's Hessian.
    Ssr(ssr::SsrConfig),
    /// On inputs whose explanation is attacked.
    At(at::AtConfig),
    /// With the radius in which the ranking holds, to first order.
    Cl(cl::ClConfig),
    /// With the thickness itself.
    MaxThickness(max_thickness::MaxThicknessConfig),
    /// With gap and Hessian norm.
    R2et(r2et::R2etConfig),
    /// On inputs whose class is attacked.
    PgdAt(pgd_at::PgdAtConfig),
    /// With the divergence from attacked inputs.
    Trades(trades::TradesConfig),
    /// With more weight on what is classified wrongly.
    Mart(mart::MartConfig),
    /// With the angle between the attributions of an input and its attacked twin.
    Igr(igr::IgrConfig),
    /// With the loss's attribution along the way to an attacked input.
    IgNorm(ig_norm::IgNormConfig),
    /// The same, on the attacked input.
    IgSumNorm(ig_sum_norm::IgSumNormConfig),
    /// With the correlation of attributions.
    AdvAat(adv_aat::AdvAatConfig),
    /// With the alignment of gradient and input.
    Art(art::ArtConfig),
}

impl ObjectiveConfig {
    /// The objective with these settings.
    #[must_use]
    pub fn objective(&self) -> &dyn Objective {
        match self {
            Self::Vanilla(config) => config,
            Self::WeightDecay(config) => config,
            Self::Softplus(config) => config,
            Self::EstH(config) => config,
            Self::ExactH(config) => config,
            Self::Ssr(config) => config,
            Self::At(config) => config,
            Self::Cl(config) => config,
            Self::MaxThickness(config) => config,
            Self::R2et(config) => config,
            Self::PgdAt(config) => config,
            Self::Trades(config) => config,
            Self::Mart(config) => config,
            Self::Igr(config) => config,
            Self::IgNorm(config) => config,
            Self::IgSumNorm(config) => config,
            Self::AdvAat(config) => config,
            Self::Art(config) => config,
        }
    }
}

impl Default for ObjectiveConfig {
    fn default() -> Self {
        Self::R2et(r2et::R2etConfig::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Family, family};

    #[test]
    fn every_objective_of_the_registry_can_be_asked_for_with_its_defaults_alone() {
        for info in family(Family::Objective) {
            let text = format!("{{\"kind\": \"{}\"}}", info.id);
            let config: ObjectiveConfig = serde_json::from_str(&text).unwrap();
            assert_eq!(config.objective().info().id, info.id);
            config.objective().check().unwrap();
            let written = serde_json::to_string(&config).unwrap();
            assert_eq!(
                serde_json::from_str::<ObjectiveConfig>(&written).unwrap(),
                config
            );
        }
    }

    #[test]
    fn the_defaults_that_are_described_are_the_defaults() {
        for info in family(Family::Objective) {
            let plain: toml::Table = format!("kind = \"{}\"", info.id).parse().unwrap();
            let mut described = plain.clone();
            for (setting, value) in info.defaults.iter().zip(info.settings()) {
                // A setting that is absent by default is described in words, which no file could hold.
                if setting.in_words.is_none() {
                    let line = format!("{} = {}", value.name, value.value);
                    described.extend(line.parse::<toml::Table>().unwrap());
                }
            }
            let plain: ObjectiveConfig = plain.try_into().unwrap();
            let described: ObjectiveConfig = described.try_into().unwrap();
            assert_eq!(plain, described, "{}", info.id);
        }
    }

    #[test]
    fn settings_of_an_attack_that_are_left_out_are_the_objectives_own() {
        let text = "kind = \"at\"\nattack = { steps = 7 }\n";
        let ObjectiveConfig::At(config) = toml::from_str(text).unwrap() else {
            panic!("an `at`")
        };
        let expected = at::AtConfig::default().attack;
        assert_eq!(config.attack.norm, expected.norm);
        assert_eq!(config.attack.steps, 7);
        assert!(
            toml::from_str::<ObjectiveConfig>("kind = \"art\"\nattack = { eps = 1.0 }").is_err()
        );
    }

    #[test]
    fn a_setting_that_does_not_exist_is_refused() {
        let text = "kind = \"trades\"\nbetta = 6.0\n";
        assert!(toml::from_str::<ObjectiveConfig>(text).is_err());
    }
}
