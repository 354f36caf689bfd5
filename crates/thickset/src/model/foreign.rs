//! A network that another library computes, such as PyTorch beside a Python program.
//!
//! `z = f(x)`, with f's values and derivatives asked of the other library, layer by layer of [`thickset_engine::layer::Layer`]. It can
//! be explained, attacked and audited like any other; it has no weights here, so it is neither trained nor stored.

use serde::{Deserialize, Serialize};
use thickset_engine::{Network, NetworkBuilder};

use super::stored::{FORMAT, ModelSource};
use super::{Activation, Architecture, Description, Model, ModelConfig};
use crate::data::{InputShape, Schema};
use crate::registry::{Family, Info};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "foreign",
    label: "Foreign",
    family: Family::Model,
    summary: "A network that another library computes; it cannot be trained or stored here",
    formula: "z = f(x), with f's values and derivatives asked of the other library",
    source: "this project",
    direction: None,
    cost: "that of the other library, and of a call for each",
    defaults: &[],
};

/// Nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForeignConfig {}

impl Architecture for ForeignConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(&self, _: &InputShape, _: usize, _: &mut NetworkBuilder<'_>) -> Result<()> {
        Err(Error::ModelInput {
            model: INFO.id,
            expected: "a network that another library computes",
            got: "nothing but a name".to_owned(),
        })
    }

    fn with_activation(&self, _: Activation) -> ModelConfig {
        self.clone().into()
    }
}

impl Model {
    /// A model around a network whose layers were made elsewhere. Its file, should it be written, holds no weights and cannot be read.
    ///
    /// # Errors
    /// If there are not as many names as the network has features, or as it has classes.
    pub fn of_network(network: Network, schema: Schema, classes: Vec<String>) -> Result<Self> {
        for (what, expected, got) in [
            (
                "the names of the features",
                network.features(),
                schema.len(),
            ),
            ("the names of the classes", network.classes(), classes.len()),
        ] {
            if expected != got {
                return Err(Error::LengthMismatch {
                    what,
                    expected,
                    got,
                });
            }
        }
        let description = Description {
            references: None,
            format: FORMAT,
            model: ForeignConfig::default().into(),
            input: schema.shape.clone(),
            features: schema.len(),
            classes,
            encoding: None,
            schema: Some(schema),
            single_classes: None,
        };
        Ok(Self::from_parts(description, network, ModelSource::Unknown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ExplainOptions;
    use crate::{Rows, toy};

    #[test]
    fn a_network_from_elsewhere_answers_like_any_other_and_is_not_read_from_a_file() {
        let (network, schema) = (toy::network(), toy::schema());
        let classes = ["no", "yes"].map(str::to_owned).to_vec();
        let model = Model::of_network(network, schema.clone(), classes.clone()).unwrap();
        // The margin is the logarithm of 3.
        let row = [3.0_f32.ln() / 4.0, 1.0, 2.0];
        let rows = Rows::new(&row, &schema).unwrap();
        assert!((model.predict(&rows).unwrap()[0].probabilities[0] - 0.75).abs() < 1e-6);
        assert_eq!(
            model
                .explain(&rows, &ExplainOptions::default())
                .unwrap()
                .rows
                .len(),
            1
        );
        let read = Model::from_bytes(&model.to_bytes(), None).unwrap_err();
        assert!(
            read.to_string().contains("another library computes"),
            "{read}"
        );
        let refused = Model::of_network(toy::network(), schema, classes[..1].to_vec());
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("must have length 2, got 1")
        );
    }
}
