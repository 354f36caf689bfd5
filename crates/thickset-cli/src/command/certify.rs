//! `thickset certify`: what no small move of a row can do to its explanation, proved.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use thickset::attack::ThreatConfig;
use thickset::certify::{CertifiedRadius, CertifiedWorstCase, CertifyConfig, Status};
use thickset::model::CertifyOptions;
use thickset::statistics;

use super::explain::How;
use super::model_rows::ModelRows;
use super::output::print;
use super::threat::ThreatOptions;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset certify --model runs/loans/model.safetensors --data loans.csv
  thickset certify --model model.safetensors --data adult --radius 0.1 --limit 100
  thickset certify --model model.safetensors --data loans.csv --box --immutable --column-budget age=2
  thickset certify --model model.safetensors --data loans.csv --nodes 200000 --json --limit 0 > certified.jsonl")]
pub struct Arguments {
    #[command(flatten)]
    source: ModelRows,
    #[command(flatten)]
    how: How,
    /// Salient features [default: the model's or the dataset's, else 8]
    #[arg(long)]
    k: Option<usize>,
    #[command(flatten)]
    threat: ThreatOptions,
    /// Let moves change the predicted class
    #[arg(long)]
    any_class: bool,
    /// Parts of a row's search, after which a bracket is given
    #[arg(long, default_value_t = CertifyConfig::default().nodes)]
    nodes: usize,
    /// Print one JSON object a row
    #[arg(long)]
    json: bool,
}

/// What is known of one row.
#[derive(Serialize)]
struct Line<'a> {
    row: u64,
    k: usize,
    /// The largest move that was asked about.
    radius: f64,
    certified_radius: &'a CertifiedRadius,
    certified_worst_case: &'a CertifiedWorstCase,
    /// The P@k that every move within the radius keeps.
    certified_p_at_k: f64,
    /// The P@k that some move within the radius reaches.
    reached_p_at_k: f64,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let loaded = arguments.source.load()?;
    let usual = ThreatConfig::default();
    let options = CertifyOptions {
        k: arguments.k,
        radius: arguments.threat.radius,
        threat: arguments.threat.config(&usual).unwrap_or_default(),
        any_class: arguments.any_class,
        nodes: Some(arguments.nodes),
        explain: arguments.how.options(loaded.seed),
    };
    let certified = loaded.model.certify(&loaded.rows(), &options)?;
    let (k, largest) = (certified.k, certified.radius);
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of features stay far below 2^53"
    )]
    let share = |kept: usize| kept as f64 / k as f64;
    let lines: Vec<Line<'_>> = certified
        .rows
        .iter()
        .enumerate()
        .map(|(place, row)| Line {
            row: loaded.number(place),
            k,
            radius: largest,
            certified_radius: &row.radius,
            certified_worst_case: &row.worst_case,
            certified_p_at_k: share(row.worst_case.kept_at_least),
            reached_p_at_k: share(row.worst_case.kept_at_most),
        })
        .collect();
    let mut text = String::new();
    if arguments.json {
        for line in &lines {
            writeln!(text, "{}", serde_json::to_string(line)?)?;
        }
    } else {
        text = table(&lines, k, largest)?;
    }
    print(&text)?;
    summary(&lines, k, largest)
}

fn table(lines: &[Line<'_>], k: usize, largest: f64) -> Result<String> {
    let mut text = String::new();
    writeln!(
        text,
        "{:>7}  {:<9}  {:>11}  {:>11}  {:<9}  {:>15}  {:>7}",
        "row",
        "radius",
        "no change",
        "change at",
        format!("P@{k}"),
        format!("within {largest}"),
        "parts"
    )?;
    for line in lines {
        let (radius, worst) = (line.certified_radius, line.certified_worst_case);
        let found = radius
            .counterexample
            .as_ref()
            .map_or_else(|| "-".to_owned(), |found| format!("{:.6}", found.size));
        let range = if worst.status == Status::Exact {
            format!("{:.4}", line.certified_p_at_k)
        } else {
            format!("{:.4}..{:.4}", line.certified_p_at_k, line.reached_p_at_k)
        };
        writeln!(
            text,
            "{:>7}  {:<9}  {:>11.6}  {found:>11}  {:<9}  {range:>15}  {:>7}",
            line.row,
            radius.status.name(),
            radius.certified,
            worst.status.name(),
            radius.nodes + worst.nodes
        )?;
    }
    Ok(text)
}

/// What all rows come to.
fn summary(lines: &[Line<'_>], k: usize, largest: f64) -> Result<()> {
    let rows = lines.len();
    let whole = |line: &&Line<'_>| line.certified_worst_case.kept_at_least == k;
    let settled = |line: &&Line<'_>| line.certified_radius.status != Status::Unknown;
    let radii: Vec<f64> = lines
        .iter()
        .map(|line| line.certified_radius.certified)
        .collect();
    let mean = |of: fn(&Line<'_>) -> f64| {
        let values: Vec<f64> = lines.iter().map(of).collect();
        statistics::mean::estimate(&values)
    };
    say!(
        "{} of {rows} rows keep their top {k} within {largest}, whatever the move; median certified radius {:.6} ({} of {rows} exact \
         or up to {largest})",
        lines.iter().filter(whole).count(),
        statistics::median::estimate(&radii)?.value,
        lines.iter().filter(settled).count(),
    );
    say!(
        "mean P@{k} within {largest}: at least {:.4} is certified, {:.4} was reached",
        mean(|line| line.certified_p_at_k)?.value,
        mean(|line| line.reached_p_at_k)?.value,
    );
    Ok(())
}
