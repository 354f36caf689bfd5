//! Options of attacks that several commands share: how many features count, how hard to try, and how far a row may move.

use clap::{Args, ValueEnum};
use thickset::attack::ThreatConfig;
use thickset::attack::suite::Effort;
use thickset::attack::threat::{BallConfig, Norm, OneHot};

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
    /// What else holds a row: `table` keeps immutable columns, `papers` is the ball alone
    #[arg(long, value_enum, default_value = "table")]
    threat: ThreatName,
    /// How a move is measured
    #[arg(long, value_enum, default_value = "l2")]
    norm: NormName,
    /// The largest move, in encoded units [default for l2: the dataset's, else 0.5; linf has none]
    #[arg(long, visible_alias = "budget", allow_negative_numbers = true)]
    pub radius: Option<f64>,
    /// Features stay in the range of the training rows
    #[arg(long = "box")]
    in_box: bool,
    /// Columns that a person cannot change stay; `--immutable=false` lets them move
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    immutable: Option<bool>,
    /// Whole numbers stay whole
    #[arg(long)]
    integer: bool,
    /// What the features of one category may become
    #[arg(long, value_enum, default_value = "free")]
    one_hot: OneHotName,
    /// The most a column may move, in its own unit, like age=2; repeatable
    #[arg(long, value_name = "COLUMN=AMOUNT", value_parser = parse_budget)]
    column_budget: Vec<(String, f64)>,
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
    /// The set, with the usual radius.
    pub fn config(&self) -> ThreatConfig {
        let usual = match self.threat {
            ThreatName::Table => ThreatConfig::default(),
            ThreatName::Papers => ThreatConfig::papers(),
        };
        ThreatConfig {
            ball: BallConfig {
                norm: match self.norm {
                    NormName::L2 => Norm::L2,
                    NormName::Linf => Norm::Linf,
                },
                ..BallConfig::default()
            },
            r#box: self.in_box,
            immutable: self.immutable.unwrap_or(usual.immutable),
            integer: self.integer,
            one_hot: match self.one_hot {
                OneHotName::Free => OneHot::Free,
                OneHotName::Simplex => OneHot::Simplex,
                OneHotName::Whole => OneHot::Whole,
            },
            feature_budget: self.column_budget.iter().cloned().collect(),
        }
    }
}
