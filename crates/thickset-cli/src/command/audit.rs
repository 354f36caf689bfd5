//! `thickset audit`: how far the explanations of a model can be trusted, with a gate.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use thickset::audit::figure::{FIGURES, Words};
use thickset::audit::{Audit, AuditFolder, gate};

use super::Ending;
use super::audit_options::{
    AuditArguments, Loaded, figures, gate as judged, resume, warn_of_empty,
};
use super::output::{print, print_json};

#[derive(Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// The model file
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    #[command(flatten)]
    options: AuditArguments,
    /// What must hold, like `p_at_k>=0.9`; repeatable
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<String>,
    /// The folder for audit.json and report.html [default: the model's]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "Examples:
  thickset audit --model runs/loans/model.safetensors --data loans.csv
  thickset audit --model model.safetensors --data new.csv --out audits/june --effort thorough
  thickset audit --model runs/loans/model.safetensors --data loans.csv \\
    --require 'p_at_k>=0.9' --require 'auc.low>=0.85'
  thickset audit --model model.safetensors --data adult --box --integer --max-rows 500

Rows: data that the model's own run names is split as in training, and its test rows are audited (see --part). Another table's file is taken whole; if it has the target column, AUC and accuracy are measured.

An audit that was killed goes on where it stood when the same command is given again, and ends with the same bytes.

Requirements: a figure, one of >= > <= <, and a number. More of them may stand in the run's run.toml: [audit] require = [\"p_at_k>=0.9\"]. If one fails, the exit code is 1.";

fn help() -> String {
    format!("{HELP}\n\n{}", figures(&gate::figures()))
}

pub fn run(arguments: &Arguments) -> Result<Ending> {
    let loaded = Loaded::read(&arguments.model)?;
    let folder = folder(arguments, &loaded)?;
    let rows = arguments.options.rows(&loaded)?;
    let mut options = arguments.options.options(&loaded.model)?;
    options.resume = resume(folder.partial());
    let Loaded { model, origin } = &loaded;
    let mut config = model.audit_config(origin, &rows.rows(), &options)?;
    config.require = origin.require(&arguments.require);
    let audit = arguments.options.audit(&loaded, &rows, &config, &options)?;
    folder.write(&audit)?;
    folder.write_report(&thickset_report::audit(std::slice::from_ref(&audit))?)?;
    folder.finish()?;
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
    say!(
        "wrote {} and {}",
        folder.audit().display(),
        folder.report().display()
    );
    warn_of_empty(&audit);
    Ok(if judged(&audit.gate) {
        Ending::Fine
    } else {
        Ending::GateFailed
    })
}

/// The folder to write to. Beside a model there may be others, whose audit must not be lost.
fn folder(arguments: &Arguments, loaded: &Loaded) -> Result<AuditFolder> {
    if let Some(out) = &arguments.out {
        return Ok(AuditFolder::create(out)?);
    }
    let beside = arguments.model.parent().unwrap_or(Path::new(""));
    let folder = AuditFolder::create(beside)?;
    match folder.model_file() {
        Some(other) if other != loaded.origin.file => bail!(
            "`{}` is the audit of `{other}`; choose a folder for that of `{}` with --out",
            folder.audit().display(),
            loaded.origin.file
        ),
        _ => Ok(folder),
    }
}

/// One line a figure, the linear baseline beside it.
fn table(audit: &Audit) -> String {
    let k = audit.settings.k;
    let words = Words {
        k: &k.to_string(),
        ..Words::TABLE
    };
    let mut text = format!(
        "{:<12}  {:>7}  {:>16}  {:>7}  what it is; which way is better\n",
        "figure", "value", "95% interval", "linear"
    );
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |n| format!("{n:.4}"));
    for figure in FIGURES {
        let found = audit.summary.get(figure);
        let interval = found.and_then(|found| found.interval());
        let interval = interval.map_or_else(String::new, |interval| {
            format!("{:.4} to {:.4}", interval.low, interval.high)
        });
        let linear = audit.linear.as_ref();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<12}  {:>7}  {interval:>16}  {:>7}  {}; {}",
            figure.short(k),
            number(found.map(|found| found.value())),
            number(linear.and_then(|linear| linear.value(figure))),
            figure.described(&words),
            figure.direction.name()
        );
    }
    text
}
