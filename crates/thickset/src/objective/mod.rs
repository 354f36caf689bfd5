//! What training minimises: a class loss and what is added to it to keep explanations in place.
//!
//! Each objective is a file with its formula. It makes a [`Loss`] of a [`Batch`]: named terms, their weights and the sum,
//! which one `backward` differentiates in the weights. Terms of weight 0 are not computed, so that an objective without
//! its regulariser is its base to the last bit.

pub mod adv_aat;
pub mod art;
pub mod at;
pub mod certified_ranking;
pub mod cl;
pub mod distinct;
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
pub mod taught;
pub mod term;
pub mod trades;
pub mod vanilla;
pub mod weight_decay;

mod batch;
mod loss;

pub use batch::Batch;
pub use loss::{Loss, Term};

use crate::Result;
use crate::data::Schema;
use crate::explain::{ExplainConfig, InlineExplain};
use crate::kinds::kinds;
use crate::model::ModelConfig;
use crate::registry::{Info, Setting};
use crate::train::TrainConfig;

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

    /// The explanation that its settings name, where it ranks features and they name one.
    fn explain(&self) -> Option<&InlineExplain> {
        None
    }

    /// The same objective with another explanation, where it ranks features.
    fn with_explain(&self, _explain: &InlineExplain) -> Option<ObjectiveConfig> {
        None
    }

    /// The architecture to train: the given one, unless the objective is about it.
    fn model(&self, model: ModelConfig) -> ModelConfig {
        model
    }

    /// How it is best trained, where that is not how everything is.
    fn usual_training(&self) -> Option<TrainConfig> {
        None
    }

    /// A model that is trained first, on the same rows, and whose rankings the objective reads as the batch's reference.
    fn teacher(&self) -> Option<Teacher> {
        None
    }
}

/// A model that is trained before another one, to rank for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Teacher {
    /// Its architecture; the network's own where absent.
    pub model: Option<ModelConfig>,
    /// What it minimises.
    pub objective: ObjectiveConfig,
    /// How.
    pub train: TrainConfig,
}

kinds! {
    /// An objective as a configuration states it: `objective = { kind = "r2et", gap_weight = 0.1 }`.
    pub enum ObjectiveConfig of Objective, read as "the objective" {
        AdvAat(adv_aat::AdvAatConfig),
        Art(art::ArtConfig),
        At(at::AtConfig),
        CertifiedRanking(certified_ranking::CertifiedRankingConfig),
        Cl(cl::ClConfig),
        Distinct(distinct::DistinctConfig),
        EstH(est_h::EstHConfig),
        ExactH(exact_h::ExactHConfig),
        IgNorm(ig_norm::IgNormConfig),
        IgSumNorm(ig_sum_norm::IgSumNormConfig),
        Igr(igr::IgrConfig),
        Mart(mart::MartConfig),
        MaxThickness(max_thickness::MaxThicknessConfig),
        PgdAt(pgd_at::PgdAtConfig),
        R2et(r2et::R2etConfig),
        Softplus(softplus::SoftplusConfig),
        Ssr(ssr::SsrConfig),
        Taught(taught::TaughtConfig),
        Trades(trades::TradesConfig),
        Vanilla(vanilla::VanillaConfig),
        WeightDecay(weight_decay::WeightDecayConfig),
    }
}

/// The registry's entries of objectives.
pub(crate) fn infos() -> impl Iterator<Item = &'static Info> {
    let kinds = ObjectiveConfig::all().into_iter();
    kinds.map(|kind| kind.behaviour().info())
}

/// The setting of every objective that ranks.
const EXPLAIN: Setting = Setting::in_words(
    "explain",
    "the papers' for the kind of data",
    "what is ranked, such as { kind = \"grad\", of = \"logit\", reduce = \"absolute\" }",
);

impl ObjectiveConfig {
    /// The objective with these settings.
    #[must_use]
    pub fn objective(&self) -> &dyn Objective {
        self.behaviour()
    }

    /// What a run with this objective ranks, and so what is trained, chosen and measured: the objective's own `explain`, or
    /// the papers' explanation for rows of this schema.
    #[must_use]
    pub fn explain(&self, schema: &Schema) -> ExplainConfig {
        match self.objective().explain() {
            Some(explain) => explain.resolve(&schema.shape),
            None => ExplainConfig::usual(&schema.shape),
        }
    }

    /// The same objective with this explanation, where it ranks at all.
    #[must_use]
    pub fn with_explain(&self, explain: &InlineExplain) -> Self {
        let changed = self.objective().with_explain(explain);
        changed.unwrap_or_else(|| self.clone())
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
    fn every_objective_that_ranks_takes_the_explanation_as_a_field() {
        let ranking = [
            "at",
            "cl",
            "distinct",
            "est-h",
            "exact-h",
            "max-thickness",
            "r2et",
            "taught",
        ];
        let explain: InlineExplain =
            toml::from_str("kind = \"smooth-grad\"\ndraws = 7\nreduce = \"signed\"").unwrap();
        for config in ObjectiveConfig::all() {
            let id = config.kind();
            let text = format!(
                "kind = \"{id}\"\nexplain = {{ kind = \"smooth-grad\", draws = 7, reduce = \"signed\" }}"
            );
            let read: std::result::Result<ObjectiveConfig, _> = toml::from_str(&text);
            assert_eq!(read.is_ok(), ranking.contains(&id), "{id}");
            let changed = config.with_explain(&explain);
            assert_eq!(changed != config, ranking.contains(&id), "{id}");
            if let Ok(read) = read {
                assert_eq!(read, changed, "{id}");
                assert_eq!(read.objective().explain(), Some(&explain), "{id}");
            }
        }
    }

    #[test]
    fn what_a_run_ranks_is_the_objectives_field_or_the_papers_for_the_data() {
        let image = Schema::image(3, 4, 4, 255.0);
        let vanilla: ObjectiveConfig = toml::from_str("kind = \"vanilla\"").unwrap();
        let usual = vanilla.explain(&image);
        assert_eq!(usual, ExplainConfig::usual(&image.shape));
        assert_eq!(ObjectiveConfig::default().explain(&image), usual);
        let own = ObjectiveConfig::default().with_explain(&ExplainConfig::default().into());
        assert_eq!(own.explain(&image), ExplainConfig::default());
    }

    #[test]
    fn a_setting_that_does_not_exist_is_refused() {
        let text = "kind = \"trades\"\nbetta = 6.0\n";
        assert!(toml::from_str::<ObjectiveConfig>(text).is_err());
    }
}
