//! `thickset compare`: two models on the same rows, row by row.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;
use thickset::audit::compare::{
    self, CertificateChange, Compared, Difference, Differences, ReasonChange, Side, Verdict,
};
use thickset::audit::figure::FIGURES;
use thickset::audit::result::Requirement;
use thickset::model::AuditOptions;
use thickset::statistics::paired::Comparison;
use thickset::statistics::{Estimate, Interval};
use thickset_engine::write_whole;

use super::Ending;
use super::audit_options::{AuditArguments, figures, gate, resume, warn_of_empty};
use super::output::{p_value, print, print_json};

#[derive(Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// The first model file
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second model file
    #[arg(value_name = "B")]
    b: PathBuf,
    #[command(flatten)]
    options: AuditArguments,
    /// What must hold, like 'p_at_k_difference>=-0.02'; repeatable
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<String>,
    /// The folder for compare.json, which has every row, and report.html; nothing is written if left out
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

const HELP: &str = "Examples:
  thickset compare runs/old/model.safetensors runs/new/model.safetensors --data loans.csv
  thickset compare old.safetensors new.safetensors --data adult --effort quick --max-rows 500
  thickset compare old.safetensors new.safetensors --data loans.csv --out comparison \\
    --require 'p_at_k_difference>=-0.02' --require 'agreement>=0.8'

Both models are audited on the same rows with the same settings, and compared row by row. Differences are B minus A.

Requirements: as for `thickset audit`, on the figures below and on every figure of an audit, which is then B's; those in the run.toml of B's run hold too. If one fails, the exit code is 1.";

fn help() -> String {
    format!("{HELP}\n\n{}", figures(&compare::figures()))
}

pub fn run(arguments: &Arguments) -> Result<Ending> {
    if !arguments.options.shard().is_whole() {
        bail!(
            "a comparison is made by one machine; leave out --shard, or compare less rows with --max-rows"
        );
    }
    let given = &arguments.options;
    let (a, b) = (given.load(&arguments.a)?, given.load(&arguments.b)?);
    let rules = compare::rules(&b.origin.require(&arguments.require))?;
    let out = arguments.out.as_deref().map(Out::create).transpose()?;
    let partial = |side: &str| out.as_ref().map(|out| out.partial(side));
    let (rows_of_a, rows_of_b) = (given.rows(&a)?, given.rows(&b)?);
    let options = given.options(&a.model)?;
    compare::check_targets(
        &a.model.audit_target(&a.origin, &rows_of_a.rows(), &options),
        &b.model.audit_target(&b.origin, &rows_of_b.rows(), &options),
    )?;
    let config = a
        .model
        .audit_config(&a.origin, &rows_of_a.rows(), &options)?;
    let with = |side: &str| AuditOptions {
        resume: partial(side).and_then(resume),
        ..options.clone()
    };
    let of_a = given.audit(&a, &rows_of_a, &config, &with("a"))?;
    let of_b = given.audit(&b, &rows_of_b, &config, &with("b"))?;
    warn_of_empty(&of_b);
    let compared = compare::compare(&of_a, &of_b, &rules)?;
    if arguments.json {
        print_json(&serde_json::to_value(Printed {
            a: &compared.a,
            b: &compared.b,
            verdict: compared.verdict,
            precision_at_k: &compared.precision_at_k,
            others: &compared.others,
            agreement: &compared.agreement,
            same_class: compared.same_class,
            certificates: compared.certificates.as_ref(),
            features: &compared.features,
            gate: &compared.gate,
        })?)?;
    } else {
        print(&table(&compared))?;
    }
    say!("{}", sentence(&compared));
    if compared.differs_in_encoding() {
        say!(
            "note: the models encode the rows differently, so the radius is in each one's own units"
        );
    }
    if let Some(out) = &out {
        out.finish(&compared, &thickset_report::audit(&[of_a, of_b])?)?;
        say!(
            "wrote {} and {}",
            out.file().display(),
            out.page().display()
        );
    }
    Ok(if gate(&compared.gate) {
        Ending::Fine
    } else {
        Ending::GateFailed
    })
}

/// What `--json` prints: all but the rows.
#[derive(Serialize)]
struct Printed<'a> {
    a: &'a Side,
    b: &'a Side,
    verdict: Verdict,
    precision_at_k: &'a Comparison,
    #[serde(flatten)]
    others: &'a Differences,
    agreement: &'a Estimate,
    same_class: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificates: Option<&'a CertificateChange>,
    features: &'a [ReasonChange],
    gate: &'a [Requirement],
}

/// The folder that a comparison is written to.
struct Out(PathBuf);

impl Out {
    fn create(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create `{}`", folder.display()))?;
        Ok(Self(folder.to_owned()))
    }

    fn file(&self) -> PathBuf {
        self.0.join("compare.json")
    }

    /// Both audits side by side.
    fn page(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// The rows done of one of the two, while they are audited.
    fn partial(&self, side: &str) -> PathBuf {
        self.0.join(format!("compare.json.{side}.partial"))
    }

    fn finish(&self, compared: &Compared, page: &str) -> Result<()> {
        super::report::write(&self.page(), page)?;
        let write = || {
            write_whole(&self.file(), |file| file.write_all(&compared.to_bytes()))?;
            for side in ["a", "b"] {
                match std::fs::remove_file(self.partial(side)) {
                    Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        };
        write().with_context(|| format!("cannot write `{}`", self.file().display()))
    }
}

/// The most features that are shown.
const SHOWN: usize = 12;

fn table(compared: &Compared) -> String {
    let k = compared.settings.k;
    let (a, b) = (&compared.a.summary, &compared.b.summary);
    let mut text = format!(
        "{:<16}  {:>7}  {:>7}  {:>7}  {:>18}  {:>10}  {:>10}\n",
        "figure", "A", "B", "B - A", "95% interval", "t-test", "Wilcoxon"
    );
    let mut line = |name: &str, values: [f64; 3], interval: &str, p: [Option<f64>; 2]| {
        let [a, b, difference] = values;
        let [t_test, wilcoxon] = p.map(|p| p.map_or_else(String::new, p_value));
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{name:<16}  {a:>7.4}  {b:>7.4}  {difference:>+7.4}  {interval:>18}  {t_test:>10}  {wilcoxon:>10}"
        );
    };
    for figure in FIGURES {
        let values = a.value(figure).zip(b.value(figure));
        let (Some((a, b)), Some(found)) = (values, compared.difference(figure)) else {
            continue;
        };
        let tests = match &found {
            Difference::Rows(rows) => [Some(rows.t_test.p_value), Some(rows.wilcoxon.p_value)],
            // DeLong's test stands where the paired t-test does for means.
            Difference::Areas(areas) => [Some(areas.p_value), None],
            Difference::Values(_) => [None, None],
        };
        let found = found.value();
        let ends = found.interval().map_or_else(String::new, ends);
        line(&figure.short(k), [a, b, found.value()], &ends, tests);
    }
    let _ = writeln!(
        text,
        "\nreasons: {:.1}% of A's top {k} are B's too; classes: {:.1}% of rows are predicted alike",
        100.0 * compared.agreement.value,
        100.0 * compared.same_class
    );
    if let Some(change) = &compared.certificates {
        let _ = writeln!(
            text,
            "certificates: {} lost theirs{}, {} gained one{}",
            rows(change.lost.len()),
            numbers(&change.lost),
            rows(change.gained.len()),
            numbers(&change.gained)
        );
    }
    let changed = compared.features.iter();
    let changed: Vec<_> = changed.filter(|one| one.left + one.entered > 0).collect();
    if !changed.is_empty() {
        let _ = writeln!(
            text,
            "{:>7}  {:>7}  {:>7}  {:>7}  feature",
            "in A", "in B", "left", "entered"
        );
    }
    for one in changed.iter().take(SHOWN) {
        let _ = writeln!(
            text,
            "{:>7}  {:>7}  {:>7}  {:>7}  {}",
            one.in_a, one.in_b, one.left, one.entered, one.feature
        );
    }
    if changed.len() > SHOWN {
        let _ = writeln!(text, "and {} more", changed.len() - SHOWN);
    }
    text
}

fn rows(count: usize) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

/// The first of the rows by their numbers, in brackets.
fn numbers(rows: &[u64]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let shown: Vec<String> = rows.iter().take(SHOWN).map(u64::to_string).collect();
    let more = if rows.len() > SHOWN { ", …" } else { "" };
    format!(" ({}{more})", shown.join(", "))
}

fn interval(estimate: &Estimate) -> String {
    estimate.interval.map_or_else(String::new, ends)
}

fn ends(interval: Interval) -> String {
    format!("{:+.4} to {:+.4}", interval.low, interval.high)
}

fn sentence(compared: &Compared) -> String {
    let (a, b) = (&compared.a.model.name, &compared.b.model.name);
    let difference = &compared.precision_at_k.mean;
    let k = compared.settings.k;
    let by = format!(
        "its P@{k} is {:.4} {} (95% interval of the difference {})",
        difference.value.abs(),
        if difference.value < 0.0 {
            "lower"
        } else {
            "higher"
        },
        interval(difference)
    );
    match compared.verdict {
        Verdict::LessStable => format!("B ({b}) is less stable than A ({a}): {by}"),
        Verdict::MoreStable => format!("B ({b}) is more stable than A ({a}): {by}"),
        Verdict::NotShown if difference.interval.is_none() => {
            format!("one row says nothing about whether B ({b}) is less stable than A ({a})")
        }
        Verdict::NotShown => format!(
            "whether B ({b}) is less stable than A ({a}) was not shown: the 95% interval of the difference of P@{k}, {}, holds 0",
            interval(difference)
        ),
    }
}
