//! `thickset explain`: why a model predicts what it predicts, row by row.

use std::fmt::Write as _;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{Explained, ExplanationConfig, Per};
use thickset::metric::ranking;
use thickset::model::{ExplainOptions, Explanations};
use thickset::{Seed, defaults};

use super::model_rows::{Loaded, ModelRows};
use super::output::{one_line, print};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset explain --model runs/loans/model.safetensors --data loans.csv
  thickset explain --model model.safetensors --data adult --row 17 --k 5
  thickset explain --model model.safetensors --data loans.csv --explanation integrated-gradients --per column
  thickset explain --model model.safetensors --data loans.csv \\
    --explanation '{ kind = \"smooth-grad\", draws = 20, variance = 0.01 }' --json --limit 0 > why.jsonl")]
pub struct Arguments {
    #[command(flatten)]
    source: ModelRows,
    #[command(flatten)]
    how: How,
    /// Salient features to name [default: 4 for contributions, else 8, or all if there are fewer]
    #[arg(long)]
    k: Option<usize>,
    /// Print one JSON object a row
    #[arg(long)]
    json: bool,
}

/// How predictions are explained.
#[derive(Args)]
pub struct How {
    /// The explanation's id (see `thickset methods --family explanation`), or an inline table with settings [default: what the
    /// model was trained for: contributions for tables, else grad]
    #[arg(long, visible_alias = "explain", value_name = "ID|TABLE")]
    explanation: Option<ExplanationConfig>,
    /// How attributions become importances [default: signed for contributions; absolute; channel-sum for colour images]
    #[arg(long, value_enum)]
    reduce: Option<ReduceName>,
    /// What an importance is of [default: column for contributions, else feature]
    #[arg(long, value_enum)]
    per: Option<PerName>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ReduceName {
    Absolute,
    ChannelSum,
    NormalisedAbsolute,
    Signed,
}

#[derive(Clone, Copy, ValueEnum)]
enum PerName {
    Feature,
    Column,
}

impl How {
    /// The options, with the seed of every draw.
    pub fn options(&self, seed: Seed) -> ExplainOptions {
        ExplainOptions {
            explanation: self.explanation.clone(),
            reduce: self.reduce.map(|reduce| match reduce {
                ReduceName::Absolute => ReductionConfig::Absolute,
                ReduceName::ChannelSum => ReductionConfig::ChannelSum,
                ReduceName::NormalisedAbsolute => ReductionConfig::NormalisedAbsolute,
                ReduceName::Signed => ReductionConfig::Signed,
            }),
            per: self.per.map(|per| match per {
                PerName::Feature => Per::Feature,
                PerName::Column => Per::Column,
            }),
            seed,
        }
    }
}

/// Names with their values, in order.
pub struct Named<'a> {
    pub names: &'a [String],
    pub values: &'a [f64],
}

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.names.len()))?;
        for (name, value) in self.names.iter().zip(self.values) {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// What a model says of one row, ready to print.
#[derive(serde::Serialize)]
pub struct Answer<'a> {
    pub class: &'a str,
    pub probabilities: Named<'a>,
    pub attribution: Named<'a>,
    pub top: Vec<&'a str>,
}

impl<'a> Answer<'a> {
    pub fn new(
        loaded: &'a Loaded,
        explained: &'a Explained,
        names: &'a [String],
        k: usize,
    ) -> Result<Self> {
        let order = ranking::descending(&explained.importance)?;
        Ok(Self {
            class: loaded.class(explained.class),
            probabilities: Named {
                names: loaded.model.classes(),
                values: &explained.probabilities,
            },
            attribution: Named {
                names,
                values: &explained.importance,
            },
            top: order
                .iter()
                .take(k)
                .map(|&feature| names[feature].as_str())
                .collect(),
        })
    }
}

#[derive(serde::Serialize)]
struct Line<'a> {
    row: u64,
    #[serde(flatten)]
    answer: Answer<'a>,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let loaded = arguments.source.load()?;
    let options = arguments.how.options(loaded.seed);
    let explanations = loaded.model.explain(&loaded.rows(), &options)?;
    let Explanations {
        names,
        rows: explained,
        config,
    } = explanations;
    let width = names.len();
    let is_reason = matches!(config.explanation, ExplanationConfig::Contributions(_));
    // The value that a column contributes by stands beside its name.
    let has_values = is_reason && config.per == Per::Column;
    let usual = if is_reason {
        defaults::REASONS
    } else {
        defaults::K
    };
    let k = match arguments.k {
        Some(k) if (1..=width).contains(&k) => k,
        Some(k) => return Err(thickset::Error::TopKOutOfRange { k, largest: width }.into()),
        None => usual.min(width),
    };
    let mut text = String::new();
    if !arguments.json {
        writeln!(
            text,
            "{:>7}  {:<20}  {:>11}  top {k}",
            "row", "class", "probability"
        )?;
    }
    for (place, explained) in explained.iter().enumerate() {
        let answer = Answer::new(&loaded, explained, &names, k)?;
        let row = loaded.number(place);
        if arguments.json {
            writeln!(text, "{}", serde_json::to_string(&Line { row, answer })?)?;
            continue;
        }
        let order = ranking::descending(&explained.importance)?;
        let top = order.iter().take(k);
        let values = if has_values {
            loaded.model.column_values(&loaded.row(place))
        } else {
            Vec::new()
        };
        let top: Vec<String> = top
            .map(|&feature| {
                let (name, importance) = (one_line(&names[feature]), explained.importance[feature]);
                match values.get(feature) {
                    Some(value) => format!("{name} {} {importance:+.3}", one_line(&value.text)),
                    None => format!("{name} {importance:.3}"),
                }
            })
            .collect();
        writeln!(
            text,
            "{row:>7}  {:<20}  {:>11.4}  {}",
            one_line(answer.class),
            explained.probabilities[explained.class],
            top.join(", ")
        )?;
    }
    print(&text)
}
