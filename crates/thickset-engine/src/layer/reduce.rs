//! The sum or the mean over one axis.

use crate::tensor::Tensor;

use super::axis::Axis;
use super::{Form, Layer, Linearised, single};

/// `y = factor * sum over the axis of x`.
#[derive(Clone, Copy, Debug)]
pub struct Reduce {
    axis: Axis,
    mean: bool,
    factor: f64,
}

impl Reduce {
    /// The sum over the axis.
    #[must_use]
    pub fn sum(axis: Axis) -> Self {
        Self {
            axis,
            mean: false,
            factor: 1.0,
        }
    }

    /// The mean over the axis.
    #[must_use]
    pub fn mean(axis: Axis) -> Self {
        Self {
            axis,
            mean: true,
            factor: axis.share(),
        }
    }
}

impl Layer for Reduce {
    fn kind(&self) -> &'static str {
        "reduce"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Reduce {
            axis: self.axis,
            mean: self.mean,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.axis.features()]).then(|| self.axis.reduced())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.tangent(inputs)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        (self.forward(inputs), Box::new(*self))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

impl Linearised for Reduce {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let [rows, _] = g.dims();
        let blocks = g.reshape([rows * self.axis.before(), 1, self.axis.after()]) * self.factor;
        vec![self.axis.joined(blocks.repeat_dim(1, self.axis.size()))]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let sums = self.axis.split(single(v)).sum_dim(1);
        self.axis.joined(sums * self.factor)
    }
}
