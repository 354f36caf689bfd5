//! `thickset certify`: what no small move of a row can do to its explanation, proved.

mod smoothed;
mod tolerances;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use serde::Serialize;
use thickset::attack::ThreatConfig;
use thickset::certify::smoothed_top_k::SmoothedTopKConfig;
use thickset::certify::{CertifiedRadius, CertifiedWorstCase, CertifyConfig, Status};
use thickset::model::CertifyOptions;
use thickset::row_writer::{Cell, OutputColumn};
use thickset::statistics;
use thickset_engine::write_whole;

use super::explain::How;
use super::model_rows::ModelRows;
use super::row_output::{OutputOptions, OutputRow};
use super::threat::ThreatOptions;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset certify --model runs/loans/model.safetensors --data loans.csv
  thickset certify --model model.safetensors --data adult --radius 0.1 --max-rows 100
  thickset certify --model model.safetensors --data loans.csv --immutable sex --column-budget age=2
  thickset certify --model model.safetensors --data loans.csv --nodes 200000 --max-rows 0 --out certified.parquet
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
    #[arg(long, conflicts_with_all = ["any_class", "nodes", "out"])]
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
    #[arg(long, conflicts_with_all = ["smoothed", "out"])]
    tolerances: bool,
    /// Write proofs of what is certified, for `thickset check`
    #[arg(long, value_name = "FILE", conflicts_with = "smoothed")]
    proof: Option<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
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
        return smoothed::run(arguments, &loaded);
    }
    let usual = ThreatConfig::default();
    let options = CertifyOptions {
        k: arguments.k,
        radius: arguments.threat.radius,
        threat: arguments.threat.config(&usual).unwrap_or_default(),
        any_class: arguments.any_class,
        nodes: Some(arguments.nodes),
        explain: arguments.how.options(loaded.seed),
    };
    if arguments.tolerances {
        return tolerances::run(arguments, &loaded, &options);
    }
    if loaded.rows().is_empty() {
        // There may be more machines than blocks of rows.
        return arguments.output.run(loaded.continued(), |_| Ok(()));
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
    arguments.output.run(loaded.continued(), |output| {
        output.head(&head(k, largest)?);
        for line in &lines {
            if output.row(line)?.is_break() {
                break;
            }
        }
        Ok(())
    })?;
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

/// The head of the table.
fn head(k: usize, largest: f64) -> Result<String> {
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
    Ok(text)
}

impl OutputRow for Line<'_> {
    fn text(&self) -> Result<String> {
        let (radius, worst) = (self.certified_radius, self.certified_worst_case);
        let found = self
            .changed_at()
            .map_or_else(|| "-".to_owned(), |size| format!("{size:.6}"));
        let range = if worst.status == Status::Exact {
            format!("{:.4}", self.certified_p_at_k)
        } else {
            format!("{:.4}..{:.4}", self.certified_p_at_k, self.reached_p_at_k)
        };
        let mut text = String::new();
        writeln!(
            text,
            "{:>7}  {:<9}  {:>11.6}  {found:>11}  {:<9}  {range:>15}  {:>7}",
            self.row,
            radius.status.name(),
            radius.certified,
            worst.status.name(),
            radius.nodes + worst.nodes
        )?;
        Ok(text)
    }

    fn json(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    fn columns(&self) -> Vec<OutputColumn> {
        vec![
            OutputColumn::whole("row"),
            OutputColumn::text("radius status"),
            OutputColumn::number("certified radius"),
            OutputColumn::number("changed at"),
            OutputColumn::text("worst case status"),
            OutputColumn::number("certified p at k"),
            OutputColumn::number("reached p at k"),
        ]
    }

    fn cells(&self) -> Result<Vec<Cell<'_>>> {
        Ok(vec![
            Cell::count(self.row),
            Cell::text(self.certified_radius.status.name()),
            Cell::Number(self.certified_radius.certified),
            Cell::maybe(self.changed_at()),
            Cell::text(self.certified_worst_case.status.name()),
            Cell::Number(self.certified_p_at_k),
            Cell::Number(self.reached_p_at_k),
        ])
    }
}

impl Line<'_> {
    /// The size of the nearest change found.
    fn changed_at(&self) -> Option<f64> {
        let found = self.certified_radius.counterexample.as_ref();
        found.map(|found| found.size)
    }
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
