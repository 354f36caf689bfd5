//! `thickset report`: the page of audits or of a bench, from their JSON alone.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Deserialize;
use serde::de::IgnoredAny;
use thickset::audit::{Audit, GradientFreeAudit};
use thickset::bench::Bench;
use thickset_engine::{read_regular_text, write_whole};

/// The most bytes of a result; an audit of a million rows has 340 MB.
const MOST_RESULT: u64 = 4 << 30;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset report runs/loans/audit.json
  thickset report runs/vanilla/audit.json runs/r2et/audit.json --out both.html
  thickset report bench.json

The content of a file decides what it is. Several audits make one page, with models of the same rows side by side.")]
pub struct Arguments {
    /// audit.json of one or several models, or one bench.json
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The page to write [default: report.html beside the first file]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut audits = Vec::new();
    let mut benches = Vec::new();
    let mut gradient_free = Vec::new();
    for file in &arguments.files {
        match read(file)? {
            Content::Audit(audit) => audits.push(*audit),
            Content::Bench(bench) => benches.push(*bench),
            Content::GradientFree(audit) => gradient_free.push(*audit),
        }
    }
    let page = match (&audits[..], &benches[..], &gradient_free[..]) {
        (audits, [], []) => thickset_report::audit(audits)?,
        ([], [bench], []) => thickset_report::bench(bench)?,
        ([], [], [audit]) => thickset_report::gradient_free(audit)?,
        (audits, benches, []) => bail!(
            "expected audits, or one bench, got {} audits and {} benches",
            audits.len(),
            benches.len()
        ),
        _ => bail!("an audit without gradients has a page of its own; give it alone"),
    };
    let out = arguments.out.clone().unwrap_or_else(|| {
        let first = arguments.files.first().and_then(|file| file.parent());
        first.unwrap_or(Path::new("")).join("report.html")
    });
    write(&out, &page)?;
    say!("wrote {}", out.display());
    Ok(())
}

/// Writes a page: beside first, then renamed.
pub fn write(path: &Path, page: &str) -> Result<()> {
    write_whole(path, |file| file.write_all(page.as_bytes()))
        .with_context(|| format!("cannot write `{}`", path.display()))
}

enum Content {
    Audit(Box<Audit>),
    Bench(Box<Bench>),
    GradientFree(Box<GradientFreeAudit>),
}

/// Keys that only one of them has.
#[derive(Deserialize)]
struct Kind {
    bench: Option<IgnoredAny>,
    summary: Option<IgnoredAny>,
    weaker: Option<IgnoredAny>,
}

fn read(file: &Path) -> Result<Content> {
    let path = file.display().to_string();
    let text =
        read_regular_text(file, MOST_RESULT).with_context(|| format!("cannot read `{path}`"))?;
    let kind: Kind = serde_json::from_str(&text)
        .with_context(|| format!("`{path}` holds neither an audit nor a bench"))?;
    match kind {
        Kind { bench: Some(_), .. } => {
            let bench = serde_json::from_str(&text)
                .with_context(|| format!("`{path}` does not hold a bench"))?;
            Ok(Content::Bench(Box::new(bench)))
        }
        Kind {
            summary: Some(_), ..
        } => {
            let audit = Audit::parse(&text, &path)?.with_rows_beside(file)?;
            Ok(Content::Audit(Box::new(audit)))
        }
        Kind {
            weaker: Some(_), ..
        } => {
            let audit = GradientFreeAudit::parse(&text, &path)?;
            Ok(Content::GradientFree(Box::new(audit)))
        }
        _ => bail!("`{path}` holds neither an audit nor a bench"),
    }
}
