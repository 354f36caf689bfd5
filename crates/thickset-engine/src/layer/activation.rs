//! Activations: ReLU, and softplus, its smooth relative.
//!
//! `relu(x) = max(x, 0)`, with derivative 0 at 0. `softplus(x) = log(1 + exp(beta x)) / beta`, with
//! derivative `s = sigmoid(beta x)` and second derivative `beta s (1 - s)`; it tends to ReLU as
//! `beta` grows.

use burn::tensor::{Tensor, activation::sigmoid};

use super::{Layer, Linearised, Part, single};
use crate::kernel::gate;
use crate::{Error, Result};

/// `max(x, 0)`.
#[derive(Clone, Copy, Debug)]
pub struct Relu;

impl Layer for Relu {
    fn kind(&self) -> &'static str {
        "relu"
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
        Some(Box::new(Softplus { beta }))
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

/// `log(1 + exp(beta x)) / beta`.
#[derive(Clone, Copy, Debug)]
pub struct Softplus {
    beta: f64,
}

impl Softplus {
    /// Softplus of the given sharpness.
    ///
    /// # Errors
    /// If `beta` is not finite and positive.
    pub fn new(beta: f64) -> Result<Self> {
        if beta.is_finite() && beta > 0.0 {
            Ok(Self { beta })
        } else {
            Err(Error::Positive {
                name: "beta",
                got: beta,
            })
        }
    }

    /// `max(x, 0) + log(1 + exp(-beta |x|)) / beta`, which neither overflows nor cancels.
    fn value(self, x: Tensor<2>) -> Tensor<2> {
        // A product, not a quotient: Burn's backward of a division by a scalar rounds it to `f32`.
        let tail = (x.clone().abs() * -self.beta).exp().log1p() * (1.0 / self.beta);
        gate(x.clone(), x) + tail
    }
}

impl Layer for Softplus {
    fn kind(&self) -> &'static str {
        "softplus"
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        same(inputs)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.value(single(inputs))
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = single(inputs);
        let at = SoftplusAt {
            slope: sigmoid(x.clone() * self.beta),
            beta: self.beta,
        };
        (self.value(x), Box::new(at))
    }

    fn part(&self) -> Option<Part<'_>> {
        Some(Part::Softplus { beta: self.beta })
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct SoftplusAt {
    /// `sigmoid(beta x)`
    slope: Tensor<2>,
    beta: f64,
}

impl Linearised for SoftplusAt {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g * self.slope.clone()]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        single(v) * self.slope.clone()
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let slope = self.slope.clone();
        let curvature = slope.clone() * (-slope.clone() + 1.0) * self.beta;
        vec![g_dot * slope + g.clone() * single(v) * curvature]
    }
}

fn same(inputs: &[usize]) -> Option<usize> {
    let [features] = inputs else { return None };
    Some(*features)
}
