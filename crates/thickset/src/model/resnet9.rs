//! ResNet-9: eight convolutions with batch normalisation, two residual blocks, one linear layer.

use serde::{Deserialize, Serialize};
use thickset_engine::NetworkBuilder;
use thickset_engine::layer::Add;

use super::image::{Image, ImageBuilder};
use super::{Activation, Architecture, ModelConfig, dense};
use crate::data::InputShape;
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "resnet9",
    label: "ResNet-9",
    family: Family::Model,
    summary: "Eight convolutions with two residual blocks, for small images",
    formula: "w, 2w, pool, residual(2w), 4w, pool, 8w, pool, residual(8w), max-pool, linear",
    source: "R2ET's released code (the paper says ResNet-18)",
    direction: None,
    cost: "380 million multiply-adds a 32x32 image",
    defaults: &[
        Setting::new("width", "channels of the first convolution"),
        Setting::new("activation", "or { softplus = { beta = 1.0 } }"),
    ],
};

/// Width and activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Resnet9Config {
    /// Channels of the first convolution.
    pub width: usize,
    /// After each normalisation.
    pub activation: Activation,
}

impl Default for Resnet9Config {
    fn default() -> Self {
        Self {
            width: 64,
            activation: Activation::Relu,
        }
    }
}

impl Architecture for Resnet9Config {
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
        if image.height != image.width || image.height < 8 {
            return Err(Error::ModelInput {
                model: INFO.id,
                expected: "square images of at least 8 by 8",
                got: input.to_string(),
            });
        }
        super::check_size("width", self.width)?;
        let mut builder = ImageBuilder { network, image };
        builder.block(self.width, self.activation)?;
        builder.pooled_block(2 * self.width, self.activation)?;
        self.residual(&mut builder)?;
        for factor in [4, 8] {
            builder.pooled_block(factor * self.width, self.activation)?;
        }
        self.residual(&mut builder)?;
        builder.max_pool(builder.image.height)?;
        dense(&[], outputs, self.activation, network)
    }

    fn with_activation(&self, activation: Activation) -> ModelConfig {
        Self {
            activation,
            ..self.clone()
        }
        .into()
    }
}

impl Resnet9Config {
    /// Two blocks around which the input is added.
    fn residual(&self, builder: &mut ImageBuilder<'_, '_>) -> Result<()> {
        let start = builder.network.last();
        let channels = builder.image.channels;
        builder.block(channels, self.activation)?;
        let end = builder.block(channels, self.activation)?;
        builder.network.join(&[end, start], |_| Ok(Add))?;
        Ok(())
    }
}
