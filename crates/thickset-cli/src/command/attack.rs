//! `thickset attack`: how far a small change of a row changes its explanation.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use thickset::Seed;
use thickset::attack::{AttackKind, AttackOption, ConstraintConfig, PairPredictions, suite};
use thickset::model::{AttackOptions, Attacks};

use super::attack_view::{Row, summary, table};
use super::explain::How;
use super::model_rows::ModelRows;
use super::output::print;
use super::threat::SuiteOptions;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset attack --model runs/loans/model.safetensors --data loans.csv
  thickset attack --model model.safetensors --data adult --limit 200 --effort thorough
  thickset attack --model model.safetensors --data loans.csv --radii 0.1,0.2,0.4 --limit 0
  thickset attack --model model.safetensors --data loans.csv --method er-attack --radius 0.3 --steps 50
  thickset attack --model model.safetensors --data loans.csv --box --integer --one-hot whole \\
    --column-budget age=2 --json > attacked.jsonl
  thickset attack --model model.safetensors --data loans.csv --method '{ kind = \"random\", points = 1000 }'
  thickset attack --model model.safetensors --data loans.csv --method '{ kind = \"moo\", surrogate = 10.0 }'")]
pub struct Arguments {
    #[command(flatten)]
    source: ModelRows,
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
    /// Largest change of a feature in one step of a single attack [default: none]
    #[arg(long)]
    step_cap: Option<f64>,
    /// Runs of a single attack, all but the first from random starts [default: 1]
    #[arg(long)]
    restarts: Option<usize>,
    /// Take a single attack's directions from a twin with softplus of this sharpness
    #[arg(long, value_name = "BETA")]
    surrogate: Option<f64>,
    /// Let a single attack follow importances as shares of their sum
    #[arg(long)]
    shares: bool,
    /// What a single attack keeps of a pair beside its prediction: `single` for those of each input by the model's classifier of single
    /// inputs, `halves` for those of the pair with one input moved [default: single]
    #[arg(long, value_name = "KIND")]
    pair_predictions: Option<PairPredictions>,
    /// Print one JSON object a row, or a radius
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// One attack, or none for the suite.
    fn chosen(&self) -> Result<Option<AttackKind>> {
        if self.method == suite::INFO.id {
            return Ok(None);
        }
        Ok(Some(self.method.parse()?))
    }

    /// Refuses options that the chosen attack does not use.
    fn check(&self, chosen: Option<&AttackKind>) -> Result<()> {
        let (method, used) = match chosen {
            None => (suite::INFO.id, suite::OPTIONS),
            Some(kind) => (kind.kind(), kind.behaviour().options()),
        };
        let given = [
            (AttackOption::Steps, self.steps.is_some()),
            (AttackOption::StepSize, self.step_size.is_some()),
            (AttackOption::StepCap, self.step_cap.is_some()),
            (AttackOption::Restarts, self.restarts.is_some()),
            (AttackOption::Surrogate, self.surrogate.is_some()),
            (AttackOption::Shares, self.shares),
            (AttackOption::Constraint, self.constraint.is_some()),
            (
                AttackOption::PairPredictions,
                self.pair_predictions.is_some(),
            ),
            (AttackOption::Effort, self.suite.effort().is_some()),
            (AttackOption::Radii, !self.radii.is_empty()),
            (AttackOption::Radius, self.suite.threat.radius.is_some()),
        ];
        for (option, is_given) in given {
            if is_given && !used.contains(&option) {
                let option = option.name();
                bail!("`--{option}` has no effect with `--method {method}`; leave it out");
            }
        }
        Ok(())
    }

    fn options(&self, method: Option<AttackKind>, seed: Seed) -> AttackOptions {
        AttackOptions {
            method,
            effort: self.suite.effort(),
            k: self.suite.k,
            radius: self.suite.threat.radius,
            threat: self.suite.threat.config(),
            constraint: self.constraint,
            steps: self.steps,
            step_size: self.step_size,
            step_cap: self.step_cap,
            restarts: self.restarts,
            surrogate: self.surrogate,
            shares: self.shares,
            pair_predictions: self.pair_predictions.unwrap_or_default(),
            explain: self.how.options(seed),
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let chosen = arguments.chosen()?;
    arguments.check(chosen.as_ref())?;
    let loaded = arguments.source.load()?;
    let options = arguments.options(chosen, loaded.seed);
    if !arguments.radii.is_empty() {
        return super::radii::run(&loaded, &options, &arguments.radii, arguments.json);
    }
    let attacks = loaded.model.attack(&loaded.rows(), &options)?;
    let Attacks { names, k, rows } = &attacks;
    let rows = rows.iter().enumerate();
    let rows = rows.map(|(place, row)| Row::new(&loaded, names, *k, place, row));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    if arguments.json {
        let mut text = String::new();
        for row in &rows {
            let line = row.line(&loaded, names, *k)?;
            writeln!(text, "{}", serde_json::to_string(&line)?)?;
        }
        print(&text)?;
    } else {
        print(&table(&rows, &loaded, *k, options.method.is_none()))?;
    }
    summary(&attacks)
}
