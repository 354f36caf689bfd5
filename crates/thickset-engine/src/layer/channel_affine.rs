//! A scale and a shift for each channel, or for each feature where there are as many channels.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, single};
use crate::kernel::{channel_scale, channel_shift};
use crate::{Init, Parameter, Result, Role, Scope};

/// `y = scale x + shift`, channel by channel.
#[derive(Clone, Debug)]
pub struct ChannelAffine {
    scale: Parameter,
    shift: Parameter,
    channels: usize,
}

impl ChannelAffine {
    /// Takes `weight` and `bias`, which gradients fit, from the scope.
    ///
    /// # Errors
    /// If the scope's source cannot provide them.
    pub fn new(channels: usize, scope: &mut Scope<'_>) -> Result<Self> {
        Ok(Self {
            scale: scope.weight("weight", &[channels], Init::Constant(1.0))?,
            shift: scope.weight("bias", &[channels], Init::Constant(0.0))?,
            channels,
        })
    }

    /// The same of numbers that are never fitted, such as the means and deviations of a scaler.
    ///
    /// # Errors
    /// If the scope's source cannot provide them.
    pub fn fixed(channels: usize, scope: &mut Scope<'_>) -> Result<Self> {
        Ok(Self {
            scale: scope.statistic("weight", &[channels], Init::Constant(1.0))?,
            shift: scope.statistic("bias", &[channels], Init::Constant(0.0))?,
            channels,
        })
    }
}

impl Layer for ChannelAffine {
    fn kind(&self) -> &'static str {
        "channel-affine"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::ChannelAffine {
            channels: self.channels,
            fixed: self.scale.role == Role::Statistic,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [features] = inputs else { return None };
        features.is_multiple_of(self.channels).then_some(*features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearise(inputs).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = ScaledChannels {
            factor: self.scale.value.clone(),
            channels: self.channels,
        };
        let scaled = at.tangent(inputs);
        (
            channel_shift(scaled, self.shift.value.clone(), self.channels),
            Box::new(at),
        )
    }

    fn channel_affine(&self) -> Option<[Tensor<2>; 2]> {
        Some([self.scale.value.clone(), self.shift.value.clone()])
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.scale, &self.shift]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.scale, &mut self.shift]
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

/// Each channel times its own factor, which is a constant there.
pub(super) struct ScaledChannels {
    pub(super) factor: Tensor<2>,
    pub(super) channels: usize,
}

impl Linearised for ScaledChannels {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![channel_scale(g, self.factor.clone(), self.channels)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        channel_scale(single(v), self.factor.clone(), self.channels)
    }
}
