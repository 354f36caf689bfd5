//! Training a model of the demonstration, with the time of its steps.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use thickset::attack::ThreatConfig;
use thickset::config::{DataConfig, RunConfig};
use thickset::data::Dataset;
use thickset::explain::{ExplainConfig, InlineExplain};
use thickset::model::{Model, Origin};
use thickset::train::{Event, TrainConfig, ValidationAttackConfig, train_observed};
use thickset::{Error, Result};

use super::demonstration::DemoOptions;
use super::model::{DemoDataset, DemoModel};

/// Rows of a step: few, as the datasets are small.
const BATCH: usize = 32;

/// A trained model, its file and how it came about.
pub(super) struct DemoTrained {
    pub(super) model: Model,
    pub(super) file: PathBuf,
    pub(super) origin: Origin,
    pub(super) selected_epoch: usize,
    pub(super) time: Duration,
}

/// Trains a model and writes its file.
pub(super) fn trained(
    wanted: &DemoModel,
    demo: &DemoDataset,
    dataset: &Dataset,
    options: &DemoOptions,
) -> Result<DemoTrained> {
    let name = demo.name(wanted);
    // What the report shows of both datasets is the absolute gradient.
    let plain = InlineExplain::from(ExplainConfig::default());
    let run = RunConfig {
        explain: Some(plain.clone()),
        threat: Some(ThreatConfig::default()),
        name: name.clone(),
        seed: options.seed,
        data: DataConfig {
            source: demo.data.to_owned(),
            ..DataConfig::default()
        },
        model: wanted.model.clone(),
        objective: wanted.objective.with_explain(&plain),
        train: TrainConfig {
            epochs: demo.epochs,
            batch: BATCH,
            optimizer: wanted.optimizer.clone(),
            ..TrainConfig::default()
        },
        probe: ValidationAttackConfig {
            explain: Some(plain),
            ..ValidationAttackConfig::default()
        },
        ..RunConfig::default()
    };
    let mut clock = StepClock::default();
    let mut observer = |event: &Event<'_>| {
        clock.record(event);
        ControlFlow::Continue(())
    };
    let trained = train_observed(&run.check()?, dataset, &mut observer)?;
    // Nobody here stops it.
    let trained = trained.ok_or(Error::Empty {
        what: "the demonstration's model",
    })?;
    let model = trained.model;
    let file_name = format!("{name}.safetensors");
    let file = options.out.join(&file_name);
    model.save(&file)?;
    let mut origin = model.origin()?;
    origin.file = file_name;
    Ok(DemoTrained {
        model,
        file,
        origin,
        selected_epoch: trained.selected.epoch,
        time: clock.time,
    })
}

/// The time of a run's steps alone, which is what lies between one event and a step's end.
#[derive(Default)]
struct StepClock {
    last: Option<Instant>,
    time: Duration,
}

impl StepClock {
    fn record(&mut self, event: &Event<'_>) {
        let now = Instant::now();
        if let (Event::Step { .. }, Some(last)) = (event, self.last) {
            self.time += now - last;
        }
        self.last = Some(now);
    }
}
