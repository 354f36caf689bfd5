//! Softplus, the smooth relative of ReLU.
//!
//! `softplus(x) = log(1 + exp(beta x)) / beta`, with derivative `s = sigmoid(beta x)` and second derivative
//! `beta s (1 - s)`; it tends to ReLU as `beta` grows.

use crate::tensor::Tensor;

use crate::kernel::{softplus, softplus_slope};
use crate::layer::{Form, Layer, Linearised, Part, same, single};
use crate::{Error, Result};

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

    /// The same for a sharpness that is known to be finite and positive.
    pub(super) fn of(beta: f64) -> Self {
        Self { beta }
    }
}

impl Layer for Softplus {
    fn kind(&self) -> &'static str {
        "softplus"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Softplus { beta: self.beta })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        same(inputs)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        softplus(single(inputs), self.beta)
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = single(inputs);
        let at = SoftplusAt {
            slope: softplus_slope(x.clone(), self.beta),
            beta: self.beta,
        };
        (softplus(x, self.beta), Box::new(at))
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
        // In the order of the chains' tiles, so that both have the same bits.
        let curvature = slope.clone() * (-slope.clone() + 1.0) * self.beta;
        vec![g_dot * slope + single(v) * (g.clone() * curvature)]
    }
}
