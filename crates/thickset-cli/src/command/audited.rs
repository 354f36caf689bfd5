//! What `audit` and `compare` share: options, and from a model file to its audit.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use thickset::audit::gate::Known;
use thickset::audit::result::{Audit, Requirement, ThicknessSettings};
use thickset::audit::{AuditConfig, Case, Event, Options, Origin, Outcome, run};
use thickset::config::AuditDefaults;
use thickset::model::Model;
use thickset::train::usual_k;

use super::explain::How;
use super::rows::{DataSource, Opened, file_name};
use super::threat::SuiteOptions;
use crate::progress::{Progress, ProgressOption};

#[derive(Args)]
pub struct AuditOptions {
    #[command(flatten)]
    data: DataSource,
    /// At most so many rows, from the first of the part on; 0 for all
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    max_rows: usize,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    suite: SuiteOptions,
    /// Random points of each row for the noise floor
    #[arg(long, value_name = "POINTS", default_value_t = 20)]
    noise_draws: usize,
    /// Random neighbours of each row for its thickness
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    neighbours: usize,
    /// Points on the way to each neighbour
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    points: usize,
    /// Worst rows told in full
    #[arg(long, value_name = "ROWS", default_value_t = 10)]
    worst: usize,
    #[command(flatten)]
    progress: ProgressOption,
}

/// A model from its file, with what its run says.
pub struct Loaded {
    pub model: Model,
    pub origin: Origin,
}

impl Loaded {
    pub fn read(file: &Path) -> Result<Self> {
        Ok(Self {
            model: Model::load(file)?,
            origin: Origin::of(file)?,
        })
    }

    /// What its run says of audits.
    pub fn defaults(&self) -> AuditDefaults {
        let run = self.origin.run.as_ref();
        run.map(|run| run.audit.clone()).unwrap_or_default()
    }

    /// What its run requires, and then what is given beside that.
    pub fn require(&self, given: &[String]) -> Vec<String> {
        let mut require = self.defaults().require;
        for text in given {
            if !require.contains(text) {
                require.push(text.clone());
            }
        }
        require
    }
}

/// The rows that are audited.
pub struct ChosenRows {
    opened: Opened,
    /// How many there are in the part or file.
    all: usize,
}

impl AuditOptions {
    /// The rows for a model.
    pub fn rows(&self, loaded: &Loaded) -> Result<ChosenRows> {
        let run = loaded.origin.run.as_ref();
        let mut opened = self.data.open_labelled(run, &loaded.model)?;
        let all = opened.len();
        if all == 0 {
            bail!("`{}` has no rows in that part", self.data.name());
        }
        if self.max_rows > 0 {
            opened.truncate(self.max_rows);
        }
        Ok(ChosenRows { opened, all })
    }

    /// A model and the rows it is asked about.
    pub fn case<'a>(&self, loaded: &'a Loaded, rows: &'a ChosenRows) -> Case<'a> {
        Case {
            subject: loaded.origin.subject(&loaded.model),
            data: file_name(Path::new(self.data.name())),
            rows: rows.opened.source(),
        }
    }

    /// Audits a model. With a file for the rows done, goes on where an earlier session was killed.
    pub fn audit(
        &self,
        loaded: &Loaded,
        rows: &ChosenRows,
        config: &AuditConfig,
        partial: Option<PathBuf>,
    ) -> Result<Audit> {
        let audit = config.check(rows.opened.schema())?;
        let case = self.case(loaded, rows);
        let mut progress = self.progress.start();
        progress.say(&begun(&case, rows, config));
        let mut observer = |event: &Event<'_>| {
            show(&mut progress, event);
            ControlFlow::Continue(())
        };
        let options = Options {
            partial,
            ..Options::default()
        };
        match run(&audit, &case, &options, &mut observer)? {
            Outcome::Done(audit) => Ok(*audit),
            Outcome::Stopped => bail!("the audit was stopped"),
        }
    }

    /// What is asked of a model, where its run says something, as that says.
    pub fn config(
        &self,
        loaded: &Loaded,
        rows: &ChosenRows,
        require: Vec<String>,
    ) -> Result<AuditConfig> {
        let opened = &rows.opened;
        let defaults = loaded.defaults();
        let of_data = opened.attack();
        let explain = self.how.config(opened.schema());
        // As many names as importances; settings that do not fit are refused when they are checked.
        let width = explain
            .check(opened.schema())
            .map_or(opened.schema().len(), |explain| explain.names(0).len());
        let of_run = loaded.origin.run.as_ref().and_then(|run| run.k);
        let own = defaults.k.or(of_run).or(of_data.map(|attack| attack.k));
        let k = usual_k(own, width);
        let radius = defaults.radius.or(of_data.map(|attack| attack.epsilon));
        Ok(AuditConfig {
            seed: self.data.seed(),
            explain,
            suite: self.suite.config(k, defaults.effort, radius)?,
            thickness: ThicknessSettings {
                neighbours: self.neighbours,
                points: self.points,
            },
            noise_draws: self.noise_draws,
            worst: self.worst,
            require,
        })
    }
}

/// `auditing vanilla on 152 test rows of loans.csv`.
fn begun(case: &Case<'_>, chosen: &ChosenRows, config: &AuditConfig) -> String {
    let ChosenRows { opened, all } = chosen;
    let part = match opened {
        Opened::Dataset {
            part: Some(part), ..
        } => format!("{} ", part.name()),
        _ => String::new(),
    };
    let rows = opened.len();
    let of = if rows < *all {
        format!("the first {rows} of {all} {part}rows")
    } else {
        format!("{rows} {part}rows")
    };
    format!(
        "auditing {} on {of} of {}, {} effort",
        case.subject.name,
        case.data,
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
        Event::Anew { path } => progress.note(&format!(
            "`{path}` is of another model, of other rows or with other settings; starting anew"
        )),
        Event::Dropped { path, problem } => progress.note(&format!(
            "the end of `{path}` cannot be used ({problem}); doing those rows again"
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
        Event::Worst { .. } => progress.message("telling the worst rows in full"),
    }
}

/// The figures that can be required, for a help text.
pub fn figures(known: &[Known]) -> String {
    let name = |figure: &Known| {
        let ends = if figure.has_interval {
            "[.low|.high]"
        } else {
            ""
        };
        format!("{}{ends}", figure.name)
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
