//! Leaky ReLU with a learned slope for each channel.

use crate::tensor::Tensor;

use crate::kernel::{channel_scale, gate};
use crate::layer::{Form, Layer, Linearised, single};
use crate::{Init, Parameter, Result, Scope};

/// The slope that PyTorch starts with.
const START: f64 = 0.25;

/// `x` where it is positive, else the channel's slope times `x`.
#[derive(Clone, Debug)]
pub struct Prelu {
    slope: Parameter,
    channels: usize,
}

impl Prelu {
    /// Takes `weight`, one slope a channel, from the scope.
    ///
    /// # Errors
    /// If the scope's source cannot provide it.
    pub fn new(channels: usize, scope: &mut Scope<'_>) -> Result<Self> {
        Ok(Self {
            slope: scope.weight("weight", &[channels], Init::Constant(START))?,
            channels,
        })
    }
}

impl Layer for Prelu {
    fn kind(&self) -> &'static str {
        "prelu"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Prelu {
            channels: self.channels,
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
        let x = single(inputs);
        let at = At {
            decider: x.clone().without_autodiff(),
            slope: self.slope.value.clone(),
            channels: self.channels,
        };
        (at.apply(x), Box::new(at))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.slope]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.slope]
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At {
    decider: Tensor<2>,
    slope: Tensor<2>,
    channels: usize,
}

impl At {
    /// The Jacobian is diagonal, so it is its own transpose.
    fn apply(&self, x: Tensor<2>) -> Tensor<2> {
        let positive = gate(x.clone(), self.decider.clone());
        let negative = x - positive.clone();
        positive + channel_scale(negative, self.slope.clone(), self.channels)
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![self.apply(g)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.apply(single(v))
    }
}
