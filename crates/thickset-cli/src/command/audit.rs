//! `thickset audit`: how far the explanations of a model can be trusted, with a gate.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde_json::json;
use thickset::audit::AuditFolder;
use thickset::audit::result::{Audit, LinearBaseline, Summary};
use thickset::statistics::Estimate;

use super::Ending;
use super::audited::{AuditOptions, Loaded, gate};
use super::output::{print, print_json};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset audit --model runs/loans/model.safetensors --data loans.csv
  thickset audit --model model.safetensors --data new.csv --out audits/june --effort thorough
  thickset audit --model runs/loans/model.safetensors --data loans.csv \\
    --require 'p_at_k>=0.9' --require 'auc.low>=0.85'
  thickset audit --model model.safetensors --data adult --box --immutable --integer --max-rows 500

Rows: data that the model's own run names is split as in training, and its test rows are audited (see --part). Another table's file is taken whole; if it has the target column, AUC and accuracy are measured.

An audit that was killed goes on where it stood when the same command is given again, and ends with the same bytes.

Requirements: a figure, one of >= > <= <, and a number. Figures: p_at_k, noise, unchanged, thickness, distinctness, auc, accuracy, dffot, comprehensiveness, sufficiency. Of those with a 95% interval, p_at_k.low and p_at_k.high are its ends. More of them may stand in the run's run.toml: [audit] require = [\"p_at_k>=0.9\"]. If one fails, the exit code is 1.")]
pub struct Arguments {
    /// The model file
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    options: AuditOptions,
    /// What must hold, like 'p_at_k>=0.9'; repeatable
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<String>,
    /// The folder for audit.json and report.html [default: the model's]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<Ending> {
    let loaded = Loaded::read(&arguments.model)?;
    let mut require = loaded.defaults().require;
    require.extend(arguments.require.iter().cloned());
    let beside = arguments.model.parent().unwrap_or(Path::new(""));
    let folder = AuditFolder::create(arguments.out.as_deref().unwrap_or(beside))?;
    let options = &arguments.options;
    let rows = options.rows(&loaded)?;
    let config = options.config(&loaded, &rows, require)?;
    let audit = options.audit(&loaded, &rows, &config, Some(folder.partial()))?;
    folder.finish(&audit)?;
    folder.write_report(&thickset_report::audit(std::slice::from_ref(&audit))?)?;
    if arguments.json {
        print_json(&json!({
            "model": audit.model.name,
            "data": audit.data.name,
            "rows": audit.data.rows,
            "k": audit.settings.k,
            "summary": audit.summary,
            "linear": audit.linear,
            "gate": audit.gate,
            "files": [folder.audit(), folder.report()],
        }))?;
    } else {
        print(&table(&audit))?;
    }
    eprintln!(
        "wrote {} and {}",
        folder.audit().display(),
        folder.report().display()
    );
    Ok(if gate(&audit.gate) {
        Ending::Fine
    } else {
        Ending::GateFailed
    })
}

/// One line a figure, the linear baseline beside it.
fn table(audit: &Audit) -> String {
    let Summary {
        precision_at_k,
        noise,
        unchanged,
        thickness,
        distinctness,
        auc,
        accuracy,
        dffot,
        comprehensiveness,
        sufficiency,
    } = &audit.summary;
    let linear = |of: fn(&LinearBaseline) -> Option<f64>| audit.linear.as_ref().and_then(of);
    let k = audit.settings.k;
    let share = |value: f64| Estimate {
        value,
        interval: None,
        count: audit.data.rows,
    };
    let lines: [(&str, Option<Estimate>, Option<f64>, &str); 10] = [
        (
            &format!("P@{k}"),
            Some(*precision_at_k),
            linear(|one| Some(one.precision_at_k.value)),
            "share of the top reasons that survive the worst small change found; higher",
        ),
        (
            "noise",
            Some(*noise),
            None,
            "the same under random noise of that size; higher",
        ),
        (
            "unchanged",
            Some(share(*unchanged)),
            None,
            "share of rows whose top reasons nothing changed; higher",
        ),
        (
            "thickness",
            Some(*thickness),
            None,
            "how often a top reason stays ahead of another feature; higher",
        ),
        (
            "distinctness",
            distinctness.map(share),
            linear(|one| one.distinctness),
            "how different the top reasons of two rows are; 0: all are told the same",
        ),
        (
            "AUC",
            *auc,
            linear(|one| one.auc.map(|auc| auc.value)),
            "how well classes are told apart; higher",
        ),
        (
            "accuracy",
            accuracy.map(share),
            linear(|one| one.accuracy),
            "share of rows predicted as labelled; higher",
        ),
        (
            "DFFOT",
            Some(*dffot),
            None,
            "share of features to remove to change the prediction; lower",
        ),
        (
            "COMP",
            Some(*comprehensiveness),
            None,
            "change of the probability without the top reasons; higher",
        ),
        (
            "SUFF",
            Some(*sufficiency),
            None,
            "change of the probability with only the top reasons; lower",
        ),
    ];
    let mut text = format!(
        "{:<12}  {:>7}  {:>16}  {:>7}  what it is; which way is better\n",
        "figure", "value", "95% interval", "linear"
    );
    for (name, estimate, linear, meaning) in lines {
        let number =
            |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |n| format!("{n:.4}"));
        let interval = estimate.and_then(|estimate| estimate.interval);
        let interval = interval.map_or_else(String::new, |interval| {
            format!("{:.4} to {:.4}", interval.low, interval.high)
        });
        let value = number(estimate.map(|estimate| estimate.value));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{name:<12}  {value:>7}  {interval:>16}  {:>7}  {meaning}",
            number(linear)
        );
    }
    text
}
