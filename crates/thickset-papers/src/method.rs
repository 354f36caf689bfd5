//! The rows of the tables: every objective of the registry, as the papers name its variants, each with the same number of
//! settings to choose from.

use thickset::data::InputShape;
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{ExplainConfig, ExplanationConfig, grad_input};
use thickset::model::{
    CnnConfig, GcnConfig, LinearConfig, MlpConfig, ModelConfig, SiameseConfig, siamese,
};
use thickset::objective::term::gap::Pairs;
use thickset::objective::term::inner_attack::InnerAttack;
use thickset::objective::{
    ObjectiveConfig, adv_aat, art, at, cl, est_h, exact_h, ig_norm, ig_sum_norm, igr, mart,
    max_thickness, pgd_at, r2et, softplus, ssr, trades, vanilla, weight_decay,
};
use thickset::registry::nearest;
use thickset::train::OptimizerConfig;
use thickset::{Error, Result};

/// What a row is to a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kin {
    /// Not a method: what any method must be worth more than.
    Baseline,
    /// Everything that R2ET is compared with.
    Rival,
    /// R2ET and its three variants, the rows of Table 1.
    R2et,
}

/// A row of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its name in the papers.
    pub label: &'static str,
    /// What it is to a comparison.
    pub kin: Kin,
    /// Why it is for tables alone, if it is.
    pub tables_only: Option<&'static str>,
    settings: fn(Place) -> Vec<ObjectiveConfig>,
}

/// Settings that each method with settings chooses from.
pub const SETTINGS: usize = 4;

/// What the settings of a method may depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Radius of the l2 ball that explanations are attacked in.
    pub(crate) radius: f64,
}

const HESSIAN: &str = "one Hessian product a feature and step is too much beyond tables";

const fn method(
    id: &'static str,
    label: &'static str,
    kin: Kin,
    settings: fn(Place) -> Vec<ObjectiveConfig>,
) -> Method {
    Method {
        id,
        label,
        kin,
        tables_only: None,
        settings,
    }
}

const fn for_tables(mut method: Method) -> Method {
    method.tables_only = Some(HESSIAN);
    method
}

/// The method whose AUC sets the threshold for all.
pub(crate) const VANILLA: &str = "vanilla";

/// All rows, in the papers' order; the baseline first.
pub static METHODS: &[Method] = &[
    method("linear", "Linear", Kin::Baseline, |_| plain()),
    method(VANILLA, "Vanilla", Kin::Rival, |_| plain()),
    method("weight-decay", "WD", Kin::Rival, |_| {
        each([1e-3, 3e-3, 1e-2, 3e-2], |weight| {
            let adaptive = false;
            ObjectiveConfig::WeightDecay(weight_decay::WeightDecayConfig { weight, adaptive })
        })
    }),
    method("softplus", "SP", Kin::Rival, |_| {
        each([0.5, 1.0, 2.0, 4.0], |rho| {
            ObjectiveConfig::Softplus(softplus::SoftplusConfig { rho })
        })
    }),
    method("est-h", "Est-H", Kin::Rival, |_| {
        each(PENALTIES, |weight| {
            ObjectiveConfig::EstH(est_h::EstHConfig {
                weight,
                ..est_h::EstHConfig::default()
            })
        })
    }),
    for_tables(method("exact-h", "Exact-H", Kin::Rival, |_| {
        each(PENALTIES, |weight| {
            let adaptive = false;
            ObjectiveConfig::ExactH(exact_h::ExactHConfig {
                weight,
                adaptive,
                ..exact_h::ExactHConfig::default()
            })
        })
    })),
    method("ssr", "SSR", Kin::Rival, |_| {
        each(PENALTIES, |weight| {
            let adaptive = false;
            ObjectiveConfig::Ssr(ssr::SsrConfig { weight, adaptive })
        })
    }),
    method("at", "AT (explanation)", Kin::Rival, |place| {
        each([0.25, 0.5, 0.75, 1.0], |share| {
            let mut config = at::AtConfig::default();
            config.attack.epsilon = share * place.radius;
            ObjectiveConfig::At(config)
        })
    }),
    for_tables(method("cl", "CL", Kin::Rival, |_| {
        each([1e-3, 1e-2, 1e-1, 1.0], |weight| {
            ObjectiveConfig::Cl(cl::ClConfig {
                weight,
                ..cl::ClConfig::default()
            })
        })
    })),
    method("max-thickness", "Thickness", Kin::Rival, |_| {
        each(GAPS, |weight| {
            ObjectiveConfig::MaxThickness(max_thickness::MaxThicknessConfig {
                weight,
                ..max_thickness::MaxThicknessConfig::default()
            })
        })
    }),
    method("r2et-no-h", "R2ET\\H", Kin::R2et, |_| {
        each(GAPS, |gap| r2et(Pairs::All, gap, 0.0))
    }),
    method("r2et-mm-no-h", "R2ET-mm\\H", Kin::R2et, |_| {
        each(GAPS, |gap| r2et(Pairs::Closest, gap, 0.0))
    }),
    method("r2et", "R2ET", Kin::R2et, |_| {
        each(GAPS_AND_HESSIANS, |(gap, hessian)| {
            r2et(Pairs::All, gap, hessian)
        })
    }),
    method("r2et-mm", "R2ET-mm", Kin::R2et, |_| {
        each(GAPS_AND_HESSIANS, |(gap, hessian)| {
            r2et(Pairs::Closest, gap, hessian)
        })
    }),
    method("pgd-at", "AT", Kin::Rival, |_| {
        each([0.02, 0.05, 0.1, 0.2], |epsilon| {
            ObjectiveConfig::PgdAt(pgd_at::PgdAtConfig {
                attack: InnerAttack {
                    epsilon,
                    ..InnerAttack::default()
                },
            })
        })
    }),
    method("trades", "TRADES", Kin::Rival, |_| {
        each([1.0, 3.0, 6.0, 12.0], |beta| {
            ObjectiveConfig::Trades(trades::TradesConfig {
                beta,
                ..trades::TradesConfig::default()
            })
        })
    }),
    method("mart", "MART", Kin::Rival, |_| {
        each([1.0, 2.5, 5.0, 10.0], |beta| {
            ObjectiveConfig::Mart(mart::MartConfig {
                beta,
                ..mart::MartConfig::default()
            })
        })
    }),
    method("pgd-at-igr", "AT+IGR", Kin::Rival, |_| {
        igr(igr::Base::PgdAt(pgd_at::PgdAtConfig::default()))
    }),
    method("trades-igr", "TRADES+IGR", Kin::Rival, |_| {
        igr(igr::Base::Trades(trades::TradesConfig::default()))
    }),
    method("mart-igr", "MART+IGR", Kin::Rival, |_| {
        igr(igr::Base::Mart(mart::MartConfig::default()))
    }),
    method("ig-norm", "IG-NORM", Kin::Rival, |_| {
        each(ATTRIBUTIONS, |weight| {
            ObjectiveConfig::IgNorm(ig_norm::IgNormConfig {
                weight,
                ..ig_norm::IgNormConfig::default()
            })
        })
    }),
    method("ig-sum-norm", "IG-SUM-NORM", Kin::Rival, |_| {
        each(ATTRIBUTIONS, |weight| {
            ObjectiveConfig::IgSumNorm(ig_sum_norm::IgSumNormConfig {
                weight,
                ..ig_sum_norm::IgSumNormConfig::default()
            })
        })
    }),
    method("adv-aat", "AdvAAT", Kin::Rival, |_| {
        each(ATTRIBUTIONS, |weight| {
            ObjectiveConfig::AdvAat(adv_aat::AdvAatConfig {
                weight,
                ..adv_aat::AdvAatConfig::default()
            })
        })
    }),
    method("art", "ART", Kin::Rival, |_| {
        each([0.1, 0.5, 1.0, 2.0], |weight| {
            ObjectiveConfig::Art(art::ArtConfig {
                weight,
                ..art::ArtConfig::default()
            })
        })
    }),
];

/// Weights of penalties on curvature.
const PENALTIES: [f64; SETTINGS] = [1e-3, 1e-2, 1e-1, 1.0];
/// Weights of the mean gap; what worked lies between 0.1 and 0.5, and more costs AUC.
const GAPS: [f64; SETTINGS] = [0.1, 0.2, 0.4, 0.8];
/// Weights of the mean gap and of the Hessian norm.
const GAPS_AND_HESSIANS: [(f64, f64); SETTINGS] =
    [(0.2, 0.01), (0.4, 0.01), (0.2, 0.1), (0.4, 0.1)];
/// Weights of terms on attributions.
const ATTRIBUTIONS: [f64; SETTINGS] = [0.1, 0.3, 1.0, 3.0];

fn each<T>(
    values: [T; SETTINGS],
    objective: impl Fn(T) -> ObjectiveConfig,
) -> Vec<ObjectiveConfig> {
    values.into_iter().map(objective).collect()
}

fn plain() -> Vec<ObjectiveConfig> {
    vec![ObjectiveConfig::Vanilla(vanilla::VanillaConfig::default())]
}

fn r2et(pairs: Pairs, gap_weight: f64, hessian_weight: f64) -> ObjectiveConfig {
    ObjectiveConfig::R2et(r2et::R2etConfig {
        gap_weight,
        hessian_weight,
        pairs,
        ..r2et::R2etConfig::default()
    })
}

fn igr(base: igr::Base) -> Vec<ObjectiveConfig> {
    each([0.3, 1.0, 3.0, 10.0], |weight| {
        ObjectiveConfig::Igr(igr::IgrConfig {
            weight,
            base: base.clone(),
            ..igr::IgrConfig::default()
        })
    })
}

/// The step size of the linear baseline: one convex layer takes longer steps, and at the networks' rate it would not be
/// done after as many epochs.
const LINEAR_RATE: f64 = 1e-2;

impl Method {
    /// The method of this id.
    ///
    /// # Errors
    /// [`Error::UnknownMethod`], with the nearest id if one is near.
    pub fn find(id: &str) -> Result<&'static Self> {
        METHODS
            .iter()
            .find(|method| method.id == id)
            .ok_or_else(|| Error::UnknownMethod {
                given: id.to_owned(),
                nearest: nearest(id, METHODS.iter().map(|method| method.id)),
            })
    }

    /// The methods of these ids, in the order of the tables; all where there is none.
    ///
    /// # Errors
    /// As for [`Method::find`].
    pub fn chosen(ids: &[String]) -> Result<Vec<&'static Self>> {
        for id in ids {
            Self::find(id)?;
        }
        let wanted = |method: &&Self| ids.is_empty() || ids.iter().any(|id| id == method.id);
        Ok(METHODS.iter().filter(wanted).collect())
    }

    /// What it is trained with, setting by setting.
    pub(crate) fn settings(&self, place: Place) -> Vec<ObjectiveConfig> {
        (self.settings)(place)
    }

    /// The architecture and optimiser for inputs of this shape.
    pub(crate) fn architecture(&self, shape: &InputShape) -> (ModelConfig, OptimizerConfig) {
        if self.kin == Kin::Baseline {
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
            _ => ModelConfig::Mlp(MlpConfig::default()),
        };
        (model, OptimizerConfig::default())
    }

    /// Why it has no number for inputs of this shape, if it has none.
    pub(crate) fn refusal(&self, shape: &InputShape) -> Option<&'static str> {
        match shape {
            InputShape::Table => None,
            InputShape::Pair { .. } if self.kin == Kin::Baseline => {
                Some("a linear model of two inputs cannot compare them")
            }
            _ => self.tables_only,
        }
    }
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
    use thickset::registry::{Family, family};

    #[test]
    fn every_objective_of_the_registry_is_a_row_and_ids_are_unique() {
        let place = Place { radius: 0.5 };
        let rows = METHODS.iter().flat_map(|method| method.settings(place));
        let used: BTreeSet<&str> = rows
            .map(|objective| objective.objective().info().id)
            .collect();
        let known: BTreeSet<&str> = family(Family::Objective).map(|info| info.id).collect();
        assert_eq!(used, known);
        let ids: BTreeSet<&str> = METHODS.iter().map(|method| method.id).collect();
        assert_eq!(ids.len(), METHODS.len());
    }

    #[test]
    fn every_method_with_settings_has_as_many_as_the_others_and_all_make_sense() {
        let place = Place { radius: 0.5 };
        for method in METHODS {
            let settings = method.settings(place);
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
        }
    }

    #[test]
    fn a_misspelt_method_is_answered_with_the_right_one() {
        let message = Method::find("r2et-mn").unwrap_err().to_string();
        assert!(message.contains("r2et-mm"), "{message}");
    }
}
