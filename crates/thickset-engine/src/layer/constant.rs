//! Numbers that are the same for every row, such as what an image is padded with.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised};
use crate::{Init, Parameter, Result, Scope};

/// `y = c`, for as many rows as its input has.
#[derive(Clone, Debug)]
pub struct Constant {
    value: Parameter,
}

impl Constant {
    /// Takes `value`, which is never fitted, from the scope.
    ///
    /// # Errors
    /// If the scope's source cannot provide it.
    pub fn new(features: usize, scope: &mut Scope<'_>) -> Result<Self> {
        Ok(Self {
            value: scope.statistic("value", &[features], Init::Constant(0.0))?,
        })
    }
}

impl Layer for Constant {
    fn kind(&self) -> &'static str {
        "constant"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Constant {
            features: self.value.len(),
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs.len() == 1).then(|| self.value.len())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let [rows, _] = inputs[0].dims();
        self.value.value.clone().repeat_dim(0, rows)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At {
            read: inputs[0].dims()[1],
            made: self.value.len(),
        };
        (self.forward(inputs), Box::new(at))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.value]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.value]
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At {
    read: usize,
    made: usize,
}

fn zeros(like: &Tensor<2>, features: usize) -> Tensor<2> {
    Tensor::zeros([like.dims()[0], features], (&like.device(), like.dtype()))
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![zeros(&g, self.read)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        zeros(&v[0], self.made)
    }
}
