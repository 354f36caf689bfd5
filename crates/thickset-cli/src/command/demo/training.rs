//! Training a subject of the demonstration, with the time of its steps.

use std::fs;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use thickset::audit;
use thickset::config::{DataConfig, RunConfig};
use thickset::data::{Dataset, hash};
use thickset::explain::{ExplainConfig, InlineExplain};
use thickset::model::Model;
use thickset::train::{
    EpochRecord, Event, RunFolder, TrainConfig, ValidationAttackConfig, train_into,
};
use thickset::{Error, Result, file};

use super::demonstration::Options;
use super::subject::{Scene, Subject};

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
    subject: &Subject,
    scene: &Scene,
    dataset: &Dataset,
    options: &Options,
) -> Result<Trained> {
    let name = scene.name(subject);
    // What the report shows of both datasets is the absolute gradient.
    let plain = InlineExplain::from(ExplainConfig::default());
    let run = RunConfig {
        name: name.clone(),
        seed: options.seed,
        data: DataConfig {
            source: scene.data.to_owned(),
            ..DataConfig::default()
        },
        model: subject.model.clone(),
        objective: subject.objective.with_explain(&plain),
        train: TrainConfig {
            epochs: scene.epochs,
            batch: BATCH,
            optimizer: subject.optimizer.clone(),
            ..TrainConfig::default()
        },
        probe: ValidationAttackConfig {
            explain: Some(plain),
            ..ValidationAttackConfig::default()
        },
        ..RunConfig::default()
    };
    let scratch = options.out.join(format!(".training-{name}"));
    remove(&scratch)?;
    let folder = RunFolder::new(&scratch);
    let mut heard = Heard::default();
    let mut observer = |event: &Event<'_>| {
        heard.hear(event);
        ControlFlow::Continue(())
    };
    train_into(&run.check()?, dataset, &folder, false, &mut observer)?;
    let model = Model::load(&folder.model())?;
    let file = options.out.join(format!("{name}.safetensors"));
    model.save(&file)?;
    remove(&scratch)?;
    let bytes = file::read(&file)?;
    Ok(Trained {
        model,
        file,
        selected_epoch: heard.selected,
        time: heard.time,
        name,
        sha256: hash(&bytes),
        objective: subject.objective.objective().info().id,
        training: heard.records,
    })
}

/// What a run told: its epochs, and the time of steps alone, which is what lies between one event and a step's end.
#[derive(Default)]
struct Heard {
    last: Option<Instant>,
    time: Duration,
    selected: usize,
    records: Vec<EpochRecord>,
}

impl Heard {
    fn hear(&mut self, event: &Event<'_>) {
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
