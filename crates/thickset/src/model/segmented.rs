//! Segmented scorecards, learnt jointly: a linear model for everyone, and corrections for the segments that a row lies in.
//!
//! `m(x) = b + w . x + sum over blocks q and their segments c of pi_qc(x) (V_qc . x + b_qc)`. A block is a one-hot column, whose segments
//! are its categories, or the prototypes of the columns of numbers, whose segments are the regions nearest to each. pi is the argmax of the block's
//! scores, or `sparsemax(score / delta)`, which makes the model continuous. Of two classes m is the margin of the second; of more, each
//! class has an m.
//!
//! Why its explanations hold and still differ between people: two categories lie `sqrt(2)` apart, so no move below
//! `(1 - delta) / sqrt(2)` (delta is 0 for the argmax) leaves a segment, and within it the gradient of m is one row of numbers. That
//! is a certificate ([`certify`](crate::certify::segmented)).
//!
//! Blocks and prototypes are learnt from the training rows before the weights are.

mod prototypes;

use serde::{Deserialize, Serialize};
use thickset_engine::layer::{GatedLinear, Gates, Gating};
use thickset_engine::{Network, NetworkBuilder, Source};

use super::{Activation, Architecture, ModelConfig, check_size};
use crate::check::check_positive;
use crate::data::{Dataset, FeatureKind, InputShape, Part, Schema};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result, Seed};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "segmented",
    label: "Segmented",
    family: Family::Model,
    summary: "A linear model with corrections for each category or group of rows, for tables; its explanations are constant within a segment",
    formula: "m(x) = b + w.x + sum over blocks q, segments c of pi_qc(x) (V_qc.x + b_qc); pi = argmax or sparsemax(score / delta)",
    source: "thickset; segmented scorecards as credit knows them, learnt jointly",
    direction: None,
    cost: "segments x features multiply-adds a row",
    defaults: &[
        Setting::new(
            "gate",
            "or { sparsemax = { delta = 0.2 } }, which is continuous",
        ),
        Setting::in_words(
            "prototypes",
            "none where the table has categories, else 8",
            "groups of the columns of numbers, by k-means; 0 for none",
        ),
    ],
};

/// How a row's segments are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Gate {
    /// The segment with the largest score.
    #[default]
    Argmax,
    /// `sparsemax(score / delta)`: shares of several segments where their scores are within delta.
    Sparsemax {
        /// How far a score must be ahead to have its block alone.
        delta: f64,
    },
}

/// The gates and the prototypes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SegmentedConfig {
    /// How a row's segments are decided.
    pub gate: Gate,
    /// Prototypes of the columns of numbers, 0 for none; 8 where absent and the table has no categories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prototypes: Option<usize>,
    /// The number of segments of each block, filled in from the data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<usize>,
}

/// Prototypes of a table without categories.
const USUAL_PROTOTYPES: usize = 8;

/// The most prototypes that may be asked for.
const MOST_PROTOTYPES: usize = 256;

/// Scores of all segments, as the layer wants them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scores {
    weight: Vec<f64>,
    bias: Vec<f64>,
}

impl Scores {
    /// Gives them to a fresh network.
    pub(super) fn write(self, network: &mut Network) {
        if let Some(gates) = network.gates_mut() {
            gates.set_scores(self.weight, self.bias);
        }
    }
}

impl SegmentedConfig {
    /// The same with the blocks of a table, and the scores of their segments: categories as the schema groups them, prototypes
    /// from the training rows.
    ///
    /// # Errors
    /// If the rows are no table, or a setting is out of range.
    pub(super) fn fit(&self, dataset: &Dataset, seed: Seed) -> Result<(Self, Scores)> {
        self.check(dataset.shape())?;
        let features = dataset.features();
        let (mut blocks, mut weight, mut bias) = (Vec::new(), Vec::new(), Vec::new());
        let categories = categories(&dataset.schema);
        for block in &categories {
            blocks.push(block.len());
            for &feature in block {
                let mut row = vec![0.0; features];
                row[feature] = 1.0;
                weight.extend(row);
                bias.push(0.0);
            }
        }
        let usual = if categories.is_empty() {
            USUAL_PROTOTYPES
        } else {
            0
        };
        let numbers = numbers(&dataset.schema);
        let wanted = self.prototypes.unwrap_or(usual);
        if wanted > 1 && !numbers.is_empty() {
            let rows = dataset.part(Part::Train);
            let found = prototypes::find(dataset, rows, &numbers, wanted, seed);
            blocks.push(found.len());
            for centre in found {
                let mut row = vec![0.0; features];
                for (&feature, &value) in numbers.iter().zip(&centre) {
                    row[feature] = value;
                }
                let square: f64 = centre.iter().map(|value| value * value).sum();
                weight.extend(row);
                bias.push(-square / 2.0);
            }
        }
        if blocks.is_empty() {
            // One segment for everyone: a linear model.
            (blocks, weight, bias) = (vec![1], vec![0.0; features], vec![0.0]);
        }
        let config = Self {
            blocks,
            ..self.clone()
        };
        Ok((config, Scores { weight, bias }))
    }

    fn check(&self, input: &InputShape) -> Result<()> {
        if *input != InputShape::Table {
            return Err(Error::ModelInput {
                model: INFO.id,
                expected: "tables",
                got: input.to_string(),
            });
        }
        if let Gate::Sparsemax { delta } = self.gate {
            check_positive("`model.gate.sparsemax.delta`", delta)?;
        }
        match self.prototypes {
            Some(got) if got > MOST_PROTOTYPES => Err(Error::ModelSize {
                name: "prototypes",
                expected: "at most 256",
                got,
            }),
            _ => Ok(()),
        }
    }
}

/// The features of each one-hot column with at least two categories.
fn categories(schema: &Schema) -> Vec<Vec<usize>> {
    let mut blocks: Vec<(usize, Vec<usize>)> = Vec::new();
    for (place, feature) in schema.features.iter().enumerate() {
        let Some(group) = feature.group else { continue };
        match blocks.iter_mut().find(|(of, _)| *of == group) {
            Some((_, features)) => features.push(place),
            None => blocks.push((group, vec![place])),
        }
    }
    let blocks = blocks.into_iter().map(|(_, features)| features);
    blocks.filter(|features| features.len() > 1).collect()
}

/// The features that are numbers.
fn numbers(schema: &Schema) -> Vec<usize> {
    let features = schema.features.iter().enumerate();
    features
        .filter(|(_, feature)| feature.kind == FeatureKind::Number)
        .map(|(place, _)| place)
        .collect()
}

impl Architecture for SegmentedConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(
        &self,
        input: &InputShape,
        classes: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        self.check(input)?;
        let features = network.features(Source::Input);
        let one = vec![1];
        let blocks = if self.blocks.is_empty() {
            &one
        } else {
            &self.blocks
        };
        let gates = blocks
            .iter()
            .fold(0_usize, |sum, &size| sum.saturating_add(size));
        check_size("blocks", gates)?;
        let gating = match self.gate {
            Gate::Argmax => Gating::Argmax,
            Gate::Sparsemax { delta } => Gating::Sparsemax { delta },
        };
        let open = network.then(|scope| Gates::new(features, blocks, gating, scope))?;
        network.join(&[Source::Input, open], |scope| {
            GatedLinear::new(features, gates, classes, scope)
        })?;
        Ok(())
    }

    fn with_activation(&self, _: Activation) -> ModelConfig {
        self.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::read;
    use crate::model::Model;

    /// Two numbers and a column of three categories; the second category turns the first number's sign.
    fn toy() -> Dataset {
        let mut stream = Seed::new(1).stream("rows");
        let (mut values, mut labels) = (Vec::new(), Vec::new());
        for row in 0..300 {
            let (a, b, category) = (stream.uniform(), stream.uniform(), row % 3);
            let sign = if category == 1 { -1.0 } else { 1.0 };
            labels.push(usize::from(sign * (a - 0.5) + 0.2 * (b - 0.5) > 0.0));
            let hot = |wanted: usize| f32::from(u8::from(category == wanted));
            #[expect(clippy::cast_possible_truncation, reason = "rows are f32")]
            values.extend([a as f32, b as f32, hot(0), hot(1), hot(2)]);
        }
        let mut dataset =
            Dataset::from_rows(values, labels, &["a", "b", "c0", "c1", "c2"]).unwrap();
        for feature in &mut dataset.schema.features[2..] {
            feature.group = Some(0);
            feature.kind = FeatureKind::Level {
                values: vec![feature.name.clone()],
            };
        }
        dataset
    }

    #[test]
    fn blocks_are_the_categories_and_prototypes_come_only_when_asked_for_or_needed() {
        let data = toy();
        let fit = |prototypes| {
            let config = SegmentedConfig {
                prototypes,
                ..SegmentedConfig::default()
            };
            config.fit(&data, Seed::new(0)).unwrap().0.blocks
        };
        assert_eq!(fit(None), [3]);
        assert_eq!(fit(Some(4)), [3, 4]);
        let mut plain = data.clone();
        for feature in &mut plain.schema.features {
            feature.group = None;
            feature.kind = FeatureKind::Number;
        }
        let config = SegmentedConfig::default();
        assert_eq!(config.fit(&plain, Seed::new(0)).unwrap().0.blocks, [8]);
    }

    #[test]
    fn the_gradient_of_the_margin_is_the_map_of_the_rows_segment() {
        let data = toy();
        let config = SegmentedConfig::default();
        let mut model = Model::for_dataset(config.into(), &data, Seed::new(0)).unwrap();
        // W = (1, 2, 0, 0, 0), b = 0.5; V = (0, 1, ...) in the first segment, (-3, 0, ...) in the second; b_c = 0, 7, 0.
        let weights = model.network.parameters_mut();
        for parameter in weights {
            let size = parameter.value.dims();
            let values = match parameter.name.rsplit('.').next() {
                Some("weight") if parameter.shape.len() == 2 && size[0] == 1 => {
                    vec![1.0, 2.0, 0.0, 0.0, 0.0]
                }
                Some("bias") if size == [1, 1] => vec![0.5],
                Some("gated_weight") => {
                    let mut values = vec![0.0; 15];
                    (values[1], values[5]) = (1.0, -3.0);
                    values
                }
                Some("gated_bias") => vec![0.0, 7.0, 0.0],
                _ => continue,
            };
            let data = thickset_engine::TensorData::new(values, size);
            let like = &parameter.value;
            parameter.value =
                thickset_engine::Tensor::from_data(data, (&like.device(), like.dtype()));
        }
        let network = &model.network;
        let x = network.batch(&[
            0.5, 0.25, 1.0, 0.0, 0.0, //
            0.5, 0.25, 0.0, 1.0, 0.0,
        ]);
        let pass = network.pass(x);
        crate::toy::assert_close(&read(pass.logits()), &[0.0, 1.75, 0.0, 7.0]);
        let classes =
            thickset_engine::one_hot(&[1, 1], 2, network.dtype(), &pass.logits().device());
        let gradient = pass.input_gradient(thickset_engine::Output::Logit, classes);
        let expected = [
            1.0, 3.0, 0.0, 0.0, 0.0, //
            -2.0, 2.0, 0.0, 0.0, 0.0,
        ];
        crate::toy::assert_close(&read(gradient.value()), &expected);
    }

    #[test]
    fn images_and_impossible_settings_are_refused() {
        let refused = |text: &str, input: &InputShape| {
            let config: ModelConfig = toml::from_str(text).unwrap();
            let mut source = crate::model::Fresh::new(Seed::new(0));
            config.network(input, 4, 2, &mut source).is_err()
        };
        let image = InputShape::Image {
            channels: 1,
            height: 2,
            width: 2,
        };
        assert!(refused("kind = \"segmented\"", &image));
        for text in [
            "gate = { sparsemax = { delta = 0.0 } }",
            "prototypes = 1000",
        ] {
            let text = format!("kind = \"segmented\"\n{text}");
            assert!(refused(&text, &InputShape::Table), "{text}");
        }
        assert!(!refused("kind = \"segmented\"", &InputShape::Table));
    }
}
