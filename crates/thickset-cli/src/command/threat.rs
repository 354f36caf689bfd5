//! Options of attacks that several commands share: how many features count, how hard to try, and how far a row may move.

use anyhow::Result;
use clap::{Args, ValueEnum};
use thickset::Model;
use thickset::attack::ThreatConfig;
use thickset::attack::suite::Effort;
use thickset::attack::threat::{Amount, Norm, OneHot};
use thickset::decision::DecisionConfig;

use super::output::one_line;

#[derive(Args)]
pub struct SuiteOptions {
    /// How hard the suite tries [default: standard]
    #[arg(long, value_enum)]
    effort: Option<EffortName>,
    /// Salient features [default: the dataset's, else 8]
    #[arg(long)]
    pub k: Option<usize>,
    #[command(flatten)]
    pub threat: ThreatOptions,
}

/// Which inputs an attack may reach.
#[derive(Args)]
pub struct ThreatOptions {
    /// What a row could become: `table` keeps immutable columns, categories, whole numbers and the range of the training rows,
    /// `papers` is the ball alone [default: the run's, else table for tables]
    #[arg(long, value_enum)]
    threat: Option<ThreatName>,
    /// How a move is measured
    #[arg(long, value_enum, default_value = "l2")]
    norm: NormName,
    /// The largest move, in encoded units [default for l2: the dataset's, else 0.5; linf has none]
    #[arg(long, visible_alias = "budget", allow_negative_numbers = true)]
    pub radius: Option<f64>,
    /// Features stay in the range of the training rows; `--box=false` lets them leave it
    #[arg(long = "box", value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    in_box: Option<bool>,
    /// A column that a person cannot change, beside those that the run marks: it never moves; repeatable
    #[arg(long, value_name = "COLUMN")]
    immutable: Vec<String>,
    /// Columns that the run marks as immutable stay; `--keep-immutable=false` lets them move
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    keep_immutable: Option<bool>,
    /// Whole numbers stay whole; `--integer=false` lets them be fractions
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    integer: Option<bool>,
    /// What the features of one category may become
    #[arg(long, value_enum)]
    one_hot: Option<OneHotName>,
    /// The most a column may move, in its own unit, like age=2; repeatable
    #[arg(long, value_name = "COLUMN=AMOUNT", value_parser = parse_budget)]
    column_budget: Vec<(String, f64)>,
    /// Move only these columns, by at most so much in their own unit, like income=100, age=5% or job=free
    #[arg(long, value_name = "COLUMN=AMOUNT", num_args = 1.., value_parser = parse_only)]
    only: Vec<(String, Amount)>,
    /// Errors of measurement: numbers may be off by so much, like income=5% age=1; *=5% is 5% of every number
    #[arg(long, value_name = "COLUMN=AMOUNT", num_args = 1.., value_parser = parse_amount)]
    error: Vec<(String, Amount)>,
}

/// Which class a person would rather not be told, and when they are.
#[derive(Args)]
pub struct DecisionOptions {
    /// The class that a decision against a person is of [default: the run's]
    #[arg(long, value_name = "CLASS")]
    adverse: Option<String>,
    /// Decide against a person from this probability of the adverse class on [default: the run's, else the most probable class]
    #[arg(long, value_name = "PROBABILITY")]
    cutoff: Option<f64>,
}

impl DecisionOptions {
    pub fn config(&self) -> DecisionConfig {
        DecisionConfig {
            adverse: self.adverse.clone(),
            cutoff: self.cutoff,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum EffortName {
    Quick,
    Standard,
    Thorough,
}

#[derive(Clone, Copy, ValueEnum)]
enum ThreatName {
    Table,
    Papers,
}

#[derive(Clone, Copy, ValueEnum)]
enum NormName {
    L2,
    Linf,
}

#[derive(Clone, Copy, ValueEnum)]
enum OneHotName {
    Free,
    Simplex,
    Whole,
}

fn parse_budget(text: &str) -> std::result::Result<(String, f64), String> {
    text.rsplit_once('=')
        .and_then(|(name, amount)| Some((name.to_owned(), amount.parse().ok()?)))
        .ok_or_else(|| "expected a column and a number, like age=2".to_owned())
}

fn parse_amount(text: &str) -> std::result::Result<(String, Amount), String> {
    let (name, amount) = text
        .rsplit_once('=')
        .ok_or_else(|| "expected a column and an amount, like income=5%".to_owned())?;
    Ok((name.to_owned(), amount.parse()?))
}

/// A column alone may move as far as the data goes.
fn parse_only(text: &str) -> std::result::Result<(String, Amount), String> {
    if text.contains('=') {
        return parse_amount(text);
    }
    Ok((text.to_owned(), Amount::Free))
}

impl SuiteOptions {
    /// The effort asked for.
    pub fn effort(&self) -> Option<Effort> {
        self.effort.map(|effort| match effort {
            EffortName::Quick => Effort::Quick,
            EffortName::Standard => Effort::Standard,
            EffortName::Thorough => Effort::Thorough,
        })
    }
}

impl ThreatOptions {
    /// The set, given what it is where nothing is said; none if nothing is.
    pub fn config(&self, usual: &ThreatConfig) -> Option<ThreatConfig> {
        let mut config = match self.threat {
            None => usual.clone(),
            Some(ThreatName::Table) => ThreatConfig::table(),
            Some(ThreatName::Papers) => ThreatConfig::papers(),
        };
        let ThreatOptions {
            in_box,
            keep_immutable,
            integer,
            ..
        } = self;
        config.r#box = in_box.unwrap_or(config.r#box);
        config.immutable = keep_immutable.unwrap_or(config.immutable);
        config.integer = integer.unwrap_or(config.integer);
        if let Some(one_hot) = self.one_hot {
            config.one_hot = match one_hot {
                OneHotName::Free => OneHot::Free,
                OneHotName::Simplex => OneHot::Simplex,
                OneHotName::Whole => OneHot::Whole,
            };
        }
        if matches!(self.norm, NormName::Linf) {
            config.ball.norm = Norm::Linf;
        }
        config
            .feature_budget
            .extend(self.column_budget.iter().cloned());
        // A column without a budget stays; one that is named twice stays too.
        let immutable = self.immutable.iter().map(|column| (column.clone(), 0.0));
        config.feature_budget.extend(immutable);
        if !(self.only.is_empty() && self.error.is_empty()) {
            // What is said here is not added to what a run says.
            config.only = self.only.iter().cloned().collect();
            config.error = self.error.iter().cloned().collect();
        }
        // What is given counts as given, even where it changes nothing.
        let is_given = self.threat.is_some()
            || self.one_hot.is_some()
            || [in_box, keep_immutable, integer]
                .iter()
                .any(|one| one.is_some());
        (is_given || config != *usual).then_some(config)
    }

    /// The same for a model, having said what has no effect on its rows.
    pub fn of(&self, model: &Model) -> Result<Option<ThreatConfig>> {
        let usual = model.usual_threat()?;
        let config = self.config(&usual);
        if let Some(config) = &config {
            let mut shown = config.clone();
            match self.radius {
                Some(radius) => shown.ball.radius = radius,
                None if shown.names_columns() => shown.ball.radius = shown.reach(model.schema()),
                None => {}
            }
            for note in shown.without_effect(model.schema()) {
                say!("note: {}", one_line(&note));
            }
        }
        Ok(config)
    }
}
