//! Training a model of the demonstration, with the time of its steps.

use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thickset::audit;
use thickset::config::{DataConfig, RunConfig};
use thickset::data::{Dataset, hash};
use thickset::model::Model;
use thickset::train::{EpochRecord, Event, RunFolder, TrainConfig, train};
use thickset::{Error, Result, file};

use super::demonstration::DemoOptions;
use super::model::{DemoDataset, DemoModel};

/// Rows of a step: few, as the datasets are small.
const BATCH: usize = 32;

/// A trained model, its file and how it came about.
pub(super) struct Trained {
    pub(super) model: Model,
    pub(super) file: PathBuf,
    pub(super) selected_epoch: usize,
    pub(super) time: Duration,
    name: String,
    sha256: String,
    objective: &'static str,
    training: Vec<EpochRecord>,
}

impl Trained {
    /// The subject of its audit.
    pub(super) fn subject(&self) -> audit::Subject<'_> {
        audit::Subject {
            model: &self.model,
            name: self.name.clone(),
            file: format!("{}.safetensors", self.name),
            sha256: self.sha256.clone(),
            objective: Some(self.objective.to_owned()),
            training: self.training.clone(),
        }
    }
}

/// Trains in a folder beside the models, keeps the selected model and removes the rest.
pub(super) fn trained(
    wanted: &DemoModel,
    demo: &DemoDataset,
    dataset: &Dataset,
    options: &DemoOptions,
) -> Result<Trained> {
    let name = demo.name(wanted);
    let run = RunConfig {
        name: name.clone(),
        seed: options.seed,
        data: DataConfig {
            source: demo.data.to_owned(),
            ..DataConfig::default()
        },
        model: wanted.model.clone(),
        objective: wanted.objective.clone(),
        train: TrainConfig {
            epochs: demo.epochs,
            batch: BATCH,
            optimizer: wanted.optimizer.clone(),
            ..TrainConfig::default()
        },
        ..RunConfig::default()
    };
    let scratch = options.out.join(format!(".training-{name}"));
    remove(&scratch)?;
    let folder = RunFolder::new(&scratch);
    let mut recorder = Recorder::default();
    let mut observer = |event: &Event<'_>| {
        recorder.record(event);
        ControlFlow::Continue(())
    };
    train(&run.check()?, dataset, &folder, false, &mut observer)?;
    let model = Model::load(&folder.model())?;
    let file = options.out.join(format!("{name}.safetensors"));
    model.save(&file)?;
    remove(&scratch)?;
    let bytes = file::read(&file)?;
    Ok(Trained {
        model,
        file,
        selected_epoch: recorder.selected,
        time: recorder.time,
        name,
        sha256: hash(&bytes),
        objective: wanted.objective.objective().info().id,
        training: recorder.records,
    })
}

/// What a run reported: its epochs, and the time of steps alone, which is what lies between one event and a step's end.
#[derive(Default)]
struct Recorder {
    last: Option<Instant>,
    time: Duration,
    selected: usize,
    records: Vec<EpochRecord>,
}

impl Recorder {
    fn record(&mut self, event: &Event<'_>) {
        let now = Instant::now();
        match (event, self.last) {
            (Event::Step { .. }, Some(last)) => self.time += now - last,
            (Event::End { selected, .. }, _) => self.selected = *selected,
            (Event::Epoch(record), _) => self.records.push((*record).clone()),
            _ => {}
        }
        self.last = Some(now);
    }
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(Error::io("remove", folder, source))
        }
        _ => Ok(()),
    }
}
