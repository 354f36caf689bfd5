//! A network of layers that no other architecture names: what a file of another framework holds.
//!
//! `z = L_n(... L_1(x) ...)`, each layer reading the input or earlier layers. The list of layers is data, so such a model is
//! stored, trained further and written back like any other.

use serde::{Deserialize, Serialize};
use thickset_engine::layer::Form;
use thickset_engine::{NetworkBuilder, Source};

use super::{Activation, Architecture, ModelConfig};
use crate::data::InputShape;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "graph",
    label: "Graph of layers",
    family: Family::Model,
    summary: "The layers of another framework's model, as its ONNX file gave them",
    formula: "z = L_n(... L_1(x) ...), each layer reading the input or earlier ones",
    source: "ours, for models of PyTorch, scikit-learn and Keras",
    direction: None,
    cost: "that of its layers",
    defaults: &[Setting::new(
        "layers",
        "each with its form and the numbers of what it reads; 0 is the input",
    )],
};

/// The layers, in an order in which each reads only earlier ones.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GraphConfig {
    /// The last one gives the logits.
    pub layers: Vec<GraphLayer>,
}

/// One layer and what it reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphLayer {
    /// What it is.
    pub form: Form,
    /// 0 for the input, `i + 1` for layer `i`.
    pub reads: Vec<usize>,
}

impl Architecture for GraphConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(
        &self,
        _: &InputShape,
        classes: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        let refuse = |expected, got| Error::ModelInput {
            model: INFO.id,
            expected,
            got,
        };
        for (place, layer) in self.layers.iter().enumerate() {
            let mut inputs = Vec::with_capacity(layer.reads.len());
            for &read in &layer.reads {
                if read > place {
                    return Err(refuse(
                        "layers that read earlier ones",
                        format!("layer {place} that reads layer {}", read - 1),
                    ));
                }
                inputs.push(read.checked_sub(1).map_or(Source::Input, Source::Layer));
            }
            // These two make other rows of rows, which only their own architecture undoes.
            if matches!(layer.form, Form::PairSplit | Form::Cosine) || inputs.is_empty() {
                return Err(refuse(
                    "layers of single rows that read something",
                    format!("{:?}", layer.form),
                ));
            }
            network.join_form(&inputs, &layer.form)?;
        }
        let made = network.features(network.last());
        if self.layers.is_empty() || made != classes {
            return Err(refuse(
                "a last layer with one output a class",
                format!("{made} outputs for {classes} classes"),
            ));
        }
        Ok(())
    }

    fn with_activation(&self, activation: Activation) -> ModelConfig {
        let mut layers = self.layers.clone();
        if let Activation::Softplus { beta } = activation {
            for layer in layers.iter_mut().filter(|layer| layer.form == Form::Relu) {
                layer.form = Form::Softplus { beta };
            }
        }
        Self { layers }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::model::Fresh;

    fn layer(form: Form, reads: &[usize]) -> GraphLayer {
        GraphLayer {
            form,
            reads: reads.to_vec(),
        }
    }

    #[test]
    fn a_residual_graph_is_built_and_survives_both_kinds_of_text() {
        let graph = GraphConfig {
            layers: vec![
                layer(
                    Form::Linear {
                        inputs: 3,
                        outputs: 3,
                    },
                    &[0],
                ),
                layer(
                    Form::Clip {
                        least: Some(0.0),
                        most: None,
                    },
                    &[1],
                ),
                layer(Form::Add, &[0, 2]),
                layer(
                    Form::Linear {
                        inputs: 3,
                        outputs: 2,
                    },
                    &[3],
                ),
            ],
        };
        let model = ModelConfig::from(graph);
        let network = model
            .network(&InputShape::Table, 3, 2, &mut Fresh::new(Seed::new(0)))
            .unwrap();
        assert_eq!(network.classes(), 2);
        let json: ModelConfig =
            serde_json::from_str(&serde_json::to_string(&model).unwrap()).unwrap();
        assert_eq!(json, model);
        let toml: ModelConfig = toml::from_str(&toml::to_string(&model).unwrap()).unwrap();
        assert_eq!(toml, model);
    }

    #[test]
    fn graphs_that_read_ahead_or_end_elsewhere_are_refused() {
        let refused = |layers: Vec<GraphLayer>| {
            let model = ModelConfig::from(GraphConfig { layers });
            model
                .network(&InputShape::Table, 3, 2, &mut Fresh::new(Seed::new(0)))
                .is_err()
        };
        assert!(refused(Vec::new()));
        assert!(refused(vec![layer(Form::Relu, &[2])]));
        assert!(
            refused(vec![layer(Form::Relu, &[0])]),
            "three outputs for two classes"
        );
        assert!(refused(vec![layer(Form::PairSplit, &[0])]));
        assert!(refused(vec![layer(Form::Concatenate, &[])]));
    }
}
