//! Softmax: logits `z` to probabilities `p`.
//!
//! `Jᵀ g = p (g - <p, g>)`, and `J` is symmetric, so `J v` has the same form. It stays the same when one number is taken from
//! all of `g`; with that of the most probable class, nothing cancels where one class has nearly all of the probability.

use crate::tensor::{Tensor, activation::softmax};

use super::{Form, Layer, Linearised, single};
use crate::kernel::most_probable;

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
        let top = most_probable(&p);
        (p.clone(), Box::new(At { p, top }))
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    p: Tensor<2>,
    /// 1 at the most probable class, else 0.
    top: Tensor<2>,
}

impl At {
    /// `g` less its number at the top.
    fn centred(&self, g: Tensor<2>) -> Tensor<2> {
        let at_top = (g.clone() * self.top.clone()).sum_dim(1);
        g - at_top
    }

    /// `p (g - <p, g>)` of what is centred.
    fn tilted(&self, g: Tensor<2>) -> Tensor<2> {
        let mean = (self.p.clone() * g.clone()).sum_dim(1);
        self.p.clone() * (g - mean)
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![self.tilted(self.centred(g))]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.tilted(self.centred(single(v)))
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let p_dot = self.tangent(v);
        let g = self.centred(g.clone());
        let mean = (self.p.clone() * g.clone()).sum_dim(1);
        let mean_dot = (p_dot.clone() * g.clone()).sum_dim(1);
        let along = p_dot * (g - mean) - self.p.clone() * mean_dot;
        vec![along + self.tilted(self.centred(g_dot))]
    }
}
