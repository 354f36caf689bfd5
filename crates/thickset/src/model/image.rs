//! What image architectures share: the image's size as it shrinks, and the usual blocks.

use thickset_engine::kernel::{ConvShape, PoolShape};
use thickset_engine::layer::{BatchNorm, Conv2d, MaxPool};
use thickset_engine::{NetworkBuilder, Source};

use super::{Activation, check_size};
use crate::data::InputShape;
use crate::{Error, Result};

/// Channels and size of the image that a layer gives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl Image {
    /// The image that the input is.
    pub(super) fn of(input: &InputShape, model: &'static str) -> Result<Self> {
        match input {
            InputShape::Image {
                channels,
                height,
                width,
            } => Ok(Self {
                channels: *channels,
                height: *height,
                width: *width,
            }),
            other => Err(Error::ModelInput {
                model,
                expected: "images",
                got: other.to_string(),
            }),
        }
    }
}

impl Image {
    fn size(self) -> [usize; 3] {
        [self.channels, self.height, self.width]
    }
}

/// Adds image layers to a network, following the image's size.
pub(super) struct ImageBuilder<'b, 's> {
    pub network: &'b mut NetworkBuilder<'s>,
    pub image: Image,
}

impl ImageBuilder<'_, '_> {
    /// A square convolution of what `from` gives.
    pub(super) fn conv(
        &mut self,
        from: Source,
        out_channels: usize,
        [kernel, stride, padding]: [usize; 3],
        with_bias: bool,
    ) -> Result<Source> {
        check_size("channels", out_channels)?;
        let shape = ConvShape::square(self.image.size(), out_channels, kernel, stride, padding)
            .checked()
            .map_err(thickset_engine::Error::from)?;
        self.image = Image {
            channels: out_channels,
            height: shape.out_height(),
            width: shape.out_width(),
        };
        let make = |scope: &mut thickset_engine::Scope<'_>| Conv2d::new(shape, with_bias, scope);
        Ok(self.network.join(&[from], make)?)
    }

    /// Convolution without bias, then batch normalisation.
    pub(super) fn conv_norm(
        &mut self,
        from: Source,
        out_channels: usize,
        sizes: [usize; 3],
    ) -> Result<Source> {
        self.conv(from, out_channels, sizes, false)?;
        Ok(self
            .network
            .then(|scope| BatchNorm::new(out_channels, scope))?)
    }

    /// Convolution 3x3, batch normalisation, activation.
    pub(super) fn block(&mut self, out_channels: usize, activation: Activation) -> Result<Source> {
        self.conv_norm(self.network.last(), out_channels, [3, 1, 1])?;
        activation.add(self.network)
    }

    /// The same with max pooling by 2 before the activation, which rises with its input, so that the
    /// order changes nothing but the work.
    pub(super) fn pooled_block(
        &mut self,
        out_channels: usize,
        activation: Activation,
    ) -> Result<Source> {
        self.conv_norm(self.network.last(), out_channels, [3, 1, 1])?;
        self.max_pool(2)?;
        activation.add(self.network)
    }

    /// Max pooling by `window`, without overlap.
    pub(super) fn max_pool(&mut self, window: usize) -> Result<Source> {
        self.pool(PoolShape::square(self.image.size(), window))
    }

    /// Max pooling by 3 at every second pixel, one pixel beyond the image on each side.
    pub(super) fn overlapping_max_pool(&mut self) -> Result<Source> {
        self.pool(PoolShape {
            window: [3; 2],
            stride: [2; 2],
            padding: [[1; 2]; 2],
            ..PoolShape::square(self.image.size(), 1)
        })
    }

    fn pool(&mut self, shape: PoolShape) -> Result<Source> {
        let source = self.network.then(|_| MaxPool::new(shape))?;
        self.image.height = shape.out_height();
        self.image.width = shape.out_width();
        Ok(source)
    }
}
