//! `thickset audit`: how far the explanations of a model can be trusted, with a gate.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use thickset::audit::figure::{FIGURES, Words, certified_p_at_k};
use thickset::audit::{Audit, AuditFolder, gate};

use super::Ending;
use super::audit_options::{
    AuditArguments, Loaded, figures, gate as judged, resume, warn_of_empty,
};
use super::output::{print, print_json};

#[derive(Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// The model file, of ours or ONNX
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
    /// Audit nothing, and print as JSON which bytes of the data's files the rows are read from: to fetch only these. Of Parquet files only
    /// the first four bytes and the footer must be there for it, in a file of the right size
    #[arg(long)]
    list_bytes: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "Examples:
  thickset audit --model runs/loans/model.safetensors --data loans.csv
  thickset audit --model model.safetensors --data new.csv --out audits/june --effort thorough
  thickset audit --model runs/loans/model.safetensors --data loans.csv \\
    --require 'p_at_k>=0.9' --require 'auc.low>=0.85'
  thickset audit --model runs/loans/model.safetensors --data loans.csv \\
    --require 'certified_p_at_k>=0.8' --require 'certified_radius.median>=0.05'
  thickset audit --model model.safetensors --data adult --box --integer --max-rows 500

Rows: data that the model's own run names is split as in training, and its test rows are audited (see --part). Another table's file is taken whole; if it has the target column, AUC and accuracy are measured.

Several machines: each audits its share with --shard NUMBER/OF and --out, and `thickset merge` makes the audit of their parts. Of a Parquet file a machine reads only the row groups that hold its rows, and of them only the model's columns; --list-bytes says which bytes these are.

An audit that was killed goes on where it stood when the same command is given again, and ends with the same bytes.

Requirements: a figure, one of >= > <= <, and a number. More of them may stand in the run's run.toml: [audit] require = [\"p_at_k>=0.9\"]. If one fails, the exit code is 1.";

fn help() -> String {
    format!("{HELP}\n\n{}", figures(&gate::figures()))
}

pub fn run(arguments: &Arguments) -> Result<Ending> {
    let loaded = arguments.options.load(&arguments.model)?;
    if arguments.list_bytes {
        return arguments.options.list_bytes(&loaded).map(|()| Ending::Fine);
    }
    let folder = folder(arguments, &loaded)?;
    let rows = arguments.options.rows(&loaded)?;
    let mut options = arguments.options.options(&loaded.model)?;
    options.resume = resume(folder.partial());
    let Loaded { model, origin, .. } = &loaded;
    let mut config = model.audit_config(origin, &rows.rows(), &options)?;
    config.require = origin.require(&arguments.require);
    if !arguments.options.shard().is_whole() {
        let part = arguments
            .options
            .audit_part(&loaded, &rows, &config, &options)?;
        folder.write_part(&part)?;
        folder.finish()?;
        let (done, of) = (part.rows(), part.shard.of);
        say!(
            "wrote {done} rows to {}; when all {of} parts are there: thickset merge FOLDER… --out AUDIT",
            folder.part().display()
        );
        return Ok(Ending::Fine);
    }
    let audit = arguments.options.audit(&loaded, &rows, &config, &options)?;
    folder.write(&audit)?;
    finish(&folder, &audit, arguments.json)
}

/// Writes the page of an audit that is written, prints its figures and judges it.
pub fn finish(folder: &AuditFolder, audit: &Audit, json: bool) -> Result<Ending> {
    folder.write_report(&thickset_report::audit(std::slice::from_ref(audit))?)?;
    folder.finish()?;
    if json {
        print_json(&json!({
            "model": audit.model.name,
            "data": audit.data.name,
            "rows": audit.data.rows,
            "k": audit.settings.k,
            "summary": audit.summary,
            "linear": audit.linear,
            "certificate": audit.certificate,
            "gate": audit.gate,
            "files": [folder.audit(), folder.report()],
        }))?;
    } else {
        print(&table(audit))?;
    }
    say!(
        "wrote {} and {}",
        folder.audit().display(),
        folder.report().display()
    );
    warn_of_empty(audit);
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
    if !arguments.options.shard().is_whole() {
        bail!("a part of an audit needs a folder of its own; name it with --out");
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

/// One line a figure that was measured, the linear baseline beside it.
fn table(audit: &Audit) -> String {
    let k = audit.settings.k;
    let words = Words {
        k: &k.to_string(),
        ..Words::TABLE
    };
    let mut text = format!(
        "{:<16}  {:>7}  {:>16}  {:>7}  what it is; which way is better\n",
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
        let linear = linear.and_then(|linear| linear.value(figure));
        if found.is_none() && linear.is_none() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<16}  {:>7}  {interval:>16}  {:>7}  {}; {}",
            figure.short(k),
            number(found.map(|found| found.value())),
            number(linear),
            figure.described(&words),
            figure.direction.name()
        );
    }
    if let Some(certified) = audit.summary.value(&certified_p_at_k::FIGURE) {
        let attacked = audit.summary.precision_at_k().value;
        let exact = audit.certificate.as_ref().map_or(0, |record| record.exact);
        let _ = writeln!(
            text,
            "\nthe worst P@{k} lies between {certified:.4}, which is certified, and {attacked:.4}, which an attack reached; of {exact} of {} rows it is known exactly",
            audit.rows.len()
        );
    } else if let Some(reason) = audit
        .certificate
        .as_ref()
        .and_then(|record| record.absent.as_ref())
    {
        let _ = writeln!(text, "\nno certificates: {reason}");
    }
    text
}
