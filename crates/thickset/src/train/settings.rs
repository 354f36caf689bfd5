//! How a run trains, as a configuration states it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thickset_engine::DeviceKind;

use super::augment::AugmentConfig;
use super::begin::OnnxSource;
use super::optimizer::{OptimizerConfig, Schedule};
use super::row_weights::ClassWeight;
use crate::check::{check_positive, check_weight};
use crate::data::Dataset;
use crate::explain::ExplainConfig;
use crate::{Error, Result, defaults};

/// Epochs, batches and the optimiser.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Times that every training row is seen, or so many rows are drawn, at most.
    pub epochs: usize,
    /// Rows of a step.
    pub batch: usize,
    /// Training rows that each epoch draws anew, such as some of all pairs of graphs; all of them where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_epoch: Option<usize>,
    /// How training images are varied; not at all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub augment: Option<AugmentConfig>,
    /// How the step size changes.
    pub schedule: Schedule,
    /// The longest gradient of a step; longer ones are shortened to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// Stops after so many epochs in which neither AUC nor P@k improved; never where it is 0 or absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patience: Option<usize>,
    /// How classes are weighed against each other; all rows count alike where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<ClassWeight>,
    /// Steps between checkpoints; at the end of each epoch where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_steps: Option<u64>,
    /// Where the network computes; resumed where it began.
    #[serde(skip_serializing_if = "is_cpu")]
    pub device: DeviceKind,
    /// What moves the weights.
    pub optimizer: OptimizerConfig,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_cpu(device: &DeviceKind) -> bool {
    *device == DeviceKind::Cpu
}

impl Default for TrainConfig {
    /// What worked on the tables.
    fn default() -> Self {
        Self {
            epochs: 30,
            batch: 128,
            rows_per_epoch: None,
            augment: None,
            schedule: Schedule::Constant,
            clip: None,
            patience: None,
            class_weight: None,
            checkpoint_steps: None,
            device: DeviceKind::Cpu,
            optimizer: OptimizerConfig::default(),
        }
    }
}

impl TrainConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn check(&self) -> Result<()> {
        check_count("`train.epochs`", self.epochs)?;
        check_count("`train.batch`", self.batch)?;
        check_count("`train.rows_per_epoch`", self.rows_per_epoch.unwrap_or(1))?;
        if self.checkpoint_steps == Some(0) {
            check_count("`train.checkpoint_steps`", 0)?;
        }
        if let Some(clip) = self.clip {
            check_positive("`train.clip`", clip)?;
        }
        if let Some(weights) = &self.class_weight {
            weights.check()?;
        }
        self.optimizer.check()
    }
}

pub(super) fn check_count(what: &'static str, got: usize) -> Result<()> {
    if got > 0 {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        expected: "at least 1",
        got: 0.0,
    })
}

/// Begins with a trained model and keeps its ranking (R2ET, B.2.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrainConfig {
    /// The model's file.
    pub from: PathBuf,
    /// Stops when the mean share of the reference's salient features that are still salient falls below this.
    pub least_agreement: f64,
    /// Stops when the validation AUC falls by more than this below the reference's.
    pub most_auc_drop: f64,
    /// What an ONNX file does not say itself.
    #[serde(skip_serializing_if = "OnnxSource::is_default")]
    pub onnx: OnnxSource,
}

impl Default for RetrainConfig {
    /// The paper stops when either drops "significantly"; the bounds are ours.
    fn default() -> Self {
        Self {
            from: PathBuf::new(),
            least_agreement: 0.7,
            most_auc_drop: 0.02,
            onnx: OnnxSource::default(),
        }
    }
}

impl RetrainConfig {
    /// Refuses impossible settings.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] or [`Error::MissingSetting`].
    pub fn check(&self) -> Result<()> {
        if self.from.as_os_str().is_empty() {
            return Err(Error::MissingSetting {
                setting: "retrain.from",
                expected: "the path of a model file",
            });
        }
        check_weight("`retrain.most_auc_drop`", self.most_auc_drop)?;
        if (0.0..=1.0).contains(&self.least_agreement) {
            return Ok(());
        }
        Err(Error::OutOfRange {
            what: "`retrain.least_agreement`",
            expected: "from 0 to 1",
            got: self.least_agreement,
        })
    }
}

/// The size of the salient set: the given one, or the usual one for the dataset.
///
/// # Errors
/// If the given one leaves no other feature.
pub fn salient_features(given: Option<usize>, dataset: &Dataset) -> Result<usize> {
    let explain = ExplainConfig::usual(dataset.shape());
    salient_importances(given, dataset, (&explain, dataset.features()))
}

/// The same for what is handed out of this dataset where nothing else is said: reasons for tables.
///
/// # Errors
/// If there is nothing to choose among.
pub fn salient_reasons(dataset: &Dataset) -> Result<usize> {
    let explain = ExplainConfig::for_schema(&dataset.schema);
    let importances = explain.check(&dataset.schema)?.names(0).len();
    salient_importances(None, dataset, (&explain, importances))
}

/// The same for an explanation of so many importances, which may be columns, pixels or a layer's units instead of features.
pub(super) fn salient_importances(
    given: Option<usize>,
    dataset: &Dataset,
    (explain, importances): (&ExplainConfig, usize),
) -> Result<usize> {
    let own = dataset.attack.as_ref().map(|attack| attack.k);
    let own = defaults::salient_of(explain, own);
    let k = given.unwrap_or_else(|| defaults::salient(own, importances));
    if k == 0 || k >= importances {
        let largest = importances.saturating_sub(1);
        return Err(Error::TopKOutOfRange { k, largest });
    }
    Ok(k)
}
