//! The paper's classic CNN: two 3x3 convolutions, each with max pooling, and three linear layers.

use serde::{Deserialize, Serialize};
use thickset_engine::NetworkBuilder;

use super::image::{Image, ImageBuilder};
use super::{Activation, Architecture, ModelConfig, dense};
use crate::Result;
use crate::data::InputShape;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "cnn",
    label: "CNN",
    family: Family::Model,
    summary: "Two 3x3 convolutions with max pooling, three linear layers",
    formula: "[conv3x3, max-pool 2, a] x 2, linear, a, linear, a, linear",
    source: "R2ET, appendix B.1.1 (sizes are not given)",
    direction: None,
    cost: "4 million multiply-adds a 28x28 image",
    defaults: &[
        Setting::new("channels", "of the two convolutions"),
        Setting::new("hidden", "sizes of the hidden linear layers"),
        Setting::new("activation", "or { softplus = { beta = 1.0 } }"),
    ],
};

/// Sizes and the activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CnnConfig {
    /// Of the two convolutions.
    pub channels: [usize; 2],
    /// Of the linear layers before the last.
    pub hidden: Vec<usize>,
    /// Between layers.
    pub activation: Activation,
}

impl Default for CnnConfig {
    fn default() -> Self {
        Self {
            channels: [32, 64],
            hidden: vec![128, 64],
            activation: Activation::Relu,
        }
    }
}

impl Architecture for CnnConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn build(
        &self,
        input: &InputShape,
        outputs: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        let image = Image::of(input, INFO.id)?;
        let mut builder = ImageBuilder { network, image };
        for channels in self.channels {
            let from = builder.network.last();
            builder.conv(from, channels, [3, 1, 1], true)?;
            // Activations rise with their input, so they may follow the pooling: the same function
            // at a quarter of the work.
            builder.max_pool(2)?;
            self.activation.add(builder.network)?;
        }
        dense(&self.hidden, outputs, self.activation, network)
    }

    fn with_activation(&self, activation: Activation) -> ModelConfig {
        Self {
            activation,
            ..self.clone()
        }
        .into()
    }
}
