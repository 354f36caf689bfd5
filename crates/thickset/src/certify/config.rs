//! What is certified: settings, checked once, and the rows they are run on.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thickset_engine::{Chain, DType, Network};

use super::ball::MoveNorm;
use super::bounds::{BoundedRow, MoveSet, Order, SmoothNetwork};
use super::case::{Case, Deployed as _, Moves, largest};
use super::contributions::segments::SegmentWays;
use super::contributions::ways::Ways;
use super::contributions::{Bounds, ContributionsAsked, Proved};
use super::deployed::DeployedChain;
use super::explained::{Explained, Ranked};
use super::network::DenseNetwork;
use super::proof::Proof;
use super::result::{CertifiedRadius, CertifiedWorstCase};
use super::stepped::{Choice, Stepped, choices, left};
use super::tolerance::{self, Tolerance};
use super::{certified_radius, certified_worst_case, segmented};
use crate::attack::threat::{Norm, OneHot};
use crate::attack::{Threat, ThreatConfig};
use crate::check::as_f64;
use crate::data::Schema;
use crate::explain::contributions::ContributionsConfig;
use crate::explain::contributions::line::{Lines, Walk};
use crate::explain::reduce::ReductionConfig;
use crate::explain::{CheckedExplain, ExplainConfig, ExplanationConfig, Of, Points};
use crate::host::read;
use crate::metric::ranking::{self, TopK};
use crate::{Error, Result, defaults};

/// What to certify, as a configuration states it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CertifyConfig {
    /// Salient features.
    pub k: usize,
    /// What a row may become; the ball's radius is the largest that is asked about.
    pub threat: ThreatConfig,
    /// Whether only moves that keep the predicted class count.
    pub hold_prediction: bool,
    /// Parts of the search of a row, after which a bracket is given.
    pub nodes: usize,
}

impl Default for CertifyConfig {
    fn default() -> Self {
        Self {
            k: defaults::K,
            threat: ThreatConfig::default(),
            hold_prediction: true,
            nodes: 20_000,
        }
    }
}

/// Parts of a search beyond which it would not end in a day.
const MOST_NODES: usize = 1_000_000_000;

impl CertifyConfig {
    /// Checks the settings, and that they fit rows of this schema explained in this way.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] where the ranking of such an explanation is not constant between kinks.
    pub fn check(&self, explain: &ExplainConfig, schema: &Schema) -> Result<CheckedCertify> {
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return Err(Error::OutOfRange {
                what: "`certify.nodes`",
                expected: "in 1..=1000000000",
                got: as_f64(self.nodes),
            });
        }
        let checked = explain.check(schema)?;
        if let ExplanationConfig::Contributions(config) = &checked.config().explanation {
            return self.check_contributions(config, &checked, schema);
        }
        let refused = |expected: &'static str, got: &str| Error::CertifyInput {
            expected,
            got: got.to_owned(),
        };
        let (of, times_input) = match &explain.explanation {
            ExplanationConfig::Grad(config) => (config.of, false),
            ExplanationConfig::GradInput(config) => (config.of, true),
            other => {
                return Err(refused(
                    "`grad` and `grad-input`",
                    &format!("`{}`", other.kind()),
                ));
            }
        };
        let absolute = match explain.reduce {
            ReductionConfig::Absolute | ReductionConfig::NormalisedAbsolute => true,
            ReductionConfig::Signed => false,
            ReductionConfig::ChannelSum => {
                return Err(refused("importances of single features", "`channel-sum`"));
            }
        };
        let groups = checked.column_features().map(<[Vec<usize>]>::to_vec);
        let has_sums = |groups: &Vec<Vec<usize>>| groups.iter().any(|group| group.len() > 1);
        if groups.as_ref().is_some_and(has_sums) && (absolute || times_input) {
            return Err(refused(
                "importances of single features, or signed gradients of columns",
                "columns of several features",
            ));
        }
        Ok(CheckedCertify {
            k: self.k,
            threat: self.threat.check(schema)?,
            steps: if self.threat.integer || self.threat.one_hot == OneHot::Simplex {
                Steps::Relaxed
            } else {
                Steps::Known
            },
            hold: self.hold_prediction,
            nodes: self.nodes,
            ranked: match of {
                Of::Probability => Ranked::Probability,
                Of::Logit => Ranked::Logit,
                Of::Loss => Ranked::Loss,
            },
            absolute,
            times_input,
            groups,
            contributions: None,
        })
    }

    /// The same for contributions, of columns or of features.
    fn check_contributions(
        &self,
        config: &ContributionsConfig,
        explain: &CheckedExplain,
        schema: &Schema,
    ) -> Result<CheckedCertify> {
        if explain.config().reduce != ReductionConfig::Signed {
            return Err(Error::CertifyInput {
                expected: "contributions with their signs",
                got: "their sizes".to_owned(),
            });
        }
        let groups = explain.column_features().map(<[Vec<usize>]>::to_vec);
        let groups = groups.unwrap_or_else(|| (0..schema.len()).map(|one| vec![one]).collect());
        let row = config.row.clone();
        Ok(CheckedCertify {
            k: self.k,
            threat: self.threat.check(schema)?,
            steps: Steps::Relaxed,
            hold: self.hold_prediction,
            nodes: self.nodes,
            ranked: Ranked::Logit,
            absolute: false,
            times_input: false,
            groups: None,
            contributions: Some(ContributionsAsked {
                reference: row.unwrap_or_else(|| vec![0.0; schema.len()]),
                points: config.points,
                groups,
            }),
        })
    }
}

/// Whether the search knows the steps in which rows move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Steps {
    /// There are none, or categories are tried one by one.
    Known,
    /// It searches a larger set.
    Relaxed,
}

/// Settings that fit their rows.
#[derive(Clone, Debug)]
pub struct CheckedCertify {
    k: usize,
    threat: Threat,
    steps: Steps,
    hold: bool,
    nodes: usize,
    ranked: Ranked,
    absolute: bool,
    times_input: bool,
    groups: Option<Vec<Vec<usize>>>,
    /// Where contributions are certified.
    contributions: Option<ContributionsAsked>,
}

impl CheckedCertify {
    /// Whether the search also finds points, as an attack wants it; of contributions it proves alone.
    pub(crate) fn finds_points(&self) -> bool {
        self.contributions.is_none()
    }

    /// The largest radius that is asked about.
    #[must_use]
    pub fn largest_radius(&self) -> f64 {
        self.threat.ball().radius
    }

    /// Salient features.
    #[must_use]
    pub fn k(&self) -> usize {
        self.k
    }

    /// The smallest move that changes each row's top-k set. Results depend neither on the other rows nor on the number of threads.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] where the network is neither dense layers with `ReLU`s nor segmented, and when rows or `k` do not fit it.
    pub fn radius(&self, network: &Network, rows: Points<'_>) -> Result<Vec<CertifiedRadius>> {
        if let Some(asked) = &self.contributions {
            return self.each_way(asked, network, rows, |_, row| row.radius());
        }
        if segmented::fits(&self.asked(), network)? {
            rows.check(network)?;
            return segmented::radius(&self.asked(), network, rows);
        }
        if !self.is_searched(network) {
            let largest = self.largest_radius();
            return self.bounded(network, rows, |row| row.radius(largest));
        }
        self.each(network, rows, |_, case| {
            certified_radius::certify(case, self.nodes)
        })
    }

    /// The fewest salient features that any move within the radius keeps, row by row.
    ///
    /// # Errors
    /// As for [`CheckedCertify::radius`].
    pub fn worst_case(
        &self,
        network: &Network,
        rows: Points<'_>,
    ) -> Result<Vec<CertifiedWorstCase>> {
        self.worst_case_beyond(network, rows, &vec![0; rows.ids.len()])
    }

    /// What a segmented model is asked.
    fn asked(&self) -> segmented::Asked<'_> {
        segmented::Asked {
            k: self.k,
            threat: &self.threat,
            hold: self.hold,
            nodes: self.nodes,
            ranked: self.ranked,
            absolute: self.absolute,
            times_input: self.times_input,
            groups: self.groups.as_deref(),
        }
    }

    /// The same where it is known of each row how many salient features some move loses: the search is for one more.
    ///
    /// # Errors
    /// As for [`CheckedCertify::radius`].
    pub fn worst_case_beyond(
        &self,
        network: &Network,
        rows: Points<'_>,
        lost: &[usize],
    ) -> Result<Vec<CertifiedWorstCase>> {
        if let Some(asked) = &self.contributions {
            return self.each_way(asked, network, rows, |_, row| row.worst_case());
        }
        if segmented::fits(&self.asked(), network)? {
            rows.check(network)?;
            return segmented::worst_case(&self.asked(), network, rows);
        }
        if !self.is_searched(network) {
            let radius = self.largest_radius();
            return self.bounded(network, rows, |row| row.worst_case(radius));
        }
        self.each(network, rows, |row, case| {
            let lost = lost.get(row).copied().unwrap_or(0);
            certified_worst_case::certify(case, self.nodes, lost)
        })
    }

    /// How far each feature of a row may move alone, down and up, before its top-k set changes.
    ///
    /// # Errors
    /// As for [`CheckedCertify::radius`].
    pub fn tolerances(&self, network: &Network, rows: Points<'_>) -> Result<Vec<Vec<Tolerance>>> {
        if let Some(asked) = &self.contributions {
            return self.each_way(asked, network, rows, |_, row| row.tolerances(&|_| true));
        }
        self.each(network, rows, |_, case| {
            tolerance::certify(case, self.nodes)
        })
    }

    /// The same of contributions, for the features of each row that are wanted; nothing of other explanations.
    ///
    /// # Errors
    /// As for [`CheckedCertify::radius`].
    pub(crate) fn tolerances_of(
        &self,
        network: &Network,
        rows: Points<'_>,
        wanted: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Result<Vec<Vec<Tolerance>>> {
        match &self.contributions {
            Some(asked) => self.each_way(asked, network, rows, |place, row| {
                row.tolerances(&|feature| wanted(place, feature))
            }),
            None => Ok(vec![Vec::new(); rows.ids.len()]),
        }
    }

    /// Proofs of what is certified of each row: of its radius, and of its worst case, as far as either says something. Rows of
    /// gradients times their inputs have none.
    ///
    /// # Errors
    /// As for [`CheckedCertify::radius`].
    pub fn proofs(
        &self,
        network: &Network,
        rows: Points<'_>,
        numbers: &[u64],
    ) -> Result<Vec<Vec<Proof>>> {
        if self.contributions.is_some() {
            return Err(Error::CertifyInput {
                expected: "gradients, for proofs that others can check",
                got: "contributions".to_owned(),
            });
        }
        self.each(network, rows, |row, case| {
            let radius = certified_radius::certify(case, self.nodes).certified;
            let worst = certified_worst_case::certify(case, self.nodes, 0);
            let lost = case.k - worst.kept_at_least;
            let mut claims = Vec::new();
            if radius > 0.0 {
                claims.push((radius, 0));
            }
            if lost < case.k.min(case.others.len()) && (lost > 0 || radius < case.moves.radius) {
                claims.push((case.moves.radius, lost));
            }
            let number = numbers.get(row).copied().unwrap_or(0);
            claims
                .into_iter()
                .filter_map(|claim| Proof::new(case, number, self.ranked, claim, self.nodes))
                .collect()
        })
    }

    /// The same settings with another limit of the search.
    #[must_use]
    pub fn with_nodes(mut self, nodes: usize) -> Self {
        self.nodes = nodes.clamp(1, MOST_NODES);
        self
    }

    /// The same settings for an attack: so many salient features, and whether the prediction must hold.
    pub(crate) fn for_attack(mut self, k: usize, hold: bool) -> Self {
        (self.k, self.hold) = (k, hold);
        self
    }

    /// Whether there are certificates of such a network.
    ///
    /// # Errors
    /// [`Error::CertifyInput`] with what it is instead.
    pub fn fits(&self, network: &Network) -> Result<()> {
        if let Some(asked) = &self.contributions {
            return self.fits_contributions(asked, network);
        }
        if segmented::fits(&self.asked(), network)? || self.is_searched(network) {
            return Ok(());
        }
        SmoothNetwork::of(network)?;
        if self.times_input || self.groups.is_some() {
            return Err(Error::CertifyInput {
                expected: "gradients of single features, where a network has softplus or many classes",
                got: "gradients times their inputs, or of columns".to_owned(),
            });
        }
        Ok(())
    }

    /// Whether rows are searched, gate by gate, so that counterexamples are found too; else bounds alone are given.
    #[must_use]
    pub fn is_searched(&self, network: &Network) -> bool {
        if self.contributions.is_some() {
            return false;
        }
        let has_segments = || segmented::fits(&self.asked(), network).unwrap_or(false);
        let has_gates = |dense: &DenseNetwork| self.explained(dense).is_ok();
        has_segments() || DenseNetwork::of(network).as_ref().is_ok_and(has_gates)
    }

    /// What bounds alone say of each row.
    fn bounded<T: Send>(
        &self,
        network: &Network,
        rows: Points<'_>,
        certify: impl Fn(&BoundedRow<'_>) -> T + Sync,
    ) -> Result<Vec<T>> {
        rows.check(network)?;
        self.fits(network)?;
        let smooth = SmoothNetwork::of(network)?;
        let chain = Chain::new(network).ok_or_else(|| Error::CertifyInput {
            expected: "networks that are chains of layers",
            got: "a network of another kind".to_owned(),
        })?;
        let features = smooth.dense.features();
        let values: Vec<&[f64]> = rows.values.chunks(features).collect();
        values
            .into_par_iter()
            .map(|x| {
                let x: Vec<f64> = x
                    .iter()
                    .map(|x| smooth.dense.arithmetic.nearest(*x))
                    .collect();
                let mut tile = chain.tile();
                let output = self.ranked.output();
                tile.run(&x, output, &[0]);
                let class = largest(tile.logits());
                tile.run(&x, output, &[class]);
                let gradient = tile.gradient().to_vec();
                let reduced = |value: &f64| if self.absolute { value.abs() } else { *value };
                let importance: Vec<f64> = gradient.iter().map(reduced).collect();
                let salient: Vec<usize> = TopK::of(&importance, self.k)?.iter().collect();
                let (low, high) = self.limits(&x, &x, false);
                let moves = MoveSet {
                    norm: self.move_norm(),
                    low,
                    high,
                };
                let order = Order {
                    salient: &salient,
                    absolute: self.absolute,
                    gradient: &gradient,
                    class,
                    ranked: self.ranked,
                };
                Ok(certify(&BoundedRow::new(&smooth, &x, &moves, order)))
            })
            .collect()
    }

    fn move_norm(&self) -> MoveNorm {
        match self.threat.ball().norm {
            Norm::L2 => MoveNorm::L2,
            Norm::Linf => MoveNorm::Linf,
        }
    }

    fn fits_contributions(&self, asked: &ContributionsAsked, network: &Network) -> Result<()> {
        let refused =
            |expected: &'static str, got: String| Err(Error::CertifyInput { expected, got });
        if !self.hold {
            return refused(
                "moves that keep the class, for contributions",
                "moves to any class".to_owned(),
            );
        }
        if network.gates().is_some() {
            let (groups, reference) = (&asked.groups, &asked.reference);
            return SegmentWays::new(network, groups, reference, asked.points, 0).map(|_| ());
        }
        let dense = DenseNetwork::of(network)?;
        if dense.hidden.len() > 2 {
            return refused(
                "networks with at most two hidden layers, for contributions",
                format!("one with {}", dense.hidden.len()),
            );
        }
        Ok(())
    }

    /// What is proved of the contributions of each row.
    fn each_way<T: Send>(
        &self,
        asked: &ContributionsAsked,
        network: &Network,
        rows: Points<'_>,
        prove: impl Fn(usize, &Proved<'_>) -> T + Sync,
    ) -> Result<Vec<T>> {
        rows.check(network)?;
        self.fits_contributions(asked, network)?;
        if rows.ids.is_empty() {
            return Ok(Vec::new());
        }
        let (groups, reference) = (&asked.groups[..], &asked.reference[..]);
        let classes = network.classes();
        let logits = read(network.logits(network.batch(rows.values)));
        let predicted: Vec<usize> = logits
            .chunks(classes)
            .map(ranking::largest)
            .collect::<Result<_>>()?;
        let dense = DenseNetwork::of(network).ok();
        let mut segments = Vec::new();
        if dense.is_none() {
            for class in 0..classes {
                segments.push(SegmentWays::new(
                    network,
                    groups,
                    reference,
                    asked.points,
                    class,
                )?);
            }
        }
        let ways: Vec<Ways<'_>> = dense
            .iter()
            .flat_map(|dense| {
                (0..classes).filter_map(|class| Ways::new(dense, groups, reference, class))
            })
            .collect();
        let lines = Lines::new(network, reference);
        let single = network.dtype() == DType::F32;
        let rows: Vec<(&[f64], usize)> = rows
            .values
            .chunks(network.features())
            .zip(predicted)
            .collect();
        let one = |(row, (x, class)): (usize, (&[f64], usize))| {
            #[expect(clippy::cast_possible_truncation, reason = "the model takes f32")]
            let nearest = |value: &f64| {
                if single {
                    f64::from(*value as f32)
                } else {
                    *value
                }
            };
            let x: Vec<f64> = x.iter().map(nearest).collect();
            let (bounds, importance): (&dyn Bounds, Option<Vec<f64>>) = match &lines {
                Some(lines) => {
                    let mut raw = vec![0.0; x.len()];
                    lines.contributions(&x, class, &mut Walk::default(), &mut raw);
                    let sums = groups
                        .iter()
                        .map(|group| group.iter().map(|&one| raw[one]).sum());
                    (&ways[class], Some(sums.collect()))
                }
                None => (&segments[class], segments[class].contributions(&x)),
            };
            // Where gates are tied nothing is proved, whatever is ranked.
            let importance = importance.unwrap_or_else(|| vec![0.0; groups.len()]);
            let ball = self.threat.ball();
            let norm = self.move_norm();
            let choices = choices(&self.threat, &x, norm, ball.radius);
            let are_tried = choices.is_some();
            let choices = choices.unwrap_or_else(|| vec![Choice::own(&x)]);
            let choices = choices.into_iter().map(|choice| {
                let (low, high) = self.limits(&x, &choice.x, are_tried);
                (choice, low, high)
            });
            let proved = Proved {
                bounds,
                groups,
                salient: TopK::of(&importance, self.k)?.iter().collect(),
                norm,
                radius: ball.radius,
                choices: choices.collect(),
            };
            Ok(prove(row, &proved))
        };
        rows.into_par_iter().enumerate().map(one).collect()
    }

    fn each<T: Stepped + Send>(
        &self,
        network: &Network,
        rows: Points<'_>,
        certify: impl Fn(usize, &Case<'_>) -> T + Sync,
    ) -> Result<Vec<T>> {
        rows.check(network)?;
        let dense = DenseNetwork::of(network)?;
        let chain = Chain::new(network).ok_or_else(|| Error::CertifyInput {
            expected: "networks that are chains of layers",
            got: "a network of another kind".to_owned(),
        })?;
        let explained = self.explained(&dense)?;
        let values: Vec<&[f64]> = rows.values.chunks(dense.features()).collect();
        values
            .into_par_iter()
            .enumerate()
            .map(|(row, x)| self.one(&dense, &chain, &explained, x, &|case| certify(row, case)))
            .collect()
    }

    /// What is ranked for each class.
    fn explained(&self, dense: &DenseNetwork) -> Result<Vec<Explained>> {
        (0..dense.classes())
            .map(|class| {
                let explained = Explained::new(dense, self.ranked, class);
                let mut explained = explained.ok_or_else(|| Error::CertifyInput {
                    expected: "the logit of one class of many, or any output of two classes",
                    got: format!("probability or loss of {} classes", dense.classes()),
                })?;
                explained.absolute = self.absolute;
                explained.times_input = self.times_input;
                explained.groups.clone_from(&self.groups);
                Ok(explained)
            })
            .collect()
    }

    fn one<T: Stepped>(
        &self,
        dense: &DenseNetwork,
        chain: &Chain,
        explained: &[Explained],
        x: &[f64],
        certify: &impl Fn(&Case<'_>) -> T,
    ) -> Result<T> {
        let model = |class: usize| DeployedChain {
            chain,
            arithmetic: dense.arithmetic,
            ranked: self.ranked,
            explained: &explained[class],
        };
        let any = model(0);
        let x: Vec<f64> = x.iter().map(|value| any.nearest_input(*value)).collect();
        let (class, _) = any.run(&x, 0);
        let deployed = model(class);
        let (_, importance) = deployed.run(&x, class);
        let salient: Vec<usize> = TopK::of(&importance, self.k)?.iter().collect();
        let ball = self.threat.ball();
        let norm = self.move_norm();
        let choices = choices(&self.threat, &x, norm, ball.radius);
        let steps = if choices.is_some() {
            self.steps
        } else {
            Steps::Relaxed
        };
        let are_tried = choices.is_some();
        let mut known: Option<T> = None;
        for choice in choices.unwrap_or_else(|| vec![Choice::own(&x)]) {
            let (low, high) = self.limits(&x, &choice.x, are_tried);
            let moves = Moves {
                norm,
                radius: left(norm, ball.radius, choice.moved),
                low,
                high,
                hold: self.hold,
            };
            let case = Case::new(
                dense,
                &explained[class],
                &deployed,
                &moves,
                &choice.x,
                class,
                salient.clone(),
            );
            let mut found = certify(&case);
            if steps == Steps::Relaxed {
                found = found.only_in(self.k, &|point| self.threat.is_settled(&x, point));
            }
            let found = found.around(norm, choice.moved);
            known = Some(match known {
                None => found,
                Some(known) => known.and(found),
            });
        }
        known.ok_or(Error::Empty {
            what: "the choices",
        })
    }

    /// The least and the greatest change of each feature of a row from one of its choices of categories, which stay where all
    /// choices are tried.
    fn limits(&self, x: &[f64], choice: &[f64], are_tried: bool) -> (Vec<f64>, Vec<f64>) {
        let features = x.iter().zip(choice).enumerate();
        let limits = features.map(|(feature, (&x, &at))| {
            if are_tried && self.threat.is_whole(feature) {
                return (0.0, 0.0);
            }
            let (low, high) = self.threat.bounds(feature, x);
            (low - at, high - at)
        });
        limits.unzip()
    }
}
