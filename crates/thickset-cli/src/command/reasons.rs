//! `thickset reasons`: why rows are decided against, as a person can be told.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use thickset::attack::suite::Effort;
use thickset::model::ReasonsOptions;
use thickset::reasons::{Codes, Format, Reasons, ReasonsWriter, RowReasons, template};

use super::explain::How;
use super::model_rows::ModelRows;
use super::output::{one_line, print};
use super::threat::{DecisionOptions, SuiteOptions};

#[expect(clippy::struct_excessive_bools, reason = "switches of a command")]
#[derive(Args)]
#[command(after_help = "Examples:
  thickset reasons --model runs/loans/model.safetensors --data loans.csv --adverse default --cutoff 0.2
  thickset reasons --model runs/loans/model.safetensors --data loans.csv --adverse default --codes-template > codes.toml
  thickset reasons --model runs/loans/model.safetensors --data loans.csv --adverse default --codes codes.toml --limit 0 \\
    --error '*=5%' --out reasons.csv --letters letters")]
pub struct Arguments {
    #[command(flatten)]
    source: ModelRows,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    suite: SuiteOptions,
    #[command(flatten)]
    decision: DecisionOptions,
    /// Also for rows that are not decided against: what weighs towards it
    #[arg(long)]
    all: bool,
    /// Do not attack the reasons to see how far they hold
    #[arg(long)]
    no_attack: bool,
    /// Codes and sentences for columns and values
    #[arg(long, value_name = "FILE")]
    codes: Option<PathBuf>,
    /// Print a file of codes to begin with, for the model's columns
    #[arg(long, conflicts_with_all = ["codes", "out", "letters", "json"])]
    codes_template: bool,
    /// Write the reasons to a file that ends in .csv or .jsonl
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write one page to print a row into this folder
    #[arg(long, value_name = "FOLDER")]
    letters: Option<PathBuf>,
    /// Print one JSON object a row
    #[arg(long)]
    json: bool,
}

/// Rows at a time: what is held in memory, and lost when the command is stopped.
const PART: usize = 1024;

pub fn run(arguments: &Arguments) -> Result<()> {
    let loaded = arguments.source.load()?;
    if arguments.codes_template {
        return print(&template(loaded.model.schema()));
    }
    let codes = arguments.codes.as_deref().map(Codes::read).transpose()?;
    let options = ReasonsOptions {
        k: arguments.suite.k,
        decision: arguments.decision.config(),
        all_rows: arguments.all,
        explain: arguments.how.options(loaded.seed),
        threat: arguments.suite.threat.of(&loaded.model)?,
        radius: arguments.suite.threat.radius,
        effort: arguments.suite.effort().unwrap_or(Effort::Quick),
        attack: !arguments.no_attack,
        codes,
    };
    let mut written = arguments.out.as_deref().map(Written::create).transpose()?;
    if let Some(folder) = &arguments.letters {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create `{}`", folder.display()))?;
    }
    let mut totals = Totals::default();
    let rows = loaded.rows();
    let mut start = 0;
    while start < rows.len() {
        let part = rows.slice(start..(start + PART).min(rows.len()));
        let reasons = loaded.model.reasons(&part, &options)?;
        totals.add(part.len(), &reasons);
        if let Some(written) = &mut written {
            written.add(&reasons)?;
        }
        if let Some(folder) = &arguments.letters {
            letters(folder, &reasons)?;
        }
        if arguments.json {
            let mut text = ReasonsWriter::new(Vec::new(), Format::JsonLines);
            text.write(&reasons)?;
            print(&String::from_utf8(text.finish()?)?)?;
        } else if written.is_none() {
            print(&shown(&reasons)?)?;
        }
        start += part.len();
    }
    if let Some(written) = written {
        written.finish()?;
    }
    totals.say(arguments);
    Ok(())
}

/// A file that appears whole or not at all.
struct Written {
    path: PathBuf,
    partial: PathBuf,
    writer: ReasonsWriter<BufWriter<File>>,
}

impl Written {
    fn create(path: &Path) -> Result<Self> {
        let ending = path
            .extension()
            .map(|ending| ending.to_string_lossy().to_lowercase());
        let format = match ending.as_deref() {
            Some("csv") => Format::Csv,
            Some("jsonl" | "json") => Format::JsonLines,
            _ => bail!("`{}` must end in .csv or .jsonl", path.display()),
        };
        let mut partial = path.as_os_str().to_owned();
        partial.push(format!(".{}.partial", std::process::id()));
        let partial = PathBuf::from(partial);
        let file = File::create_new(&partial)
            .with_context(|| format!("cannot create `{}`", partial.display()))?;
        Ok(Self {
            path: path.to_owned(),
            partial,
            writer: ReasonsWriter::new(BufWriter::new(file), format),
        })
    }

    fn add(&mut self, reasons: &Reasons) -> Result<()> {
        let path = &self.partial;
        self.writer
            .write(reasons)
            .with_context(|| format!("cannot write `{}`", path.display()))
    }

    fn finish(self) -> Result<()> {
        let Self {
            path,
            partial,
            writer,
        } = self;
        writer
            .finish()
            .and_then(|_| fs::rename(&partial, &path))
            .with_context(|| format!("cannot write `{}`", path.display()))
    }
}

/// One page a row.
fn letters(folder: &Path, reasons: &Reasons) -> Result<()> {
    for row in &reasons.rows {
        let path = folder.join(format!("row-{}.html", row.row));
        let page = thickset_report::letter(reasons, row)?;
        fs::write(&path, page).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}

/// The rows as a person reads them.
fn shown(reasons: &Reasons) -> Result<String> {
    let mut text = String::new();
    let adverse = one_line(&reasons.adverse).into_owned();
    for row in &reasons.rows {
        let decided = if row.is_adverse { "" } else { "not " };
        writeln!(
            text,
            "row {}: {decided}{adverse}, probability {:.4}",
            row.row, row.probability
        )?;
        let width = row
            .reasons
            .iter()
            .map(|one| one_line(&one.text).chars().count());
        let width = width.max().unwrap_or(0).min(72);
        for (place, reason) in row.reasons.iter().enumerate() {
            let code = reason.code.as_deref().map(one_line).unwrap_or_default();
            let code = if code.is_empty() {
                String::new()
            } else {
                format!("{code}  ")
            };
            let holds = reason
                .holds
                .map_or_else(String::new, |share| format!("  {}", held(share)));
            writeln!(
                text,
                "  {}. {code}{:<width$}  {:+.3}{holds}",
                place + 1,
                one_line(&reason.text),
                reason.contribution
            )?;
        }
        if row.reasons.is_empty() {
            writeln!(text, "  no column pushes towards {adverse}")?;
        }
        writeln!(
            text,
            "  all {} columns together {:+.4}: score {:.4}, compared with {:.4}",
            row.contributions.len(),
            row.sum,
            row.score,
            row.reference_score
        )?;
    }
    Ok(text)
}

/// How far a reason holds.
fn held(share: f64) -> String {
    if share >= 1.0 {
        "holds".to_owned()
    } else if share > 0.0 {
        format!("holds to {:.0}%", share * 100.0)
    } else {
        "gives way".to_owned()
    }
}

/// What all rows come to.
#[derive(Default)]
struct Totals {
    rows: usize,
    adverse: usize,
    told: usize,
    reasons: usize,
    tested: usize,
    hold: usize,
    largest_gap: f64,
    change: Option<String>,
    adverse_class: String,
}

impl Totals {
    fn add(&mut self, rows: usize, reasons: &Reasons) {
        self.rows += rows;
        self.change.clone_from(&reasons.change);
        self.adverse_class.clone_from(&reasons.adverse);
        for row in &reasons.rows {
            self.add_row(row);
        }
    }

    fn add_row(&mut self, row: &RowReasons) {
        self.told += 1;
        self.adverse += usize::from(row.is_adverse);
        self.reasons += row.reasons.len();
        self.tested += usize::from(row.holds.is_some());
        self.hold += usize::from(row.holds.is_some_and(|share| share >= 1.0));
        self.largest_gap = self.largest_gap.max(row.gap);
    }

    fn say(&self, arguments: &Arguments) {
        say!(
            "{} of {} rows are decided as {}; {} reasons for {} rows, which add up to the score within {:.1e}",
            self.adverse,
            self.rows,
            one_line(&self.adverse_class),
            self.reasons,
            self.told,
            self.largest_gap
        );
        if let Some(change) = self.change.as_ref().filter(|_| self.tested > 0) {
            say!(
                "the reasons of {} of {} rows stayed the same in every attack within {}",
                self.hold,
                self.tested,
                one_line(change)
            );
        }
        if let Some(out) = &arguments.out {
            say!("wrote {}", out.display());
        }
        if let Some(folder) = &arguments.letters {
            say!("wrote {} pages to {}", self.told, folder.display());
        }
    }
}
