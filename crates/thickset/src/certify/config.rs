//! What is certified: settings, checked once, and the rows they are run on.

mod by_bounds;
mod by_search;
mod by_ways;

use serde::{Deserialize, Serialize};
use thickset_engine::Network;

use super::ball::MoveNorm;
use super::bounds::SmoothNetwork;
use super::contributions::ContributionsAsked;
use super::explained::Ranked;
use super::network::DenseNetwork;
use super::result::{CertifiedRadius, CertifiedWorstCase};
use super::tolerance::{self, Tolerance};
use super::{certified_radius, certified_worst_case, segmented};
use crate::attack::threat::{Norm, OneHot};
use crate::attack::{Threat, ThreatConfig};
use crate::check::as_f64;
use crate::data::Schema;
use crate::explain::contributions::ContributionsConfig;
use crate::explain::reduce::ReductionConfig;
use crate::explain::{CheckedExplain, ExplainConfig, ExplanationConfig, Of, Points};
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
                    "`contributions`, `grad` and `grad-input`",
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
        self.radius_below(network, rows, None)
    }

    /// The same where it is known of each row at which size some move changes its set: of contributions, and where the search goes gate
    /// by gate, only smaller moves are looked at.
    ///
    /// # Errors
    /// As for [`CheckedCertify::radius`].
    pub(crate) fn radius_below(
        &self,
        network: &Network,
        rows: Points<'_>,
        known: Option<&[f64]>,
    ) -> Result<Vec<CertifiedRadius>> {
        if let Some(asked) = &self.contributions {
            return self.each_way(asked, network, rows, |place, row| {
                let known = known.and_then(|known| known.get(place));
                row.radius(known.copied().unwrap_or(f64::INFINITY))
            });
        }
        if segmented::fits(&self.asked(), network)? {
            rows.check(network)?;
            return segmented::radius(&self.asked(), network, rows);
        }
        if !self.is_searched(network) {
            let largest = self.largest_radius();
            return self.bounded(network, rows, |row| row.radius(largest));
        }
        let largest = self.largest_radius();
        self.each(network, rows, known, |_, case| {
            certified_radius::certify(case, self.nodes, largest)
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
        self.each(network, rows, None, |row, case| {
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
        self.each(network, rows, None, |_, case| {
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
        if !network.is_on_cpu() {
            return Err(Error::CertifyInput {
                expected: "a network on the CPU, whose rounding certificates include",
                got: "one on the GPU".to_owned(),
            });
        }
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
        if self.contributions.is_some() || !network.is_on_cpu() {
            return false;
        }
        let has_segments = || segmented::fits(&self.asked(), network).unwrap_or(false);
        let has_gates = |dense: &DenseNetwork| self.explained(dense).is_ok();
        has_segments() || DenseNetwork::of(network).as_ref().is_ok_and(has_gates)
    }

    fn move_norm(&self) -> MoveNorm {
        match self.threat.ball().norm {
            Norm::L2 => MoveNorm::L2,
            Norm::Linf => MoveNorm::Linf,
        }
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
