//! The rows of the tables: every objective of the registry, as the papers name its variants.
//!
//! `methods.toml` lists the papers' rows with the settings that each chooses from. An objective that no row of it has becomes a row
//! with its default settings, so that a new one needs no line here.

use std::sync::LazyLock;

use serde::Deserialize;
use thickset::data::InputShape;
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{ExplainConfig, ExplanationConfig, grad_input};
use thickset::model::{
    CnnConfig, GcnConfig, LinearConfig, MlpConfig, ModelConfig, SiameseConfig, siamese,
};
use thickset::objective::ObjectiveConfig;
use thickset::registry::{Family, Info, family, nearest};
use thickset::train::OptimizerConfig;
use thickset::{Error, Result};

/// What a row is to a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodRole {
    /// Not a method: what any method must be worth more than.
    Baseline,
    /// Everything that R2ET is compared with.
    Rival,
    /// R2ET and its three variants, the rows of Table 1.
    R2et,
    /// What the papers do not have; in tables that ask for it.
    Ours,
}

/// A row of the tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchMethod {
    /// Its name on the command line.
    pub id: String,
    /// Its name in the papers.
    pub label: String,
    /// What it is to a comparison.
    pub role: MethodRole,
    /// Why it is for tables alone, if it is.
    #[serde(default)]
    pub tables_only: Option<String>,
    /// What is trained, setting by setting, as a run's configuration states it.
    objectives: Vec<toml::Table>,
    /// The architecture for tables, where it is not the usual one.
    #[serde(default)]
    model: Option<toml::Table>,
    /// The path of a number in each of them that is a share of the attacks' radius.
    #[serde(default)]
    times_radius: Option<String>,
}

/// Settings that each method of the papers with settings chooses from.
pub const SETTINGS: usize = 4;

/// The method whose AUC sets the threshold for all.
pub(crate) const VANILLA: &str = "vanilla";

/// All rows, in the papers' order, the baseline first; then the objectives that the papers do not have.
#[must_use]
pub fn methods() -> &'static [BenchMethod] {
    static METHODS: LazyLock<Vec<BenchMethod>> = LazyLock::new(|| {
        let objectives: Vec<&Info> = family(Family::Objective).collect();
        with_others(of_papers(), &objectives)
    });
    &METHODS
}

fn of_papers() -> Vec<BenchMethod> {
    #[derive(Deserialize)]
    struct File {
        method: Vec<BenchMethod>,
    }
    // A test reads it; the text comes with the program.
    toml::from_str::<File>(include_str!("methods.toml"))
        .map_or_else(|_| Vec::new(), |file| file.method)
}

/// Adds a row for each objective that no row has.
fn with_others(mut rows: Vec<BenchMethod>, objectives: &[&Info]) -> Vec<BenchMethod> {
    for info in objectives {
        let is_it = |settings: &toml::Table| kind(settings) == Some(info.id);
        if !rows.iter().any(|row| row.objectives.iter().any(is_it)) {
            let defaults = toml::Table::from_iter([("kind".to_owned(), info.id.into())]);
            rows.push(BenchMethod {
                id: info.id.to_owned(),
                label: info.label.to_owned(),
                role: MethodRole::Rival,
                tables_only: None,
                objectives: vec![defaults],
                model: None,
                times_radius: None,
            });
        }
    }
    rows
}

fn kind(settings: &toml::Table) -> Option<&str> {
    settings.get("kind")?.as_str()
}

/// The number at a path of keys with dots between them.
fn number_at<'t>(settings: &'t mut toml::Table, path: &str) -> Option<&'t mut f64> {
    let mut keys = path.split('.');
    let mut value = settings.get_mut(keys.next()?)?;
    for key in keys {
        value = value.get_mut(key)?;
    }
    match value {
        toml::Value::Float(number) => Some(number),
        _ => None,
    }
}

/// The step size of the linear baseline: one convex layer takes longer steps, and at the networks' rate it would not be
/// done after as many epochs.
const LINEAR_RATE: f64 = 1e-2;

impl BenchMethod {
    /// The method of this id.
    ///
    /// # Errors
    /// [`Error::UnknownMethod`], with the nearest id if one is near.
    pub fn find(id: &str) -> Result<&'static Self> {
        methods()
            .iter()
            .find(|method| method.id == id)
            .ok_or_else(|| Error::UnknownMethod {
                given: id.to_owned(),
                nearest: nearest(id, methods().iter().map(|method| method.id.as_str())),
            })
    }

    /// The methods of these ids, in the order of the tables; all of the papers' where there is none.
    ///
    /// # Errors
    /// As for [`BenchMethod::find`].
    pub fn chosen(ids: &[String]) -> Result<Vec<&'static Self>> {
        for id in ids {
            Self::find(id)?;
        }
        let wanted = |method: &&Self| {
            if ids.is_empty() {
                method.role != MethodRole::Ours
            } else {
                ids.contains(&method.id)
            }
        };
        Ok(methods().iter().filter(wanted).collect())
    }

    /// What it is trained with, setting by setting, where explanations are attacked within this radius and R2ET's gap weights are so many
    /// times what they are on tables.
    ///
    /// # Errors
    /// [`Error::Settings`] if there is no such objective or setting.
    pub(crate) fn settings(&self, radius: f64, gap_times: f64) -> Result<Vec<ObjectiveConfig>> {
        let objectives = self.objectives.iter();
        objectives
            .map(|settings| {
                let mut settings = settings.clone();
                let path = self.times_radius.as_deref();
                if let Some(share) = path.and_then(|path| number_at(&mut settings, path)) {
                    *share *= radius;
                }
                if self.role == MethodRole::R2et
                    && let Some(weight) = number_at(&mut settings, "gap_weight")
                {
                    *weight *= gap_times;
                }
                objective(settings)
            })
            .collect()
    }

    /// The architecture and optimiser for inputs of this shape.
    pub(crate) fn architecture(&self, shape: &InputShape) -> (ModelConfig, OptimizerConfig) {
        if self.role == MethodRole::Baseline {
            let model = ModelConfig::Linear(LinearConfig::default());
            return (model, OptimizerConfig::Adam { rate: LINEAR_RATE });
        }
        let model = match shape {
            InputShape::Image { .. } => ModelConfig::Cnn(CnnConfig::default()),
            InputShape::Pair { of } => ModelConfig::Siamese(SiameseConfig {
                embedding: match **of {
                    InputShape::Graph { .. } => siamese::Embedding::Gcn(GcnConfig::default()),
                    _ => siamese::Embedding::Cnn(CnnConfig::default()),
                },
                ..SiameseConfig::default()
            }),
            _ => self.table_model(),
        };
        (model, OptimizerConfig::default())
    }

    /// Its own for tables, or the usual one; a test reads them all.
    fn table_model(&self) -> ModelConfig {
        let usual = || ModelConfig::Mlp(MlpConfig::default());
        let own = self.model.clone();
        own.map_or_else(usual, |own| own.try_into().unwrap_or_else(|_| usual()))
    }

    /// Why it has no number for inputs of this shape, if it has none.
    pub(crate) fn refusal(&self, shape: &InputShape) -> Option<String> {
        match shape {
            InputShape::Table => None,
            InputShape::Pair { .. } if self.role == MethodRole::Baseline => {
                Some("a linear model of two inputs cannot compare them".to_owned())
            }
            _ => self.tables_only.clone(),
        }
    }
}

/// An objective as a run's configuration states it.
///
/// # Errors
/// [`Error::Settings`] if there is no such objective or setting.
pub(crate) fn objective(settings: toml::Table) -> Result<ObjectiveConfig> {
    let text = settings.to_string();
    settings
        .try_into()
        .map_err(|problem: toml::de::Error| Error::Settings {
            what: "an objective of a bench",
            text,
            problem: problem.message().to_owned(),
        })
}

/// How inputs of this shape are explained (R2ET, B.1.3).
pub(crate) fn explained(shape: &InputShape) -> ExplainConfig {
    let mut explain = ExplainConfig::default();
    let inner = match shape {
        InputShape::Pair { of } => of,
        other => other,
    };
    match inner {
        InputShape::Graph { .. } => {
            explain.explanation =
                ExplanationConfig::GradInput(grad_input::GradInputConfig::default());
        }
        InputShape::Image { channels: 1, .. } => {
            explain.reduce = ReductionConfig::NormalisedAbsolute;
        }
        InputShape::Image { .. } if matches!(shape, InputShape::Image { .. }) => {
            explain.reduce = ReductionConfig::ChannelSum;
        }
        _ => {}
    }
    explain
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_objective_of_the_registry_is_a_row_and_ids_are_unique() {
        assert!(!of_papers().is_empty(), "the papers' rows are read");
        let rows = methods()
            .iter()
            .flat_map(|method| method.settings(0.5, 1.0).unwrap());
        let used: BTreeSet<&str> = rows
            .map(|objective| objective.objective().info().id)
            .collect();
        let known: BTreeSet<&str> = family(Family::Objective).map(|info| info.id).collect();
        assert_eq!(used, known);
        let ids: BTreeSet<&str> = methods().iter().map(|method| method.id.as_str()).collect();
        assert_eq!(ids.len(), methods().len());
    }

    #[test]
    fn an_objective_that_no_row_has_is_one_with_its_defaults() {
        let known: Vec<&Info> = family(Family::Objective).collect();
        let mut rows = of_papers();
        rows.retain(|row| row.id != "ssr");
        let rows = with_others(rows, &known);
        let added = rows.last().unwrap();
        assert_eq!(added.id, "ssr");
        assert_eq!(added.role, MethodRole::Rival);
        let settings = added.settings(0.5, 1.0).unwrap();
        assert_eq!(settings.len(), 1);
        assert_eq!(settings[0].objective().info().id, "ssr");
    }

    #[test]
    fn every_method_of_the_papers_with_settings_has_as_many_as_the_others_and_all_make_sense() {
        for method in of_papers() {
            let settings = method.settings(0.5, 1.0).unwrap();
            let is_plain = matches!(settings[0], ObjectiveConfig::Vanilla(_));
            assert_eq!(
                settings.len(),
                if is_plain { 1 } else { SETTINGS },
                "{}",
                method.id
            );
            for objective in settings {
                objective.objective().check().unwrap();
            }
            if let Some(model) = &method.model {
                model.clone().try_into::<ModelConfig>().unwrap();
            }
        }
    }

    #[test]
    fn a_share_of_the_radius_is_multiplied_by_it() {
        let settings = BenchMethod::find("at").unwrap().settings(0.4, 1.0).unwrap();
        let radii: Vec<f64> = settings
            .iter()
            .map(|objective| match objective {
                ObjectiveConfig::At(config) => config.attack.epsilon,
                other => panic!("an `at`, got {other:?}"),
            })
            .collect();
        assert_eq!(radii, [0.25 * 0.4, 0.5 * 0.4, 0.75 * 0.4, 0.4]);
    }

    #[test]
    fn a_misspelt_method_is_answered_with_the_right_one() {
        let message = BenchMethod::find("r2et-mn").unwrap_err().to_string();
        assert!(message.contains("r2et-mm"), "{message}");
    }

    #[test]
    fn only_the_weights_of_r2ets_gap_are_multiplied() {
        let weight = |id: &str, times: f64| {
            let settings = BenchMethod::find(id).unwrap().settings(0.5, times).unwrap();
            let first = serde_json::to_value(&settings[0]).unwrap();
            (
                first["gap_weight"].as_f64(),
                first["hessian_weight"].as_f64(),
            )
        };
        assert_eq!(weight("r2et", 1.0), (Some(0.2), Some(0.01)));
        assert_eq!(weight("r2et", 100.0), (Some(20.0), Some(0.01)));
        assert_eq!(weight("r2et-ranking", 100.0), weight("r2et-ranking", 1.0));
        assert_eq!(weight("softplus", 100.0), weight("softplus", 1.0));
    }
}
