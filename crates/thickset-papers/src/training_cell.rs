//! Training cells: one model of one method, setting and seed, kept with how it did on validation rows.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thickset::attack::ThreatConfig;
use thickset::config::RunConfig;
use thickset::data::hash;
use thickset::explain::InlineExplain;
use thickset::model::ModelConfig;
use thickset::objective::ObjectiveConfig;
use thickset::train::{
    Event, OptimizerConfig, RetrainConfig, RunFolder, SelectionConfig, Standing, TrainConfig,
    ValidationAttackConfig, train_into,
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
    /// And whose rows are told so different features.
    pub(crate) distinctness_at_least: Option<f64>,
    /// How it is trained, where that is not by `epochs`, `batch` and `optimizer`.
    pub(crate) train: Option<TrainConfig>,
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
        // Models train and are chosen by what is attacked later: the papers' choice for the kind of data, or the dataset's own.
        let (mut objective, mut probe) = (self.objective.clone(), self.probe.clone());
        if let Some(explain) = self.data.plan.and_then(|plan| plan.explain.as_ref()) {
            objective = objective.with_explain(explain);
            probe.explain = Some(explain.clone());
        }
        let schema = &self.data.dataset.schema;
        let handed_out = InlineExplain::from(objective.explain(schema));
        RunConfig {
            explain: Some(handed_out),
            threat: Some(ThreatConfig::default()),
            name: "bench".to_owned(),
            seed: self.data.seed,
            k: Some(self.data.k),
            data: self.data.source.clone(),
            model: self.model.clone(),
            objective,
            train: self.train.clone().unwrap_or(TrainConfig {
                epochs: self.epochs,
                batch: self.batch,
                rows_per_epoch: self.data.effort.and_then(|effort| effort.rows_per_epoch),
                augment: self.data.effort.and_then(|effort| effort.augment),
                optimizer: self.optimizer.clone(),
                ..TrainConfig::default()
            }),
            probe,
            selection: SelectionConfig {
                auc_within: AUC_WITHIN,
                auc_at_least: self.auc_at_least,
                distinctness_at_least: self.distinctness_at_least,
                ..SelectionConfig::default()
            },
            retrain: from.map(|from| RetrainConfig {
                from,
                least_agreement: self.least_agreement(),
                most_auc_drop: match self.auc_at_least {
                    Some(_) => RetrainConfig::default().most_auc_drop,
                    None => 1.0,
                },
                ..RetrainConfig::default()
            }),
            ..RunConfig::default()
        }
    }

    /// The share of the reference's salient features that a retrained model must keep. Salient pixels of a ResNet change with any epoch, so
    /// there the AUC alone ends it; and where no AUC is too low, nothing does.
    fn least_agreement(&self) -> f64 {
        match (self.data.plan, self.auc_at_least) {
            (None, Some(_)) => RetrainConfig::default().least_agreement,
            _ => 0.0,
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
        // A run folder, so that a long training that was killed goes on where it stood.
        let folder = RunFolder::new(store.training(&key));
        let mut ignore = |_: &Event<'_>| ControlFlow::Continue(());
        let run = self.run(from).check()?;
        let outcome = train_into(&run, &self.data.dataset, &folder, true, &mut ignore);
        let mut cell = TrainedCell {
            key: key.clone(),
            objective: self.objective.clone(),
            selected: None,
            best_auc: 0.0,
            ending: String::new(),
            model_sha256: None,
        };
        match outcome {
            Ok(Some(trained)) => {
                let judged = trained.epochs.iter();
                cell.best_auc = judged
                    .map(|epoch| epoch.auc.unwrap_or(epoch.accuracy))
                    .fold(0.0, f64::max);
                cell.selected = Some(trained.selected);
                cell.ending = trained.reason;
                trained.model.save(&model)?;
                cell.model_sha256 = Some(hash(&file::read(&model)?));
            }
            Ok(None) => "it was stopped".clone_into(&mut cell.ending),
            Err(error @ (Error::Diverged { .. } | Error::NotFinite { .. })) => {
                cell.ending = error.to_string();
            }
            Err(error) => return Err(error),
        }
        let cell = store.write(&key, cell)?;
        store.clear_training(&key)?;
        Ok(cell)
    }
}
