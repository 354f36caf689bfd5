//! The sum of two equal shapes, which closes a residual block.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised};

/// `y = a + b`.
#[derive(Clone, Copy, Debug)]
pub struct Add;

impl Layer for Add {
    fn kind(&self) -> &'static str {
        "add"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Add)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [a, b] = inputs else { return None };
        (a == b).then_some(*a)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        inputs[0].clone() + inputs[1].clone()
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        (self.forward(inputs), Box::new(At))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At;

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g.clone(), g]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        v[0].clone() + v[1].clone()
    }
}
