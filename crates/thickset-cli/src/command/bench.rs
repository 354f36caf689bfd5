//! `thickset bench`: measurements on this machine, and the papers' tables and figures.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use thickset::Model;
use thickset_papers::attack;
use thickset_papers::file_speed::{self, FileSpeedOptions};
use thickset_papers::speed::{self, Measurement, SpeedOptions};

use super::bench_paper::{self, Chosen};
use super::output::{print, print_json};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset bench speed
  thickset bench table1 --datasets adult,bank,compas --effort quick
  thickset bench fig2 --seeds 1 --rows 100 --out results

A table or figure is printed, and written to FOLDER/NAME as report.html, bench.json and bench.md. A bench that was stopped goes on where it stood when the same command is given again.")]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Rows per second of `ERAttack`, by batch size
    ///
    /// Attacks the MLP 28-64-32-2 in 100 steps, in batches and row by row. `benches/peer/torch_attack.py` does the same in
    /// PyTorch.
    #[command(after_help = "Examples:
  thickset bench attack
  thickset bench attack --seconds 10 --json > attack.json")]
    Attack(Attack),
    /// Milliseconds per training step, and input gradients per second
    ///
    /// Measures the class loss alone (vanilla), with a penalty on the input gradient (grad-penalty) and with R2ET's gap
    /// and Hessian terms (r2et), and on the first model every other objective too, each as a multiple of vanilla.
    /// `benches/peer/torch_step.py` measures the first three in `PyTorch`.
    #[command(after_help = "Examples:
  thickset bench speed
  thickset bench speed --only cnn --seconds 10
  thickset bench speed --json > speed.json")]
    Speed(Speed),
    /// Milliseconds of predictions, input gradients and an attack of a model's file
    ///
    /// `benches/peer/torch_resnet18.py` does the same in `PyTorch` for torchvision's ResNet-18.
    #[command(after_help = "Examples:
  thickset bench file resnet18.onnx --batch 2 --steps 5
  thickset bench file runs/loans/model.safetensors --batch 512 --json")]
    File(File),
    #[command(flatten)]
    Paper(Chosen),
}

#[derive(Args)]
struct Speed {
    /// Measure this model alone
    #[arg(long, value_name = "MODEL", value_parser = speed::MODELS)]
    only: Option<String>,
    /// Measure this step alone
    #[arg(long, value_name = "STEP", value_parser = PossibleValuesParser::new(speed::steps()))]
    step: Option<String>,
    /// Seconds of timed steps in each cell
    #[arg(long, default_value_t = 3.0, value_parser = positive_seconds)]
    seconds: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct File {
    /// The model file, of ours or ONNX
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// Rows of a batch
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536))]
    batch: u32,
    /// Steps of the attack
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    steps: u32,
    /// Seconds of timed runs for each line
    #[arg(long, default_value_t = 3.0, value_parser = positive_seconds)]
    seconds: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Attack {
    /// Seconds of timed runs for each batch size
    #[arg(long, default_value_t = 3.0, value_parser = positive_seconds)]
    seconds: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An hour a cell is more than anyone means.
const MOST_SECONDS: f64 = 3600.0;

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= MOST_SECONDS => Ok(seconds),
        _ => Err(format!(
            "must be a number above 0 and at most {MOST_SECONDS}"
        )),
    }
}

pub fn run(arguments: Arguments) -> Result<()> {
    let arguments = match arguments.what {
        What::Speed(arguments) => arguments,
        What::Attack(arguments) => return run_attack(&arguments),
        What::File(arguments) => return run_file(&arguments),
        What::Paper(chosen) => return bench_paper::run(chosen),
    };
    let options = SpeedOptions {
        seconds: arguments.seconds,
        only: arguments.only,
        step: arguments.step,
    };
    let cells = speed::run(&options, |cell| {
        say!("measured {} {}", cell.model, cell.step);
    })?;
    if arguments.json {
        return print_json(&cells);
    }
    print(&table(&cells))
}

fn run_attack(arguments: &Attack) -> Result<()> {
    let cells = attack::run(arguments.seconds, |cell| {
        say!("measured {} batch {}", cell.step, cell.batch);
    })?;
    if arguments.json {
        return print_json(&cells);
    }
    print(&table(&cells))
}

fn run_file(arguments: &File) -> Result<()> {
    let options = FileSpeedOptions {
        batch: arguments.batch as usize,
        steps: arguments.steps as usize,
        seconds: arguments.seconds,
    };
    let model = Model::load(&arguments.path)?;
    let lines = file_speed::run(&model, &options, |line| say!("measured {}", line.step))?;
    if arguments.json {
        return print_json(&lines);
    }
    let mut text = format!(
        "{:<16}  {:>5}  {:>10}  {:>10}\n",
        "STEP", "BATCH", "MEDIAN MS", "BEST MS"
    );
    for line in &lines {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16}  {:>5}  {:>10.3}  {:>10.3}",
            line.step, line.batch, line.median_ms, line.best_ms
        );
    }
    print(&text)
}

fn table(cells: &[Measurement]) -> String {
    let mut text = format!(
        "{:<16}  {:<20}  {:>5}  {:>10}  {:>10}  {:>12}  {:>9}\n",
        "MODEL", "STEP", "BATCH", "MEDIAN MS", "BEST MS", "ROWS/SECOND", "X VANILLA"
    );
    for cell in cells {
        let times = cell
            .times_vanilla
            .map_or("-".to_owned(), |times| format!("{times:.2}"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16}  {:<20}  {:>5}  {:>10.3}  {:>10.3}  {:>12.0}  {times:>9}",
            cell.model, cell.step, cell.batch, cell.median_ms, cell.best_ms, cell.rows_per_second
        );
    }
    text
}
