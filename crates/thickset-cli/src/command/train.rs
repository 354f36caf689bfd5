//! `thickset train`: a run from its configuration to its folder.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::json;
use thickset::config::RunConfig;
use thickset::train::{EpochRecord, Event, Outcome, RunFolder, train};

use super::output::{print, print_json};
use crate::progress::{Progress, ProgressOption};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset init --data loans.csv --target default && thickset train run.toml
  thickset train run.toml --resume
  thickset train run.toml --set name=vanilla --set objective.kind=vanilla --set train.epochs=50
  thickset train run.toml --set name=again --from runs/vanilla/model.safetensors")]
pub struct Arguments {
    /// The run's configuration
    #[arg(value_name = "TOML")]
    config: PathBuf,
    /// Go on where an interrupted run stands; the result is the same as without the interruption
    #[arg(long)]
    resume: bool,
    /// Change one setting; repeatable
    #[arg(long, value_name = "SETTING=VALUE")]
    set: Vec<String>,
    /// Begin with this model and keep its ranking
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// The folder that run folders are made in
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    out: PathBuf,
    #[command(flatten)]
    progress: ProgressOption,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let config = read(arguments)?;
    let run = config.check()?;
    let config = run.config();
    let dataset = config.data.open(config.seed)?;
    for note in &dataset.notes {
        eprintln!("note: {note}");
    }
    let folder = RunFolder::new(arguments.out.join(&config.name));
    let mut reporter = Reporter::new(arguments.progress);
    let mut observer = |event: &Event<'_>| {
        reporter.show(event);
        ControlFlow::Continue(())
    };
    let outcome = train(&run, &dataset, &folder, arguments.resume, &mut observer)?;
    let Outcome::Done {
        selected,
        epochs,
        reason,
    } = outcome
    else {
        return Ok(());
    };
    let model = folder.model();
    if arguments.json {
        return print_json(&json!({
            "model": model,
            "selected_epoch": selected.epoch,
            "validation_auc": selected.auc,
            "validation_precision_at_k": selected.precision_at_k,
            "epochs": epochs,
            "reason": reason,
        }));
    }
    let probed = if config.probe.rows > 0 {
        format!(
            "validation P@k under a quick attack  {:.4}\n",
            selected.precision_at_k
        )
    } else {
        String::new()
    };
    print(&format!(
        "model                                {}\nselected epoch                       {} of {epochs} ({reason})\n\
         validation AUC                       {:.4}\n{probed}",
        model.display(),
        selected.epoch,
        selected.auc,
    ))
}

fn read(arguments: &Arguments) -> Result<RunConfig> {
    let path = arguments.config.display().to_string();
    let text = std::fs::read_to_string(&arguments.config)
        .with_context(|| format!("cannot read `{path}`"))?;
    let mut config = RunConfig::parse_with(&text, &path, &arguments.set)?;
    if let Some(from) = &arguments.from {
        config.retrain.get_or_insert_default().from.clone_from(from);
    }
    Ok(config)
}

/// Shows a run's events.
struct Reporter {
    progress: Progress,
    /// The verdict of the last epoch, which stands beside the loss of each step.
    verdict: String,
}

impl Reporter {
    fn new(option: ProgressOption) -> Self {
        Self {
            progress: option.start(),
            verdict: String::new(),
        }
    }

    fn show(&mut self, event: &Event<'_>) {
        self.progress.event(event);
        match event {
            Event::Begin {
                epochs,
                steps_per_epoch,
                step,
            } => self
                .progress
                .begin((epochs * steps_per_epoch) as u64, *step),
            Event::BrokenCheckpoint { path, problem } => self.progress.note(&format!(
                "the checkpoint `{path}` cannot be used ({problem}); trying the one before it"
            )),
            Event::Step { step, loss } => {
                self.progress.set(*step);
                self.progress
                    .message(format!("loss {loss:.4}{}", self.verdict));
            }
            Event::Epoch(record) => {
                self.verdict = verdict(record);
                self.progress.line(&line(record));
            }
            Event::Checkpoint { .. } => {}
            Event::End { .. } => self.progress.finish(),
        }
    }
}

/// `  AUC 0.9876  P@k 0.7654`.
fn verdict(record: &EpochRecord) -> String {
    named(&[
        ("AUC", record.auc),
        ("P@k", record.precision_at_k),
        ("agreement", record.agreement),
    ])
}

fn named(numbers: &[(&str, Option<f64>)]) -> String {
    let mut text = String::new();
    for (name, number) in numbers {
        if let Some(number) = number {
            // Writing to a string cannot fail.
            let _ = write!(text, "  {name} {number:.4}");
        }
    }
    text
}

fn line(record: &EpochRecord) -> String {
    let terms: Vec<(&str, Option<f64>)> = record
        .terms
        .iter()
        .map(|(name, value)| (name.as_str(), Some(*value)))
        .collect();
    format!(
        "epoch {:>3}  loss {:.4}{}{}",
        record.epoch,
        record.loss,
        named(&terms),
        verdict(record)
    )
}
