//! The multi-objective attack: how many steps it takes to bring *any* salient feature behind *any* other.
//!
//! Every pair of a salient feature i and another feature j has its gap `h_l(x) = I_i(x) - I_j(x)`. All k(n-k) of them are
//! brought down at once while the outputs and the input stay near the original ones (R2ET Eq. 10 and 27), by Algorithm 2:
//!
//! 1. The merit of a gap is `φ_l(x, t_l) = ||F(x)|| + |h_l(x) - t_l|` (Eq. 11), F being what is constrained, with a
//!    target `t_l` a little below the gap.
//! 2. A [step](trust_region) of at most the trust radius lowers all linearised merits at once (TR-MOO).
//! 3. It is taken when every merit really falls by more than the share η of what the model promised, and all targets
//!    move down; else the radius shrinks by γ.
//! 4. A gap whose linearised merit can no longer fall (`χ_l < ε`, Eq. 12) is dropped. The attack ends with the first
//!    negative gap, or fails when all are dropped.
//!
//! Where this differs from the paper, or the paper is silent:
//!
//! - Units. `F = [(f(x) - f(x_0)) / ε_f, (x - x_0) / ε_x]` with the two budgets of Eq. 27, and the slack ε of Eq. 28 is 1;
//!   gaps are in units of the smallest positive gap at `x_0`. A linear model then goes on as long as it sees a pair that could
//!   be flipped within the budgets.
//! - Two tolerances. The paper compares χ with the ε that the merits equal throughout (Eq. 35), which stops at once unless
//!   a step can close the whole merit; here χ is compared with a small share of it, `criticality`, within the initial
//!   radius.
//! - The two branches of the targets' update come to one formula, `t_l = h_l(x) + ||F(x)|| - 1`, the one they start
//!   with, as Eq. 35 says they must.
//! - Gaps may pull in opposite directions: each could fall, but no step lowers all. Then those with the smallest χ are
//!   dropped until one does.
//! - When the radius has shrunk to nothing (a kink of a `ReLU` network), the gap that kept its promise least is dropped.
//! - A trial point that lies within the budgets, keeps the classes and flips a pair is the end of the attack, whatever the
//!   ratio test says.
//! - Of a pair of inputs three predictions are kept, and their moves share the one budget.
//! - With `surrogate` the gaps of a smooth twin are followed; flips, classes and budgets are the network's own. On a binary `ReLU` network the Hessian of the probability
//!   is a multiple of `g g'`: every gap can fall along `g` alone, which moves the prediction, and most rows fail.
//!
//! So *failed* says that the linear model saw no way down, and nothing else: it is not a proof that a row cannot be attacked.

mod network;
mod search;
pub mod trust_region;

pub(crate) use network::row_gaps;

pub use network::perturb;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::network::MultiObjective;
use self::search::Search;
use super::threat::{BallConfig, Norm};
use super::{Attack, AttackOption, Plan, Setup, ThreatConfig};
use crate::check::check_finite;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "moo",
    label: "MOO-Attack",
    family: Family::Attack,
    summary: "Trust region over all gaps at once: iterations to the first flip of a salient and another feature, or failed",
    formula: "min [h_1(x), …, h_m(x)] s.t. ||f(x) - f(x_0)|| <= ε_f, ||x - x_0|| <= ε_x",
    source: "R2ET, section 5, Eq. 10 to 12, and A.4, Algorithm 2",
    direction: None,
    cost: "a cone program of about 2n variables and 2k(n-k) rows an iteration, and n second derivatives",
    defaults: &[
        Setting::new("prediction_budget", "ε_f, largest move of the outputs (l2)"),
        Setting::in_words(
            "input_budget",
            "0.5",
            "ε_x, largest move of the input (l2); on the command line the data's radius if left out",
        ),
        Setting::new("radius", "first trust radius"),
        Setting::new(
            "accept",
            "η, share of the promised decrease a step must keep",
        ),
        Setting::new("shrink", "γ, factor of the radius after a refused step"),
        Setting::new(
            "criticality",
            "χ below which a gap is dropped, as a share of its merit",
        ),
        Setting::new("iterations", "most steps tried"),
        Setting::in_words(
            "surrogate",
            "none",
            "sharpness of the softplus twin whose gaps are followed",
        ),
    ],
};

/// The attacked model: what is constrained, and what is explained.
pub trait Gaps {
    /// Outputs and importances at an input.
    ///
    /// # Errors
    /// When the model cannot be evaluated.
    fn values(&mut self, x: &[f64]) -> Result<Values>;

    /// Their derivatives by the input.
    ///
    /// # Errors
    /// When the model cannot be differentiated.
    fn derivatives(&mut self, x: &[f64]) -> Result<Derivatives>;
}

/// What a model says of one input.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    /// The predictions to keep, each with one output a class.
    pub outputs: Vec<Vec<f64>>,
    /// The explanation, one importance a feature.
    pub importance: Vec<f64>,
    /// The explanation of the twin, where gaps of a twin are followed; flips are always of [`Values::importance`].
    pub followed: Option<Vec<f64>>,
}

impl Values {
    /// The importances whose gaps are followed.
    fn followed(&self) -> &[f64] {
        self.followed.as_ref().unwrap_or(&self.importance)
    }
}

/// The derivatives of [`Values`]; one row an entry, one column an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivatives {
    /// Of the outputs, one prediction after the other.
    pub outputs: Vec<Vec<f64>>,
    /// Of the importances that are followed.
    pub importance: Vec<Vec<f64>>,
}

/// The attack's settings.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MooConfig {
    /// `ε_f`: largest move of the outputs, in the Euclidean norm.
    pub prediction_budget: f64,
    /// `ε_x`: largest move of the input, in the Euclidean norm; 0.5 if absent, on the command line the data's radius.
    pub input_budget: Option<f64>,
    /// The first trust radius.
    pub radius: f64,
    /// η: the share of the promised decrease that every merit must keep.
    pub accept: f64,
    /// γ: the factor of the radius after a refused step.
    pub shrink: f64,
    /// The possible decrease, as a share of the merit, below which a gap is dropped.
    pub criticality: f64,
    /// Most steps tried.
    pub iterations: usize,
    /// Sharpness of the softplus in the smooth twin whose gaps are followed; the network's own if absent.
    pub surrogate: Option<f64>,
}

impl Default for MooConfig {
    fn default() -> Self {
        Self {
            prediction_budget: 0.1,
            input_budget: None,
            radius: 0.05,
            accept: 0.1,
            shrink: 0.5,
            criticality: 1e-3,
            iterations: 200,
            surrogate: None,
        }
    }
}

impl Attack for MooConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    /// The ball's radius is the input's budget, unless the settings have one.
    fn options(&self) -> &'static [AttackOption] {
        if self.input_budget.is_some() {
            &[]
        } else {
            &[AttackOption::Radius]
        }
    }

    fn plan(&self, setup: &Setup<'_>) -> Result<Plan> {
        let threat = setup.threat;
        let only_ball = ThreatConfig {
            ball: BallConfig {
                norm: Norm::L2,
                ..threat.ball
            },
            immutable: threat.immutable,
            ..ThreatConfig::papers()
        };
        if *threat != only_ball {
            return Err(Error::AttackInput {
                attack: INFO.id,
                expected: "an l2 ball, with or without immutable columns, as threat set",
                got: "one with other limits".to_owned(),
            });
        }
        let config = Self {
            input_budget: self.input_budget.or(Some(threat.ball.radius)),
            ..*self
        };
        config.check()?;
        let features = setup.schema.features.iter().enumerate();
        let free = features.filter(|(_, one)| !(threat.immutable && one.immutable));
        Ok(Plan::Search(Arc::new(MultiObjective {
            config,
            free: free.map(|(index, _)| index).collect(),
        })))
    }
}

impl MooConfig {
    /// The largest move of the input.
    fn move_within(&self) -> f64 {
        self.input_budget.unwrap_or(crate::defaults::RADIUS)
    }

    fn check(&self) -> Result<()> {
        let surrogate = self.surrogate.map(|beta| ("`moo.surrogate`", beta));
        for (what, got) in [
            ("`moo.prediction_budget`", self.prediction_budget),
            ("`moo.input_budget`", self.move_within()),
            ("`moo.radius`", self.radius),
        ]
        .into_iter()
        .chain(surrogate)
        {
            if !(got > 0.0 && got.is_finite()) {
                return Err(Error::OutOfRange {
                    what,
                    expected: "positive and finite",
                    got,
                });
            }
        }
        for (what, got) in [
            ("`moo.accept`", self.accept),
            ("`moo.shrink`", self.shrink),
            ("`moo.criticality`", self.criticality),
        ] {
            if !(got > 0.0 && got < 1.0) {
                return Err(Error::OutOfRange {
                    what,
                    expected: "between 0 and 1",
                    got,
                });
            }
        }
        Ok(())
    }
}

/// How an attack ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// A salient feature fell behind another one within the budgets.
    Flipped {
        /// The salient feature.
        ahead: usize,
        /// The feature that overtook it.
        behind: usize,
    },
    /// The linear model sees no gap that can be lowered any further: a failed attack, which is no proof that none succeeds.
    Failed,
    /// The steps ran out first, or the solver had no answer.
    Unfinished,
}

/// What an attack came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Steps tried, refused ones included: the iterations to the first flip when there is one.
    pub iterations: usize,
    /// Steps taken.
    pub taken: usize,
    /// Gaps not dropped at the end, of k(n-k).
    pub remaining: usize,
    /// The last input.
    pub x: Vec<f64>,
}

/// Attacks the top-k set of the explanation at `x`.
///
/// # Errors
/// When a setting is out of range, `k` is not in `1..features`, the model fails or contradicts itself in its lengths, or a
/// value is not finite.
pub fn attack(gaps: &mut dyn Gaps, x: &[f64], k: usize, settings: &MooConfig) -> Result<Outcome> {
    settings.check()?;
    check_finite("the input", x)?;
    Search::start(gaps, x, k, settings)?.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model given by closures.
    struct Formula<V, D> {
        values: V,
        derivatives: D,
    }

    impl<V: FnMut(&[f64]) -> Values, D: FnMut(&[f64]) -> Derivatives> Gaps for Formula<V, D> {
        fn values(&mut self, x: &[f64]) -> Result<Values> {
            Ok((self.values)(x))
        }

        fn derivatives(&mut self, x: &[f64]) -> Result<Derivatives> {
            Ok((self.derivatives)(x))
        }
    }

    /// The quadratic gap `0.6 - x_0^2`, which flips at `x_0` = 0.7746; the output does not move.
    fn quadratic() -> impl Gaps {
        Formula {
            values: |x: &[f64]| Values {
                outputs: vec![vec![0.5]],
                importance: vec![1.0, 0.4 + x[0] * x[0]],
                followed: None,
            },
            derivatives: |x: &[f64]| Derivatives {
                outputs: vec![vec![0.0, 0.0]],
                importance: vec![vec![0.0, 0.0], vec![2.0 * x[0], 0.0]],
            },
        }
    }

    #[test]
    fn a_quadratic_gap_flips_after_as_many_steps_as_the_radius_needs() {
        let settings = MooConfig {
            input_budget: Some(5.0),
            radius: 0.1,
            ..MooConfig::default()
        };
        let outcome = attack(&mut quadratic(), &[0.1, 0.0], 1, &settings).unwrap();
        assert_eq!(
            outcome.ending,
            Ending::Flipped {
                ahead: 0,
                behind: 1
            }
        );
        // From 0.1 by steps of 0.1: 0.7 is not enough, 0.8 is.
        assert_eq!((outcome.iterations, outcome.taken), (7, 7));
        assert!(
            (outcome.x[0] - 0.8).abs() < 1e-5 && outcome.x[1].abs() < 1e-2,
            "{:?}",
            outcome.x
        );
    }

    #[test]
    fn the_flip_stays_out_of_reach_of_a_small_budget() {
        let settings = MooConfig {
            input_budget: Some(0.3),
            radius: 0.1,
            ..MooConfig::default()
        };
        let outcome = attack(&mut quadratic(), &[0.1, 0.0], 1, &settings).unwrap();
        assert_eq!(outcome.ending, Ending::Failed);
        assert!((outcome.x[0] - 0.1).abs() <= 0.3 + 1e-9);
    }

    #[test]
    fn an_explanation_that_never_moves_cannot_be_attacked() {
        let mut constant = Formula {
            values: |_: &[f64]| Values {
                outputs: vec![vec![0.5]],
                importance: vec![3.0, 2.0, 1.0],
                followed: None,
            },
            derivatives: |_: &[f64]| Derivatives {
                outputs: vec![vec![0.0]],
                importance: vec![vec![0.0]; 3],
            },
        };
        let outcome = attack(&mut constant, &[0.0], 2, &MooConfig::default()).unwrap();
        assert_eq!(
            outcome,
            Outcome {
                ending: Ending::Failed,
                iterations: 0,
                taken: 0,
                remaining: 0,
                x: vec![0.0]
            }
        );
    }

    #[test]
    fn of_two_gaps_that_pull_apart_one_is_dropped_and_the_other_flips() {
        // Gaps 1 - 2x and 1 + 2x: no step lowers both, and either flips once |x| passes 1/2.
        let mut torn = Formula {
            values: |x: &[f64]| Values {
                outputs: vec![],
                importance: vec![1.0, 2.0 * x[0], -2.0 * x[0]],
                followed: None,
            },
            derivatives: |_: &[f64]| Derivatives {
                outputs: vec![],
                importance: vec![vec![0.0], vec![2.0], vec![-2.0]],
            },
        };
        let settings = MooConfig {
            input_budget: Some(1.0),
            radius: 0.2,
            ..MooConfig::default()
        };
        let outcome = attack(&mut torn, &[0.0], 1, &settings).unwrap();
        assert!(
            matches!(outcome.ending, Ending::Flipped { ahead: 0, .. }),
            "{outcome:?}"
        );
        assert_eq!(outcome.remaining, 1);
        assert_eq!(outcome.iterations, 3);
    }

    #[test]
    fn the_attack_goes_where_the_prediction_does_not_move() {
        // The gap 1 - 3 x_0 - x_1 falls fastest along x_0, but so does the output.
        let mut guarded = Formula {
            values: |x: &[f64]| Values {
                outputs: vec![vec![x[0]]],
                importance: vec![1.0, 3.0 * x[0] + x[1]],
                followed: None,
            },
            derivatives: |_: &[f64]| Derivatives {
                outputs: vec![vec![1.0, 0.0]],
                importance: vec![vec![0.0, 0.0], vec![3.0, 1.0]],
            },
        };
        let settings = MooConfig {
            prediction_budget: 0.01,
            input_budget: Some(5.0),
            radius: 0.25,
            ..MooConfig::default()
        };
        let outcome = attack(&mut guarded, &[0.0, 0.0], 1, &settings).unwrap();
        assert_eq!(
            outcome.ending,
            Ending::Flipped {
                ahead: 0,
                behind: 1
            }
        );
        assert!(
            outcome.x[0].abs() <= 0.01 && outcome.x[1] > 0.97,
            "{:?}",
            outcome.x
        );
    }

    #[test]
    fn a_step_the_model_was_wrong_about_is_refused_and_the_radius_shrinks() {
        // The gap 1 - x + 4 x^2 falls at 0 and has its minimum 15/16 at 1/8: never flipped, and steps beyond 1/4 rise.
        let mut valley = Formula {
            values: |x: &[f64]| Values {
                outputs: vec![],
                importance: vec![1.0 + 4.0 * x[0] * x[0], x[0]],
                followed: None,
            },
            derivatives: |x: &[f64]| Derivatives {
                outputs: vec![],
                importance: vec![vec![8.0 * x[0]], vec![1.0]],
            },
        };
        let settings = MooConfig {
            input_budget: Some(10.0),
            radius: 0.5,
            ..MooConfig::default()
        };
        let outcome = attack(&mut valley, &[0.0], 1, &settings).unwrap();
        assert_ne!(
            outcome.ending,
            Ending::Flipped {
                ahead: 0,
                behind: 1
            }
        );
        assert!(outcome.iterations > outcome.taken);
        assert!((outcome.x[0] - 0.125).abs() < 0.05, "{outcome:?}");
    }

    #[test]
    fn a_flip_that_changes_the_class_does_not_count() {
        // The gap 1 - 4x flips at 1/4, where the second class has taken over at 1/5.
        let mut turned = Formula {
            values: |x: &[f64]| Values {
                outputs: vec![vec![0.52 - 0.1 * x[0], 0.48 + 0.1 * x[0]]],
                importance: vec![1.0, 4.0 * x[0]],
                followed: None,
            },
            derivatives: |_: &[f64]| Derivatives {
                outputs: vec![vec![-0.1], vec![0.1]],
                importance: vec![vec![0.0], vec![4.0]],
            },
        };
        let settings = MooConfig {
            input_budget: Some(5.0),
            prediction_budget: 1.0,
            radius: 0.3,
            ..MooConfig::default()
        };
        let outcome = attack(&mut turned, &[0.0], 1, &settings).unwrap();
        assert!(
            !matches!(outcome.ending, Ending::Flipped { .. }),
            "{outcome:?}"
        );
    }

    #[test]
    fn a_tiny_gap_beside_large_ones_does_not_blow_the_units_up() {
        // Gaps 1e-250 and 1: the first flips with the first step.
        let mut tied = Formula {
            values: |x: &[f64]| Values {
                outputs: vec![],
                importance: vec![1e-250, x[0], -1.0],
                followed: None,
            },
            derivatives: |_: &[f64]| Derivatives {
                outputs: vec![],
                importance: vec![vec![0.0], vec![1.0], vec![0.0]],
            },
        };
        let outcome = attack(&mut tied, &[0.0], 1, &MooConfig::default()).unwrap();
        assert_eq!(
            outcome.ending,
            Ending::Flipped {
                ahead: 0,
                behind: 1
            }
        );
    }

    #[test]
    fn a_solver_without_an_answer_leaves_the_row_unfinished() {
        /// Fails as the solver of a step does.
        struct Unsolved;

        impl Gaps for Unsolved {
            fn values(&mut self, _: &[f64]) -> Result<Values> {
                Ok(Values {
                    outputs: vec![],
                    importance: vec![1.0, 0.0],
                    followed: None,
                })
            }

            fn derivatives(&mut self, _: &[f64]) -> Result<Derivatives> {
                Err(Error::Solver {
                    problem: "TR-MOO",
                    status: "NumericalError".to_owned(),
                })
            }
        }

        let outcome = attack(&mut Unsolved, &[0.0], 1, &MooConfig::default()).unwrap();
        assert_eq!(
            (outcome.ending, outcome.iterations),
            (Ending::Unfinished, 0)
        );
    }

    #[test]
    fn settings_are_read_from_text() {
        let method: crate::attack::AttackKind = "{ kind = \"moo\", radius = 0.1, surrogate = 5.0 }"
            .parse()
            .unwrap();
        let expected = MooConfig {
            radius: 0.1,
            surrogate: Some(5.0),
            ..MooConfig::default()
        };
        assert_eq!(method, crate::attack::AttackKind::Moo(expected));
    }

    #[test]
    fn steps_that_run_out_are_reported_as_such() {
        let settings = MooConfig {
            input_budget: Some(5.0),
            radius: 0.1,
            iterations: 3,
            ..MooConfig::default()
        };
        let outcome = attack(&mut quadratic(), &[0.1, 0.0], 1, &settings).unwrap();
        assert_eq!(
            (outcome.ending, outcome.iterations),
            (Ending::Unfinished, 3)
        );
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        for settings in [
            MooConfig {
                input_budget: Some(0.0),
                ..MooConfig::default()
            },
            MooConfig {
                shrink: 1.0,
                ..MooConfig::default()
            },
            MooConfig {
                accept: f64::NAN,
                ..MooConfig::default()
            },
        ] {
            assert!(attack(&mut quadratic(), &[0.1, 0.0], 1, &settings).is_err());
        }
        assert!(attack(&mut quadratic(), &[0.1, 0.0], 2, &MooConfig::default()).is_err());
    }

    fn plan_of(change: impl Fn(&mut crate::attack::AttackConfig)) -> Result<Plan> {
        let mut config = crate::attack::AttackConfig {
            method: MooConfig::default().into(),
            k: 1,
            ..crate::attack::AttackConfig::default()
        };
        change(&mut config);
        let mut schema = crate::toy::schema();
        schema.features[1].immutable = true;
        let explain = crate::explain::ExplainConfig::default();
        config.check(&explain, &schema).map(|attack| attack.plan)
    }

    #[test]
    fn columns_that_cannot_change_stay_where_that_is_asked_and_other_limits_are_refused() {
        let free = |immutable: bool| {
            let plan = plan_of(|config| config.threat.immutable = immutable).unwrap();
            format!("{plan:?}")
        };
        assert!(free(true).contains("free: [0, 2]"), "{}", free(true));
        assert!(free(false).contains("free: [0, 1, 2]"));
        assert!(plan_of(|config| config.threat.r#box = true).is_err());
        assert!(plan_of(|config| config.threat.ball.norm = Norm::Linf).is_err());
    }

    #[test]
    fn shares_lie_between_0_and_1_and_budgets_are_positive_and_finite() {
        let check = |change: &dyn Fn(&mut MooConfig)| {
            let mut config = MooConfig::default();
            change(&mut config);
            config.check().is_ok()
        };
        assert!(check(&|_| {}));
        for budget in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(!check(&|config| config.prediction_budget = budget));
            assert!(!check(&|config| config.input_budget = Some(budget)));
            assert!(!check(&|config| config.surrogate = Some(budget)));
        }
        for share in [0.0, 1.0, f64::NAN] {
            assert!(!check(&|config| config.accept = share));
            assert!(!check(&|config| config.criticality = share));
        }
    }
}
