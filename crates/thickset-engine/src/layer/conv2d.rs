//! Convolution of channel-major images, `W` `[out, in / groups, kernel rows, kernel columns]` as in PyTorch.

use crate::tensor::Tensor;

use super::{Follower, Form, Layer, Linearised, single};
use crate::kernel::{
    ConvShape, JoinedConv, JoinedPool, channel_shift, conv2d, conv2d_input, conv2d_input_joined,
    conv2d_joined, joined_conv2d,
};
use crate::{Init, Parameter, Result, Scope};

/// How many weights there may be for each number of an output row, for a channel affine to run together with a convolution.
const MOST_WEIGHTS: usize = 8;

/// A convolution of any [`ConvShape`]; the bias is optional.
#[derive(Clone, Debug)]
pub struct Conv2d {
    weight: Parameter,
    bias: Option<Parameter>,
    shape: ConvShape,
}

impl Conv2d {
    /// Takes `weight`, and `bias` if there is to be one, from the scope.
    ///
    /// # Errors
    /// If the shape is impossible or the scope's source cannot provide the parameters.
    pub fn new(shape: ConvShape, with_bias: bool, scope: &mut Scope<'_>) -> Result<Self> {
        let shape = shape.checked()?;
        let init = Init::fan_in(shape.fan_in());
        let size = [
            shape.out_channels,
            shape.in_channels / shape.groups,
            shape.kernel[0],
            shape.kernel[1],
        ];
        Ok(Self {
            weight: scope.weight("weight", &size, init)?,
            bias: with_bias
                .then(|| scope.weight("bias", &size[..1], init))
                .transpose()?,
            shape,
        })
    }
}

impl Layer for Conv2d {
    fn kind(&self) -> &'static str {
        "conv2d"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Conv2d {
            shape: self.shape,
            bias: self.bias.is_some(),
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.shape.in_features()]).then(|| self.shape.out_features())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let output = conv2d(single(inputs), self.weight.value.clone(), self.shape);
        match &self.bias {
            Some(bias) => channel_shift(output, bias.value.clone(), self.shape.out_channels),
            None => output,
        }
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At {
            weight: self.weight.value.clone(),
            shape: self.shape,
        };
        (self.forward(inputs), Box::new(at))
    }

    fn joins(&self, follower: Follower) -> bool {
        match follower {
            Follower::ChannelAffine(channels) => {
                // Scaling the gradient of many weights takes longer than scaling few images.
                let weights = self.shape.out_channels * self.shape.fan_in();
                self.bias.is_none()
                    && channels == self.shape.out_channels
                    && weights <= MOST_WEIGHTS * self.shape.out_features()
            }
            Follower::Pool => true,
        }
    }

    fn linearise_joined(
        &self,
        inputs: &[Tensor<2>],
        affine: Option<[Tensor<2>; 2]>,
        pool: Option<JoinedPool>,
    ) -> Option<(Tensor<2>, Box<dyn Linearised>)> {
        let weight = self.weight.value.clone();
        let affine = match affine {
            Some(affine) => affine.map(Some),
            None => [None, self.bias.as_ref().map(|bias| bias.value.clone())],
        };
        let (output, at) = joined_conv2d(single(inputs), weight.clone(), affine, self.shape, pool);
        Some((output, Box::new(JoinedAt { weight, at })))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        std::iter::once(&self.weight).chain(&self.bias).collect()
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        std::iter::once(&mut self.weight)
            .chain(&mut self.bias)
            .collect()
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At {
    weight: Tensor<2>,
    shape: ConvShape,
}

/// The convolution and what follows it, where they ran.
struct JoinedAt {
    weight: Tensor<2>,
    at: JoinedConv,
}

impl Linearised for JoinedAt {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![conv2d_input_joined(g, self.weight.clone(), &self.at)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        conv2d_joined(single(v), self.weight.clone(), &self.at)
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![conv2d_input(g, self.weight.clone(), self.shape)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        conv2d(single(v), self.weight.clone(), self.shape)
    }
}
