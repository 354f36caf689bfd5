//! `thickset attack`: how far a small change of a row changes its explanation.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use thickset::attack::moo::{self, Ending};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{
    AttackConfig, Attacked, Cell, Change, ConstraintConfig, MethodConfig, ThreatConfig, Value,
    changes, decoded, random,
};
use thickset::explain::{CheckedExplain, Explained, Rows};
use thickset::metric::precision_at_k;
use thickset::metric::ranking::{self, TopK};
use thickset::statistics;

use super::explain::{Answer, DEFAULT_K, How, Named};
use super::output::print;
use super::rows::{Loaded, Source};
use super::threat::SuiteOptions;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset attack --model runs/loans/model.safetensors --data loans.csv
  thickset attack --model model.safetensors --data adult --limit 200 --effort thorough
  thickset attack --model model.safetensors --data loans.csv --radii 0.1,0.2,0.4 --limit 0
  thickset attack --model model.safetensors --data loans.csv --method er-attack --radius 0.3 --steps 50
  thickset attack --model model.safetensors --data loans.csv --box --immutable --integer --one-hot whole \\
    --column-budget age=2 --json > attacked.jsonl
  thickset attack --model model.safetensors --data loans.csv --method '{ kind = \"random\", points = 1000 }'
  thickset attack --model model.safetensors --data loans.csv --method '{ kind = \"moo\", surrogate = 10.0 }'")]
pub struct Arguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    how: How,
    /// `suite` for all attacks, another attack's id (see `thickset methods --family attack`), or an inline table with settings
    #[arg(long, value_name = "ID|TABLE", default_value = "suite")]
    method: String,
    #[command(flatten)]
    suite: SuiteOptions,
    /// Attack with the suite once for each of these radii, and print P@k by radius
    #[arg(
        long,
        value_name = "RADIUS,…",
        value_delimiter = ',',
        conflicts_with = "radius"
    )]
    radii: Vec<f64>,
    /// How a single attack keeps the prediction: an id, or an inline table with settings [default: early-stop]
    #[arg(long, value_name = "ID|TABLE")]
    constraint: Option<ConstraintConfig>,
    /// Steps of a single attack [default: 100]
    #[arg(long)]
    steps: Option<usize>,
    /// Length of a single attack's step [default: 2.5 radius / steps]
    #[arg(long)]
    step_size: Option<f64>,
    /// Runs of a single attack, all but the first from random starts [default: 1]
    #[arg(long)]
    restarts: Option<usize>,
    /// Take a single attack's directions from a twin with softplus of this sharpness
    #[arg(long, value_name = "BETA")]
    surrogate: Option<f64>,
    /// Let a single attack follow importances as shares of their sum
    #[arg(long)]
    shares: bool,
    /// Print one JSON object a row, or a radius
    #[arg(long)]
    json: bool,
}

/// One row after the attack.
struct Found {
    attack: &'static str,
    perturbed: Vec<f64>,
    precision: f64,
    held: bool,
    way: Way,
}

/// What is told of the way there.
enum Way {
    /// Of steps, or of random points.
    Steps {
        first_change: Option<usize>,
        manipulation_epoch: Option<usize>,
        last: Last,
    },
    /// Of the multi-objective attack.
    Iterations { iterations: usize, ending: Ending },
}

/// Where the run from the row itself ended.
#[derive(serde::Serialize)]
struct Last {
    precision: f64,
    held: bool,
    stopped: bool,
}

impl From<Attacked> for Found {
    fn from(row: Attacked) -> Self {
        Self {
            attack: row.attack,
            perturbed: row.perturbed,
            precision: row.precision,
            held: row.held,
            way: Way::Steps {
                first_change: row.first_change,
                manipulation_epoch: row.manipulation_epoch,
                last: Last {
                    precision: row.last.precision,
                    held: row.last.held,
                    stopped: row.last.stopped,
                },
            },
        }
    }
}

impl serde::Serialize for Way {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Steps {
                first_change,
                manipulation_epoch,
                last,
            } => {
                map.serialize_entry("first_change", first_change)?;
                map.serialize_entry("manipulation_epoch", manipulation_epoch)?;
                map.serialize_entry("last", last)?;
            }
            Self::Iterations { iterations, ending } => {
                map.serialize_entry("iterations", iterations)?;
                map.serialize_entry("ending", ending)?;
            }
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Line<'a> {
    row: u64,
    #[serde(flatten)]
    before: Answer<'a>,
    attack: &'static str,
    precision: f64,
    held: bool,
    #[serde(flatten)]
    way: &'a Way,
    /// In the columns' own units.
    perturbed: Cells,
    /// As the model takes it.
    encoded: Named<'a>,
    changes: Vec<Change>,
    after: After<'a>,
    lost: Vec<&'a str>,
    gained: Vec<&'a str>,
}

/// The perturbed row: `predicted` there, and the explanation of the class predicted before.
#[derive(serde::Serialize)]
struct After<'a> {
    predicted: &'a str,
    #[serde(flatten)]
    answer: Answer<'a>,
}

struct Cells(Vec<Cell>);

impl serde::Serialize for Cells {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|cell| (&cell.name, &cell.value)))
    }
}

/// What runs: the suite, or one attack.
enum Chosen {
    Suite,
    One(MethodConfig),
}

impl Arguments {
    fn chosen(&self) -> Result<Chosen> {
        if self.method == "suite" {
            return Ok(Chosen::Suite);
        }
        Ok(Chosen::One(self.method.parse()?))
    }

    /// Refuses options that the chosen attack does not look at.
    fn check(&self, chosen: &Chosen) -> Result<()> {
        let (method, steps, constraint, effort, radii) = match chosen {
            Chosen::Suite => ("suite", false, false, true, true),
            Chosen::One(MethodConfig::Moo(_)) => (moo::INFO.id, false, false, false, false),
            Chosen::One(MethodConfig::Random(_)) => (random::INFO.id, false, true, false, false),
            Chosen::One(method) => (method.kind(), true, true, false, false),
        };
        let options = [
            ("--steps", self.steps.is_some(), steps),
            ("--step-size", self.step_size.is_some(), steps),
            ("--restarts", self.restarts.is_some(), steps),
            ("--surrogate", self.surrogate.is_some(), steps),
            ("--shares", self.shares, steps),
            ("--constraint", self.constraint.is_some(), constraint),
            ("--effort", self.suite.has_effort(), effort),
            ("--radii", !self.radii.is_empty(), radii),
        ];
        for (option, is_given, has_effect) in options {
            if is_given && !has_effect {
                bail!("`{option}` has no effect with `--method {method}`; leave it out");
            }
        }
        Ok(())
    }

    fn attack(
        &self,
        chosen: Chosen,
        loaded: &Loaded,
        explain: &CheckedExplain,
        before: &[Explained],
        k: usize,
    ) -> Result<Vec<Found>> {
        let network = &loaded.model.network;
        let threat = self.suite.threat.config(loaded.radius())?;
        let attacked = match chosen {
            Chosen::One(MethodConfig::Moo(settings)) => {
                let settings = moo_settings(settings, &threat, self.suite.threat.has_radius())?;
                return multi_objective(loaded, explain, before, k, &settings);
            }
            Chosen::Suite => {
                let config = self.suite.in_set(k, None, threat);
                let suite = config.check(explain.config(), &loaded.schema)?;
                suite.perturb(network, loaded.rows(), loaded.seed)?.rows
            }
            Chosen::One(method) => {
                let default = AttackConfig::default();
                let config = AttackConfig {
                    method,
                    k,
                    threat,
                    constraint: self.constraint.unwrap_or(default.constraint),
                    steps: self.steps.unwrap_or(default.steps),
                    step_size: self.step_size,
                    restarts: self.restarts.unwrap_or(default.restarts),
                    surrogate: self.surrogate,
                    shares: self.shares,
                };
                let attack = config.check(explain.config(), &loaded.schema)?;
                attack.perturb(network, loaded.rows(), loaded.seed)?
            }
        };
        Ok(attacked.into_iter().map(Found::from).collect())
    }
}

/// The settings with the ball's radius, where it was given, as their budget.
fn moo_settings(
    settings: moo::Settings,
    threat: &ThreatConfig,
    has_radius: bool,
) -> Result<moo::Settings> {
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
    let is_default = (settings.input_budget - moo::Settings::default().input_budget).abs() == 0.0;
    if has_radius && !is_default {
        bail!("`--radius` and `input_budget` are the same for `moo`; give one of them");
    }
    Ok(moo::Settings {
        input_budget: if is_default {
            threat.ball.radius
        } else {
            settings.input_budget
        },
        ..settings
    })
}

fn multi_objective(
    loaded: &Loaded,
    explain: &CheckedExplain,
    before: &[Explained],
    k: usize,
    settings: &moo::Settings,
) -> Result<Vec<Found>> {
    let network = &loaded.model.network;
    let outcomes = moo::perturb(network, explain, loaded.rows(), k, settings, loaded.seed)?;
    let points: Vec<f64> = outcomes.iter().flat_map(|one| one.x.clone()).collect();
    let after = explained_at(loaded, explain, &points, before)?;
    let rows = outcomes.into_iter().zip(before.iter().zip(&after));
    rows.map(|(outcome, (before, after))| {
        Ok(Found {
            attack: moo::INFO.id,
            precision: precision_at_k::score(&before.importance, &after.importance, k)?,
            held: before.class == ranking::largest(&after.probabilities)?,
            way: Way::Iterations {
                iterations: outcome.iterations,
                ending: outcome.ending,
            },
            perturbed: outcome.x,
        })
    })
    .collect()
}

/// The explanations of other points of the same rows, of the classes that were predicted before.
fn explained_at(
    loaded: &Loaded,
    explain: &CheckedExplain,
    values: &[f64],
    before: &[Explained],
) -> Result<Vec<Explained>> {
    let rows = Rows {
        values,
        ids: loaded.rows().ids,
    };
    let classes: Vec<usize> = before.iter().map(|row| row.class).collect();
    Ok(explain.attribute_classes(&loaded.model.network, rows, &classes, loaded.seed)?)
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let chosen = arguments.chosen()?;
    arguments.check(&chosen)?;
    let loaded = arguments.source.load()?;
    let explain = arguments.how.config(&loaded.schema).check(&loaded.schema)?;
    let before = explain.attribute(&loaded.model.network, loaded.rows(), loaded.seed)?;
    let width = before.first().map_or(0, |row| row.importance.len());
    let default = loaded.attack.map_or(DEFAULT_K, |attack| attack.k);
    let k = arguments
        .suite
        .k
        .unwrap_or(default.min(width.saturating_sub(1)));
    if !arguments.radii.is_empty() {
        let threat = arguments.suite.threat.with_radius(0.0);
        let config = arguments.suite.in_set(k, None, threat);
        return super::radii::run(&loaded, &explain, &config, &arguments.radii, arguments.json);
    }
    let found = arguments.attack(chosen, &loaded, &explain, &before, k)?;
    let points: Vec<f64> = found.iter().flat_map(|row| row.perturbed.clone()).collect();
    let after = explained_at(&loaded, &explain, &points, &before)?;
    let names = explain.names(width);
    let rows = before.iter().zip(&after).zip(found);
    let rows = rows.enumerate().map(|(place, ((before, after), found))| {
        Row::new(&loaded, &names, k, (place, before, after), found)
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    if arguments.json {
        let mut text = String::new();
        for row in &rows {
            writeln!(
                text,
                "{}",
                serde_json::to_string(&row.line(&loaded, &names, k)?)?
            )?;
        }
        print(&text)?;
    } else {
        print(&table(&rows, &loaded, k, arguments.method == "suite"))?;
    }
    summary(&rows, k)
}

/// One row before and after.
struct Row<'a> {
    place: usize,
    before: &'a Explained,
    after: &'a Explained,
    found: Found,
    lost: Vec<&'a str>,
    gained: Vec<&'a str>,
    changes: Vec<Change>,
}

impl<'a> Row<'a> {
    fn new(
        loaded: &Loaded,
        names: &'a [String],
        k: usize,
        (place, before, after): (usize, &'a Explained, &'a Explained),
        found: Found,
    ) -> Result<Self> {
        let top = TopK::of(&before.importance, k)?;
        let now = TopK::of(&after.importance, k)?;
        Ok(Self {
            lost: only_in(&top, &now, names),
            gained: only_in(&now, &top, names),
            changes: changes(&loaded.schema, loaded.row(place), &found.perturbed),
            place,
            before,
            after,
            found,
        })
    }

    fn line<'b>(&'b self, loaded: &'b Loaded, names: &'b [String], k: usize) -> Result<Line<'b>> {
        Ok(Line {
            row: loaded.number(self.place),
            before: Answer::new(loaded, self.before, names, k)?,
            attack: self.found.attack,
            precision: self.found.precision,
            held: self.found.held,
            way: &self.found.way,
            perturbed: Cells(decoded(&loaded.schema, &self.found.perturbed)),
            encoded: Named {
                names: loaded.features(),
                values: &self.found.perturbed,
            },
            changes: self.changes.clone(),
            after: After {
                predicted: loaded.class(ranking::largest(&self.after.probabilities)?),
                answer: Answer::new(loaded, self.after, names, k)?,
            },
            lost: self.lost.clone(),
            gained: self.gained.clone(),
        })
    }

    /// What the way came to: the last point of a single attack, iterations and ending of the multi-objective one.
    fn way(&self) -> String {
        match &self.found.way {
            Way::Steps { last, .. } => {
                let class = if last.held { "" } else { ", class changed" };
                format!("{:.3}{class}", last.precision)
            }
            Way::Iterations { iterations, ending } => {
                let ending = match ending {
                    Ending::Flipped { .. } => "flipped",
                    Ending::Failed => "failed",
                    Ending::Unfinished => "unfinished",
                };
                format!("{iterations:>10}  {ending}")
            }
        }
    }
}

fn table(rows: &[Row<'_>], loaded: &Loaded, k: usize, is_suite: bool) -> String {
    let is_moo = rows
        .iter()
        .any(|row| matches!(row.found.way, Way::Iterations { .. }));
    let way = match (is_suite, is_moo) {
        (true, _) => "found by".to_owned(),
        (_, true) => "iterations  ending".to_owned(),
        _ => format!("P@{k} at last"),
    };
    // Writing to a string cannot fail.
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:>7}  {:<20}  {:>6}  {:<4}  {way:<22}  lost -> gained; what changed",
        "row",
        "class",
        format!("P@{k}"),
        "held",
    );
    for row in rows {
        let what = if row.lost.is_empty() {
            "nothing".to_owned()
        } else {
            format!(
                "{} -> {}; {}",
                row.lost.join(", "),
                row.gained.join(", "),
                shown(&row.changes)
            )
        };
        let way = if is_suite {
            row.found.attack.to_owned()
        } else {
            row.way()
        };
        let _ = writeln!(
            text,
            "{:>7}  {:<20}  {:>6.3}  {:<4}  {way:<22}  {what}",
            loaded.number(row.place),
            loaded.class(row.before.class),
            row.found.precision,
            if row.found.held { "yes" } else { "no" },
        );
    }
    text
}

fn summary(rows: &[Row<'_>], k: usize) -> Result<()> {
    let precisions: Vec<f64> = rows.iter().map(|row| row.found.precision).collect();
    let mean = statistics::mean::estimate(&precisions)?.of_share();
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
    let failed = rows.iter().filter(|row| {
        matches!(
            row.found.way,
            Way::Iterations {
                ending: Ending::Failed,
                ..
            }
        )
    });
    let failed = failed.count();
    if failed > 0 {
        eprintln!(
            "`moo` failed on {failed} rows: its linear model saw no way down, which is no proof that there is none; see --method suite"
        );
    }
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
