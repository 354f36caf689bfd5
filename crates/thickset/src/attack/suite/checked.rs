//! A suite that fits its rows, and how it attacks them: proofs first, then the members, regions from where these ended, and gate search at the end.

use thickset_engine::Network;

use super::SuiteConfig;
use super::effort::{Effort, RegionsAgain};
use super::found::{MemberScore, Suite};
use super::progress::Progress;
use crate::attack::every_point::{self, KnownPoints};
use crate::attack::outcome::Attacked;
use crate::attack::start_points::StartPoints;
use crate::attack::{
    AttackConfig, CheckedAttack, border, donors, gate_search, refine, region_search,
};
use crate::certify::{CertifiedWorstCase, CertifyConfig, CheckedCertify};
use crate::check::{as_f64, check_finite};
use crate::data::Schema;
use crate::explain::{ExplainConfig, Points};
use crate::{Error, Result, Seed};

impl SuiteConfig {
    /// Checks the settings, and that they fit rows of this schema.
    ///
    /// # Errors
    /// As for [`AttackConfig::check`].
    pub fn check(&self, explain: &ExplainConfig, schema: &Schema) -> Result<CheckedSuite> {
        let checked = |config: AttackConfig| {
            Ok(Member {
                attack: config.check(explain, schema)?,
                surrogate: config.surrogate,
                shares: config.shares,
            })
        };
        let members: Vec<Member> = self
            .members(explain, schema)
            .into_iter()
            .map(checked)
            .collect::<Result<_>>()?;
        let by_regions: Vec<Member> = self
            .members_by_regions(explain)
            .into_iter()
            .map(checked)
            .collect::<Result<_>>()?;
        let certify = CertifyConfig {
            k: self.k,
            threat: self.threat.clone(),
            hold_prediction: true,
            nodes: self.effort.gate_parts(),
        };
        let border = members
            .iter()
            .find(|member| member.attack.kind == border::INFO.id);
        let plan = self.effort.plan();
        let regions = members
            .iter()
            .find(|member| member.attack.kind == region_search::INFO.id);
        let again = |config: RegionsAgain| regions.map(|member| (member.attack.clone(), config));
        Ok(CheckedSuite {
            refine: border
                .filter(|_| plan.refine > 0)
                .map(|member| (member.attack.clone(), plan.refine)),
            regions_again: plan.regions_again.and_then(again),
            by_regions: plan.by_regions.and_then(|short| {
                Some(ShortList {
                    again: again(short.regions)?,
                    members: by_regions,
                })
            }),
            listed: plan.listed,
            members,
            certify: (self.effort != Effort::Quick)
                .then(|| certify.check(explain, schema).ok())
                .flatten()
                .filter(CheckedCertify::finds_points),
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) attack: CheckedAttack,
    pub(super) surrogate: Option<f64>,
    pub(super) shares: bool,
}

/// Region search, and how it begins at what the members found.
type Again = (CheckedAttack, RegionsAgain);

/// What is run where regions decide.
#[derive(Clone, Debug)]
struct ShortList {
    members: Vec<Member>,
    again: Again,
}

/// What is run on a network.
struct Running<'s> {
    members: Vec<&'s Member>,
    again: Option<&'s Again>,
}

/// A suite that fits its rows.
#[derive(Clone, Debug)]
pub struct CheckedSuite {
    members: Vec<Member>,
    /// What is run in their place where regions decide, if that is less.
    by_regions: Option<ShortList>,
    /// A row whose set has at most so many points is not attacked but gone through.
    listed: usize,
    /// The border attack whose settings refinement takes, and its random steps.
    refine: Option<(CheckedAttack, usize)>,
    /// Region search, and what it comes to when it begins at what the members found.
    regions_again: Option<Again>,
    /// What is run last, where explanation and threat set are of the kind.
    certify: Option<CheckedCertify>,
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
        let member = Member {
            attack,
            surrogate: None,
            shares: false,
        };
        if let Some(short) = &mut self.by_regions {
            short.members.push(member.clone());
        }
        self.members.push(member);
        Ok(self)
    }

    /// Attacks every row: with every member, or by trying all points that it can become where these are few. A row's result depends
    /// neither on the others nor on the number of threads.
    ///
    /// # Errors
    /// As for [`CheckedAttack::perturb`].
    pub fn perturb(&self, network: &Network, rows: Points<'_>, seed: Seed) -> Result<Suite> {
        self.perturb_after_proof(network, rows, seed, None)
    }

    /// The same, and first what can be proved of each row: a row that has come to what is proved is not attacked any further, which changes
    /// nothing of what is found.
    ///
    /// # Errors
    /// As for [`CheckedSuite::perturb`].
    pub(crate) fn perturb_after_proof(
        &self,
        network: &Network,
        rows: Points<'_>,
        seed: Seed,
        certify: Option<&CheckedCertify>,
    ) -> Result<Suite> {
        rows.check(network)?;
        let Some(threat) = self.members.first().map(|first| &first.attack.threat) else {
            return self.perturb_by_members(network, rows, seed, certify);
        };
        if !threat.can_be_listed() {
            return self.perturb_by_members(network, rows, seed, certify);
        }
        let of_rows = rows.values.chunks(network.features());
        let lists: Vec<Option<Vec<Vec<f64>>>> =
            of_rows.map(|x| threat.list(x, self.listed)).collect();
        let is_listed = |place: &usize| lists[*place].is_some();
        let (listed, others): (Vec<usize>, Vec<usize>) =
            (0..rows.ids.len()).partition(|place| is_listed(place));
        let lists: Vec<Vec<Vec<f64>>> = lists.into_iter().flatten().collect();
        let (values, ids) = rows.at(network.features(), &others);
        let some = Points {
            values: &values,
            ids: &ids,
        };
        let by_members = self.perturb_by_members(network, some, seed, certify)?;
        let (values, ids) = rows.at(network.features(), &listed);
        let some = Points {
            values: &values,
            ids: &ids,
        };
        let mut by_points = self.try_every_point(network, some, &lists, seed)?;
        if certify.is_some() {
            let known = by_points.known.iter().flatten();
            by_points.proved = Some(known.map(KnownPoints::worst_case).collect());
        }
        Ok(by_members.with(&others, by_points, &listed))
    }

    /// The same suite with its members alone, whatever the lists.
    #[cfg(test)]
    pub(crate) fn without_lists(mut self) -> Self {
        self.listed = 0;
        self
    }

    /// What runs on a network.
    fn running(&self, network: &Network) -> Running<'_> {
        let has_regions = |member: &Member| {
            member.attack.kind == region_search::INFO.id && member.attack.fits(network)
        };
        let is_decided_by_regions = network.classes() == 2 && self.members.iter().any(has_regions);
        if let Some(short) = self.by_regions.as_ref().filter(|_| is_decided_by_regions) {
            return Running {
                members: short.members.iter().collect(),
                again: Some(&short.again),
            };
        }
        let runs = |member: &&Member| {
            // In a region shares do not change, so there is no direction of their own to follow.
            let is_idle = is_decided_by_regions && member.shares && member.surrogate.is_none();
            !is_idle && member.attack.fits(network)
        };
        let again = self.regions_again.as_ref();
        Running {
            members: self.members.iter().filter(runs).collect(),
            again: again.filter(|(attack, _)| attack.fits(network)),
        }
    }

    /// Goes through all points of the rows' sets, after the first member, whose steps are reported.
    fn try_every_point(
        &self,
        network: &Network,
        rows: Points<'_>,
        lists: &[Vec<Vec<f64>>],
        seed: Seed,
    ) -> Result<Suite> {
        let running = self.running(network).members;
        let count = rows.ids.len();
        let mut members: Vec<MemberScore> = running
            .iter()
            .map(|member| MemberScore::new(member, count))
            .collect();
        let Some(first) = self.members.first().filter(|_| count > 0) else {
            members.push(MemberScore::of_points(count));
            return Ok(Suite {
                members,
                ..Suite::default()
            });
        };
        let attack = CheckedAttack {
            kind: every_point::INFO.id,
            ..first.attack.clone()
        };
        let tried = every_point::perturb(&attack, network, rows, lists, seed)?;
        let (mut worst, mut known): (Vec<Attacked>, Vec<KnownPoints>) = tried.into_iter().unzip();
        let by_points = worst.iter().map(|row| Some(row.precision)).collect();
        if let Some((first, score)) = running.first().zip(members.first_mut()) {
            let found = first.attack.perturb(network, rows, seed)?;
            score.precision = found.iter().map(|row| Some(row.precision)).collect();
            // A point that a step came to counts as the whole numbers that it is near.
            let rows = rows.values.chunks(network.features()).zip(&found);
            for ((x, found), known) in rows.zip(&mut known) {
                known.add_found(attack.threat.ball().size(x, &found.perturbed), found);
            }
            worst = worse(found, worst);
        }
        members.push(MemberScore {
            precision: by_points,
            ..MemberScore::of_points(0)
        });
        let fits = |certify: &&CheckedCertify| certify.is_searched(network);
        let certify = self.certify.as_ref().filter(fits);
        Ok(Suite {
            certified: certify.map(|_| known.iter().map(KnownPoints::worst_case).collect()),
            rows: worst,
            members,
            known: known.into_iter().map(Some).collect(),
            proved: None,
        })
    }

    /// Attacks every row with the first member, and with the others as long as something worse could be found.
    fn perturb_by_members(
        &self,
        network: &Network,
        rows: Points<'_>,
        seed: Seed,
        certify: Option<&CheckedCertify>,
    ) -> Result<Suite> {
        let running = self.running(network);
        let count = rows.ids.len();
        let mut members: Vec<MemberScore> = running
            .members
            .iter()
            .map(|member| MemberScore::new(member, count))
            .collect();
        if count == 0 {
            return Ok(Suite {
                members,
                ..Suite::default()
            });
        }
        let proved = self.prove(network, rows, certify)?;
        let mut on = Progress::new(network, rows, proved.as_deref());
        let mut ends: Vec<(usize, Vec<f64>)> = Vec::new();
        for (member, score) in running.members.into_iter().zip(&mut members) {
            let found = on.attack_with(&member.attack, seed)?;
            for (row, found) in found {
                score.precision[row] = Some(found.precision);
                if running.again.is_some() {
                    ends.push((row, found.perturbed.clone()));
                }
                on.add(row, found);
            }
            // What is proved to stay whole stays so under this attack too.
            let proved = proved.iter().flatten();
            for (precision, proved) in score.precision.iter_mut().zip(proved) {
                if proved.kept_at_least == member.attack.k {
                    precision.get_or_insert(1.0);
                }
            }
        }
        if let Some((attack, again)) = running.again {
            // One point of each row and member, so that the search does not begin in one place alone.
            let starts = ends.iter();
            let starts =
                starts.map(|(row, point)| (rows.ids[*row], on.row(*row), point.as_slice()));
            let starts = StartPoints::new(starts);
            let plan =
                again
                    .search
                    .plan_from(attack.explain().config(), starts, again.random_starts)?;
            on.go_on_with(
                &CheckedAttack {
                    plan,
                    ..attack.clone()
                },
                seed,
            )?;
        }
        self.refine(network, &mut on, seed)?;
        let worst = on.into_worst();
        let (rows, certified) = self.search_gates(network, rows, worst)?;
        Ok(Suite {
            known: vec![None; rows.len()],
            rows,
            members,
            certified,
            proved,
        })
    }

    /// What is proved of the rows before they are attacked. Where gates are searched in the end, bounds of the whole set are enough.
    fn prove(
        &self,
        network: &Network,
        rows: Points<'_>,
        certify: Option<&CheckedCertify>,
    ) -> Result<Option<Vec<CertifiedWorstCase>>> {
        let searches = |certify: &CheckedCertify| certify.is_searched(network);
        let is_searched_later = self.certify.as_ref().is_some_and(searches);
        certify
            .map(|certify| {
                if is_searched_later {
                    certify.clone().with_nodes(1).worst_case(network, rows)
                } else {
                    certify.worst_case(network, rows)
                }
            })
            .transpose()
    }

    /// Refinement, which starts from the worst points of the members. Where regions decide, gate search does better.
    fn refine(&self, network: &Network, on: &mut Progress<'_>, seed: Seed) -> Result<()> {
        let is_searched = |certify: &CheckedCertify| certify.is_searched(network);
        let Some((first, steps)) = self.refine.as_ref() else {
            return Ok(());
        };
        if self.certify.as_ref().is_some_and(is_searched) {
            return Ok(());
        }
        let attack = CheckedAttack {
            kind: refine::INFO.id,
            plan: refine::plan(on.start_points(), *steps),
            ..first.clone()
        };
        on.go_on_with(&attack, seed)
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

/// The worse of two points of each row.
pub(super) fn worse(first: Vec<Attacked>, second: Vec<Attacked>) -> Vec<Attacked> {
    let rows = first.into_iter().zip(second);
    rows.map(|(first, second)| first.worse(second)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{SuiteRows, over_radii};
    use super::*;
    use crate::attack::ThreatConfig;
    use crate::data::InputShape;
    use crate::explain::reduce::ReductionConfig;
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
                let is_no_worse = |precision: f64| precision >= found.rows[0].precision;
                assert!(member.precision[0].is_none_or(is_no_worse));
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
    fn random_points_and_the_plain_twin_find_what_the_rest_of_a_short_list_does_not() {
        const FEATURES: usize = 16;
        const ROWS: u64 = 24;
        let names: Vec<String> = (0..FEATURES).map(|place| format!("x{place}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: vec![32, 16],
            activation: Activation::Relu,
        });
        let ids: Vec<u64> = (0..ROWS).collect();
        let is_plain_twin = |member: &Member| {
            member.attack.kind == "er-attack" && member.surrogate.is_some() && !member.shares
        };
        let (mut whole, mut rest) = (0.0, 0.0);
        for seed in 0..8 {
            let mut fresh = Fresh::double(Seed::new(seed));
            let network = model
                .network(&InputShape::Table, FEATURES, 2, &mut fresh)
                .unwrap();
            let mut stream = Seed::new(seed).stream("rows");
            let values: Vec<f64> = ids
                .iter()
                .flat_map(|_| [(); FEATURES])
                .map(|()| stream.normal())
                .collect();
            for radius in [0.5, 1.5] {
                let mut config = SuiteConfig {
                    effort: Effort::Quick,
                    ..SuiteConfig::default()
                };
                config.threat.ball.radius = radius;
                let suite = config
                    .check(&ExplainConfig::default(), &Schema::table(&names))
                    .unwrap();
                let mut without = suite.clone();
                let short = without.by_regions.as_mut().unwrap();
                let before = short.members.len();
                short
                    .members
                    .retain(|member| member.attack.kind != "random" && !is_plain_twin(member));
                assert_eq!(short.members.len(), before - 2);
                let kept = |suite: &CheckedSuite| -> f64 {
                    let rows = Points {
                        values: &values,
                        ids: &ids,
                    };
                    let found = suite.perturb(&network, rows, Seed::new(6)).unwrap();
                    found.rows.iter().map(|row| row.precision).sum()
                };
                whole += kept(&suite);
                rest += kept(&without);
            }
        }
        assert!(whole < rest, "{whole} {rest}");
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

    fn members(effort: Effort, schema: &Schema) -> Vec<(&'static str, Option<f64>, bool, usize)> {
        let config = SuiteConfig {
            effort,
            k: 1,
            ..SuiteConfig::default()
        };
        let members = config.members(&ExplainConfig::default(), schema);
        let members = members.iter();
        members
            .map(|one| (one.method.kind(), one.surrogate, one.shares, one.restarts))
            .collect()
    }

    #[test]
    fn a_quick_suite_has_each_gradient_attack_alone_and_in_shares() {
        let twin = Some(10.0);
        assert_eq!(
            members(Effort::Quick, &Schema::table(&["x0", "x1"])),
            [
                ("er-attack", None, false, 1),
                ("mse-attack", None, false, 1),
                ("er-attack", None, true, 8),
                ("mse-attack", None, true, 8),
                ("er-attack", twin, true, 8),
                ("mse-attack", twin, true, 8),
                ("border", twin, false, 4),
                ("region-search", None, false, 1),
                ("random", None, false, 1),
            ]
        );
    }

    #[test]
    fn larger_suites_have_more_attacks_and_images_have_places() {
        let count = |effort: Effort, schema: &Schema, kind: &str| {
            let members = members(effort, schema);
            members.iter().filter(|one| one.0 == kind).count()
        };
        let (table, image) = (Schema::table(&["x0", "x1"]), Schema::image(1, 2, 2, 255.0));
        // Alone, and in shares of four directions, then not in shares of them too, and with the QP.
        assert_eq!(count(Effort::Standard, &table, "mse-attack"), 8);
        assert_eq!(count(Effort::Thorough, &table, "mse-attack"), 12);
        assert_eq!(count(Effort::Thorough, &table, "er-attack"), 16);
        assert_eq!(count(Effort::Standard, &table, "top-k"), 4);
        assert_eq!(count(Effort::Standard, &table, "target"), 4);
        assert_eq!(count(Effort::Standard, &table, "random"), 2);
        assert_eq!(count(Effort::Standard, &table, "mass-center"), 0);
        assert_eq!(count(Effort::Standard, &image, "mass-center"), 4);
        assert_eq!(count(Effort::Quick, &image, "mass-center"), 0);
        let signed = ExplainConfig {
            reduce: ReductionConfig::Signed,
            ..ExplainConfig::default()
        };
        let standard = SuiteConfig::default();
        let members = standard.members(&signed, &image);
        assert!(members.iter().all(|one| one.method.kind() != "mass-center"));
    }

    #[test]
    fn a_quick_suite_is_shorter_where_regions_decide_and_neither_refines_nor_searches_gates() {
        let suite = |effort| {
            let config = SuiteConfig {
                effort,
                k: 1,
                ..SuiteConfig::default()
            };
            let schema = Schema::table(&["x0", "x1"]);
            config.check(&ExplainConfig::default(), &schema).unwrap()
        };
        let quick = suite(Effort::Quick);
        assert!(quick.refine.is_none() && quick.regions_again.is_none() && quick.certify.is_none());
        assert!(quick.by_regions.is_some());
        let standard = suite(Effort::Standard);
        let (border, steps) = standard.refine.unwrap();
        assert_eq!((border.kind, steps), ("border", 200));
        assert_eq!(standard.regions_again.unwrap().0.kind, "region-search");
        assert!(standard.certify.is_some() && standard.by_regions.is_none());
    }

    #[test]
    fn where_regions_decide_shares_are_followed_on_twins_alone() {
        let config = SuiteConfig {
            effort: Effort::Quick,
            k: 1,
            ..SuiteConfig::default()
        };
        let schema = Schema::table(&["x0", "x1"]);
        let suite = config.check(&ExplainConfig::default(), &schema).unwrap();
        let run = |network: &Network| {
            let rows = Points {
                values: &KINKED_ROW,
                ids: &[0],
            };
            let found = suite.perturb(network, rows, Seed::new(1)).unwrap();
            let members = found.members.iter();
            let own = |one: &MemberScore| one.shares && one.surrogate.is_none();
            let counts = (
                members.clone().filter(|one| own(one)).count(),
                members.len(),
            );
            let regions = members.clone().any(|one| one.attack == "region-search");
            (counts, regions)
        };
        let three = |activation: Activation| {
            let model = ModelConfig::Mlp(MlpConfig {
                hidden: vec![3],
                activation,
            });
            let mut fresh = Fresh::double(Seed::new(4));
            model.network(&InputShape::Table, 2, 3, &mut fresh).unwrap()
        };
        // Regions are searched from where the five others ended.
        assert_eq!(run(&kinked_network()), ((0, 5), false));
        assert_eq!(run(&kinked_network().smooth_twin(3.0)), ((2, 8), false));
        assert_eq!(run(&three(Activation::Relu)), ((2, 9), true));
        assert_eq!(
            run(&three(Activation::Softplus { beta: 3.0 })),
            ((2, 8), false)
        );
    }

    /// Networks of 6 features, with rows.
    fn small_networks() -> impl Iterator<Item = (Network, Vec<f64>)> {
        (0..4).map(|seed| {
            let model = ModelConfig::Mlp(MlpConfig {
                hidden: vec![10, 6],
                activation: Activation::Relu,
            });
            let mut fresh = Fresh::new(Seed::new(seed));
            let network = model.network(&InputShape::Table, 6, 2, &mut fresh).unwrap();
            let mut stream = Seed::new(seed).stream("rows");
            (network, (0..6 * 16).map(|_| stream.uniform()).collect())
        })
    }

    #[test]
    fn rows_that_cannot_get_worse_leave_and_nothing_of_what_is_found_changes() {
        const IDS: [u64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
        let schema = Schema::table(&["a", "b", "c", "d", "e", "f"]);
        let explain = ExplainConfig::default();
        let (mut kept, mut broken, mut between) = (0, 0, 0);
        for (effort, radius) in [
            (Effort::Quick, 0.05),
            (Effort::Quick, 0.8),
            (Effort::Standard, 0.1),
        ] {
            let mut config = SuiteConfig {
                effort,
                k: 2,
                ..SuiteConfig::default()
            };
            config.threat.ball.radius = radius;
            let suite = config.check(&explain, &schema).unwrap();
            let certify = CertifyConfig {
                k: 2,
                threat: config.threat.clone(),
                hold_prediction: true,
                nodes: 3,
            };
            let certify = certify.check(&explain, &schema).unwrap();
            for (network, values) in small_networks() {
                let rows = Points {
                    values: &values,
                    ids: &IDS,
                };
                let seed = Seed::new(1);
                let plain = suite.perturb(&network, rows, seed).unwrap();
                let found = suite.perturb_after_proof(&network, rows, seed, Some(&certify));
                let found = found.unwrap();
                assert_eq!(plain.rows, found.rows);
                let proved = found.proved.unwrap();
                for (row, proved) in proved.iter().enumerate() {
                    let mut so_far = 2;
                    for (place, member) in found.members.iter().enumerate() {
                        // Each member runs as long as more is left than is proved to stay, and not longer.
                        let is_left = place == 0 || so_far > proved.kept_at_least;
                        // What is proved to stay whole is known without it.
                        let is_known = is_left || proved.kept_at_least == 2;
                        assert_eq!(
                            member.precision[row].is_some(),
                            is_known,
                            "{}",
                            member.attack
                        );
                        let now = member.precision[row].unwrap_or(1.0);
                        so_far = so_far.min(usize::from(now > 0.0) + usize::from(now > 0.5));
                    }
                    let ran = found
                        .members
                        .iter()
                        .filter(|one| one.precision[row].is_some());
                    let is_cut = ran.count() < found.members.len();
                    kept += usize::from(proved.kept_at_least == 2);
                    broken += usize::from(is_cut && so_far == 0);
                    between += usize::from(is_cut && so_far == 1);
                }
            }
        }
        assert!(kept > 5 && broken > 0, "{kept} {broken} {between}");
    }

    #[test]
    fn donors_are_whole_rows() {
        let config = SuiteConfig {
            effort: Effort::Quick,
            k: 1,
            ..SuiteConfig::default()
        };
        let schema = Schema::table(&["x0", "x1", "x2"]);
        let suite = config.check(&ExplainConfig::default(), &schema).unwrap();
        let count = suite.members.len();
        let with = |donors: &[f64]| suite.clone().with_donors(donors);
        assert_eq!(with(&[]).unwrap().members.len(), count);
        let added = with(&[1.0; 6]).unwrap();
        assert_eq!(added.members.len(), count + 1);
        assert_eq!(added.members[count].attack.kind, "donors");
        // The shorter list goes towards them too.
        let short = added.by_regions.unwrap().members;
        assert_eq!(short.last().unwrap().attack.kind, "donors");
        let refused = with(&[1.0; 7]).unwrap_err();
        assert!(
            matches!(
                refused,
                Error::RowWidth {
                    expected: 3,
                    got: 1
                }
            ),
            "{refused}"
        );
        assert!(with(&[1.0, f64::NAN, 1.0]).is_err());
    }

    #[test]
    fn a_larger_radius_keeps_what_a_smaller_one_found() {
        let config = SuiteConfig {
            effort: Effort::Quick,
            k: 1,
            ..SuiteConfig::default()
        };
        let network = kinked_network();
        let on = SuiteRows {
            network: &network,
            rows: Points {
                values: &KINKED_ROW,
                ids: &[0],
            },
            donors: &[],
            seed: Seed::new(1),
        };
        let schema = Schema::table(&["x0", "x1"]);
        let explain = ExplainConfig::default();
        let found = over_radii(&config, &[0.5, 0.29], &explain, &schema, &on).unwrap();
        let shown: Vec<(f64, f64)> = found
            .iter()
            .map(|(radius, rows)| (*radius, rows[0].precision))
            .collect();
        assert_eq!(shown, [(0.29, 1.0), (0.5, 0.0)]);
    }

    #[test]
    fn efforts_have_names_and_the_more_they_try_the_more_parts_and_donors() {
        let all = [Effort::Quick, Effort::Standard, Effort::Thorough];
        assert_eq!(all.map(Effort::name), ["quick", "standard", "thorough"]);
        assert_eq!(all.map(Effort::gate_parts), [3, 300, 5000]);
        assert_eq!(all.map(Effort::donors), [16, 64, 256]);
        assert!(Effort::Quick.settings().contains("on_sphere: 50"));
    }

    /// The first feature in tenths from -1 to 1, the second as it is.
    fn in_tenths() -> Schema {
        let mut schema = Schema::table(&["x0", "x1"]);
        schema.features[0].integer = true;
        schema.features[0].factor = 10.0;
        (schema.features[0].low, schema.features[0].high) = (-1.0, 1.0);
        schema.features[1].immutable = true;
        schema
    }

    fn quick(radius: f64) -> SuiteConfig {
        let mut config = SuiteConfig {
            effort: Effort::Quick,
            k: 1,
            threat: ThreatConfig::table(),
        };
        config.threat.ball.radius = radius;
        config
    }

    #[test]
    fn where_every_point_is_tried_the_worst_case_is_known() {
        let network = kinked_network();
        let rows = Points {
            values: &KINKED_ROW,
            ids: &[0],
        };
        for (radius, kept, change) in [(0.29, 1, None), (0.5, 0, Some(0.3))] {
            let suite = quick(radius).check(&ExplainConfig::default(), &in_tenths());
            let suite = suite.unwrap();
            let found = suite.perturb(&network, rows, Seed::new(1)).unwrap();
            assert_eq!(1 - found.rows[0].lost(1), kept, "{radius}");
            let known = found.known[0].as_ref().unwrap();
            let proved = known.worst_case();
            assert_eq!((proved.kept_at_least, proved.kept_at_most), (kept, kept));
            // The row itself, and two tenths on both sides or five.
            assert_eq!(proved.nodes, if kept == 1 { 5 } else { 11 });
            let nearest = known.nearest_change().map(|change| change.size);
            assert_eq!(nearest.is_some(), change.is_some());
            assert!((nearest.unwrap_or(0.0) - change.unwrap_or(0.0)).abs() < 1e-12);
            // The kink is at 0, and half a tenth is no point of the set.
            assert_eq!(known.at(&[0.1, 1.0]).unwrap().kept, 1);
            assert_eq!(known.at(&[0.0, 1.0]).map(|at| at.kept), change.map(|_| 0));
            assert!(known.at(&[0.15, 1.0]).is_none());
            let run: Vec<&str> = found
                .members
                .iter()
                .filter(|member| member.precision[0].is_some())
                .map(|member| member.attack)
                .collect();
            assert_eq!(run, ["er-attack", "every-point"]);
        }
    }

    #[test]
    fn a_row_whose_points_are_tried_stands_beside_one_that_is_attacked() {
        let network = kinked_network();
        let mut suite = quick(0.5)
            .check(&ExplainConfig::default(), &in_tenths())
            .unwrap();
        // Of the first there are eleven with itself, of the second, at the end of the range, seven.
        suite.listed = 8;
        let values = [0.3, 1.0, 0.9, 1.0, 0.2, 0.5];
        let ids = [4, 5, 6];
        let rows = Points {
            values: &values,
            ids: &ids,
        };
        let found = suite.perturb(&network, rows, Seed::new(1)).unwrap();
        let known: Vec<bool> = found.known.iter().map(Option::is_some).collect();
        assert_eq!(known, [false, true, false]);
        let last = found.members.len() - 1;
        for (place, member) in found.members.iter().enumerate() {
            let run: Vec<bool> = member.precision.iter().map(Option::is_some).collect();
            // The others may have lost everything before.
            let lost = |row: usize| found.rows[row].precision == 0.0;
            let expected = match place {
                0 => [true; 3],
                _ if place == last => [false, true, false],
                _ => [run[0] || !lost(0), false, run[2] || !lost(2)],
            };
            assert_eq!(run, expected, "{}", member.attack);
        }
        for row in 0..3 {
            let alone = Points {
                values: &values[2 * row..2 * row + 2],
                ids: &ids[row..=row],
            };
            let alone = suite.perturb(&network, alone, Seed::new(1)).unwrap();
            assert_eq!(alone.rows[0], found.rows[row]);
            assert_eq!(alone.known[0], found.known[row]);
            let names = |suite: &Suite| -> Vec<&str> {
                suite.members.iter().map(|member| member.attack).collect()
            };
            assert_eq!(names(&alone), names(&found));
        }
    }

    #[test]
    fn nothing_that_the_members_find_is_worse_than_every_point() {
        let mut schema = Schema::table(&["a", "b", "c", "d"]);
        for feature in &mut schema.features[..2] {
            feature.integer = true;
            feature.factor = 6.0;
        }
        for feature in &mut schema.features[2..] {
            feature.immutable = true;
        }
        let mut lower = 0;
        for seed in 0..6 {
            let network = ModelConfig::Mlp(MlpConfig {
                hidden: vec![12, 8],
                activation: Activation::Relu,
            })
            .network(&InputShape::Table, 4, 2, &mut Fresh::new(Seed::new(seed)))
            .unwrap();
            let mut stream = Seed::new(seed).stream("rows");
            let sixth = |stream: &mut crate::Stream| (6.0 * stream.uniform()).round() / 6.0;
            let values: Vec<f64> = (0..4 * 12).map(|_| sixth(&mut stream)).collect();
            let ids: Vec<u64> = (0..12).collect();
            let rows = Points {
                values: &values,
                ids: &ids,
            };
            let config = SuiteConfig { k: 2, ..quick(0.5) };
            let suite = config.check(&ExplainConfig::default(), &schema).unwrap();
            let found = suite.perturb(&network, rows, Seed::new(1)).unwrap();
            assert!(found.known.iter().all(Option::is_some));
            let members = suite.without_lists();
            let members = members.perturb(&network, rows, Seed::new(1)).unwrap();
            assert!(members.known.iter().all(Option::is_none));
            for (all, some) in found.rows.iter().zip(&members.rows) {
                assert!(all.precision <= some.precision);
                lower += usize::from(all.precision < 1.0);
                assert_eq!(all.first_change, some.first_change);
                assert_eq!(all.last, some.last);
            }
        }
        assert!(lower > 5, "{lower}");
    }
}
