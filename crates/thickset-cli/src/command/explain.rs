//! `thickset explain`: why a model predicts what it predicts, row by row.

use std::fmt::Write as _;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{Explained, ExplanationConfig, Per};
use thickset::metric::ranking;
use thickset::model::{ExplainOptions, Explanations, TheoryOptions};
use thickset::theory::TheoryRow;
use thickset::{Seed, defaults};

use super::model_rows::{Loaded, ModelRows};
use super::output::{one_line, print};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset explain --model runs/loans/model.safetensors --data loans.csv
  thickset explain --model model.safetensors --data adult --row 17 --k 5
  thickset explain --model model.safetensors --data loans.csv --explanation integrated-gradients --per column
  thickset explain --model model.safetensors --data loans.csv \\
    --explanation '{ kind = \"smooth-grad\", draws = 20, variance = 0.01 }' --json --limit 0 > why.jsonl
  thickset explain --model model.safetensors --data adult --limit 5 --theory --radius 0.3")]
pub struct Arguments {
    #[command(flatten)]
    source: ModelRows,
    #[command(flatten)]
    how: How,
    /// Salient features to name [default: 8, or all if there are fewer]
    #[arg(long)]
    k: Option<usize>,
    /// Add what R2ET's theory says of each row: Prop. 4.4 and 4.5, Theorems 5.1 and 5.2
    #[arg(long)]
    theory: bool,
    /// The radius that the theory is about, in encoded units [default: the data's own, or 0.5]
    #[arg(long, requires = "theory")]
    radius: Option<f64>,
    /// Print one JSON object a row
    #[arg(long)]
    json: bool,
}

/// How predictions are explained.
#[derive(Args)]
pub struct How {
    /// The explanation's id (see `thickset methods --family explanation`), or an inline table with settings [default: what the
    /// model was trained for, else grad]
    #[arg(long, visible_alias = "explain", value_name = "ID|TABLE")]
    explanation: Option<ExplanationConfig>,
    /// How attributions become importances [default: absolute; channel-sum for colour images]
    #[arg(long, value_enum)]
    reduce: Option<ReduceName>,
    /// What an importance is of [default: feature]
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
    #[serde(skip_serializing_if = "Option::is_none")]
    theory: Option<&'a TheoryRow>,
}

/// What the theory says of a row, in lines of their own.
fn theory_lines(theory: &TheoryRow, names: &[String]) -> Result<String> {
    let mut text = String::new();
    let pair = &theory.thickness;
    writeln!(
        text,
        "         thickness (Prop. 4.4, an estimate): {} over {}, gap {:.4}, from {:.4} to {:.4}",
        one_line(&names[pair.ahead]),
        one_line(&names[pair.behind]),
        pair.gap,
        pair.lower,
        pair.upper
    )?;
    let radius = theory.radius.map_or_else(
        || "none, no Hessian differs".to_owned(),
        |radius| format!("{radius:.4}"),
    );
    writeln!(
        text,
        "         radius (Prop. 4.5 at the row, no certificate): {radius}"
    )?;
    let steps = &theory.iterations;
    writeln!(
        text,
        "         iterations (Theorem 5.1, an estimate): at most {:.3e}; the attack took {} and {} a pair",
        steps.bound,
        steps.taken,
        if steps.flipped {
            "flipped"
        } else {
            "did not flip"
        }
    )?;
    let risks: Vec<String> = theory
        .margin_risk
        .iter()
        .map(|one| format!("{:.2} below {:.4}", one.risk, one.margin))
        .collect();
    writeln!(
        text,
        "         margin risk (Theorem 5.2, without its covering number N(F, εu/8)): {}",
        risks.join(", ")
    )?;
    Ok(text)
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let loaded = arguments.source.load()?;
    let options = arguments.how.options(loaded.seed);
    let explanations = loaded.model.explain(&loaded.rows(), &options)?;
    let Explanations {
        names,
        rows: explained,
        ..
    } = explanations;
    let width = names.len();
    let k = match arguments.k {
        Some(k) if (1..=width).contains(&k) => k,
        Some(k) => return Err(thickset::Error::TopKOutOfRange { k, largest: width }.into()),
        None => defaults::K.min(width),
    };
    let theory = if arguments.theory {
        let options = TheoryOptions {
            k: Some(k),
            radius: arguments.radius,
            explain: options.clone(),
            ..TheoryOptions::default()
        };
        loaded.model.theory(&loaded.rows(), &options)?
    } else {
        Vec::new()
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
            let theory = theory.get(place);
            let line = Line {
                row,
                answer,
                theory,
            };
            writeln!(text, "{}", serde_json::to_string(&line)?)?;
            continue;
        }
        let order = ranking::descending(&explained.importance)?;
        let top = order.iter().take(k);
        let top: Vec<String> = top
            .map(|&feature| {
                let name = one_line(&names[feature]);
                format!("{name} {:.3}", explained.importance[feature])
            })
            .collect();
        writeln!(
            text,
            "{row:>7}  {:<20}  {:>11.4}  {}",
            one_line(answer.class),
            explained.probabilities[explained.class],
            top.join(", ")
        )?;
        if let Some(theory) = theory.get(place) {
            text += &theory_lines(theory, &names)?;
        }
    }
    print(&text)
}
