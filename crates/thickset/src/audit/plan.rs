//! The settings of an audit, as they are given and after they were checked against the rows.

use super::gate::{self, Rule};
use super::result::{AuditSettings, ThicknessSettings};
use super::theory;
use crate::attack::Threat;
use crate::attack::suite::{CheckedSuite, SuiteConfig};
use crate::attack::threat::Norm;
use crate::certify::{CertifyConfig, CheckedCertify};
use crate::check::as_f64;
use crate::data::Schema;
use crate::decision::DecisionConfig;
use crate::explain::{CheckedExplain, ExplainConfig};
use crate::metric::faithfulness::Counts;
use crate::{Error, Result, Seed};

/// The most draws, neighbours, points or worst rows.
const MOST: usize = 1_000_000;

/// The settings of an audit, as they are given.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditConfig {
    /// Decides every draw.
    pub seed: Seed,
    /// The decision that attacks keep; the most probable class where nothing is said.
    pub decision: DecisionConfig,
    /// How predictions are explained.
    pub explain: ExplainConfig,
    /// How explanations are attacked; its `k` is the audit's.
    pub suite: SuiteConfig,
    /// How thickness is measured.
    pub thickness: ThicknessSettings,
    /// Draws of the noise floor for each row.
    pub noise_draws: usize,
    /// Worst rows that are described in full.
    pub worst: usize,
    /// Whether what can be proved is.
    pub certify: bool,
    /// Rows of which the audit also says what R2ET's theory says, the first ones.
    pub theory: usize,
    /// What must hold, like `p_at_k>=0.9`.
    pub require: Vec<String>,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            seed: Seed::new(0),
            decision: DecisionConfig::default(),
            explain: ExplainConfig::default(),
            suite: SuiteConfig::default(),
            thickness: ThicknessSettings::default(),
            noise_draws: 20,
            worst: 10,
            certify: true,
            theory: 0,
            require: Vec::new(),
        }
    }
}

impl AuditConfig {
    /// Checks the settings, and that they fit rows of this schema.
    ///
    /// # Errors
    /// When a setting is out of range, a requirement cannot be read, or the explanation is not one of features: what a
    /// layer's units stand for cannot be removed from a row, so there would be no faithfulness.
    pub fn check(&self, schema: &Schema) -> Result<CheckedAudit> {
        for (what, got) in [
            ("`noise_draws`", self.noise_draws),
            ("`thickness.neighbours`", self.thickness.neighbours),
            ("`thickness.points`", self.thickness.points),
        ] {
            check_count(what, "in 1..=1000000", got, 1)?;
        }
        check_count("`worst`", "in 0..=1000000", self.worst, 0)?;
        if self.theory > theory::MOST_ROWS {
            return Err(Error::OutOfRange {
                what: "`theory`",
                expected: "in 0..=256",
                got: as_f64(self.theory),
            });
        }
        if self.theory > 0 && self.suite.threat.ball.norm != Norm::L2 {
            return Err(Error::AuditInput {
                expected: "an l2 ball, which the theory is about",
                got: "an l-infinity ball".to_owned(),
            });
        }
        if self.explain.explanation.is_of_units() {
            return Err(Error::AuditInput {
                expected: "an explanation of features, which can be removed from a row",
                got: format!("`{}`", self.explain.explanation.kind()),
            });
        }
        let explain = self.explain.check(schema)?;
        let names = explain.names(0);
        if self.suite.k == 0 || self.suite.k >= names.len() {
            return Err(Error::TopKOutOfRange {
                k: self.suite.k,
                largest: names.len().saturating_sub(1),
            });
        }
        let certify = CertifyConfig {
            k: self.suite.k,
            threat: self.suite.threat.clone(),
            hold_prediction: true,
            nodes: self.suite.effort.gate_parts(),
        };
        let suite = self.suite.check(&self.explain, schema)?;
        Ok(CheckedAudit {
            suite,
            certify: if self.certify {
                let checked = certify.check(&self.explain, schema);
                checked.map_err(|error| error.to_string())
            } else {
                Err("certificates were not asked for".to_owned())
            },
            donors: 0,
            threat: self.suite.threat.check(schema)?,
            rules: gate::parse(&self.require, &gate::figures())?,
            counts: Counts::for_shape(&schema.shape),
            config: self.clone(),
            explain,
            names,
        })
    }
}

fn check_count(what: &'static str, expected: &'static str, got: usize, least: usize) -> Result<()> {
    if (least..=MOST).contains(&got) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        expected,
        got: as_f64(got),
    })
}

/// An audit that fits its rows.
#[derive(Clone, Debug)]
pub struct CheckedAudit {
    pub(super) config: AuditConfig,
    pub(super) explain: CheckedExplain,
    pub(super) suite: CheckedSuite,
    /// How certificates are given, or why there are none.
    pub(super) certify: std::result::Result<CheckedCertify, String>,
    /// Training rows that the suite goes towards.
    pub(super) donors: usize,
    pub(super) threat: Threat,
    pub(super) rules: Vec<Rule>,
    /// What the importances are of.
    pub(super) names: Vec<String>,
    /// How many features are removed at once for comprehensiveness and sufficiency.
    pub(super) counts: Counts,
}

impl CheckedAudit {
    /// The settings as they were given.
    #[must_use]
    pub fn config(&self) -> &AuditConfig {
        &self.config
    }

    /// The same audit with a suite that also goes towards these training rows, row-major.
    ///
    /// # Errors
    /// When the donors are not whole rows, or not finite.
    pub fn with_donors(mut self, donors: &[f64]) -> Result<Self> {
        self.suite = self.suite.with_donors(donors)?;
        self.donors = donors.len() / self.threat.immutable().len().max(1);
        Ok(self)
    }

    /// Salient features.
    #[must_use]
    pub fn k(&self) -> usize {
        self.config.suite.k
    }

    /// The settings as `audit.json` states them.
    #[must_use]
    pub fn settings(&self) -> AuditSettings {
        let config = &self.config;
        AuditSettings {
            seed: config.seed,
            k: config.suite.k,
            decision: config.decision.clone(),
            explain: self.explain.config().clone().without_learned_row(),
            suite: config.suite.clone(),
            thickness: config.thickness,
            noise_draws: config.noise_draws,
            worst: config.worst,
            donors: self.donors,
            certify: config.certify,
            theory: config.theory,
        }
    }
}
