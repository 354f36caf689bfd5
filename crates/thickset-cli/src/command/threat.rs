//! Options of attacks that several commands share: how many features count, how hard to try, and how far a row may move.

use clap::{Args, ValueEnum};
use thickset::attack::ThreatConfig;
use thickset::attack::suite::{Effort, SuiteConfig};
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
    /// How a move is measured
    #[arg(long, value_enum, default_value = "l2")]
    norm: NormName,
    /// The largest move, in encoded units [default: the dataset's, else 0.5]
    #[arg(long, allow_negative_numbers = true)]
    radius: Option<f64>,
    /// Features stay in the range of the training rows
    #[arg(long = "box")]
    in_box: bool,
    /// Columns that a person cannot change stay
    #[arg(long)]
    immutable: bool,
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

fn parse_budget(text: &str) -> Result<(String, f64), String> {
    text.rsplit_once('=')
        .and_then(|(name, amount)| Some((name.to_owned(), amount.parse().ok()?)))
        .ok_or_else(|| "expected a column and a number, like age=2".to_owned())
}

impl SuiteOptions {
    /// The suite, with these where an option was left out.
    pub fn config(&self, k: usize, effort: Option<Effort>, radius: Option<f64>) -> SuiteConfig {
        let given = self.effort.map(|effort| match effort {
            EffortName::Quick => Effort::Quick,
            EffortName::Standard => Effort::Standard,
            EffortName::Thorough => Effort::Thorough,
        });
        SuiteConfig {
            effort: given.or(effort).unwrap_or_default(),
            k: self.k.unwrap_or(k),
            threat: self.threat.config(radius),
        }
    }
}

impl ThreatOptions {
    /// The set, with this radius where none was given.
    pub fn config(&self, radius: Option<f64>) -> ThreatConfig {
        let default = BallConfig::default().radius;
        ThreatConfig {
            ball: BallConfig {
                norm: match self.norm {
                    NormName::L2 => Norm::L2,
                    NormName::Linf => Norm::Linf,
                },
                radius: self.radius.or(radius).unwrap_or(default),
            },
            r#box: self.in_box,
            immutable: self.immutable,
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
