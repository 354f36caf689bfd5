//! Softmax: logits `z` to probabilities `p`.
//!
//! `Jᵀ g = p (g - <p, g>)`, and `J` is symmetric, so `J v` has the same form.

use burn::tensor::{Tensor, activation::softmax};

use super::{Form, Layer, Linearised, single};

/// Probabilities of each row.
#[derive(Clone, Copy, Debug)]
pub struct Softmax;

impl Layer for Softmax {
    fn kind(&self) -> &'static str {
        "softmax"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Softmax)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [classes] = inputs else { return None };
        Some(*classes)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        softmax(single(inputs), 1)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let p = self.forward(inputs);
        (p.clone(), Box::new(At { p }))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    p: Tensor<2>,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![self.tangent(&[g])]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        let weighted = self.p.clone() * single(v);
        weighted.clone() - self.p.clone() * weighted.sum_dim(1)
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let p_dot = self.tangent(v);
        let mean = (self.p.clone() * g.clone()).sum_dim(1);
        let mean_dot = (p_dot.clone() * g.clone() + self.p.clone() * g_dot.clone()).sum_dim(1);
        vec![p_dot * (g.clone() - mean) + self.p.clone() * (g_dot - mean_dot)]
    }
}
