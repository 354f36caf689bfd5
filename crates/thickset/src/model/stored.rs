//! One-file models: weights in safetensors, everything else as JSON in the header's metadata.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, StoredModel};

use super::binned::monotone::SignRule;
use super::{Fresh, ModelConfig, Origin};
use crate::config::RunConfig;
use crate::data::{Dataset, Encoding, InputShape, References, Schema};
use crate::train::EpochRecord;
use crate::{Error, Result, Seed};

/// The version of [`Description`] that this release writes and reads.
pub(crate) const FORMAT: u32 = 1;

/// What a model's weights are of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Version of this description's form.
    pub format: u32,
    /// The architecture.
    pub model: ModelConfig,
    /// What an input row is.
    pub input: InputShape,
    /// Features of an input row.
    pub features: usize,
    /// Names of the classes, in the order of the logits.
    pub classes: Vec<String>,
    /// How raw columns become features; absent where inputs are numbers already.
    pub encoding: Option<Encoding>,
    /// What the features of a table are that has no encoding; images and graphs need no names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub schema: Option<Schema>,
    /// Rows of a table to compare others with, learned from the training rows; absent in files of before and for other inputs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub references: Option<References>,
    /// Of a model of pairs: the classes that its classifier of single inputs tells apart, if it has one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub single_classes: Option<Vec<String>>,
}

impl Description {
    /// Whether its parts agree, as far as they can be judged without the weights.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        let Self {
            input, features, ..
        } = self;
        if *features == 0 || !input.fits(*features) {
            return Err(format!("a row of {features} features is not {input}"));
        }
        if let Some(schema) = &self.schema {
            schema.check()?;
            if schema.shape != *input || schema.len() != *features {
                let (named, shape) = (schema.len(), &schema.shape);
                return Err(format!(
                    "the schema is of {shape} with {named} features, the model takes {input} with {features}"
                ));
            }
        }
        if let Some(references) = &self.references {
            references.check(*features)?;
        }
        if self
            .single_classes
            .as_ref()
            .is_some_and(|classes| classes.len() < 2)
        {
            return Err("a classifier of single inputs has at least two classes".to_owned());
        }
        let Some(encoding) = &self.encoding else {
            return Ok(());
        };
        if *input != InputShape::Table {
            return Err(format!("expected a table for its encoding, got {input}"));
        }
        encoding.check()?;
        let encoded = encoding.schema().len();
        if encoded != *features {
            return Err(format!(
                "the encoding gives {encoded} features, the model takes {features}"
            ));
        }
        let classes = encoding.target.classes.iter().map(|class| &class.name);
        if classes.eq(&self.classes) {
            Ok(())
        } else {
            Err("the encoding's target has other classes than the model".to_owned())
        }
    }
}

/// A network and what it is: what one asks for predictions, explanations, attacks and audits.
#[derive(Clone, Debug)]
pub struct Model {
    /// What the network is.
    pub description: Description,
    /// The network.
    pub network: Network,
    /// Where it comes from.
    pub(crate) source: ModelSource,
    schema: OnceLock<Schema>,
}

/// Where a model comes from.
#[derive(Clone, Debug)]
pub(crate) enum ModelSource {
    /// It was never trained by a run that is known.
    Unknown,
    /// A run in memory.
    Run(Box<(RunConfig, Vec<EpochRecord>)>),
    /// A file, which may lie in a run's folder.
    File(PathBuf),
    /// Bytes, with what was known of the model that they were written from.
    Bytes(Box<Origin>),
}

impl Model {
    /// A model with fresh weights.
    ///
    /// # Errors
    /// If the architecture does not fit the input.
    pub fn fresh(
        model: ModelConfig,
        input: InputShape,
        features: usize,
        classes: Vec<String>,
        encoding: Option<Encoding>,
        seed: Seed,
    ) -> Result<Self> {
        let mut source = Fresh::new(seed);
        let network = model.network(&input, features, classes.len(), &mut source)?;
        Ok(Self {
            description: Description {
                format: FORMAT,
                model,
                input,
                features,
                classes,
                encoding,
                schema: None,
                references: None,
                single_classes: None,
            },
            network,
            source: ModelSource::Unknown,
            schema: OnceLock::new(),
        })
    }

    /// A model with fresh weights for the rows of a dataset.
    ///
    /// # Errors
    /// If the architecture does not fit the rows.
    pub fn for_dataset(model: ModelConfig, dataset: &Dataset, seed: Seed) -> Result<Self> {
        let (mut scores, mut fixed) = (None, None);
        let model = match model {
            ModelConfig::Segmented(config) => {
                let (config, found) = config.fit(dataset, seed)?;
                scores = Some(found);
                ModelConfig::Segmented(config)
            }
            ModelConfig::Binned(config) => {
                let (config, found) = config.fit(dataset)?;
                fixed = Some(found);
                ModelConfig::Binned(config)
            }
            other => other,
        };
        let mut fresh = Self::fresh(
            model,
            dataset.shape().clone(),
            dataset.features(),
            dataset.classes.clone(),
            dataset.encoding.clone(),
            seed,
        )?;
        if let Some(scores) = scores {
            scores.write(&mut fresh.network);
        }
        if let Some(fixed) = fixed {
            fixed.write(&mut fresh.network)?;
        }
        if let Some(rule) = fresh.sign_rule() {
            rule.project(&mut fresh.network)?;
        }
        let is_plain = dataset.encoding.is_none() && *dataset.shape() == InputShape::Table;
        fresh.description.schema = is_plain.then(|| dataset.schema.clone());
        let references = &dataset.schema.references;
        fresh.description.references.clone_from(references);
        Ok(fresh)
    }

    /// Which signs its weights must have, where it is monotone in some columns.
    #[must_use]
    pub fn sign_rule(&self) -> Option<SignRule> {
        match &self.description.model {
            ModelConfig::Binned(config) => SignRule::new(config),
            _ => None,
        }
    }

    /// A model of parts that agree.
    pub(crate) fn from_parts(
        description: Description,
        network: Network,
        source: ModelSource,
    ) -> Self {
        Self {
            description,
            network,
            source,
            schema: OnceLock::new(),
        }
    }

    /// What the features of a row are.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        self.schema.get_or_init(|| {
            let Description {
                encoding, schema, ..
            } = &self.description;
            let schema = match (encoding, schema) {
                (Some(encoding), _) => encoding.schema(),
                (None, Some(schema)) => schema.clone(),
                (None, None) => {
                    Schema::of_shape(&self.description.input, self.description.features)
                }
            };
            Schema {
                references: self.description.references.clone(),
                ..schema
            }
        })
    }

    /// Makes the schema again from the description when it is asked for next.
    pub(crate) fn forget_schema(&mut self) {
        self.schema = OnceLock::new();
    }

    /// The names of the classes, in the order of probabilities.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        &self.description.classes
    }

    /// Remembers the run that made it.
    pub(crate) fn trained_by(&mut self, run: RunConfig, epochs: Vec<EpochRecord>) {
        self.source = ModelSource::Run(Box::new((run, epochs)));
    }

    /// The bytes of the model's file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.network.to_file(&self.description_text())
    }

    /// Writes the model to one file: beside first, then renamed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        Ok(self.network.save(path, &self.description_text())?)
    }

    pub(crate) fn description_text(&self) -> String {
        serde_json::to_string(&self.description).expect("a description is plain data")
    }

    /// Reads a model and checks that file and architecture agree. A file whose name ends in `.onnx` is read as [`crate::onnx`] says.
    ///
    /// # Errors
    /// If the file cannot be read, is not a model, or does not fit the architecture it states.
    pub fn load(path: &Path) -> Result<Self> {
        if crate::onnx::is_onnx(path) {
            let imported = crate::onnx::open(path, &crate::onnx::OnnxOptions::default())?;
            return Ok(imported.model);
        }
        let in_file = |source| Error::ModelFile {
            path: path.display().to_string(),
            source,
        };
        let stored = StoredModel::read(path).map_err(in_file)?;
        Self::of_stored(stored, path, ModelSource::File(path.to_owned()))
    }

    /// The model of a file's content; `path` is for messages.
    ///
    /// # Errors
    /// As for [`Model::load`].
    pub(super) fn of_stored(
        mut stored: StoredModel,
        path: &Path,
        source: ModelSource,
    ) -> Result<Self> {
        let in_file = |source| Error::ModelFile {
            path: path.display().to_string(),
            source,
        };
        let description: Description =
            serde_json::from_str(stored.description()).map_err(|source| {
                Error::ModelDescription {
                    path: path.display().to_string(),
                    source,
                }
            })?;
        if description.format != FORMAT {
            return Err(Error::ModelFormat {
                path: path.display().to_string(),
                expected: FORMAT,
                got: description.format,
            });
        }
        description.check().map_err(|problem| Error::ModelContent {
            path: path.display().to_string(),
            problem,
        })?;
        let network = description.model.network(
            &description.input,
            description.features,
            description.classes.len(),
            &mut stored,
        );
        // The builder reports the engine's refusals as such; here they are the file's.
        let mut network = network.map_err(|error| match error {
            Error::Engine(source) => in_file(source),
            other => other,
        })?;
        if let Some(classes) = &description.single_classes {
            let attached = network.attach_single_classifier(classes.len(), &mut stored);
            attached.map_err(in_file)?;
        }
        stored.finish().map_err(in_file)?;
        Ok(Self {
            description,
            network,
            source,
            schema: OnceLock::new(),
        })
    }
}
