//! Whether a run fits its data: all that can be refused before anything is written.

use thickset_engine::Network;

use super::settings::salient_importances;
use super::trainer::train;
use crate::config::RunConfig;
use crate::data::{Dataset, Part, hash};
use crate::explain::CheckedExplain;
use crate::model::{Description, Model};
use crate::{Error, Result, file};

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
        let mut model = Model::for_dataset(config.model.clone(), dataset, config.seed)?;
        let importances = explain.importances(&model.network)?;
        let k = salient_importances(config.k, dataset, (explain.config(), importances))?;
        config.objective.objective().check_k(k)?;
        let mut reference = None;
        if let Some(retrain) = &config.retrain {
            let from = Model::load(&retrain.from)?;
            check_alike(&from.description, &model.description)?;
            let bytes = file::read(&retrain.from)?;
            let parameters = from.network.parameter_values();
            model.network.set_parameter_values(&parameters)?;
            reference = Some(Reference {
                network: from.network,
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
        model: teacher.model,
        objective: teacher.objective,
        train: teacher.train,
        probe: config.probe.clone(),
        selection: config.selection.clone(),
        ..RunConfig::default()
    };
    let trained = train(&run.check()?, dataset)?;
    Ok(Some(trained.model.network))
}

/// Refuses a reference whose rankings would mean something else.
fn check_alike(theirs: &Description, ours: &Description) -> Result<()> {
    let refuse = |expected, got| {
        Err(Error::ModelInput {
            model: ours.model.kind(),
            expected,
            got,
        })
    };
    if theirs.model != ours.model || theirs.features != ours.features {
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
    let columns = |description: &Description| {
        let encoding = description.encoding.clone();
        encoding.map(|encoding| encoding.columns)
    };
    if columns(theirs) != columns(ours) {
        return refuse(
            "a reference of the same columns and scaling, so of the same data and seed",
            "one of other columns or another scaling".to_owned(),
        );
    }
    Ok(())
}
