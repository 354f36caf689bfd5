//! One fully connected layer applied to each of several runs of a row's features, as to the steps of a sequence.

use crate::tensor::Tensor;

use super::{Axis, Form, Layer, Linearised, single};
use crate::kernel::{affine, linear, linear_input};
use crate::{Init, Parameter, Result, Scope};

/// `y_t = W x_t + b` for each run `t`, with `W` `[out, in]`.
#[derive(Clone, Debug)]
pub struct LinearRuns {
    weight: Parameter,
    bias: Parameter,
    runs: usize,
    in_features: usize,
    out_features: usize,
}

impl LinearRuns {
    /// Takes `weight` and `bias` from the scope.
    ///
    /// # Errors
    /// If a size is zero or too large, or the scope's source cannot provide the parameters.
    pub fn new(
        runs: usize,
        in_features: usize,
        out_features: usize,
        scope: &mut Scope<'_>,
    ) -> Result<Self> {
        Axis::new(runs, in_features, 1)?;
        Axis::new(runs, out_features, 1)?;
        let init = Init::fan_in(in_features);
        Ok(Self {
            weight: scope.weight("weight", &[out_features, in_features], init)?,
            bias: scope.weight("bias", &[out_features], init)?,
            runs,
            in_features,
            out_features,
        })
    }
}

/// `[rows * runs, size]` of `[rows, runs * size]`, or the other way.
fn reshaped(x: Tensor<2>, rows: usize) -> Tensor<2> {
    let [before, features] = x.dims();
    x.reshape([rows, before * features / rows])
}

impl Layer for LinearRuns {
    fn kind(&self) -> &'static str {
        "linear-runs"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::LinearRuns {
            runs: self.runs,
            inputs: self.in_features,
            outputs: self.out_features,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.runs * self.in_features]).then_some(self.runs * self.out_features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let x = single(inputs);
        let rows = x.dims()[0];
        let (weight, bias) = (self.weight.value.clone(), self.bias.value.clone());
        reshaped(affine(reshaped(x, rows * self.runs), weight, bias), rows)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At {
            weight: self.weight.value.clone(),
            runs: self.runs,
        };
        (self.forward(inputs), Box::new(at))
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

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At {
    weight: Tensor<2>,
    runs: usize,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let rows = g.dims()[0];
        let back = linear_input(reshaped(g, rows * self.runs), self.weight.clone());
        vec![reshaped(back, rows)]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let v = single(v);
        let rows = v.dims()[0];
        let moved = linear(reshaped(v, rows * self.runs), self.weight.clone());
        reshaped(moved, rows)
    }
}
