//! `thickset certify`: what no small move of a row can do to its explanation, proved.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Serialize;
use thickset::certify::smoothed_top_k::SmoothedTopKConfig;
use thickset::certify::{CertifiedRadius, CertifiedWorstCase, CertifyConfig, Status};
use thickset::model::{CertifyOptions, SmoothedOptions, ToleratedRange};
use thickset::statistics;
use thickset_engine::write_whole;

use super::explain::How;
use super::model_rows::{Loaded, ModelRows};
use super::output::print;
use super::threat::ThreatOptions;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset certify --model runs/loans/model.safetensors --data loans.csv
  thickset certify --model model.safetensors --data adult --radius 0.1 --max-rows 100
  thickset certify --model model.safetensors --data loans.csv --box --immutable --column-budget age=2
  thickset certify --model model.safetensors --data loans.csv --nodes 200000 --json --max-rows 0 > certified.jsonl
  thickset certify --model model.safetensors --data loans.csv --tolerances --row 3
  thickset certify --model model.safetensors --data loans.csv --proof proofs.jsonl
  thickset certify --model cnn.safetensors --data digits --smoothed --sigma 0.2 --radius 0.05")]
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
    /// Certify the explanation under Gaussian noise instead, of any model, with a stated confidence
    #[arg(long, conflicts_with_all = ["any_class", "nodes"])]
    smoothed: bool,
    /// Deviation of each feature's noise, in encoded units
    #[arg(long, requires = "smoothed", default_value_t = SmoothedTopKConfig::default().sigma)]
    sigma: f64,
    /// Noisy copies of each row
    #[arg(long, requires = "smoothed", default_value_t = SmoothedTopKConfig::default().draws)]
    draws: usize,
    /// With which all bounds of a row hold together
    #[arg(long, requires = "smoothed", default_value_t = SmoothedTopKConfig::default().confidence)]
    confidence: f64,
    /// Print for each number of a row between which values it may lie, all else as it is
    #[arg(long, conflicts_with = "smoothed")]
    tolerances: bool,
    /// Write proofs of what is certified, for `thickset check`
    #[arg(long, value_name = "FILE", conflicts_with = "smoothed")]
    proof: Option<PathBuf>,
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
    if arguments.smoothed {
        return smoothed(arguments, &loaded);
    }
    let options = CertifyOptions {
        k: arguments.k,
        radius: arguments.threat.radius,
        threat: arguments.threat.config(),
        any_class: arguments.any_class,
        nodes: Some(arguments.nodes),
        explain: arguments.how.options(loaded.seed),
    };
    if arguments.tolerances {
        return tolerances(arguments, &loaded, &options);
    }
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
    summary(&lines, k, largest)?;
    if let Some(file) = &arguments.proof {
        let (header, proofs) = loaded.model.prove(&loaded.rows(), &options)?;
        let mut text = serde_json::to_string(&header)? + "\n";
        for proof in &proofs {
            text += &serde_json::to_string(proof)?;
            text += "\n";
        }
        write_whole(file, |to| to.write_all(text.as_bytes()))
            .with_context(|| format!("cannot write `{}`", file.display()))?;
        say!("wrote {} proofs to {}", proofs.len(), file.display());
    }
    Ok(())
}

/// The values that one number of a row may take.
#[derive(Serialize)]
struct ToleranceLine<'a> {
    row: u64,
    #[serde(flatten)]
    range: &'a ToleratedRange,
}

fn tolerances(arguments: &Arguments, loaded: &Loaded, options: &CertifyOptions) -> Result<()> {
    let found = loaded.model.tolerances(&loaded.rows(), options)?;
    let mut text = String::new();
    for (place, ranges) in found.iter().enumerate() {
        let row = loaded.number(place);
        for range in ranges {
            if arguments.json {
                let line = ToleranceLine { row, range };
                writeln!(text, "{}", serde_json::to_string(&line)?)?;
            } else {
                let unit = range.unit.as_deref().unwrap_or_default();
                let line = format!(
                    "row {row}: the reasons hold for any {} between {:.6} and {:.6} {unit}",
                    range.feature, range.from, range.to
                );
                writeln!(text, "{}", line.trim_end())?;
            }
        }
    }
    print(&text)
}

/// What is known of one row's explanation under noise.
#[derive(Serialize)]
struct SmoothedLine<'a> {
    row: u64,
    k: usize,
    radius: f64,
    sigma: f64,
    draws: usize,
    confidence: f64,
    smoothed_top: Vec<&'a str>,
    smoothed_certified_radius: f64,
    smoothed_certified_p_at_k: f64,
}

fn smoothed(arguments: &Arguments, loaded: &Loaded) -> Result<()> {
    let options = SmoothedOptions {
        k: arguments.k,
        radius: arguments.threat.radius,
        threat: arguments.threat.config(),
        draws: Some(arguments.draws),
        sigma: Some(arguments.sigma),
        confidence: Some(arguments.confidence),
        explain: arguments.how.options(loaded.seed),
    };
    let certified = loaded.model.certify_smoothed(&loaded.rows(), &options)?;
    let config = &certified.config;
    let (k, radius) = (config.k, config.threat.ball.radius);
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of features stay far below 2^53"
    )]
    let share = |kept: usize| kept as f64 / k as f64;
    let rows = &certified.found.rows;
    let mut text = String::new();
    if !arguments.json {
        writeln!(
            text,
            "{:>7}  {:>11}  {:>15}",
            "row",
            "no change",
            format!("P@{k} in {radius}")
        )?;
    }
    for (place, row) in rows.iter().enumerate() {
        let line = SmoothedLine {
            row: loaded.number(place),
            k,
            radius,
            sigma: config.sigma,
            draws: config.draws,
            confidence: config.confidence,
            smoothed_top: row
                .top
                .iter()
                .map(|feature| certified.names[*feature].as_str())
                .collect(),
            smoothed_certified_radius: row.certified_radius,
            smoothed_certified_p_at_k: share(row.kept_at_least),
        };
        if arguments.json {
            writeln!(text, "{}", serde_json::to_string(&line)?)?;
        } else {
            writeln!(
                text,
                "{:>7}  {:>11.6}  {:>15.4}",
                line.row, line.smoothed_certified_radius, line.smoothed_certified_p_at_k
            )?;
        }
    }
    print(&text)?;
    let radii: Vec<f64> = rows.iter().map(|row| row.certified_radius).collect();
    let kept: Vec<f64> = rows.iter().map(|row| share(row.kept_at_least)).collect();
    let distinctness = certified.found.distinctness;
    say!(
        "of the smoothed explanation (noise of {}, {} draws, confidence {}): median certified radius {:.6}, mean certified P@{k} within \
         {radius} {:.4}; distinctness {}",
        config.sigma,
        config.draws,
        config.confidence,
        statistics::median::estimate(&radii)?.value,
        statistics::mean::estimate(&kept)?.value,
        distinctness.map_or_else(
            || "of one row is not known".to_owned(),
            |value| format!("{value:.4}")
        ),
    );
    say!(
        "this is not a certificate of the explanation itself, only of its average under that noise"
    );
    Ok(())
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
