//! What `audit` and `compare` share: options, and from a model file to its audit.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use thickset::Model;
use thickset::audit::figure::explained;
use thickset::audit::gate::Requirable;
use thickset::audit::result::{Audit, Requirement, ThicknessSettings};
use thickset::audit::{AuditConfig, AuditPart, Event, ResumeFile, ResumeKey};
use thickset::model::{AuditOptions, OpenedRows, Origin, RowChoice, Shard};
use thickset::onnx;

use super::device::DeviceOption;
use super::explain::How;
use super::hint::for_model;
use super::interrupt::{self, Interrupted};
use super::model_file::ModelFileOptions;
use super::output::print_json;
use super::rows::{DataSource, SelectionOptions, say_notes};
use super::threat::{DecisionOptions, SuiteOptions};
use crate::progress::{Progress, ProgressOption};

#[derive(Args)]
pub struct AuditArguments {
    #[command(flatten)]
    file: ModelFileOptions,
    #[command(flatten)]
    data: DataSource,
    #[command(flatten)]
    selection: SelectionOptions,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    suite: SuiteOptions,
    #[command(flatten)]
    decision: DecisionOptions,
    /// Random points of each row for the noise floor
    #[arg(long, value_name = "POINTS", default_value_t = 20)]
    noise_draws: usize,
    /// Random neighbours of each row for its thickness
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    neighbours: usize,
    /// Points on the way to each neighbour
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    points: usize,
    /// Worst rows described in full
    #[arg(long, value_name = "ROWS", default_value_t = 10)]
    worst: usize,
    /// Prove nothing: an audit is sooner done, and has no certified figures
    #[arg(long)]
    no_certificates: bool,
    /// Rows of which the report also tells R2ET's theory, the first ones (an l2 ball; see `thickset explain --theory`)
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    theory: usize,
    #[command(flatten)]
    device: DeviceOption,
    #[command(flatten)]
    progress: ProgressOption,
}

/// A model from its file, and where it comes from.
pub struct Loaded {
    pub model: Model,
    pub origin: Origin,
    is_onnx: bool,
}

impl AuditArguments {
    /// The model of a file, for the rows.
    pub fn load(&self, file: &Path) -> Result<Loaded> {
        let model = self.file.load(file, self.data.name())?;
        let model = self.device.place(model)?;
        let origin = model.origin()?;
        Ok(Loaded {
            model,
            origin,
            is_onnx: onnx::is_onnx(file),
        })
    }

    /// The rows for a model.
    pub fn rows(&self, loaded: &Loaded) -> Result<OpenedRows> {
        let selection = self.selection.selection(RowChoice::All, self.data.seed());
        let model = &loaded.model;
        let opened = model
            .open_labelled_selected(&self.data.config(), &selection)
            .map_err(|error| for_model(error, loaded.is_onnx))?;
        say_notes(&opened);
        Ok(opened)
    }

    /// Prints which bytes of the data's files the rows are read from.
    pub fn list_bytes(&self, loaded: &Loaded) -> Result<()> {
        let selection = self.selection.selection(RowChoice::All, self.data.seed());
        let config = self.data.config();
        let Some(files) = loaded.model.bytes_of_rows(&config, &selection)? else {
            bail!(
                "`{}` is not read row by row from a table's files, so --list-bytes has nothing to say of it",
                self.data.name()
            );
        };
        let files: Vec<serde_json::Value> = files
            .iter()
            .map(|file| {
                let places = file.places.iter();
                let places: Vec<[u64; 2]> = places.map(|place| [place.start, place.end]).collect();
                json!({ "path": file.path, "size": file.size, "bytes": places })
            })
            .collect();
        print_json(&files)
    }

    /// Which of the machines that share the rows this one is.
    pub fn shard(&self) -> Shard {
        self.selection.shard()
    }

    /// How models are audited.
    pub fn options(&self, model: &Model) -> Result<AuditOptions> {
        let data = Path::new(self.data.name());
        let name = data.file_name().unwrap_or(data.as_os_str());
        Ok(AuditOptions {
            explain: self.how.options(self.data.seed()),
            effort: self.suite.effort(),
            k: self.suite.k,
            radius: self.suite.threat.radius,
            threat: self.suite.threat.of(model)?,
            decision: self.decision.config(),
            thickness: ThicknessSettings {
                neighbours: self.neighbours,
                points: self.points,
            },
            noise_draws: self.noise_draws,
            worst: self.worst,
            certify: !self.no_certificates,
            theory: self.theory,
            data_name: Some(name.to_string_lossy().into_owned()),
            ..AuditOptions::default()
        })
    }

    /// Audits a model with these settings. With a file for the rows done, goes on where an earlier audit was killed.
    pub fn audit(
        &self,
        loaded: &Loaded,
        rows: &OpenedRows,
        config: &AuditConfig,
        options: &AuditOptions,
    ) -> Result<Audit> {
        // Settings that do not fit are refused before anything is said.
        loaded.model.check_audit(&rows.rows(), config)?;
        let mut progress = self.progress.start();
        progress.say(&begun(loaded, rows, config, options));
        let mut done = 0;
        interrupt::notice();
        let mut observer = |event: &Event<'_>| {
            show(&mut progress, event);
            done = done_so_far(event).unwrap_or(done);
            interrupt::flow()
        };
        let Loaded { model, origin, .. } = loaded;
        let audit = model.audit_as(origin, &rows.rows(), options, config, &mut observer)?;
        audit.ok_or_else(|| stopped(done, rows.rows().len(), options))
    }
}

impl AuditArguments {
    /// Audits this machine's part of the rows.
    pub fn audit_part(
        &self,
        loaded: &Loaded,
        rows: &OpenedRows,
        config: &AuditConfig,
        options: &AuditOptions,
    ) -> Result<AuditPart> {
        config.check(rows.rows().schema())?;
        let mut progress = self.progress.start();
        let shard = rows.shard();
        progress.say(&format!(
            "part {} of {}: {}",
            shard.number,
            shard.of,
            begun(loaded, rows, config, options)
        ));
        let mut done = 0;
        interrupt::notice();
        let mut observer = |event: &Event<'_>| {
            show(&mut progress, event);
            done = done_so_far(event).unwrap_or(done);
            interrupt::flow()
        };
        let Loaded { model, origin, .. } = loaded;
        let part = model.audit_part(origin, rows, options, config, &mut observer)?;
        part.ok_or_else(|| stopped(done, rows.rows().len(), options))
    }
}

/// Rows that are done, if an event says so.
fn done_so_far(event: &Event<'_>) -> Option<usize> {
    match event {
        Event::Begin { done, .. } | Event::Rows { done, .. } => Some(*done),
        _ => None,
    }
}

/// What is kept of an audit that its user stopped.
fn stopped(done: usize, rows: usize, options: &AuditOptions) -> anyhow::Error {
    let kept = match &options.resume {
        Some(file) => format!(
            "{done} of {rows} rows are kept in {}; the same command goes on after them",
            file.path.display()
        ),
        None => format!("nothing is kept of the {done} rows that were done"),
    };
    Interrupted(kept).into()
}

/// The file of the rows done, signed with the user's key; none if there is no key, so that nothing unsigned is kept.
pub fn resume(path: PathBuf) -> Option<ResumeFile> {
    match ResumeKey::of_user() {
        Ok(key) => Some(ResumeFile { path, key }),
        Err(error) => {
            say!(
                "note: there is no key to sign finished rows with ({error}); a killed audit would start anew"
            );
            None
        }
    }
}

/// `auditing vanilla on 152 test rows of loans.csv`.
fn begun(
    loaded: &Loaded,
    opened: &OpenedRows,
    config: &AuditConfig,
    options: &AuditOptions,
) -> String {
    let part = opened.part();
    let part = part.map_or_else(String::new, |part| format!("{} ", part.name()));
    let (rows, all) = (opened.rows().len(), opened.all());
    let of = if rows < all {
        format!("{rows} of {all} {part}rows")
    } else {
        format!("{rows} {part}rows")
    };
    format!(
        "auditing {} on {of} of {}, {} effort",
        loaded.origin.name,
        options.data_name.as_deref().unwrap_or_default(),
        config.suite.effort.name()
    )
}

fn show(progress: &mut Progress, event: &Event<'_>) {
    progress.event(event);
    match event {
        Event::Begin { rows, done } => {
            if *done > 0 {
                progress.note(&format!("going on after {done} of {rows} rows"));
            }
            progress.begin(*rows as u64, *done as u64);
        }
        Event::Anew { path, problem } => {
            progress.note(&format!("`{path}` is not used, {problem}; starting anew"));
        }
        Event::Dropped { path, problem } => progress.note(&format!(
            "the end of `{path}` cannot be used ({problem}); measuring those rows again"
        )),
        Event::Rows {
            done,
            precision_at_k,
            ..
        } => {
            progress.set(*done as u64);
            progress.message(format!("P@k {precision_at_k:.3} so far"));
        }
        Event::Linear { .. } => progress.message("fitting and attacking a linear model"),
        Event::Worst { .. } => progress.message("describing the worst rows in full"),
    }
}

/// The figures that can be required, for a help text.
pub fn figures(known: &[Requirable]) -> String {
    let name = |figure: &Requirable| {
        let ends = if figure.is_median {
            "[.median|.low|.high]"
        } else if figure.has_interval {
            "[.low|.high]"
        } else {
            ""
        };
        format!("{}{ends}", figure.id)
    };
    let width = known.iter().map(|figure| name(figure).len()).max();
    let width = width.unwrap_or(0);
    let mut text = "Figures, and the ends of their 95% intervals:".to_owned();
    for figure in known {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {:<width$}  {}", name(figure), figure.meaning);
    }
    text
}

/// Says so where rows have no explanation at all.
pub fn warn_of_empty(audit: &Audit) {
    let rows = audit.rows.iter();
    let empty = rows
        .filter(|row| explained::FIGURE.of_row(row) == Some(0.0))
        .count();
    if empty > 0 {
        say!(
            "warning: {empty} of {} rows have no explanation: all of their importances are equal, as those of a constant or saturated model are; their P@k counts as 0",
            audit.rows.len()
        );
    }
}

/// Says which requirements fail; whether all hold.
pub fn gate(requirements: &[Requirement]) -> bool {
    let failed: Vec<&Requirement> = requirements.iter().filter(|one| !one.holds).collect();
    for requirement in &failed {
        let value = requirement.measured().map_or_else(
            || "these rows have none".to_owned(),
            |value| format!("it is {value}"),
        );
        say!("gate: {} fails, {value}", requirement.text);
    }
    if failed.is_empty() && !requirements.is_empty() {
        let all = if requirements.len() == 1 {
            "the requirement holds".to_owned()
        } else {
            format!("{} requirements hold", requirements.len())
        };
        say!("gate: {all}");
    }
    failed.is_empty()
}
