//! Training cells: one model of one method, setting and seed, kept with how it did on validation rows.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thickset::config::RunConfig;
use thickset::data::hash;
use thickset::model::{Model, ModelConfig};
use thickset::objective::ObjectiveConfig;
use thickset::train::{
    Event, OptimizerConfig, Outcome, RetrainConfig, RunFolder, SelectionConfig, Standing,
    TrainConfig, ValidationAttackConfig, train,
};
use thickset::{Error, Result, file};

use crate::seeded_dataset::SeededDataset;
use crate::store::Store;

/// What a training cell is of.
pub(crate) struct TrainingJob<'f> {
    pub(crate) data: &'f SeededDataset,
    pub(crate) model: ModelConfig,
    pub(crate) objective: ObjectiveConfig,
    pub(crate) optimizer: OptimizerConfig,
    pub(crate) epochs: usize,
    pub(crate) batch: usize,
    /// The quick attack on validation rows.
    pub(crate) probe: ValidationAttackConfig,
    /// The least validation AUC that an epoch must have; within 0.01 of the best epoch's where absent.
    pub(crate) auc_at_least: Option<f64>,
    /// The key of the model that it begins with, if it does not begin afresh.
    pub(crate) from: Option<String>,
}

/// Rows of a training step.
pub(crate) const BATCH: usize = 128;
/// How far below the best epoch's AUC an epoch may lie.
pub(crate) const AUC_WITHIN: f64 = 0.01;

/// How a training came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrainedCell {
    /// Names the model's file.
    pub(crate) key: String,
    /// What was minimised.
    pub(crate) objective: ObjectiveConfig,
    /// The selected epoch on validation rows; absent where training failed.
    pub(crate) selected: Option<Standing>,
    /// The best epoch's validation AUC.
    pub(crate) best_auc: f64,
    /// Why it ended.
    pub(crate) ending: String,
    /// The hash of the model's file; absent where training failed.
    pub(crate) model_sha256: Option<String>,
}

impl TrainedCell {
    /// Whether the model is as training left it, or there is none.
    fn has_its_model(&self, path: &Path) -> bool {
        match &self.model_sha256 {
            None => self.selected.is_none(),
            Some(expected) => file::read(path).is_ok_and(|bytes| hash(&bytes) == *expected),
        }
    }
}

impl TrainingJob<'_> {
    fn run(&self, from: Option<PathBuf>) -> RunConfig {
        RunConfig {
            name: "bench".to_owned(),
            seed: self.data.seed,
            k: Some(self.data.k),
            data: self.data.source.clone(),
            model: self.model.clone(),
            objective: self.objective.clone(),
            train: TrainConfig {
                epochs: self.epochs,
                batch: self.batch,
                optimizer: self.optimizer.clone(),
                ..TrainConfig::default()
            },
            probe: self.probe.clone(),
            selection: SelectionConfig {
                auc_within: AUC_WITHIN,
                auc_at_least: self.auc_at_least,
            },
            retrain: from.map(|from| RetrainConfig {
                from,
                ..RetrainConfig::default()
            }),
            ..RunConfig::default()
        }
    }

    fn key(&self) -> String {
        let mut run = self.run(self.from.as_ref().map(PathBuf::from));
        // The same data wherever it lies.
        run.data.folder = None;
        Store::key("train", &(run, &self.data.content))
    }

    /// Trains the model, or finds it trained; goes on with a training that was stopped.
    pub(crate) fn trained(&self, store: &Store) -> Result<TrainedCell> {
        let key = self.key();
        let model = store.model(&key);
        if let Some(found) = store.read::<TrainedCell>(&key)?
            && found.has_its_model(&model)
        {
            return Ok(found);
        }
        let from = self.from.as_ref().map(|from| store.model(from));
        let folder = RunFolder::new(store.training(&key));
        let mut hear = |_: &Event<'_>| ControlFlow::Continue(());
        let run = self.run(from).check()?;
        let outcome = train(&run, &self.data.dataset, &folder, true, &mut hear);
        let (selected, ending) = match outcome {
            Ok(Outcome::Done {
                selected, reason, ..
            }) => (Some(selected), reason),
            Ok(Outcome::Stopped) => (None, "it was stopped".to_owned()),
            Err(error @ (Error::Diverged { .. } | Error::NotFinite { .. })) => {
                (None, error.to_string())
            }
            Err(error) => return Err(error),
        };
        let (mut best_auc, mut model_sha256) = (0.0, None);
        if selected.is_some() {
            best_auc = recorded_auc(&folder)?;
            Model::load(&folder.model())?.save(&model)?;
            model_sha256 = Some(hash(&file::read(&model)?));
        }
        let trained = TrainedCell {
            key: key.clone(),
            objective: self.objective.clone(),
            selected,
            best_auc,
            ending,
            model_sha256,
        };
        let trained = store.write(&key, trained)?;
        store.clear_training(&key)?;
        Ok(trained)
    }
}

/// The best AUC of all epochs, those of earlier sessions included.
fn recorded_auc(folder: &RunFolder) -> Result<f64> {
    let path = folder.metrics();
    let text = file::read_text(&path)?;
    let records = text.lines().filter_map(|line| {
        let record: thickset::train::EpochRecord = serde_json::from_str(line).ok()?;
        Some(record.auc.unwrap_or(record.accuracy))
    });
    Ok(records.fold(0.0, f64::max))
}
