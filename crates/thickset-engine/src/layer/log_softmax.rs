//! Logarithms of probabilities along one axis: `y = z - log sum exp z`.
//!
//! With `p = exp y`: `J v = v - <p, v>` and `Jᵀ g = g - p <1, g>`; along `v` the latter changes by `-p (v - <p, v>) <1, g>`.

use crate::tensor::{Tensor, activation::log_softmax};

use super::axis::Axis;
use super::{Form, Layer, Linearised, single};

/// The logarithm of the softmax along an axis.
#[derive(Clone, Copy, Debug)]
pub struct LogSoftmax {
    axis: Axis,
}

impl LogSoftmax {
    /// Along this axis.
    #[must_use]
    pub fn new(axis: Axis) -> Self {
        Self { axis }
    }
}

impl Layer for LogSoftmax {
    fn kind(&self) -> &'static str {
        "log-softmax"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::LogSoftmax { axis: self.axis })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let features = self.axis.features();
        (inputs == [features]).then_some(features)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let y = log_softmax(self.axis.split(single(inputs)), 1);
        self.axis.joined(y)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let y = log_softmax(self.axis.split(single(inputs)), 1);
        let at = At {
            p: y.clone().exp(),
            axis: self.axis,
        };
        (self.axis.joined(y), Box::new(at))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    p: Tensor<3>,
    axis: Axis,
}

impl At {
    /// `v - <p, v>`
    fn centred(&self, v: Tensor<2>) -> Tensor<3> {
        let v = self.axis.split(v);
        v.clone() - (self.p.clone() * v).sum_dim(1)
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        let g = self.axis.split(g);
        vec![self.axis.joined(g.clone() - self.p.clone() * g.sum_dim(1))]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.axis.joined(self.centred(single(v)))
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let total = self.axis.split(g.clone()).sum_dim(1);
        let change = self.p.clone() * self.centred(single(v)) * total;
        let moved = self.pullback(g_dot).swap_remove(0);
        vec![moved - self.axis.joined(change)]
    }
}
