//! Whether a run fits its data: all that can be refused before anything is written.

use thickset_engine::{Network, TensorData};

use super::settings::{TrainConfig, salient_importances};
use super::trainer::train;
use crate::config::RunConfig;
use crate::data::{Dataset, Part, hash};
use crate::explain::CheckedExplain;
use crate::model::{Description, Model};
use crate::{Error, Result, Seed, file};

/// What a run begins with.
pub(super) struct Fit {
    /// What the objective ranks.
    pub(super) explain: CheckedExplain,
    /// Size of the salient set.
    pub(super) k: usize,
    /// With fresh weights, or with the reference's.
    pub(super) model: Model,
    /// Whose ranking shall be kept, when retraining.
    pub(super) reference: Option<Reference>,
}

/// A trained model to begin with.
pub(super) struct Reference {
    pub(super) network: Network,
    /// The hash of its file.
    pub(super) sha256: String,
}

impl Fit {
    /// # Errors
    /// If there is no row to train on, k, the objective or the architecture does not fit the data, or the reference is another
    /// kind of model or of other columns.
    pub(super) fn new(config: &RunConfig, dataset: &Dataset) -> Result<Self> {
        if dataset.part(Part::Train).is_empty() {
            return Err(Error::Empty {
                what: "the training rows",
            });
        }
        let explain = config.trained_for(&dataset.schema).for_training();
        let explain = explain.with_reference(dataset.encoding.as_ref())?;
        if let Some(augment) = config.train.augment {
            augment.check(dataset.shape())?;
        }
        let explain = explain.check(&dataset.schema)?;
        let begin = match &config.retrain {
            None => None,
            Some(retrain) => Some((retrain.model(&config.data)?, retrain)),
        };
        let foreign = begin.as_ref().filter(|(_, retrain)| retrain.is_onnx());
        // Another framework's model has layers that no setting names.
        let architecture = match foreign {
            Some((from, _)) => {
                let own = from.description.model.clone();
                config.objective.objective().model(own)
            }
            None => config.model.clone(),
        };
        let mut model = Model::for_dataset(architecture, dataset, config.seed)?;
        let importances = explain.importances(&model.network)?;
        let k = salient_importances(config.k, dataset, (explain.config(), importances))?;
        config.objective.objective().check_k(k)?;
        let mut reference = None;
        if let Some((from, retrain)) = begin {
            check_alike(&from.description, &model.description, retrain.is_onnx())?;
            let bytes = file::read(&retrain.from)?;
            let parameters = from.network.parameter_values();
            model.network.set_parameter_values(&parameters)?;
            let network = if retrain.is_onnx() {
                as_trained(&from, &parameters, dataset)?
            } else {
                from.network
            };
            reference = Some(Reference {
                network,
                sha256: hash(&bytes),
            });
        }
        Ok(Self {
            explain,
            k,
            model,
            reference,
        })
    }
}

/// The objective's teacher, trained on the same rows with the same seed; nothing where it has none.
pub(super) fn teacher(config: &RunConfig, dataset: &Dataset, k: usize) -> Result<Option<Network>> {
    let Some(teacher) = config.objective.objective().teacher() else {
        return Ok(None);
    };
    let run = RunConfig {
        seed: config.seed,
        k: Some(k),
        explain: config.explain.clone(),
        threat: config.threat.clone(),
        decision: config.decision.clone(),
        model: teacher.model.unwrap_or_else(|| config.model.clone()),
        objective: teacher.objective,
        train: TrainConfig {
            device: config.train.device,
            ..teacher.train
        },
        probe: config.probe.clone(),
        selection: config.selection.clone(),
        ..RunConfig::default()
    };
    let trained = train(&run.check()?, dataset)?;
    Ok(Some(trained.model.network))
}

/// A network of another framework in the precision that is trained: graphs may be of doubles.
fn as_trained(from: &Model, parameters: &[TensorData], dataset: &Dataset) -> Result<Network> {
    let architecture = from.description.model.clone();
    let mut model = Model::for_dataset(architecture, dataset, Seed::new(0))?;
    model.network.set_parameter_values(parameters)?;
    Ok(model.network)
}

/// Refuses a reference whose rankings would mean something else. The architecture of another framework's is the run's own.
fn check_alike(theirs: &Description, ours: &Description, is_foreign: bool) -> Result<()> {
    let refuse = |expected, got| {
        Err(Error::ModelInput {
            model: ours.model.kind(),
            expected,
            got,
        })
    };
    let is_alike = is_foreign || theirs.model == ours.model;
    if !is_alike || theirs.features != ours.features {
        let got = format!("`{}` of {} features", theirs.model.kind(), theirs.features);
        return refuse(
            "a reference of its own architecture, settings and number of features",
            got,
        );
    }
    if theirs.classes != ours.classes {
        return refuse("a reference of the same classes", theirs.classes.join(", "));
    }
    if theirs.input != ours.input {
        return refuse(
            "a reference of inputs of the same shape",
            theirs.input.to_string(),
        );
    }
    // How text is read and what a missing column means may differ: they change no feature.
    let is_same = match (&theirs.encoding, &ours.encoding) {
        (Some(theirs), Some(ours)) if is_foreign => theirs.makes_the_same(ours),
        (Some(theirs), Some(ours)) => theirs.columns == ours.columns,
        (None, None) => true,
        _ => false,
    };
    if !is_same {
        return refuse(
            "a reference of the same columns and scaling, so of the same data and seed",
            "one of other columns or another scaling".to_owned(),
        );
    }
    Ok(())
}
