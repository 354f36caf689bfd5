//! Settings as JSON: one object for all calls, each of which reads what concerns it. Names and forms are those of `run.toml`.

use std::path::PathBuf;

use pyo3::PyResult;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use thickset::Seed;
use thickset::attack::suite::Effort;
use thickset::attack::{AttackKind, ConstraintConfig, ThreatConfig};
use thickset::decision::DecisionConfig;
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{ExplanationConfig, Per};
use thickset::model::{
    AttackOptions, AuditOptions, CertifyOptions, ExplainOptions, ReasonsOptions,
};
use thickset::reasons::Codes;

use crate::errors::bad_value;

/// Whatever a call may be told; what is left out is the model's own, or that of its data.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    explanation: Option<ExplanationConfig>,
    reduce: Option<ReductionConfig>,
    per: Option<Per>,
    seed: u64,
    k: Option<usize>,
    radius: Option<f64>,
    threat: Option<ThreatConfig>,
    effort: Option<Effort>,
    method: Option<AttackKind>,
    constraint: Option<ConstraintConfig>,
    steps: Option<usize>,
    step_size: Option<f64>,
    restarts: Option<usize>,
    surrogate: Option<f64>,
    any_class: bool,
    nodes: Option<usize>,
    neighbours: Option<usize>,
    points: Option<usize>,
    noise_draws: Option<usize>,
    worst: Option<usize>,
    require: Vec<String>,
    data_name: Option<String>,
    certify: Option<bool>,
    adverse: Option<String>,
    cutoff: Option<f64>,
    all_rows: bool,
    attack: Option<bool>,
    codes: Option<Codes>,
    codes_file: Option<PathBuf>,
}

impl Options {
    /// How predictions are explained.
    pub fn explain(&self) -> ExplainOptions {
        ExplainOptions {
            explanation: self.explanation.clone(),
            reduce: self.reduce,
            per: self.per,
            seed: Seed::new(self.seed),
        }
    }

    fn threat(&self) -> ThreatConfig {
        self.threat.clone().unwrap_or_default()
    }

    /// How explanations are attacked.
    pub fn attack(&self) -> AttackOptions {
        AttackOptions {
            method: self.method.clone(),
            effort: self.effort,
            k: self.k,
            radius: self.radius,
            threat: self.threat.clone(),
            constraint: self.constraint,
            decision: self.decision(),
            steps: self.steps,
            step_size: self.step_size,
            restarts: self.restarts,
            surrogate: self.surrogate,
            explain: self.explain(),
            ..AttackOptions::default()
        }
    }

    /// What is certified.
    pub fn certify(&self) -> CertifyOptions {
        CertifyOptions {
            k: self.k,
            radius: self.radius,
            threat: self.threat(),
            any_class: self.any_class,
            nodes: self.nodes,
            explain: self.explain(),
        }
    }

    /// Which class is adverse, and from which probability on.
    fn decision(&self) -> DecisionConfig {
        DecisionConfig {
            adverse: self.adverse.clone(),
            cutoff: self.cutoff,
        }
    }

    /// Which reasons are given.
    ///
    /// # Errors
    /// If a file of codes cannot be read.
    pub fn reasons(&self) -> thickset::Result<ReasonsOptions> {
        let usual = ReasonsOptions::default();
        let codes = match &self.codes_file {
            Some(path) => Some(Codes::read(path)?),
            None => self.codes.clone(),
        };
        Ok(ReasonsOptions {
            k: self.k,
            decision: self.decision(),
            all_rows: self.all_rows,
            explain: self.explain(),
            threat: self.threat.clone(),
            radius: self.radius,
            effort: self.effort.unwrap_or(usual.effort),
            attack: self.attack.unwrap_or(usual.attack),
            codes,
        })
    }

    /// How a model is audited.
    pub fn audit(&self) -> AuditOptions {
        let mut audit = AuditOptions {
            explain: self.explain(),
            effort: self.effort,
            k: self.k,
            radius: self.radius,
            threat: self.threat.clone(),
            decision: self.decision(),
            certify: self.certify.unwrap_or(true),
            require: self.require.clone(),
            data_name: self.data_name.clone(),
            ..AuditOptions::default()
        };
        let thickness = &mut audit.thickness;
        thickness.neighbours = self.neighbours.unwrap_or(thickness.neighbours);
        thickness.points = self.points.unwrap_or(thickness.points);
        audit.noise_draws = self.noise_draws.unwrap_or(audit.noise_draws);
        audit.worst = self.worst.unwrap_or(audit.worst);
        audit
    }
}

/// Reads settings; `what` is what they are of, for the message.
///
/// # Errors
/// If a setting does not exist or has another type, with what was expected.
pub fn read<T: DeserializeOwned>(what: &str, json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| {
        let text = error.to_string();
        // The place in a text that the user never saw says nothing.
        let end = text.rfind(" at line ").unwrap_or(text.len());
        bad_value(&format!("{what}: {}", &text[..end]))
    })
}
