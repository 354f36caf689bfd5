//! The suite: every attack, in its own direction and in that of smooth twins, random search and restarts; the worst point of
//! each row over all of them, the prediction held.
//!
//! No single attack is the worst case. On a binary `ReLU` network the gradient of the mean gap only raises the confidence, and
//! a defence may hide its gradients. So beside the papers' attacks as they are written, each is run on importances as
//! shares of their sum, from many random starts, in few steps: on such networks that finds far more for the same work.
//! The [border attack](super::border) follows the next swap on the twins; where the network has regions,
//! [region search](super::region_search) finds more than all of them together, and more still when it begins where they ended; at the end [gate search](super::gate_search)
//! looks for what is worse than anything found, or proves that nothing is.
//! What the suite finds is what we call the stability of an explanation; it is never weaker than any of its members. The
//! multi-objective attack is none of them: it takes a cone program a step, and stops at the first flip.

mod effort;

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

pub use self::effort::Effort;

use super::border::{self, BorderConfig};
use super::constraint::qp::QpConfig;
use super::donors;
use super::er_attack::ErAttackConfig;
use super::gate_search;
use super::mass_center::MassCenterConfig;
use super::mse_attack::MseAttackConfig;
use super::outcome::Attacked;
use super::random::RandomConfig;
use super::refine;
use super::region_search::{self, RegionSearchConfig};
use super::start_points::StartPoints;
use super::target::TargetConfig;
use super::threat::ball::Surface;
use super::top_k::TopKConfig;
use super::{AttackConfig, AttackKind, AttackOption, CheckedAttack, ThreatConfig};
use crate::certify::{CertifiedWorstCase, CertifyConfig, CheckedCertify};
use crate::check::{as_f64, check_finite};
use crate::data::{InputShape, Schema};
use crate::explain::reduce::ReductionConfig;
use crate::explain::{ExplainConfig, Points};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result, Seed, defaults};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "suite",
    label: "suite",
    family: Family::Attack,
    summary: "The worst point of each row over gradient attacks, their smooth twins, restarts, random points and regions, the prediction held",
    formula: "min over attacks and their iterates of P@k(I(x), I(x')), argmax f(x') = argmax f(x)",
    source: "thickset; in the manner of AutoAttack for predictions (Croce and Hein 2020)",
    direction: None,
    cost: "explanations and gradients a row: quick about 500, standard 7,400, thorough 34,000; regions of a ReLU network: 24, 1,920, 4,608; parts of its gate search: 0, 300, 5,000",
    defaults: &[
        Setting::new("effort", "quick, standard or thorough"),
        Setting::new("k", "salient features"),
        Setting::new("threat", "which inputs may be reached"),
    ],
};

/// The shared options that the suite uses.
pub static OPTIONS: &[AttackOption] = &[
    AttackOption::Effort,
    AttackOption::Radii,
    AttackOption::Radius,
];

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
            k: defaults::K,
            threat: ThreatConfig::default(),
        }
    }
}

impl SuiteConfig {
    /// The attacks that the suite is made of.
    #[must_use]
    pub fn members(&self, explain: &ExplainConfig, schema: &Schema) -> Vec<AttackConfig> {
        let plan = self.effort.plan();
        let base = AttackConfig {
            k: self.k,
            threat: self.threat.clone(),
            steps: plan.long,
            ..AttackConfig::default()
        };
        let with = |method: &AttackKind| AttackConfig {
            method: method.clone(),
            ..base.clone()
        };
        // Where the explanation's own slopes lead on, twins would only cost.
        let has_slopes = explain.explanation.behaviour().has_slopes();
        let twins = if has_slopes { &[] } else { plan.twins };
        let directions: Vec<Option<f64>> = std::iter::once(None)
            .chain(twins.iter().copied().map(Some))
            .collect();
        let mut methods: Vec<AttackKind> =
            vec![ErAttackConfig {}.into(), MseAttackConfig::default().into()];
        let mut members: Vec<AttackConfig> = methods.iter().map(with).collect();
        if plan.all_methods {
            // In shares it is ERAttack.
            members.push(with(&TopKConfig {}.into()));
            let own = members.clone();
            for &surrogate in &directions[1..] {
                members.extend(own.iter().map(|member| AttackConfig {
                    surrogate,
                    ..member.clone()
                }));
            }
            methods.push(TargetConfig::default().into());
            let has_places = matches!(schema.shape, InputShape::Image { .. })
                && explain.reduce != ReductionConfig::Signed
                && !explain.explanation.is_of_units();
            if has_places {
                methods.push(MassCenterConfig {}.into());
            }
        }
        for surrogate in directions {
            for shares in [true, false] {
                if !(shares || plan.all_directions) {
                    continue;
                }
                members.extend(methods.iter().map(|method| AttackConfig {
                    surrogate,
                    shares,
                    steps: plan.short,
                    restarts: plan.starts,
                    ..with(method)
                }));
            }
            if plan.all_directions {
                members.push(AttackConfig {
                    surrogate,
                    shares: true,
                    constraint: QpConfig {}.into(),
                    ..base.clone()
                });
            }
        }
        let followed: Vec<Option<f64>> = if has_slopes {
            vec![None]
        } else {
            twins.iter().copied().map(Some).collect()
        };
        for surrogate in followed {
            members.push(AttackConfig {
                surrogate,
                steps: plan.border.0,
                restarts: plan.border.1,
                ..with(&BorderConfig::default().into())
            });
        }
        if RegionSearchConfig::explains(explain) {
            members.push(with(&plan.regions.into()));
        }
        for (surface, points) in [
            (Surface::Sphere, plan.on_sphere),
            (Surface::Ball, plan.in_ball),
        ] {
            if points > 0 {
                members.push(AttackConfig {
                    method: RandomConfig { points, surface }.into(),
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
                shares: config.shares,
            })
        });
        let certify = CertifyConfig {
            k: self.k,
            threat: self.threat.clone(),
            hold_prediction: true,
            nodes: self.effort.gate_parts(),
        };
        let members: Vec<Member> = members.collect::<Result<_>>()?;
        let border = members
            .iter()
            .find(|member| member.attack.kind == border::INFO.id);
        let plan = self.effort.plan();
        let regions = members
            .iter()
            .find(|member| member.attack.kind == region_search::INFO.id);
        Ok(CheckedSuite {
            refine: border
                .filter(|_| plan.refine > 0)
                .map(|member| (member.attack.clone(), plan.refine)),
            regions_again: regions
                .zip(plan.regions_again)
                .map(|(member, config)| (member.attack.clone(), config)),
            members,
            certify: (self.effort != Effort::Quick)
                .then(|| certify.check(explain, schema).ok())
                .flatten()
                .filter(CheckedCertify::finds_points),
        })
    }
}

#[derive(Clone, Debug)]
struct Member {
    attack: CheckedAttack,
    surrogate: Option<f64>,
    shares: bool,
}

/// A suite that fits its rows.
#[derive(Clone, Debug)]
pub struct CheckedSuite {
    members: Vec<Member>,
    /// The border attack whose settings refinement takes, and its random steps.
    refine: Option<(CheckedAttack, usize)>,
    /// Region search, and what it comes to when it begins at what the members found.
    regions_again: Option<(CheckedAttack, RegionSearchConfig)>,
    /// What is run last, where explanation and threat set are of the kind.
    certify: Option<CheckedCertify>,
}

/// What one member found alone.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberScore {
    /// The registry's id.
    pub attack: &'static str,
    /// Sharpness of the twin it followed, if it followed one.
    pub surrogate: Option<f64>,
    /// Whether it followed importances as shares of their sum.
    pub shares: bool,
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
    /// What gate search proved of each row, the rest of the suite's finds known; none with quick effort, and where the network
    /// has no gates to search, or threat set or explanation are of another kind.
    pub certified: Option<Vec<CertifiedWorstCase>>,
}

impl CheckedSuite {
    /// The same suite with [donor directions](donors): it also goes towards these rows, row-major. Training rows are meant;
    /// each costs one explanation a row.
    ///
    /// # Errors
    /// When the donors are not whole rows, or not finite.
    pub fn with_donors(mut self, donors: &[f64]) -> Result<Self> {
        check_finite("the donors", donors)?;
        if donors.is_empty() {
            return Ok(self);
        }
        let Some(first) = self.members.first() else {
            return Ok(self);
        };
        let features = first.attack.threat.immutable().len();
        if !donors.len().is_multiple_of(features.max(1)) {
            return Err(Error::RowWidth {
                expected: features,
                got: donors.len() % features.max(1),
            });
        }
        let attack = CheckedAttack {
            kind: donors::INFO.id,
            plan: donors::plan(donors.into()),
            ..first.attack.clone()
        };
        self.members.push(Member {
            attack,
            surrogate: None,
            shares: false,
        });
        Ok(self)
    }

    /// Attacks every row with every member. A row's result depends neither on the others nor on the number of threads.
    ///
    /// # Errors
    /// As for [`CheckedAttack::perturb`].
    pub fn perturb(&self, network: &Network, rows: Points<'_>, seed: Seed) -> Result<Suite> {
        let mut worst: Option<Vec<Attacked>> = None;
        let mut members = Vec::with_capacity(self.members.len());
        let mut points = Vec::new();
        let again = self.regions_again.as_ref();
        let again = again.filter(|(attack, _)| attack.fits(network));
        let has_regions = |member: &Member| {
            member.attack.kind == region_search::INFO.id && member.attack.fits(network)
        };
        let is_decided_by_regions = network.classes() == 2 && self.members.iter().any(has_regions);
        for member in &self.members {
            // In a region shares do not change, so there is no direction of their own to follow.
            let is_idle = is_decided_by_regions && member.shares && member.surrogate.is_none();
            if is_idle || !member.attack.fits(network) {
                continue;
            }
            let found = member.attack.perturb(network, rows, seed)?;
            members.push(MemberScore {
                attack: member.attack.kind,
                surrogate: member.surrogate,
                shares: member.shares,
                precision: found.iter().map(|row| row.precision).collect(),
            });
            if again.is_some() {
                points.extend(found.iter().map(|row| row.perturbed.clone()));
            }
            worst = Some(match worst {
                None => found,
                Some(worst) => worse(worst, found),
            });
        }
        let mut worst = worst.unwrap_or_default();
        if let Some((attack, config)) = again {
            // One point of each row and member, so that the search does not begin in one place alone.
            let of_rows = rows.values.chunks(network.features()).zip(rows.ids).cycle();
            let starts = of_rows
                .zip(&points)
                .map(|((x, id), point)| (*id, x, point.as_slice()));
            let plan = config.plan_from(attack.explain().config(), StartPoints::new(starts))?;
            let attack = CheckedAttack {
                plan,
                ..attack.clone()
            };
            worst = worse(worst, attack.perturb(network, rows, seed)?);
        }
        let worst = self.refine(network, rows, worst, seed)?;
        let (rows, certified) = self.search_gates(network, rows, worst)?;
        Ok(Suite {
            rows,
            members,
            certified,
        })
    }

    /// The worst points after refinement, which starts from those of the members. Where regions decide, gate search does better.
    fn refine(
        &self,
        network: &Network,
        rows: Points<'_>,
        worst: Vec<Attacked>,
        seed: Seed,
    ) -> Result<Vec<Attacked>> {
        let is_searched = |certify: &CheckedCertify| certify.is_searched(network);
        let Some((first, steps)) = self.refine.as_ref() else {
            return Ok(worst);
        };
        if self.certify.as_ref().is_some_and(is_searched) {
            return Ok(worst);
        }
        let features = network.features();
        let starts = rows.values.chunks(features).zip(rows.ids).zip(&worst);
        let starts = starts.map(|((x, id), found)| (*id, x, found.perturbed.as_slice()));
        let attack = CheckedAttack {
            kind: refine::INFO.id,
            plan: refine::plan(StartPoints::new(starts), *steps),
            ..first.clone()
        };
        let found = attack.perturb(network, rows, seed)?;
        Ok(worse(worst, found))
    }

    /// The worst points after gate search, which starts from those of the members, and what it proved.
    fn search_gates(
        &self,
        network: &Network,
        rows: Points<'_>,
        worst: Vec<Attacked>,
    ) -> Result<(Vec<Attacked>, Option<Vec<CertifiedWorstCase>>)> {
        let fits = |certify: &&CheckedCertify| certify.is_searched(network);
        let Some(certify) = self.certify.as_ref().filter(fits) else {
            return Ok((worst, None));
        };
        let k = certify.k();
        let lost: Vec<usize> = worst.iter().map(|row| row.lost(k)).collect();
        let certified = certify.worst_case_beyond(network, rows, &lost)?;
        let searched = worst.into_iter().zip(&certified).map(|(row, certified)| {
            let Some(found) = &certified.counterexample else {
                return row;
            };
            let precision = as_f64(found.kept) / as_f64(k);
            row.clone().worse(Attacked {
                attack: gate_search::INFO.id,
                perturbed: found.point.clone(),
                precision,
                held: true,
                ..row
            })
        });
        Ok((searched.collect(), Some(certified)))
    }
}

fn worse(first: Vec<Attacked>, second: Vec<Attacked>) -> Vec<Attacked> {
    let rows = first.into_iter().zip(second);
    rows.map(|(first, second)| first.worse(second)).collect()
}

/// What several suites are run on.
#[derive(Clone, Copy, Debug)]
pub struct SuiteRows<'a> {
    /// The network.
    pub network: &'a Network,
    /// The rows.
    pub rows: Points<'a>,
    /// Training rows to go towards, row-major; there may be none.
    pub donors: &'a [f64],
    /// Decides every draw.
    pub seed: Seed,
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
    on: &SuiteRows<'_>,
) -> Result<Vec<(f64, Vec<Attacked>)>> {
    let mut radii = radii.to_vec();
    radii.sort_by(f64::total_cmp);
    let mut found: Vec<(f64, Vec<Attacked>)> = Vec::with_capacity(radii.len());
    for radius in radii {
        let mut config = config.clone();
        config.threat.ball.radius = radius;
        let here = config
            .check(explain, schema)?
            .with_donors(on.donors)?
            .perturb(on.network, on.rows, on.seed)?
            .rows;
        let worst = match found.last() {
            Some((_, smaller)) => worse(here, smaller.clone()),
            None => here,
        };
        found.push((radius, worst));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Activation, Fresh, MlpConfig, ModelConfig};
    use crate::toy::{KINKED_ROW, kinked_network};

    #[test]
    fn the_worst_case_of_a_network_with_one_kink_is_found_and_proved() {
        let schema = Schema::table(&["x0", "x1"]);
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        for (radius, kept) in [(0.29, 1), (0.5, 0)] {
            let mut config = SuiteConfig {
                k: 1,
                ..SuiteConfig::default()
            };
            config.threat.ball.radius = radius;
            let suite = config.check(&ExplainConfig::default(), &schema).unwrap();
            let found = suite
                .perturb(&kinked_network(), rows, Seed::new(1))
                .unwrap();
            assert_eq!(1 - found.rows[0].lost(1), kept, "{radius}");
            let certified = found.certified.unwrap();
            assert_eq!(certified[0].kept_at_least, kept, "{radius}");
            for member in &found.members {
                assert!(member.precision[0] >= found.rows[0].precision);
            }
        }
    }

    #[test]
    fn a_second_search_of_regions_finds_what_the_members_did_not() {
        const FEATURES: usize = 24;
        const ROWS: u64 = 8;
        let names: Vec<String> = (0..FEATURES).map(|place| format!("x{place}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: vec![48, 32],
            activation: Activation::Relu,
        });
        let mut fresh = Fresh::double(Seed::new(4));
        let network = model
            .network(&InputShape::Table, FEATURES, 2, &mut fresh)
            .unwrap();
        let mut stream = Seed::new(5).stream("rows");
        let ids: Vec<u64> = (0..ROWS).collect();
        let values: Vec<f64> = ids
            .iter()
            .flat_map(|_| [(); FEATURES])
            .map(|()| stream.normal())
            .collect();
        let (mut once, mut again) = (0.0, 0.0);
        for radius in [0.4, 0.8] {
            let mut config = SuiteConfig::default();
            config.threat.ball.radius = radius;
            let mut suite = config
                .check(&ExplainConfig::default(), &Schema::table(&names))
                .unwrap();
            // What gate search would find is not asked about.
            suite.certify = None;
            let kept = |suite: &CheckedSuite| -> f64 {
                let rows = Points {
                    values: &values,
                    ids: &ids,
                };
                let found = suite.perturb(&network, rows, Seed::new(6)).unwrap();
                found.rows.iter().map(|row| row.precision).sum()
            };
            again += kept(&suite);
            suite.regions_again = None;
            once += kept(&suite);
        }
        assert!(again < once, "{again} {once}");
    }

    #[test]
    fn every_effort_makes_a_suite_that_fits() {
        let schema = Schema::table(&["x0", "x1"]);
        for effort in [Effort::Quick, Effort::Standard, Effort::Thorough] {
            let config = SuiteConfig {
                effort,
                k: 1,
                ..SuiteConfig::default()
            };
            let suite = config.check(&ExplainConfig::default(), &schema);
            assert!(suite.is_ok(), "{effort:?}: {:?}", suite.err());
        }
    }
}
