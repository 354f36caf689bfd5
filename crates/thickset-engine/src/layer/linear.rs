//! `y = x Wᵀ + b`, with `W` `[out, in]` as in PyTorch.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, Part, single};
use crate::kernel::{affine, linear, linear_input};
use crate::{Init, Parameter, Result, Scope};

/// A fully connected layer.
#[derive(Clone, Debug)]
pub struct Linear {
    weight: Parameter,
    bias: Parameter,
    in_features: usize,
    out_features: usize,
}

impl Linear {
    /// Takes `weight` and `bias` from the scope.
    ///
    /// # Errors
    /// If the scope's source cannot provide them.
    pub fn new(in_features: usize, out_features: usize, scope: &mut Scope<'_>) -> Result<Self> {
        let init = Init::fan_in(in_features);
        Self::starting(in_features, out_features, [init, init], scope)
    }

    /// The same with another start of `weight` and `bias`.
    ///
    /// # Errors
    /// If the scope's source cannot provide them.
    pub fn starting(
        in_features: usize,
        out_features: usize,
        [weight, bias]: [Init; 2],
        scope: &mut Scope<'_>,
    ) -> Result<Self> {
        Ok(Self {
            weight: scope.weight("weight", &[out_features, in_features], weight)?,
            bias: scope.weight("bias", &[out_features], bias)?,
            in_features,
            out_features,
        })
    }

    /// The same with numbers that are no weights: gradients do not fit them. They begin at zero and are written by whoever knows
    /// them.
    ///
    /// # Errors
    /// If the scope's source cannot provide them.
    pub fn fixed(in_features: usize, out_features: usize, scope: &mut Scope<'_>) -> Result<Self> {
        let zero = Init::Constant(0.0);
        Ok(Self {
            weight: scope.statistic("weight", &[out_features, in_features], zero)?,
            bias: scope.statistic("bias", &[out_features], zero)?,
            in_features,
            out_features,
        })
    }
}

impl Layer for Linear {
    fn kind(&self) -> &'static str {
        "linear"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Linear {
            inputs: self.in_features,
            outputs: self.out_features,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.in_features]).then_some(self.out_features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        affine(
            single(inputs),
            self.weight.value.clone(),
            self.bias.value.clone(),
        )
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let weight = self.weight.value.clone();
        (self.forward(inputs), Box::new(At { weight }))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.weight, &self.bias]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.weight, &mut self.bias]
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn part(&self) -> Option<Part<'_>> {
        Some(Part::Linear {
            weight: &self.weight.value,
            bias: &self.bias.value,
        })
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At {
    weight: Tensor<2>,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![linear_input(g, self.weight.clone())]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        linear(single(v), self.weight.clone())
    }
}
