//! ReLU: `max(x, 0)`, with derivative 0 at 0.

use crate::tensor::Tensor;

use super::Softplus;
use crate::kernel::gate;
use crate::layer::{Form, Layer, Linearised, Part, same, single};

/// `max(x, 0)`.
#[derive(Clone, Copy, Debug)]
pub struct Relu;

impl Layer for Relu {
    fn kind(&self) -> &'static str {
        "relu"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Relu)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        same(inputs)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        let x = single(inputs);
        gate(x.clone(), x)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = single(inputs);
        // Which side of the kink a row is on has no derivative.
        let decider = x.clone().without_autodiff();
        (gate(x, decider.clone()), Box::new(ReluAt { decider }))
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        Some(Box::new(Softplus::of(beta)))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn part(&self) -> Option<Part<'_>> {
        Some(Part::Relu)
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct ReluAt {
    decider: Tensor<2>,
}

impl Linearised for ReluAt {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![gate(g, self.decider.clone())]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        gate(single(v), self.decider.clone())
    }
}
