//! ResNet-18, with one of two stems before its blocks: for small images a 3x3 convolution and no pooling, for large ones
//! the original's 7x7 convolution of stride 2 and 3x3 max pooling of stride 2.

use serde::{Deserialize, Serialize};
use thickset_engine::NetworkBuilder;
use thickset_engine::layer::{Add, AveragePool};

use super::image::{Image, ImageBuilder};
use super::{Activation, dense};
use crate::Result;
use crate::data::InputShape;
use crate::registry::{Family, Info, Setting};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "resnet18",
    label: "ResNet18",
    family: Family::Model,
    summary: "Four stages of two residual blocks, for images",
    formula: "stem, 4 x [block, block] at strides 1, 2, 2, 2, global average, linear",
    source: "R2ET, appendix B.1.1; He et al. 2016, by default with the stem usual for CIFAR-10",
    direction: None,
    cost: "560 million multiply-adds a 32x32 image",
    defaults: &[
        Setting::new("width", "channels of the first stage"),
        Setting::new(
            "stem",
            "\"small\": conv3x3; \"large\": conv7x7 of stride 2, max-pool 3x3 of stride 2",
        ),
        Setting::new("activation", "or { softplus = { beta = 1.0 } }"),
    ],
};

/// What comes before the blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stem {
    /// A 3x3 convolution, for images of some 32 pixels.
    #[default]
    Small,
    /// A 7x7 convolution of stride 2 and padded 3x3 max pooling of stride 2, for images of hundreds of pixels.
    Large,
}

/// Width, stem and activation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Resnet18Config {
    /// Channels of the first stage.
    pub width: usize,
    /// What comes before the blocks. Files without it have the small one.
    pub stem: Stem,
    /// After each normalisation.
    pub activation: Activation,
}

impl Default for Resnet18Config {
    fn default() -> Self {
        Self {
            width: 64,
            stem: Stem::Small,
            activation: Activation::Relu,
        }
    }
}

impl Resnet18Config {
    pub(super) fn build(
        &self,
        input: &InputShape,
        outputs: usize,
        network: &mut NetworkBuilder<'_>,
    ) -> Result<()> {
        super::check_size("width", self.width)?;
        let image = Image::of(input, INFO.id)?;
        let mut builder = ImageBuilder { network, image };
        match self.stem {
            Stem::Small => builder.block(self.width, self.activation)?,
            Stem::Large => {
                let input = builder.network.last();
                builder.conv_norm(input, self.width, [7, 2, 3])?;
                // Activations rise with their input, so they may follow the pooling.
                builder.overlapping_max_pool()?;
                self.activation.add(builder.network)?
            }
        };
        for (factor, stride) in [(1, 1), (2, 2), (4, 2), (8, 2)] {
            self.residual(&mut builder, factor * self.width, stride)?;
            self.residual(&mut builder, factor * self.width, 1)?;
        }
        let Image {
            channels,
            height,
            width,
        } = builder.image;
        network.then(|_| Ok(AveragePool::global(channels, height, width)))?;
        dense(&[], outputs, self.activation, network)
    }

    /// Two convolutions beside the input itself, or its 1x1 convolution where the shape changes.
    fn residual(
        &self,
        builder: &mut ImageBuilder<'_, '_>,
        channels: usize,
        stride: usize,
    ) -> Result<()> {
        let (start, image) = (builder.network.last(), builder.image);
        builder.conv_norm(start, channels, [3, stride, 1])?;
        let middle = self.activation.add(builder.network)?;
        let end = builder.conv_norm(middle, channels, [3, 1, 1])?;
        let beside = if stride == 1 && image.channels == channels {
            start
        } else {
            builder.image = image;
            builder.conv_norm(start, channels, [1, stride, 0])?
        };
        builder.network.join(&[end, beside], |_| Ok(Add))?;
        self.activation.add(builder.network)?;
        Ok(())
    }
}
