//! `thickset demo`: what thickset does, on bundled data, in one command.

mod demonstration;
mod model;
mod training;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use thickset::Seed;
use thickset::audit::compare::Verdict;
use thickset::statistics::Estimate;
use thickset_report::quoted;

use self::demonstration::{DemoOptions, Line, Report, Section};
use super::output::{p_value, print, print_json};

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
  distinctness  one minus the share of the top k that two different rows have in
                common; at 0 every row has the same
  training      time of the training steps, as a multiple of the vanilla network's")]
pub struct Arguments {
    /// The folder for models, audits and report.html; those of an earlier demo are replaced
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
    let options = DemoOptions {
        out: arguments.out.clone(),
        seed: Seed::new(arguments.seed),
    };
    let (report, audits) = demonstration::run(&options, |step| say!("{step}"))?;
    let page = arguments.out.join("report.html");
    super::report::write(&page, &thickset_report::audit(&audits)?)?;
    if arguments.json {
        print_json(&report)?;
    } else {
        print(&table(&report))?;
    }
    say!("{}", talk(&report, &page).trim_end());
    Ok(())
}

// Writing to a string cannot fail, so its results are dropped below.

fn table(report: &Report) -> String {
    let mut text = format!(
        "{:<13}  {:<11}  {:>6}  {:>24}  {:>9}  {:>12}  {:>8}\n",
        "data", "model", "AUC", "P@k (95% interval)", "thickness", "distinctness", "training"
    );
    let number = |number: Option<f64>| {
        number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}"))
    };
    for section in &report.datasets {
        for line in &section.lines {
            let precision = estimate(&line.precision_at_k);
            let auc = line
                .auc
                .map_or_else(|| "-".to_owned(), |auc| format!("{:.4}", auc.value));
            let _ = writeln!(
                text,
                "{:<13}  {:<11}  {auc:>6}  {precision:>24}  {:>9}  {:>12}  {:>7.2}x",
                section.data,
                line.model,
                number(line.thickness.map(|thickness| thickness.value)),
                number(line.distinctness),
                line.training_cost
            );
        }
    }
    text
}

fn estimate(estimate: &Estimate) -> String {
    let interval = estimate.interval.map_or_else(String::new, |interval| {
        format!(" ({:.3} to {:.3})", interval.low, interval.high)
    });
    format!("{:.3}{interval}", estimate.value)
}

/// What was written, what to look at and what to type next.
fn talk(report: &Report, page: &Path) -> String {
    let mut text = String::new();
    for section in &report.datasets {
        let _ = writeln!(
            text,
            "\n{}: {} training rows, {} test rows, {} features scaled to 0..1; k = {}",
            section.data, section.training_rows, section.test_rows, section.features, section.k
        );
        for line in &section.lines {
            let _ = writeln!(text, "  {}", reading(line, section.k));
        }
        let _ = writeln!(text, "  {}", gain(section));
    }
    let _ = writeln!(
        text,
        "\nEvery test row was attacked by the {} suite within an l2 distance of {}. P@k is the share of its k most important\n\
         features that survived the worst point found.\n\nwhat to look at\n  {}",
        report.effort.name(),
        report.radius,
        page.display()
    );
    text.push_str("\nwhat to type next\n");
    for command in next(report) {
        let _ = writeln!(text, "  {command}");
    }
    text
}

fn reading(line: &Line, k: usize) -> String {
    let precision = line.precision_at_k.value;
    let name = line.model;
    let Some(overlap) = line.overlap() else {
        return format!("{name}: P@{k} {precision:.3}");
    };
    if overlap >= 1.0 {
        return format!(
            "{name}: every row has the same top {k}, so P@{k} {precision:.3} says nothing about a row"
        );
    }
    if precision < overlap {
        return format!(
            "{name}: P@{k} {precision:.3} is below the overlap of two different rows, {overlap:.3}: an attacked row is less \
             like\n    itself than two different rows are like each other"
        );
    }
    format!(
        "{name}: P@{k} {precision:.3} is not below the overlap of two different rows, {overlap:.3}; only what lies above it is \
         the\n    row's own"
    )
}

/// Whether R2ET gained anything, as the paired test says.
fn gain(section: &Section) -> String {
    let Section {
        gain, verdict, k, ..
    } = section;
    let said = match verdict {
        Verdict::LessStable => "R2ET is less stable than vanilla here",
        Verdict::MoreStable => "R2ET is more stable than vanilla here",
        Verdict::NotShown => "no difference between R2ET and vanilla was shown",
    };
    let interval = gain.mean.interval.map_or_else(String::new, |interval| {
        format!(
            ", 95% interval {:+.3} to {:+.3}",
            interval.low, interval.high
        )
    });
    format!(
        "{said}: P@{k} differs by {:+.3} row by row{interval},\n    paired t-test {}, Wilcoxon {}",
        gain.mean.value,
        p_value(gain.t_test.p_value),
        p_value(gain.wilcoxon.p_value)
    )
}

/// Commands that work as they stand, in a shell.
fn next(report: &Report) -> Vec<String> {
    let seed = report.seed.number();
    // The rows that the model was not trained on are those of its own seed.
    let same = if seed == 0 {
        String::new()
    } else {
        format!(" --split-seed {seed} --seed {seed}")
    };
    let mut commands = Vec::new();
    if let Some(section) = report.datasets.first()
        && let [_, vanilla, r2et] = section.lines.as_slice()
    {
        let [vanilla, file] = [vanilla, r2et].map(|line| quoted(&line.file.display().to_string()));
        let data = format!("--data {}{same}", section.data);
        commands.push(format!("thickset explain --model {file} {data}"));
        commands.push(format!(
            "thickset audit --model {file} {data} --out audit --require 'p_at_k>=0.9'"
        ));
        commands.push(format!(
            "thickset compare {vanilla} {file} {data} --effort quick"
        ));
    }
    commands.push(
        "thickset init --data YOUR.csv --target COLUMN && thickset train run.toml".to_owned(),
    );
    commands
}
