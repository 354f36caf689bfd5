//! `thickset train`: a run from its configuration to its folder.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use serde_json::json;
use thickset::config::RunConfig;
use thickset::train::{EpochRecord, Event, Outcome, RunFolder, train};

use super::output::{print, print_json};

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
    /// How progress is shown on stderr
    #[arg(long, value_enum, default_value = "bar")]
    progress: Progress,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Progress {
    /// One line that changes, on a terminal only
    Bar,
    /// One JSON object a line
    Jsonl,
    /// None
    Off,
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

/// Draws events; the library never does.
struct Reporter {
    style: Progress,
    steps: u64,
    drawn: bool,
}

impl Reporter {
    fn new(style: Progress) -> Self {
        let silent = style == Progress::Bar && !io::stderr().is_terminal();
        Self {
            style: if silent { Progress::Off } else { style },
            steps: 0,
            drawn: false,
        }
    }

    fn show(&mut self, event: &Event<'_>) {
        if let Event::BrokenCheckpoint { path, problem } = event
            && self.style != Progress::Jsonl
        {
            eprintln!(
                "note: the checkpoint `{path}` cannot be used ({problem}); trying the one before it"
            );
        }
        match self.style {
            Progress::Off => {}
            Progress::Jsonl => {
                if let Ok(line) = serde_json::to_string(event) {
                    eprintln!("{line}");
                }
            }
            Progress::Bar => self.draw(event),
        }
    }

    fn draw(&mut self, event: &Event<'_>) {
        match event {
            Event::Begin {
                epochs,
                steps_per_epoch,
                ..
            } => self.steps = (epochs * steps_per_epoch) as u64,
            Event::Step { step, loss } => {
                let share = step * 100 / self.steps.max(1);
                eprint!(
                    "\r\x1b[K{share:>3}%  step {step}/{}  loss {loss:.4}",
                    self.steps
                );
                // A terminal that is gone is no reason to stop training.
                let _ = io::Write::flush(&mut io::stderr());
                self.drawn = true;
            }
            Event::Epoch(record) => {
                if self.drawn {
                    eprint!("\r\x1b[K");
                }
                eprintln!("{}", line(record));
            }
            _ => {}
        }
    }
}

fn line(record: &EpochRecord) -> String {
    let mut text = format!("epoch {:>3}  loss {:.4}", record.epoch, record.loss);
    let terms = record
        .terms
        .iter()
        .map(|(name, value)| (name.as_str(), Some(*value)));
    let verdict = [
        ("AUC", record.auc),
        ("P@k", record.precision_at_k),
        ("agreement", record.agreement),
    ];
    for (name, value) in terms.chain(verdict) {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = write!(text, "  {name} {value:.4}");
        }
    }
    text
}
