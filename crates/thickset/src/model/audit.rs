//! How far a model's explanations can be trusted, over all rows.

use std::ops::ControlFlow;

use super::audit_reasons::AuditedRows;
use super::{ExplainOptions, Model, OpenedRows, Origin};
use crate::attack::ThreatConfig;
use crate::attack::suite::{Effort, SuiteConfig};
use crate::audit::result::ThicknessSettings;
use crate::audit::{
    self, Audit, AuditConfig, AuditPart, AuditTarget, Event, Observer, Outcome, PartOutcome,
    ResumeFile, RunOptions,
};
use crate::config::AuditDefaults;
use crate::decision::DecisionConfig;
use crate::{Error, Result, Rows};

/// How a model is audited. What is left out is the model's own, or that of its data.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditOptions {
    /// How predictions are explained; its seed decides every draw.
    pub explain: ExplainOptions,
    /// How hard the suite tries.
    pub effort: Option<Effort>,
    /// Salient features.
    pub k: Option<usize>,
    /// The largest move in encoded units. An l-infinity ball has no usual one.
    pub radius: Option<f64>,
    /// Which inputs an attack may reach; its radius counts only where `radius` and the data's own are absent. The run's, or what
    /// such rows could become, where absent.
    pub threat: Option<ThreatConfig>,
    /// The decision that attacks keep; the run's, or the most probable class, where nothing is said.
    pub decision: DecisionConfig,
    /// How thickness is measured.
    pub thickness: ThicknessSettings,
    /// Draws of the noise floor for each row.
    pub noise_draws: usize,
    /// Worst rows that are listed in full.
    pub worst: usize,
    /// Whether what can be proved of the rows is.
    pub certify: bool,
    /// Rows of which the audit also says what R2ET's theory says, the first ones.
    pub theory: usize,
    /// What must hold beside what the model's run requires, like `p_at_k>=0.9`.
    pub require: Vec<String>,
    /// What the rows are called in the record; the dataset's name where absent.
    pub data_name: Option<String>,
    /// Where the rows done so far are kept, so that a killed audit can continue; nowhere if absent.
    pub resume: Option<ResumeFile>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        let usual = AuditConfig::default();
        Self {
            explain: ExplainOptions::default(),
            effort: None,
            k: None,
            radius: None,
            threat: None,
            decision: DecisionConfig::default(),
            thickness: usual.thickness,
            noise_draws: usual.noise_draws,
            worst: usual.worst,
            certify: usual.certify,
            theory: usual.theory,
            require: Vec::new(),
            data_name: None,
            resume: None,
        }
    }
}

impl Model {
    /// Audits the explanations of the rows.
    ///
    /// # Errors
    /// When rows do not fit the model, a setting is out of range, or something is not finite.
    pub fn audit(&self, rows: &Rows<'_>, options: &AuditOptions) -> Result<Audit> {
        let mut ignore = |_: &Event<'_>| ControlFlow::Continue(());
        let audit = self.audit_observed(rows, options, &mut ignore)?;
        audit.ok_or(Error::Empty {
            what: "the rows to audit",
        })
    }

    /// The same with an observer, which hears of the progress and may stop the audit; nothing is returned if it did.
    ///
    /// # Errors
    /// As for [`Model::audit`].
    pub fn audit_observed(
        &self,
        rows: &Rows<'_>,
        options: &AuditOptions,
        observer: &mut dyn Observer,
    ) -> Result<Option<Audit>> {
        let origin = self.origin()?;
        let mut config = self.audit_config(&origin, rows, options)?;
        config.require = origin.require(&options.require);
        self.audit_as(&origin, rows, options, &config, observer)
    }

    /// What an audit of these rows asks, with everything that was left out filled in, and no requirement.
    ///
    /// # Errors
    /// When an l-infinity ball has no radius.
    pub fn audit_config(
        &self,
        origin: &Origin,
        rows: &Rows<'_>,
        options: &AuditOptions,
    ) -> Result<AuditConfig> {
        let schema = rows.schema();
        let explain = self.explain_config(origin, &options.explain)?;
        // As many names as importances; settings that do not fit are refused when they are checked.
        let width = explain
            .check(schema)
            .map_or(schema.len(), |explain| explain.names(0).len());
        let k = origin.k(rows, options.k, (&explain, width));
        Ok(AuditConfig {
            seed: options.explain.seed,
            decision: origin.decision(&options.decision),
            explain,
            suite: SuiteConfig {
                effort: options.effort.or(origin.audit().effort).unwrap_or_default(),
                k,
                threat: origin.threat(rows, options.threat.as_ref(), options.radius)?,
            },
            thickness: options.thickness,
            noise_draws: options.noise_draws,
            worst: options.worst,
            certify: options.certify,
            theory: options.theory,
            require: Vec::new(),
        })
    }

    /// These settings with this model's own typical row, where explanations compare with one.
    fn own_config(&self, config: &AuditConfig) -> Result<AuditConfig> {
        Ok(AuditConfig {
            explain: self.with_own_reference(config.explain.clone())?,
            ..config.clone()
        })
    }

    /// Refuses settings, such as those of another model, that do not fit this one and its rows.
    ///
    /// # Errors
    /// As for [`Model::audit`].
    pub fn check_audit(&self, rows: &Rows<'_>, config: &AuditConfig) -> Result<()> {
        self.own_config(config)?.check(rows.schema()).map(|_| ())
    }

    /// Audits with exactly these settings, such as those of another model that it is compared with.
    ///
    /// # Errors
    /// As for [`Model::audit`].
    pub fn audit_as(
        &self,
        origin: &Origin,
        rows: &Rows<'_>,
        options: &AuditOptions,
        config: &AuditConfig,
        observer: &mut dyn Observer,
    ) -> Result<Option<Audit>> {
        let own = self.own_config(config)?;
        let checked = own.check(rows.schema())?;
        let deciding = self.deciding(&Origin::default(), &config.decision)?;
        let target = deciding.audit_target(origin, rows, options);
        let run = RunOptions {
            resume: options.resume.clone(),
            ..RunOptions::default()
        };
        Ok(match audit::run(&checked, &target, &run, observer)? {
            Outcome::Done(mut audit) => {
                let audited = AuditedRows {
                    rows,
                    start: 0,
                    all: rows.len(),
                    records: &audit.rows,
                    deciding: &deciding,
                };
                let reasons = self.reason_rows(origin, &audited, &own)?;
                deciding.restore_probabilities(&mut audit);
                if let (Some(reasons), Some(decision)) = (reasons, self.recorded_decision(&own)?) {
                    let decision = decision.of(self.classes())?;
                    audit.reasons = Some(reasons.record(&audit, decision)?);
                }
                Some(*audit)
            }
            Outcome::Stopped => None,
        })
    }

    /// Audits one machine's part of the rows with exactly these settings; [`audit::merge`] puts the parts of all machines
    /// together. Nothing is returned if the observer stopped it.
    ///
    /// # Errors
    /// As for [`Model::audit`].
    pub fn audit_part(
        &self,
        origin: &Origin,
        opened: &OpenedRows,
        options: &AuditOptions,
        config: &AuditConfig,
        observer: &mut dyn Observer,
    ) -> Result<Option<AuditPart>> {
        let rows = opened.rows();
        let own = self.own_config(config)?;
        let checked = own.check(rows.schema())?;
        let deciding = self.deciding(&Origin::default(), &config.decision)?;
        let target = deciding.audit_target(origin, &rows, options);
        let run = RunOptions {
            resume: options.resume.clone(),
            ..RunOptions::default()
        };
        let (shard, whole) = (opened.shard(), opened.whole()?);
        let found = audit::run_part(&checked, &target, shard, whole, &run, observer)?;
        let PartOutcome::Done(mut part) = found else {
            return Ok(None);
        };
        let audited = AuditedRows {
            rows: &rows,
            start: shard.places(whole.count).start,
            all: whole.count,
            records: part.records(),
            deciding: &deciding,
        };
        let reasons = self.reason_rows(origin, &audited, &own)?;
        let decision = self.recorded_decision(&own)?;
        part.add_reasons(reasons, decision);
        Ok(Some(*part))
    }

    /// The model and its rows, as an audit records them.
    #[must_use]
    pub fn audit_target<'a>(
        &'a self,
        origin: &Origin,
        rows: &Rows<'a>,
        options: &AuditOptions,
    ) -> AuditTarget<'a> {
        let name = options.data_name.as_deref().or(rows.dataset_name());
        AuditTarget {
            model: origin.named(self),
            data: name.unwrap_or("rows").to_owned(),
            rows: *rows,
        }
    }
}

impl Origin {
    /// What the model's run says of audits.
    pub(super) fn audit(&self) -> AuditDefaults {
        let run = self.run.as_ref();
        run.map(|run| run.audit.clone()).unwrap_or_default()
    }

    /// What the model's run requires, and then what is given beside that.
    #[must_use]
    pub fn require(&self, given: &[String]) -> Vec<String> {
        let mut require = self.audit().require;
        for text in given {
            if !require.contains(text) {
                require.push(text.clone());
            }
        }
        require
    }
}
