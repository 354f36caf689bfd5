//! `thickset reasons`: why rows are decided against, as a person can be told.

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use thickset::attack::suite::Effort;
use thickset::model::ReasonsOptions;
use thickset::reasons::{self, Codes, Reasons, RowReasons, template};
use thickset::row_writer::{Cell, OutputColumn};

use super::explain::How;
use super::interrupt;
use super::model_rows::{ModelRows, Streamed};
use super::output::{one_line, print};
use super::row_output::{OutputOptions, OutputRow, stopped};
use super::rows::say_all;
use super::threat::{DecisionOptions, SuiteOptions};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset reasons --model runs/loans/model.safetensors --data loans.csv --adverse default --cutoff 0.2
  thickset reasons --model runs/loans/model.safetensors --data loans.csv --adverse default --codes-template > codes.toml
  thickset reasons --model runs/loans/model.safetensors --data loans.csv --adverse default --codes codes.toml --max-rows 0 \\
    --error '*=5%' --out reasons.parquet --letters letters")]
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
    /// Write one page to print a row into this folder
    #[arg(long, value_name = "FOLDER")]
    letters: Option<PathBuf>,
    #[command(flatten)]
    output: OutputOptions,
}

/// Rows at a time: what is held in memory, and done before the command is stopped. Attacks take a while.
const PART: usize = 256;
const ATTACKED_PART: usize = 32;

pub fn run(arguments: &Arguments) -> Result<()> {
    let Streamed {
        model,
        seed,
        rows,
        continued,
        is_preview,
    } = arguments.source.stream()?;
    if arguments.codes_template {
        return print(&template(model.schema()));
    }
    let codes = arguments.codes.as_deref().map(Codes::read).transpose()?;
    let options = ReasonsOptions {
        k: arguments.suite.k,
        decision: arguments.decision.config(),
        all_rows: arguments.all,
        explain: arguments.how.options(seed),
        threat: arguments.suite.threat.of(&model)?,
        radius: arguments.suite.threat.radius,
        effort: arguments.suite.effort().unwrap_or(Effort::Quick),
        attack: !arguments.no_attack,
        codes,
    };
    if let Some(folder) = &arguments.letters {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create `{}`", folder.display()))?;
    }
    let mut totals = Totals::default();
    let mut notes = Vec::new();
    let part = if options.attack { ATTACKED_PART } else { PART };
    interrupt::notice();
    arguments.output.run(continued, |output| {
        output.begin(reasons::columns())?;
        notes = rows.for_each::<anyhow::Error>(part, &mut |part| {
            let found = model.reasons(part, &options)?;
            totals.add(part.len(), &found);
            if let Some(folder) = &arguments.letters {
                letters(folder, &found)?;
            }
            for row in &found.rows {
                let line = Line {
                    reasons: &found,
                    row,
                };
                if output.row(&line)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let flow = output.flush()?;
            if interrupt::is_stopped() {
                return Err(stopped(&arguments.output, totals.rows).into());
            }
            Ok(flow)
        })?;
        Ok(())
    })?;
    say_all(&notes);
    totals.say(arguments);
    Streamed::say_preview(is_preview, totals.rows);
    Ok(())
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

/// The reasons of one row.
struct Line<'a> {
    reasons: &'a Reasons,
    row: &'a RowReasons,
}

impl OutputRow for Line<'_> {
    fn text(&self) -> Result<String> {
        shown(self.reasons, self.row)
    }

    fn json(&self) -> Result<String> {
        Ok(reasons::json(&self.reasons.adverse, self.row)?)
    }

    fn columns(&self) -> Vec<OutputColumn> {
        reasons::columns()
    }

    fn cells(&self) -> Result<Vec<Cell<'_>>> {
        Ok(self.lines()?.into_iter().flatten().collect())
    }

    fn lines(&self) -> Result<Vec<Vec<Cell<'_>>>> {
        Ok(reasons::lines(self.row))
    }
}

/// A row as a person reads it.
fn shown(reasons: &Reasons, row: &RowReasons) -> Result<String> {
    let mut text = String::new();
    let adverse = one_line(&reasons.adverse).into_owned();
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
        let proved = reason.tolerance.as_deref().map(one_line);
        let proved = proved.map_or_else(String::new, |range| format!(", proved for {range}"));
        writeln!(
            text,
            "  {}. {code}{:<width$}  {:+.3}{holds}{proved}",
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
        if self.told == 0 {
            say!(
                "none of {} rows is decided as {}, so there are no reasons to tell (`--all` tells those of every row)",
                self.rows,
                one_line(&self.adverse_class)
            );
            return;
        }
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
        if let Some(folder) = &arguments.letters {
            say!("wrote {} pages to {}", self.told, folder.display());
        }
    }
}
