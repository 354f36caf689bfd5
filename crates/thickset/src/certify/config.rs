//! What is certified: settings, checked once, and the rows they are run on.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use thickset_engine::{Chain, Network};

use super::ball::MoveNorm;
use super::case::{Case, Deployed as _, Moves};
use super::deployed::DeployedChain;
use super::explained::{Explained, Ranked};
use super::network::DenseNetwork;
use super::result::{CertifiedRadius, CertifiedWorstCase};
use super::{certified_radius, certified_worst_case, segmented};
use crate::attack::threat::{Norm, OneHot};
use crate::attack::{Threat, ThreatConfig};
use crate::check::as_f64;
use crate::data::Schema;
use crate::explain::reduce::ReductionConfig;
use crate::explain::{ExplainConfig, ExplanationConfig, Of, Points};
use crate::metric::ranking::TopK;
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
    /// [`Error::CertifyInput`] where the ranking of such an explanation is not constant between kinks, or rows move in steps.
    pub fn check(&self, explain: &ExplainConfig, schema: &Schema) -> Result<CheckedCertify> {
        if !(1..=MOST_NODES).contains(&self.nodes) {
            return Err(Error::OutOfRange {
                what: "`certify.nodes`",
                expected: "in 1..=1000000000",
                got: as_f64(self.nodes),
            });
        }
        let checked = explain.check(schema)?;
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
        if self.threat.integer || self.threat.one_hot != OneHot::Free {
            return Err(refused(
                "moves without steps: balls, boxes, immutable columns and budgets",
                "whole numbers or whole categories",
            ));
        }
        Ok(CheckedCertify {
            k: self.k,
            threat: self.threat.check(schema)?,
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
        })
    }
}

/// Settings that fit their rows.
#[derive(Clone, Debug)]
pub struct CheckedCertify {
    k: usize,
    threat: Threat,
    hold: bool,
    nodes: usize,
    ranked: Ranked,
    absolute: bool,
    times_input: bool,
    groups: Option<Vec<Vec<usize>>>,
}

impl CheckedCertify {
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
    /// [`Error::CertifyInput`] where the network is not dense layers with `ReLU`s, and when rows or `k` do not fit it.
    pub fn radius(&self, network: &Network, rows: Points<'_>) -> Result<Vec<CertifiedRadius>> {
        if segmented::fits(&self.asked(), network)? {
            rows.check(network)?;
            return segmented::radius(&self.asked(), network, rows);
        }
        self.each(network, rows, |case| {
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
        if segmented::fits(&self.asked(), network)? {
            rows.check(network)?;
            return segmented::worst_case(&self.asked(), network, rows);
        }
        self.each(network, rows, |case| {
            certified_worst_case::certify(case, self.nodes)
        })
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

    fn each<T: Send>(
        &self,
        network: &Network,
        rows: Points<'_>,
        certify: impl Fn(&Case<'_>) -> T + Sync,
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
            .map(|x| self.one(&dense, &chain, &explained, x, &certify))
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

    fn one<T>(
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
        let salient = TopK::of(&importance, self.k)?.iter().collect();
        let ball = self.threat.ball();
        let bounds = x
            .iter()
            .enumerate()
            .map(|(feature, &at)| self.threat.bounds(feature, at));
        let (low, high) = bounds
            .zip(&x)
            .map(|((low, high), at)| (low - at, high - at))
            .unzip();
        let moves = Moves {
            norm: match ball.norm {
                Norm::L2 => MoveNorm::L2,
                Norm::Linf => MoveNorm::Linf,
            },
            radius: ball.radius,
            low,
            high,
            hold: self.hold,
        };
        let explained = &explained[class];
        let case = Case::new(dense, explained, &deployed, &moves, &x, class, salient);
        Ok(certify(&case))
    }
}
