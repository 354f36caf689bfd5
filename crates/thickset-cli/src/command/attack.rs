//! `thickset attack`: how far a small change of a row changes its explanation.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use thickset::attack::moo::{self, Ending};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{AttackConfig, Change, ConstraintConfig, ThreatConfig, Value, changes};
use thickset::explain::{CheckedExplain, Explained, Rows};
use thickset::metric::precision_at_k;
use thickset::metric::ranking::TopK;
use thickset::statistics;

use super::explain::{Answer, DEFAULT_K, How, Named};
use super::output::print;
use super::rows::{Loaded, Source};
use super::threat::SuiteOptions;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset attack --model runs/loans/model.safetensors --data loans.csv
  thickset attack --model model.safetensors --data adult --limit 200 --effort thorough
  thickset attack --model model.safetensors --data loans.csv --method er-attack --radius 0.3 --steps 50
  thickset attack --model model.safetensors --data loans.csv --box --immutable --integer --one-hot whole \\
    --column-budget age=2 --json > attacked.jsonl
  thickset attack --model model.safetensors --data loans.csv --method '{ kind = \"random\", points = 1000 }'")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    how: How,
    /// `suite` for all attacks, `moo` for the multi-objective one, another attack's id (see `thickset methods --family
    /// attack`), or an inline table with settings
    #[arg(long, value_name = "ID|TABLE", default_value = "suite")]
    method: String,
    #[command(flatten)]
    suite: SuiteOptions,
    /// How a single attack keeps the prediction: an id, or an inline table with settings
    #[arg(long, value_name = "ID|TABLE", default_value = "early-stop")]
    constraint: ConstraintConfig,
    /// Steps of a single attack
    #[arg(long, default_value_t = 100)]
    steps: usize,
    /// Length of a single attack's step [default: 2.5 radius / steps]
    #[arg(long)]
    step_size: Option<f64>,
    /// Runs of a single attack, all but the first from random starts
    #[arg(long, default_value_t = 1)]
    restarts: usize,
    /// Take a single attack's directions from a twin with softplus of this sharpness
    #[arg(long, value_name = "BETA")]
    surrogate: Option<f64>,
    /// Let a single attack follow importances as shares of their sum
    #[arg(long)]
    shares: bool,
    /// Print one JSON object a row
    #[arg(long)]
    json: bool,
}

/// One row after the attack.
struct Found {
    attack: &'static str,
    perturbed: Vec<f64>,
    precision: f64,
    held: bool,
    first_change: Option<usize>,
    /// How a multi-objective attack ended.
    ending: Option<Ending>,
}

#[derive(serde::Serialize)]
struct Line<'a> {
    row: u64,
    #[serde(flatten)]
    before: Answer<'a>,
    attack: &'static str,
    precision: f64,
    held: bool,
    first_change: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ending: Option<Ending>,
    perturbed: Named<'a>,
    changes: Vec<Change>,
    after: Answer<'a>,
    lost: Vec<&'a str>,
    gained: Vec<&'a str>,
}

impl Arguments {
    fn attack(&self, loaded: &Loaded, explain: &CheckedExplain, k: usize) -> Result<Vec<Found>> {
        let network = &loaded.model.network;
        let radius = loaded.attack.map(|attack| attack.epsilon);
        let threat = self.suite.threat.config(radius);
        if self.method == moo::INFO.id {
            return multi_objective(loaded, explain, k, &threat);
        }
        let attacked = if self.method == "suite" {
            let config = self.suite.config(k, None, radius);
            let suite = config.check(explain.config(), &loaded.schema)?;
            suite.perturb(network, loaded.rows(), loaded.seed)?.rows
        } else {
            let config = AttackConfig {
                method: self.method.parse()?,
                k,
                threat,
                constraint: self.constraint,
                steps: self.steps,
                step_size: self.step_size,
                restarts: self.restarts,
                surrogate: self.surrogate,
                shares: self.shares,
            };
            let attack = config.check(explain.config(), &loaded.schema)?;
            attack.perturb(network, loaded.rows(), loaded.seed)?
        };
        let found = attacked.into_iter().map(|row| Found {
            attack: row.attack,
            perturbed: row.perturbed,
            precision: row.precision,
            held: row.held,
            first_change: row.first_change,
            ending: None,
        });
        Ok(found.collect())
    }
}

fn multi_objective(
    loaded: &Loaded,
    explain: &CheckedExplain,
    k: usize,
    threat: &ThreatConfig,
) -> Result<Vec<Found>> {
    let only_ball = ThreatConfig {
        ball: BallConfig {
            norm: Norm::L2,
            ..threat.ball
        },
        ..ThreatConfig::default()
    };
    if *threat != only_ball {
        bail!(
            "`moo` stays in an l2 ball and knows no other limits; leave out --norm, --box, --immutable, --integer, --one-hot and --column-budget"
        );
    }
    let settings = moo::Settings {
        input_budget: threat.ball.radius,
        ..moo::Settings::default()
    };
    let network = &loaded.model.network;
    let outcomes = moo::perturb(network, explain, loaded.rows(), k, &settings, loaded.seed)?;
    let before = explain.attribute(network, loaded.rows(), loaded.seed)?;
    let points: Vec<f64> = outcomes.iter().flat_map(|one| one.x.clone()).collect();
    let after = explained_at(loaded, explain, &points)?;
    let rows = outcomes.into_iter().zip(before.iter().zip(&after));
    rows.map(|(outcome, (before, after))| {
        let flipped = matches!(outcome.ending, Ending::Flipped { .. });
        Ok(Found {
            attack: moo::INFO.id,
            precision: precision_at_k::score(&before.importance, &after.importance, k)?,
            held: before.class == after.class,
            first_change: flipped.then_some(outcome.iterations),
            ending: Some(outcome.ending),
            perturbed: outcome.x,
        })
    })
    .collect()
}

/// The explanations of other points of the same rows.
fn explained_at(
    loaded: &Loaded,
    explain: &CheckedExplain,
    values: &[f64],
) -> Result<Vec<Explained>> {
    let rows = Rows {
        values,
        ids: loaded.rows().ids,
    };
    Ok(explain.attribute(&loaded.model.network, rows, loaded.seed)?)
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let loaded = arguments.source.load()?;
    let explain = arguments.how.config(&loaded.schema).check(&loaded.schema)?;
    let before = explain.attribute(&loaded.model.network, loaded.rows(), loaded.seed)?;
    let width = before.first().map_or(0, |row| row.importance.len());
    let default = loaded.attack.map_or(DEFAULT_K, |attack| attack.k);
    let k = arguments
        .suite
        .k
        .unwrap_or(default.min(width.saturating_sub(1)));
    let found = arguments.attack(&loaded, &explain, k)?;
    let points: Vec<f64> = found.iter().flat_map(|row| row.perturbed.clone()).collect();
    let after = explained_at(&loaded, &explain, &points)?;
    let names = explain.names(width);
    let features: Vec<String> = loaded
        .schema
        .features
        .iter()
        .map(|one| one.name.clone())
        .collect();
    let mut text = String::new();
    if !arguments.json {
        writeln!(
            text,
            "{:>7}  {:<20}  {:>6}  {:<4}  {:<12}  lost -> gained; what changed",
            "row",
            "class",
            format!("P@{k}"),
            "held",
            "found by"
        )?;
    }
    for (place, found) in found.iter().enumerate() {
        let [top, now] = [&before[place], &after[place]].map(|row| TopK::of(&row.importance, k));
        let (top, now) = (top?, now?);
        let lost: Vec<&str> = only_in(&top, &now, &names);
        let gained: Vec<&str> = only_in(&now, &top, &names);
        let changes = changes(&loaded.schema, loaded.row(place), &found.perturbed);
        let row = loaded.number(place);
        if arguments.json {
            let line = Line {
                row,
                before: Answer::new(&loaded, &before[place], &names, k)?,
                attack: found.attack,
                precision: found.precision,
                held: found.held,
                first_change: found.first_change,
                ending: found.ending,
                perturbed: Named {
                    names: &features,
                    values: &found.perturbed,
                },
                changes,
                after: Answer::new(&loaded, &after[place], &names, k)?,
                lost,
                gained,
            };
            writeln!(text, "{}", serde_json::to_string(&line)?)?;
            continue;
        }
        let what = if lost.is_empty() {
            "nothing".to_owned()
        } else {
            format!(
                "{} -> {}; {}",
                lost.join(", "),
                gained.join(", "),
                shown(&changes)
            )
        };
        writeln!(
            text,
            "{row:>7}  {:<20}  {:>6.3}  {:<4}  {:<12}  {what}",
            loaded.class(before[place].class),
            found.precision,
            if found.held { "yes" } else { "no" },
            found.attack,
        )?;
    }
    print(&text)?;
    let precisions: Vec<f64> = found.iter().map(|row| row.precision).collect();
    let mean = statistics::mean::estimate(&precisions)?;
    let interval = mean.interval.map_or_else(String::new, |interval| {
        format!(
            " (95% interval {:.4} to {:.4})",
            interval.low, interval.high
        )
    });
    eprintln!(
        "mean P@{k} {:.4}{interval} over {} rows",
        mean.value, mean.count
    );
    Ok(())
}

fn only_in<'a>(set: &TopK, other: &TopK, names: &'a [String]) -> Vec<&'a str> {
    let own = set.iter().filter(|feature| !other.contains(*feature));
    own.map(|feature| names[feature].as_str()).collect()
}

/// Most changes that a line shows.
const SHOWN: usize = 4;

fn shown(changes: &[Change]) -> String {
    let value = |value: &Value| match value {
        Value::Number(number) => super::data_view::number(*number),
        Value::Category(name) => name.clone(),
    };
    let one = |change: &Change| {
        let unit = change
            .unit
            .as_ref()
            .map_or_else(String::new, |unit| format!(" {unit}"));
        format!(
            "{} {} to {}{unit}",
            change.name,
            value(&change.from),
            value(&change.to)
        )
    };
    let mut parts: Vec<String> = changes.iter().take(SHOWN).map(one).collect();
    if changes.len() > SHOWN {
        parts.push(format!("{} more", changes.len() - SHOWN));
    }
    parts.join(", ")
}
