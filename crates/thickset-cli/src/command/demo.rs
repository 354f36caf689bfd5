//! `thickset demo`: what thickset does, on bundled data, in one command.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use thickset::Seed;
use thickset::demo::{self, Line, Options, Report};

use super::output::{print, print_json};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset demo
  thickset demo --out /tmp/demo --seed 1
  thickset demo --json > demo.json

Columns:
  AUC           how well the model tells the classes apart; higher is better
  P@k           share of a row's k most important features that survive the worst
                small change that the quick suite found, the prediction held;
                higher is more stable
  thickness     how often a salient feature stays ahead of another on the way to
                random neighbours; higher is more stable
  distinctness  one less the share of the top k that two different rows have in
                common; at 0 everyone is told the same
  training      time of the training steps, as a multiple of the vanilla network's")]
pub struct Arguments {
    /// The folder to write the three models to; those of an earlier demo are replaced
    #[arg(long, value_name = "FOLDER", default_value = "thickset-demo")]
    out: PathBuf,
    /// Decides the split, the fresh weights and every draw
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let options = Options {
        out: arguments.out.clone(),
        seed: Seed::new(arguments.seed),
    };
    let report = demo::run(&options, |step| eprintln!("{step}"))?;
    if arguments.json {
        print_json(&report)?;
    } else {
        print(&table(&report))?;
    }
    eprint!("{}", talk(&report));
    Ok(())
}

fn table(report: &Report) -> String {
    let precision = format!("P@{} (95% interval)", report.k);
    let mut text = format!(
        "{:<12}  {:>6}  {precision:>22}  {:>9}  {:>12}  {:>8}\n",
        "model", "AUC", "thickness", "distinctness", "training"
    );
    for line in &report.lines {
        let interval = line
            .precision_at_k
            .interval
            .map_or_else(String::new, |interval| {
                format!(" ({:.3} to {:.3})", interval.low, interval.high)
            });
        let precision = format!("{:.3}{interval}", line.precision_at_k.value);
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<12}  {:>6.4}  {precision:>22}  {:>9.3}  {:>12.3}  {:>7.2}x",
            line.model, line.auc, line.thickness.value, line.distinctness, line.training_cost
        );
    }
    text
}

/// What was written, what to look at and what to type next.
fn talk(report: &Report) -> String {
    let Report {
        k,
        radius,
        test_rows,
        ..
    } = report;
    let mut text = format!(
        "\n{}: {} training rows, {test_rows} test rows, {} features scaled to 0..1. Every test row was attacked by the quick \
         suite\nwithin an l2 distance of {radius}, and the share of its {k} most important features that survived is P@{k}.\n\nwrote\n",
        report.data, report.training_rows, report.features
    );
    for line in &report.lines {
        let _ = writeln!(text, "  {}", line.file.display());
    }
    text.push_str("\nwhat to look at\n");
    for line in &report.lines {
        let _ = writeln!(text, "  {}", reading(line, *k));
    }
    text.push_str("\nwhat to type next\n");
    for command in next(report) {
        let _ = writeln!(text, "  {command}");
    }
    text
}

fn reading(line: &Line, k: usize) -> String {
    let (precision, overlap) = (line.precision_at_k.value, line.overlap());
    let name = line.model;
    if overlap >= 1.0 {
        return format!(
            "{name}: every row has the same top {k}, so P@{k} {precision:.3} says nothing about a row"
        );
    }
    if line.is_below_overlap() {
        return format!(
            "{name}: P@{k} {precision:.3} is below the overlap of two different rows, {overlap:.3}: an attacked row is less \
             like itself than two\n    different rows are like each other"
        );
    }
    format!(
        "{name}: P@{k} {precision:.3} is not below the overlap of two different rows, {overlap:.3}; only what lies above it is \
         the row's own"
    )
}

/// Commands that work as they stand, in a shell.
fn next(report: &Report) -> Vec<String> {
    let Some(last) = report.lines.last() else {
        return Vec::new();
    };
    let file = quoted(&last.file.display().to_string());
    let seed = report.seed.number();
    // The rows that the model was not trained on are those of its own seed.
    let same = if seed == 0 {
        String::new()
    } else {
        format!(" --split-seed {seed} --seed {seed}")
    };
    let rows = format!("--model {file} --data {}{same}", report.data);
    vec![
        format!("thickset model {file}"),
        format!("thickset explain {rows}"),
        format!("thickset attack {rows} --effort quick --limit 0"),
        "thickset init --data YOUR.csv --target COLUMN && thickset train run.toml".to_owned(),
    ]
}

/// The text as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_./".contains(character);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}
