//! The product of two equal shapes, number by number.

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised};

/// `y = a b`.
#[derive(Clone, Copy, Debug)]
pub struct Multiply;

impl Layer for Multiply {
    fn kind(&self) -> &'static str {
        "multiply"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Multiply)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [a, b] = inputs else { return None };
        (a == b).then_some(*a)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        inputs[0].clone() * inputs[1].clone()
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let at = At {
            a: inputs[0].clone(),
            b: inputs[1].clone(),
        };
        (self.forward(inputs), Box::new(at))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    a: Tensor<2>,
    b: Tensor<2>,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g.clone() * self.b.clone(), g * self.a.clone()]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        v[0].clone() * self.b.clone() + self.a.clone() * v[1].clone()
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        vec![
            g_dot.clone() * self.b.clone() + g.clone() * v[1].clone(),
            g_dot * self.a.clone() + g.clone() * v[0].clone(),
        ]
    }
}
