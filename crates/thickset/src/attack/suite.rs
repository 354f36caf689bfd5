//! The suite: every attack, in its own direction and in that of smooth twins, random search and restarts; the worst point of
//! each row over all of them, the prediction held.
//!
//! No single attack is the worst case. On a binary `ReLU` network the gradient of the mean gap only raises the confidence, and
//! a defence may hide its gradients. What the suite finds is what we call the stability of an explanation; it is never
//! weaker than any of its members.

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

use super::outcome::Attacked;
use super::threat::ball::Surface;
use super::{
    AttackConfig, CheckedAttack, ConstraintConfig, MethodConfig, ThreatConfig, er_attack,
    mass_center, mse_attack, random, target, top_k,
};
use crate::data::{InputShape, Schema};
use crate::explain::reduce::ReductionConfig;
use crate::explain::{ExplainConfig, Rows};
use crate::registry::{Family, Info, Setting};
use crate::{Result, Seed};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "suite",
    label: "suite",
    family: Family::Attack,
    summary: "The worst point of each row over all attacks, twins, random points and restarts, the prediction held",
    formula: "min over attacks and their iterates of P@k(I(x), I(x')), argmax f(x') = argmax f(x)",
    source: "thickset; in the manner of AutoAttack for predictions (Croce and Hein 2020)",
    direction: None,
    cost: "quick: about 200 explanations and Hessian products a row; standard 1,900; thorough 22,000",
    defaults: &[
        Setting {
            name: "effort",
            value: "\"standard\"",
            meaning: "quick, standard or thorough",
        },
        Setting {
            name: "k",
            value: "8",
            meaning: "salient features",
        },
        Setting {
            name: "threat",
            value: "{ ball = { norm = \"l2\", radius = 0.5 } }",
            meaning: "which inputs may be reached",
        },
    ],
};

/// How hard the suite tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// To see something soon.
    Quick,
    /// To report.
    #[default]
    Standard,
    /// To be sure.
    Thorough,
}

/// What an effort comes to.
struct Plan {
    steps: usize,
    restarts: usize,
    /// Sharpness of the twins.
    twins: &'static [f64],
    on_sphere: usize,
    in_ball: usize,
    /// Also the older attacks.
    all_methods: bool,
    /// Also a run that weighs the prediction instead of stopping at it.
    weighs_prediction: bool,
}

impl Effort {
    fn plan(self) -> Plan {
        match self {
            Self::Quick => Plan {
                steps: 30,
                restarts: 1,
                twins: &[10.0],
                on_sphere: 50,
                in_ball: 0,
                all_methods: false,
                weighs_prediction: false,
            },
            Self::Standard => Plan {
                steps: 100,
                restarts: 2,
                twins: &[10.0],
                on_sphere: 200,
                in_ball: 100,
                all_methods: true,
                weighs_prediction: false,
            },
            Self::Thorough => Plan {
                steps: 200,
                restarts: 5,
                twins: &[2.0, 10.0, 50.0],
                on_sphere: 2000,
                in_ball: 1000,
                all_methods: true,
                weighs_prediction: true,
            },
        }
    }
}

/// The suite as a configuration states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SuiteConfig {
    /// How hard it tries.
    pub effort: Effort,
    /// Salient features.
    pub k: usize,
    /// Which inputs it may reach.
    pub threat: ThreatConfig,
}

impl Default for SuiteConfig {
    fn default() -> Self {
        Self {
            effort: Effort::default(),
            k: 8,
            threat: ThreatConfig::default(),
        }
    }
}

impl SuiteConfig {
    /// The attacks that the suite is made of.
    #[must_use]
    pub fn members(&self, explain: &ExplainConfig, schema: &Schema) -> Vec<AttackConfig> {
        let plan = self.effort.plan();
        let mut methods = vec![
            MethodConfig::ErAttack(er_attack::Config {}),
            MethodConfig::MseAttack(mse_attack::Config::default()),
        ];
        if plan.all_methods {
            methods.push(MethodConfig::TopK(top_k::Config {}));
            methods.push(MethodConfig::Target(target::Config::default()));
            let has_places = matches!(schema.shape, InputShape::Image { .. })
                && explain.reduce != ReductionConfig::Signed
                && !explain.explanation.is_of_units();
            if has_places {
                methods.push(MethodConfig::MassCenter(mass_center::Config {}));
            }
        }
        let base = AttackConfig {
            k: self.k,
            threat: self.threat.clone(),
            steps: plan.steps,
            restarts: plan.restarts,
            ..AttackConfig::default()
        };
        let directions = std::iter::once(None).chain(plan.twins.iter().copied().map(Some));
        let mut members = Vec::new();
        for surrogate in directions {
            for method in &methods {
                members.push(AttackConfig {
                    method: method.clone(),
                    surrogate,
                    ..base.clone()
                });
            }
            if plan.weighs_prediction {
                members.push(AttackConfig {
                    surrogate,
                    constraint: ConstraintConfig::Qp,
                    ..base.clone()
                });
            }
        }
        for (surface, points) in [
            (Surface::Sphere, plan.on_sphere),
            (Surface::Ball, plan.in_ball),
        ] {
            if points > 0 {
                members.push(AttackConfig {
                    method: MethodConfig::Random(random::Config { points, surface }),
                    restarts: 1,
                    ..base.clone()
                });
            }
        }
        members
    }

    /// Checks the settings, and that they fit rows of this schema.
    ///
    /// # Errors
    /// As for [`AttackConfig::check`].
    pub fn check(&self, explain: &ExplainConfig, schema: &Schema) -> Result<CheckedSuite> {
        let members = self.members(explain, schema).into_iter().map(|config| {
            Ok(Member {
                attack: config.check(explain, schema)?,
                surrogate: config.surrogate,
            })
        });
        Ok(CheckedSuite {
            members: members.collect::<Result<_>>()?,
        })
    }
}

#[derive(Clone, Debug)]
struct Member {
    attack: CheckedAttack,
    surrogate: Option<f64>,
}

/// A suite that fits its rows.
#[derive(Clone, Debug)]
pub struct CheckedSuite {
    members: Vec<Member>,
}

/// What one member found alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberScore {
    /// The registry's id.
    pub attack: &'static str,
    /// Sharpness of the twin it followed, if it followed one.
    pub surrogate: Option<f64>,
    /// P@k of each row's worst point.
    pub precision: Vec<f64>,
}

/// What the suite found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suite {
    /// The worst of each row.
    pub rows: Vec<Attacked>,
    /// What each member found alone.
    pub members: Vec<MemberScore>,
}

impl CheckedSuite {
    /// Attacks every row with every member. A row's result depends neither on the others nor on the number of threads.
    ///
    /// # Errors
    /// As for [`CheckedAttack::perturb`].
    pub fn perturb(&self, network: &Network, rows: Rows<'_>, seed: Seed) -> Result<Suite> {
        let mut worst: Option<Vec<Attacked>> = None;
        let mut members = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let found = member.attack.perturb(network, rows, seed)?;
            members.push(MemberScore {
                attack: member.attack.kind,
                surrogate: member.surrogate,
                precision: found.iter().map(|row| row.precision).collect(),
            });
            worst = Some(match worst {
                None => found,
                Some(worst) => worse(worst, found),
            });
        }
        Ok(Suite {
            rows: worst.unwrap_or_default(),
            members,
        })
    }
}

fn worse(first: Vec<Attacked>, second: Vec<Attacked>) -> Vec<Attacked> {
    let rows = first.into_iter().zip(second);
    rows.map(|(first, second)| first.worse(second)).collect()
}

/// The suite's worst points for several radii, the smallest first. What lies in a ball lies in every larger one, so each
/// radius keeps what smaller ones found, and a larger radius never scores better for the defender.
///
/// # Errors
/// As for [`SuiteConfig::check`] and [`CheckedSuite::perturb`].
pub fn over_radii(
    config: &SuiteConfig,
    radii: &[f64],
    explain: &ExplainConfig,
    schema: &Schema,
    network: &Network,
    rows: Rows<'_>,
    seed: Seed,
) -> Result<Vec<(f64, Vec<Attacked>)>> {
    let mut radii = radii.to_vec();
    radii.sort_by(f64::total_cmp);
    let mut found: Vec<(f64, Vec<Attacked>)> = Vec::with_capacity(radii.len());
    for radius in radii {
        let mut config = config.clone();
        config.threat.ball.radius = radius;
        let here = config
            .check(explain, schema)?
            .perturb(network, rows, seed)?
            .rows;
        let worst = match found.last() {
            Some((_, smaller)) => worse(smaller.clone(), here),
            None => here,
        };
        found.push((radius, worst));
    }
    Ok(found)
}
