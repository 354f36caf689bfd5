//! Options of attacks that several commands share: how many features count, how hard to try, and how far a row may move.

use anyhow::{Result, bail};
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
    /// What else holds a row: `table` keeps immutable columns, `papers` is the ball alone
    #[arg(long, value_enum, default_value = "table")]
    threat: ThreatName,
    /// How a move is measured
    #[arg(long, value_enum, default_value = "l2")]
    norm: NormName,
    /// The largest move, in encoded units [default for l2: the dataset's, else 0.5; linf has none]
    #[arg(long, visible_alias = "budget", allow_negative_numbers = true)]
    radius: Option<f64>,
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
    /// Whether an effort was asked for.
    pub fn has_effort(&self) -> bool {
        self.effort.is_some()
    }

    /// The suite, with these where an option was left out. The radius is one of the l2 ball.
    pub fn config(
        &self,
        k: usize,
        effort: Option<Effort>,
        radius: Option<f64>,
    ) -> Result<SuiteConfig> {
        Ok(self.in_set(k, effort, self.threat.config(radius)?))
    }

    /// The suite within this set.
    pub fn in_set(&self, k: usize, effort: Option<Effort>, threat: ThreatConfig) -> SuiteConfig {
        let given = self.effort.map(|effort| match effort {
            EffortName::Quick => Effort::Quick,
            EffortName::Standard => Effort::Standard,
            EffortName::Thorough => Effort::Thorough,
        });
        SuiteConfig {
            effort: given.or(effort).unwrap_or_default(),
            k: self.k.unwrap_or(k),
            threat,
        }
    }
}

impl ThreatOptions {
    /// Whether the radius was given.
    pub fn has_radius(&self) -> bool {
        self.radius.is_some()
    }

    /// The set, with this radius of the l2 ball where none was given.
    pub fn config(&self, radius: Option<f64>) -> Result<ThreatConfig> {
        let usual = match self.norm {
            NormName::L2 => radius.or(Some(BallConfig::default().radius)),
            NormName::Linf => None,
        };
        let Some(radius) = self.radius.or(usual) else {
            bail!(
                "`--norm linf` needs `--radius`: the usual radii are of l2 balls, and a linf ball of one holds far larger moves"
            );
        };
        Ok(self.with_radius(radius))
    }

    /// The set with this radius.
    pub fn with_radius(&self, radius: f64) -> ThreatConfig {
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
                radius,
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
