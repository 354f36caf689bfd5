//! `thickset attack`: how far a small change of a row changes its explanation.

use std::ops::ControlFlow;

use anyhow::{Result, bail};
use clap::Args;
use thickset::attack::{AttackKind, AttackOption, ConstraintConfig, PairPredictions, suite};
use thickset::model::AttackOptions;
use thickset::{Model, Seed};

use super::attack_view::{Row, Shown, Totals, head};
use super::device::DeviceOption;
use super::explain::How;
use super::interrupt;
use super::model_rows::{ModelRows, Streamed};
use super::row_output::{OutputOptions, stopped};
use super::rows::say_all;
use super::threat::{DecisionOptions, SuiteOptions};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset attack --model runs/loans/model.safetensors --data loans.csv
  thickset attack --model model.safetensors --data adult --max-rows 200 --effort thorough
  thickset attack --model model.safetensors --data loans.csv --radii 0.1,0.2,0.4 --max-rows 0
  thickset attack --model model.safetensors --data loans.csv --method er-attack --radius 0.3 --steps 50
  thickset attack --model model.safetensors --data loans.csv --only income=100 --adverse default --cutoff 0.2
  thickset attack --model model.safetensors --data loans.csv --error income=5% age=1 --max-rows 0 --out attacked.csv
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
    #[command(flatten)]
    decision: DecisionOptions,
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
    #[command(flatten)]
    device: DeviceOption,
    #[command(flatten)]
    output: OutputOptions,
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

    fn options(
        &self,
        method: Option<AttackKind>,
        model: &Model,
        seed: Seed,
    ) -> Result<AttackOptions> {
        Ok(AttackOptions {
            method,
            effort: self.suite.effort(),
            k: self.suite.k,
            radius: self.suite.threat.radius,
            threat: self.suite.threat.of(model)?,
            decision: self.decision.config(),
            constraint: self.constraint,
            steps: self.steps,
            step_size: self.step_size,
            step_cap: self.step_cap,
            restarts: self.restarts,
            surrogate: self.surrogate,
            shares: self.shares,
            pair_predictions: self.pair_predictions.unwrap_or_default(),
            explain: self.how.options(seed),
        })
    }
}

/// Rows that are attacked at a time.
const CHUNK: usize = 1024;

pub fn run(arguments: &Arguments) -> Result<()> {
    let chosen = arguments.chosen()?;
    arguments.check(chosen.as_ref())?;
    if !arguments.radii.is_empty() {
        let mut loaded = arguments.source.load()?;
        loaded.model = arguments.device.place(loaded.model)?;
        let options = arguments.options(chosen, &loaded.model, loaded.seed)?;
        return super::radii::run(&loaded, &options, &arguments.radii, arguments.output.json);
    }
    let Streamed {
        model,
        seed,
        rows,
        continued,
        is_preview,
    } = arguments.source.stream()?;
    let model = arguments.device.place(model)?;
    let options = arguments.options(chosen, &model, seed)?;
    let is_suite = options.method.is_none();
    let mut totals = Totals::default();
    let mut notes = Vec::new();
    interrupt::notice();
    arguments.output.run(continued, |output| {
        notes = rows.for_each::<anyhow::Error>(CHUNK, &mut |rows| {
            let attacks = model.attack(rows, &options)?;
            if totals.rows() == 0 {
                output.head(&head(&attacks.rows, attacks.k, is_suite));
            }
            totals.add(&attacks);
            let features = rows.schema().features.iter();
            let features: Vec<String> = features.map(|one| one.name.clone()).collect();
            let shown = Shown {
                model: &model,
                features: &features,
                names: &attacks.names,
                k: attacks.k,
                is_suite,
            };
            for (place, row) in attacks.rows.iter().enumerate() {
                let row = Row::new(&shown, rows, place, row)?;
                if output.row(&row)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let flow = output.flush()?;
            if interrupt::is_stopped() {
                return Err(stopped(&arguments.output, totals.rows()).into());
            }
            Ok(flow)
        })?;
        Ok(())
    })?;
    say_all(&notes);
    Streamed::say_preview(is_preview, totals.rows());
    totals.say()
}
