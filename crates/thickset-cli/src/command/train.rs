//! `thickset train`: a run from its configuration to its folder.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use thickset::config::{CheckedRun, RunConfig};
use thickset::model::Shard;
use thickset::train::{
    ClassWeight, EpochRecord, Event, RetrainConfig, RunFolder, Sweep, Trained, sweep, sweep_share,
    train_into,
};
use thickset_engine::read_regular_text;

use super::device::DeviceOption;
use super::hint::for_model;
use super::interrupt::{self, Interrupted};
use super::model_file::ModelFileOptions;
use super::output::{note, print, print_json, shell_word};
use crate::progress::{Progress, ProgressOption};

/// The most bytes of a configuration.
const MOST_CONFIG: u64 = 16 << 20;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset init --data loans.csv --target default && thickset train run.toml
  thickset train run.toml --resume
  thickset train run.toml --set name=vanilla --set objective.kind=vanilla --set train.epochs=50
  thickset train run.toml --set 'sweep={ \"objective.gap_weight\" = [0.1, 0.2, 0.4] }'
  thickset train run.toml --tune
  thickset train run.toml --class-weight balanced
  thickset train run.toml --set name=again --from runs/vanilla/model.safetensors
  thickset train --from model.onnx --data loans.csv --target default --set name=stable

With --from MODEL.onnx the run takes the layers, the columns and the scaling of that file, and writes the trained model as model.safetensors and, with the same inputs as before, as model.onnx.")]
pub struct Arguments {
    /// The run's configuration [default: every setting's default, where --data is given]
    #[arg(value_name = "TOML", required_unless_present = "data")]
    config: Option<PathBuf>,
    /// The data, in place of the configuration's
    #[arg(long, value_name = "NAME|PATH")]
    data: Option<String>,
    #[command(flatten)]
    file: ModelFileOptions,
    /// Go on where an interrupted run stands; the result is the same as without the interruption
    #[arg(long)]
    resume: bool,
    /// Change one setting; repeatable
    #[arg(long, value_name = "SETTING=VALUE")]
    set: Vec<String>,
    /// Start from this model's weights, of ours or ONNX, and train so that its ranking of features stays
    #[arg(long, value_name = "MODEL")]
    from: Option<PathBuf>,
    /// Try a few settings around those of the configuration, each trained as a run of its own, and keep the one that does best on
    /// validation rows; --resume goes on with an interrupted search
    #[arg(long, conflicts_with = "from")]
    tune: bool,
    /// How often classes are shown: `balanced`, or one class and its weight; repeatable
    #[arg(long, value_name = "balanced|CLASS=WEIGHT")]
    class_weight: Vec<String>,
    /// The folder that run folders are made in
    #[arg(long, value_name = "FOLDER", default_value = "runs")]
    out: PathBuf,
    /// Runs of a sweep at a time [default: one a core]
    #[arg(long, value_name = "NUMBER")]
    threads: Option<NonZero<usize>>,
    /// This machine's share of a sweep's runs, like 3/64 for the third of 64 machines; once the folders sweep/1, sweep/2 and so on of all machines lie in one
    /// run folder, --resume without --shard chooses among them
    #[arg(long, value_name = "NUMBER/OF")]
    shard: Option<Shard>,
    #[command(flatten)]
    device: DeviceOption,
    #[command(flatten)]
    progress: ProgressOption,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let run = read(arguments)?.check()?;
    let folder = RunFolder::new(arguments.out.join(&run.config().name));
    if run.config().sweep.is_empty() {
        if let Some(shard) = arguments.shard {
            bail!(
                "--shard {}/{} shares the runs of a sweep, and this configuration is one run; name settings to sweep, like --set 'sweep={{ \"seed\" = [0, 1] }}'",
                shard.number,
                shard.of
            );
        }
        one(arguments, &run, &folder)
    } else {
        many(arguments, &run, &folder)
    }
}

fn one(arguments: &Arguments, run: &CheckedRun, folder: &RunFolder) -> Result<()> {
    let config = run.config();
    let is_onnx = config.retrain.as_ref().is_some_and(RetrainConfig::is_onnx);
    let dataset = config
        .open_data()
        .map_err(|error| for_model(error, is_onnx))?;
    dataset.notes.iter().for_each(|text| note(text));
    let mut reporter = Reporter::new(arguments.progress);
    // The last step that a checkpoint has, and the last one that was made.
    let (mut kept, mut made) = (0, 0);
    interrupt::notice();
    let mut observer = |event: &Event<'_>| {
        reporter.show(event);
        match event {
            Event::Begin { step, .. } | Event::Checkpoint { step } => kept = *step,
            Event::Step { step, .. } => made = *step,
            _ => {}
        }
        interrupt::flow()
    };
    let trained = train_into(run, &dataset, folder, arguments.resume, &mut observer)?;
    let Some(Trained {
        selected,
        epochs,
        reason,
        ..
    }) = trained
    else {
        return Err(stopped(arguments, folder, kept, made).into());
    };
    let epochs = epochs.len();
    let model = folder.model();
    let written_back = is_onnx.then(|| folder.onnx_model());
    if arguments.json {
        let mut result = json!({
            "model": model,
            "selected_epoch": selected.epoch,
            "validation_auc": selected.auc,
            "validation_precision_at_k": selected.precision_at_k,
            "epochs": epochs,
            "reason": reason,
        });
        if let Some(path) = &written_back {
            result["onnx"] = json!(path);
        }
        return print_json(&result);
    }
    let probed = if config.probe.rows > 0 {
        format!(
            "validation P@k under a quick attack  {:.4}\n",
            selected.precision_at_k
        )
    } else {
        String::new()
    };
    let epoch = if selected.epoch == 0 {
        format!("none of {epochs}, the model it began with is kept ({reason})")
    } else {
        format!("{} of {epochs} ({reason})", selected.epoch)
    };
    let also = written_back.map_or_else(String::new, |path| {
        format!("as ONNX, with the same inputs        {}\n", path.display())
    });
    print(&format!(
        "model                                {}\n{also}selected epoch                       {epoch}\n\
         validation AUC                       {:.4}\n{probed}",
        model.display(),
        selected.auc,
    ))
}

fn many(arguments: &Arguments, run: &CheckedRun, folder: &RunFolder) -> Result<()> {
    let mut reporter = SweepReporter::new(arguments.progress, run.config().variants()?.len());
    interrupt::notice();
    let mut observer = |number: usize, event: &Event<'_>| {
        reporter.show(number + 1, event);
        interrupt::flow()
    };
    if let Some(shard) = arguments.shard {
        let trained = sweep_share(
            run,
            folder,
            shard,
            arguments.resume,
            arguments.threads,
            &mut observer,
        )?;
        reporter.progress.finish();
        let Some(trained) = trained else {
            return Err(sweep_stopped(arguments, folder).into());
        };
        if arguments.json {
            return print_json(&json!({ "folder": folder.path(), "runs": trained }));
        }
        return print(&format!(
            "{trained} runs of the sweep are in {}; put the folders in its `sweep` together with the other machines', then give the same command with --resume and \
             without --shard\n",
            folder.path().display()
        ));
    }
    let result = sweep(
        run,
        folder,
        arguments.resume,
        arguments.threads,
        &mut observer,
    )?;
    reporter.progress.finish();
    let Some(result) = result else {
        return Err(sweep_stopped(arguments, folder).into());
    };
    if arguments.json {
        return print_json(&result);
    }
    print(&sweep_table(&result))?;
    say!(
        "the model of run {} is {}",
        result.selected,
        folder.model().display()
    );
    Ok(())
}

/// What is kept of a sweep that its user stopped.
fn sweep_stopped(arguments: &Arguments, folder: &RunFolder) -> Interrupted {
    Interrupted(format!(
        "the runs that ended and the checkpoints of the others are kept in {}; go on with: {}",
        folder.path().display(),
        resume_command(arguments)
    ))
}

/// What is kept of a training that its user stopped.
fn stopped(arguments: &Arguments, folder: &RunFolder, kept: u64, made: u64) -> Interrupted {
    let again = resume_command(arguments);
    let folder = folder.path().display();
    Interrupted(if kept == 0 {
        format!("of {made} steps none is kept yet in {folder}; begin again with: {again}")
    } else {
        format!("step {kept} of the {made} made is kept in {folder}; go on with: {again}")
    })
}

fn resume_command(arguments: &Arguments) -> String {
    let config = arguments.config.as_ref().map(|config| {
        let word = shell_word(&config.display().to_string());
        format!(
            " {}",
            word.unwrap_or_else(|| "with the same configuration".to_owned())
        )
    });
    let config = config.unwrap_or_default();
    let given = |name: &str, value: &str| match shell_word(value) {
        Some(word) => format!(" --{name} {word}"),
        None => format!(" --{name} and the same value"),
    };
    let mut options: String = arguments.set.iter().map(|set| given("set", set)).collect();
    if let Some(data) = &arguments.data {
        options += &given("data", data);
    }
    if let Some(from) = &arguments.from {
        options += &given("from", &from.display().to_string());
    }
    for (name, value) in arguments.file.given() {
        options += &given(name, &value);
    }
    if let Some(shard) = arguments.shard {
        options += &given("shard", &format!("{}/{}", shard.number, shard.of));
    }
    for weight in &arguments.class_weight {
        options += &given("class-weight", weight);
    }
    if let Some(device) = arguments.device.given() {
        options += &given("device", device);
    }
    if arguments.tune {
        options += " --tune";
    }
    if arguments.out != Path::new("runs") {
        options += &given("out", &arguments.out.display().to_string());
    }
    format!("thickset train{config}{options} --resume")
}

/// One line a run, the chosen one marked.
fn sweep_table(result: &Sweep) -> String {
    let paths: Vec<&str> = result
        .runs
        .first()
        .map(|run| run.settings.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let heads = ["run", "epoch", "AUC", "P@k"];
    let mut rows: Vec<Vec<String>> = vec![
        heads
            .iter()
            .chain(&paths)
            .map(ToString::to_string)
            .collect(),
    ];
    for run in &result.runs {
        let mark = if run.number == result.selected {
            "*"
        } else {
            ""
        };
        let mut row = vec![format!("{}{mark}", run.number)];
        match &run.standing {
            Some(standing) => row.extend([
                standing.epoch.to_string(),
                format!("{:.4}", standing.auc),
                format!("{:.4}", standing.precision_at_k),
            ]),
            None => row.extend(["-", "diverged", "-"].map(str::to_owned)),
        }
        row.extend(run.settings.values().map(ToString::to_string));
        rows.push(row);
    }
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len() + paths.len()).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{cell:<width$}  ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn read(arguments: &Arguments) -> Result<RunConfig> {
    let (path, text) = match &arguments.config {
        Some(file) => {
            let path = file.display().to_string();
            let text = read_regular_text(file, MOST_CONFIG);
            let text = text.with_context(|| format!("cannot read `{path}`"))?;
            (path, text)
        }
        None => ("the defaults".to_owned(), String::new()),
    };
    let mut config = RunConfig::parse_with(&text, &path, &arguments.set)?;
    if let Some(data) = &arguments.data {
        config.data.source.clone_from(data);
    }
    if let Some(target) = arguments.file.target() {
        config.data.target = Some(target.to_owned());
    }
    if let Some(from) = &arguments.from {
        let retrain = config.retrain.get_or_insert_default();
        retrain.from.clone_from(from);
        arguments.file.write_to(&mut retrain.onnx);
    }
    if let Some(weights) = class_weight(&arguments.class_weight)? {
        config.train.class_weight = Some(weights);
    }
    if let Some(device) = arguments.device.kind() {
        config.train.device = device;
    }
    if arguments.tune {
        config = config.tuned()?;
    }
    Ok(config)
}

/// The weights of classes that were given; none where there were none.
fn class_weight(given: &[String]) -> Result<Option<ClassWeight>> {
    match given {
        [] => return Ok(None),
        [one] if one == "balanced" => return Ok(Some(ClassWeight::Balanced)),
        _ => {}
    }
    let mut weights = BTreeMap::new();
    for text in given {
        let expected =
            || format!("--class-weight: expected `balanced` alone or CLASS=WEIGHT, got `{text}`");
        let (class, weight) = text.rsplit_once('=').with_context(expected)?;
        weights.insert(class.to_owned(), weight.parse().with_context(expected)?);
    }
    Ok(Some(ClassWeight::Each(weights)))
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
                .begin(epochs.saturating_mul(*steps_per_epoch) as u64, *step),
            Event::Note { text } => self.progress.note(text),
            Event::BrokenCheckpoint { path, problem } => self.progress.note(&format!(
                "the checkpoint `{path}` cannot be used ({problem}); trying the one before it"
            )),
            Event::Step { step, loss, terms } => {
                self.progress.set(*step);
                let terms = named(terms.iter().map(|(name, value)| (*name, Some(*value))));
                self.progress
                    .message(format!("loss {loss:.4}{terms}{}", self.verdict));
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

/// Shows the events of several runs: the bar counts those that have ended.
struct SweepReporter {
    progress: Progress,
    ended: usize,
}

impl SweepReporter {
    fn new(option: ProgressOption, runs: usize) -> Self {
        let mut progress = option.start();
        progress.begin(runs as u64, 0);
        Self { progress, ended: 0 }
    }

    fn show(&mut self, number: usize, event: &Event<'_>) {
        self.progress.event(&OfRun { run: number, event });
        match event {
            Event::Note { text } => self.progress.note(&format!("run {number}: {text}")),
            Event::BrokenCheckpoint { path, problem } => self.progress.note(&format!(
                "the checkpoint `{path}` cannot be used ({problem}); trying the one before it"
            )),
            Event::Epoch(record) => self.progress.message(format!(
                "run {number} epoch {}{}",
                record.epoch,
                verdict(record)
            )),
            Event::End { .. } => {
                self.ended += 1;
                self.progress.set(self.ended as u64);
            }
            Event::Begin { .. } | Event::Step { .. } | Event::Checkpoint { .. } => {}
        }
    }
}

/// An event and the run it is of, counted from 1.
#[derive(Serialize)]
struct OfRun<'e> {
    run: usize,
    #[serde(flatten)]
    event: &'e Event<'e>,
}

/// `  AUC 0.9876  P@k 0.7654`.
fn verdict(record: &EpochRecord) -> String {
    named([
        ("AUC", record.auc),
        ("P@k", record.precision_at_k),
        ("agreement", record.agreement),
    ])
}

fn named<'n>(numbers: impl IntoIterator<Item = (&'n str, Option<f64>)>) -> String {
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
    let terms = record.terms.iter();
    let terms = named(terms.map(|(name, value)| (name.as_str(), Some(*value))));
    let (start, end) = (
        format!("epoch {:>3}  loss {:.4}", record.epoch, record.loss),
        verdict(record),
    );
    // What does not fit into a line of a usual terminal is in metrics.jsonl anyway.
    if start.len() + terms.len() + end.len() > WIDTH {
        return start + &end;
    }
    start + &terms + &end
}

/// Letters of a line on a usual terminal.
const WIDTH: usize = 80;
