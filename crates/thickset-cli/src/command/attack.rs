//! `thickset attack`: how far a small change of a row changes its explanation.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use thickset::attack::moo;
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{AttackConfig, ConstraintConfig, MethodConfig, ThreatConfig, random};
use thickset::explain::{CheckedExplain, Explained, Rows};
use thickset::metric::{precision_at_k, ranking};

use super::asked::{Loaded, Source};
use super::attack_view::{Found, Row, Way, summary, table};
use super::explain::{DEFAULT_K, How};
use super::output::print;
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

/// The settings with the ball's radius as their budget, where they have none of their own.
fn moo_settings(
    settings: moo::MooConfig,
    threat: &ThreatConfig,
    has_radius: bool,
) -> Result<moo::MooConfig> {
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
    if has_radius && settings.input_budget.is_some() {
        bail!("`--radius` and `input_budget` are the same for `moo`; give one of them");
    }
    Ok(moo::MooConfig {
        input_budget: settings.input_budget.or(Some(threat.ball.radius)),
        ..settings
    })
}

fn multi_objective(
    loaded: &Loaded,
    explain: &CheckedExplain,
    before: &[Explained],
    k: usize,
    settings: &moo::MooConfig,
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
