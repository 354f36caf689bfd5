//! `thickset explain`: why a model predicts what it predicts, row by row.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{Explained, ExplanationConfig, Per};
use thickset::metric::ranking;
use thickset::model::{ExplainOptions, Explanations, TheoryOptions};
use thickset::reasons::ColumnValue;
use thickset::row_writer::{Cell, OutputColumn};
use thickset::theory::TheoryRow;
use thickset::{Model, Rows, Seed, defaults};

use super::device::DeviceOption;
use super::interrupt;
use super::model_rows::{ModelRows, Streamed};
use super::output::one_line;
use super::row_output::{OutputOptions, OutputRow, stopped};
use super::rows::say_all;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset explain --model runs/loans/model.safetensors --data loans.csv
  thickset explain --model model.safetensors --data adult --row 17 --k 5
  thickset explain --model model.safetensors --data loans.csv --explanation integrated-gradients --per column
  thickset explain --model model.safetensors --data loans.csv \\
    --explanation '{ kind = \"smooth-grad\", draws = 20, variance = 0.01 }' --json --max-rows 0 > why.jsonl
  thickset explain --model model.safetensors --data 'rows/*.parquet' --max-rows 0 --out why.parquet
  thickset explain --model model.safetensors --data adult --max-rows 5 --theory --radius 0.3")]
pub struct Arguments {
    #[command(flatten)]
    source: ModelRows,
    #[command(flatten)]
    how: How,
    /// Salient features to name [default: 4 for contributions, else 8, or all if there are fewer]
    #[arg(long)]
    k: Option<usize>,
    /// Add what R2ET's theory says of each row: Prop. 4.4 and 4.5, Theorems 5.1 and 5.2
    #[arg(long)]
    theory: bool,
    /// The radius that the theory is about, in encoded units [default: the data's own, or 0.5]
    #[arg(long, requires = "theory")]
    radius: Option<f64>,
    #[command(flatten)]
    device: DeviceOption,
    #[command(flatten)]
    output: OutputOptions,
}

impl Arguments {
    /// What the theory says of some rows, if it is asked for.
    fn theory_of(
        &self,
        model: &Model,
        rows: &Rows<'_>,
        k: usize,
        explain: &ExplainOptions,
    ) -> Result<Vec<TheoryRow>> {
        if !self.theory {
            return Ok(Vec::new());
        }
        let options = TheoryOptions {
            k: Some(k),
            radius: self.radius,
            explain: explain.clone(),
            ..TheoryOptions::default()
        };
        Ok(model.theory(rows, &options)?)
    }
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
        model: &'a Model,
        explained: &'a Explained,
        names: &'a [String],
        k: usize,
    ) -> Result<Self> {
        let order = ranking::descending(&explained.importance)?;
        Ok(Self {
            class: &model.classes()[explained.class],
            probabilities: Named {
                names: model.classes(),
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

/// The explanation of one row.
#[derive(serde::Serialize)]
struct Line<'a> {
    row: u64,
    #[serde(flatten)]
    answer: Answer<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    theory: Option<&'a TheoryRow>,
    #[serde(skip)]
    explained: &'a Explained,
    /// The row's own values, where importances are contributions of columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<ColumnValue>,
}

/// A value in a line.
fn shown(value: &ColumnValue) -> String {
    match &value.counted_as {
        _ if value.is_unseen => format!("{} (not seen in training)", value.text),
        Some(counted) if value.is_missing => format!("missing (counted as {counted})"),
        _ => value.text.clone(),
    }
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

impl OutputRow for Line<'_> {
    fn text(&self) -> Result<String> {
        let Explained {
            importance,
            probabilities,
            class,
        } = self.explained;
        let names = self.answer.attribution.names;
        let order = ranking::descending(importance)?;
        let top = order.iter().take(self.answer.top.len());
        let top: Vec<String> = top
            .map(|&feature| {
                let (name, importance) = (one_line(&names[feature]), importance[feature]);
                match self.values.get(feature) {
                    Some(value) => format!("{name} {} {importance:+.3}", one_line(&shown(value))),
                    None => format!("{name} {importance:.3}"),
                }
            })
            .collect();
        let mut text = format!(
            "{:>7}  {:<20}  {:>11.4}  {}\n",
            self.row,
            one_line(self.answer.class),
            probabilities[*class],
            top.join(", ")
        );
        if let Some(theory) = self.theory {
            text += &theory_lines(theory, names)?;
        }
        Ok(text)
    }

    fn json(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    fn columns(&self) -> Vec<OutputColumn> {
        let answer = &self.answer;
        let mut columns = vec![OutputColumn::whole("row"), OutputColumn::text("class")];
        let named = |kind: &'static str| {
            move |name: &String| OutputColumn::number(format!("{kind} {name}"))
        };
        columns.extend(answer.probabilities.names.iter().map(named("probability")));
        let top = 1..=answer.top.len();
        columns.extend(top.map(|place| OutputColumn::text(format!("top {place}"))));
        columns.extend(answer.attribution.names.iter().map(named("attribution")));
        let value = |value: &ColumnValue| OutputColumn::text(format!("value {}", value.column));
        columns.extend(self.values.iter().map(value));
        columns
    }

    fn cells(&self) -> Result<Vec<Cell<'_>>> {
        let answer = &self.answer;
        let numbers = |named: &Named<'_>| {
            named
                .values
                .iter()
                .map(|value| Cell::Number(*value))
                .collect::<Vec<_>>()
        };
        let mut cells = vec![Cell::count(self.row), Cell::text(answer.class)];
        cells.extend(numbers(&answer.probabilities));
        cells.extend(answer.top.iter().map(|name| Cell::text(*name)));
        cells.extend(numbers(&answer.attribution));
        cells.extend(self.values.iter().map(|value| {
            if value.is_missing {
                Cell::Missing
            } else {
                Cell::text(value.text.as_str())
            }
        }));
        Ok(cells)
    }
}

/// Rows that are explained at a time.
const CHUNK: usize = 4096;

pub fn run(arguments: &Arguments) -> Result<()> {
    let Streamed {
        model,
        seed,
        rows,
        continued,
        is_preview,
    } = arguments.source.stream()?;
    let model = arguments.device.place(model)?;
    let options = arguments.how.options(seed);
    let mut shown = 0;
    let mut notes = Vec::new();
    interrupt::notice();
    arguments.output.run(continued, |output| {
        notes = rows.for_each::<anyhow::Error>(CHUNK, &mut |rows| {
            let Explanations {
                names,
                rows: explained,
                config,
            } = model.explain(rows, &options)?;
            let is_reason = matches!(config.explanation, ExplanationConfig::Contributions(_));
            let has_values = is_reason && config.per == Per::Column;
            let usual = defaults::named(&config, names.len());
            let k = top_k(arguments.k, usual, names.len())?;
            if shown == 0 {
                output.head(&format!(
                    "{:>7}  {:<20}  {:>11}  top {k}\n",
                    "row", "class", "probability"
                ));
            }
            shown += explained.len();
            let theory = arguments.theory_of(&model, rows, k, &options)?;
            for (place, explained) in explained.iter().enumerate() {
                let values = if has_values {
                    model.column_values(rows, place)
                } else {
                    Vec::new()
                };
                let line = Line {
                    values,
                    row: rows.id(place) + 1,
                    answer: Answer::new(&model, explained, &names, k)?,
                    explained,
                    theory: theory.get(place),
                };
                if output.row(&line)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let flow = output.flush()?;
            if interrupt::is_stopped() {
                return Err(stopped(&arguments.output, shown).into());
            }
            Ok(flow)
        })?;
        Ok(())
    })?;
    say_all(&notes);
    Streamed::say_preview(is_preview, shown);
    Ok(())
}

/// The number of features to name.
fn top_k(given: Option<usize>, usual: usize, width: usize) -> Result<usize> {
    match given {
        Some(k) if (1..=width).contains(&k) => Ok(k),
        Some(k) => Err(thickset::Error::TopKOutOfRange { k, largest: width }.into()),
        None => Ok(usual),
    }
}
