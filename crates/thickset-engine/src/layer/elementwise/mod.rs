//! Functions of single numbers. One file a function; [`Elementwise`] makes a layer of its value and two derivatives.

mod absolute;
mod arctangent;
mod clip;
mod elu;
mod erf;
mod exp;
mod gelu;
mod hard_sigmoid;
mod hard_swish;
mod inverse_sinh;
mod leaky_relu;
mod log;
mod mish;
mod pairwise_coupling;
mod power;
mod prelu;
mod relu;
mod selu;
mod sigmoid;
mod silu;
mod sine;
mod smooth_kinks;
mod softplus;
mod square_root;
mod tanh;

pub use absolute::Absolute;
pub use arctangent::Arctangent;
pub use clip::Clip;
pub use elu::Elu;
pub use erf::Erf;
pub use exp::Exp;
pub use gelu::Gelu;
pub use hard_sigmoid::HardSigmoid;
pub use hard_swish::HardSwish;
pub use inverse_sinh::InverseSinh;
pub use leaky_relu::LeakyRelu;
pub use log::Log;
pub use mish::Mish;
pub use pairwise_coupling::PairwiseCoupling;
pub use power::Power;
pub use prelu::Prelu;
pub use relu::Relu;
pub use selu::Selu;
pub use sigmoid::Sigmoid;
pub use silu::Silu;
pub use sine::Sine;
pub use softplus::Softplus;
pub use square_root::SquareRoot;
pub use tanh::Tanh;

use crate::tensor::Tensor;

use super::{Form, Layer, Linearised, same, single};
use crate::kernel::gate;
use crate::{Error, Result};

/// A function of single numbers, in differentiable tensor operations.
trait Elementwise: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// What it is, for messages.
    const KIND: &'static str;

    /// As [`Layer::form`].
    fn form(&self) -> Option<Form> {
        None
    }

    fn value(&self, x: Tensor<2>) -> Tensor<2>;

    /// The first derivative.
    fn slope(&self, x: Tensor<2>) -> Tensor<2>;

    /// The second derivative; `None` where it is zero but for jumps.
    fn curvature(&self, x: Tensor<2>) -> Option<Tensor<2>>;

    /// As [`Layer::is_curved`].
    fn is_curved(&self) -> bool {
        true
    }

    /// As [`Layer::smooth`].
    fn smooth(&self, _beta: f64) -> Option<Box<dyn Layer>> {
        None
    }
}

impl<E: Elementwise> Layer for E {
    fn kind(&self) -> &'static str {
        E::KIND
    }

    fn form(&self) -> Option<Form> {
        Elementwise::form(self)
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        same(inputs)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.value(single(inputs))
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let x = single(inputs);
        let at = At {
            of: self.clone(),
            slope: self.slope(x.clone()),
            x: x.clone(),
        };
        (self.value(x), Box::new(at))
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        Elementwise::smooth(self, beta)
    }

    fn is_curved(&self) -> bool {
        Elementwise::is_curved(self)
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

struct At<E> {
    of: E,
    x: Tensor<2>,
    slope: Tensor<2>,
}

impl<E: Elementwise> Linearised for At<E> {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g * self.slope.clone()]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        single(v) * self.slope.clone()
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let moved = g_dot * self.slope.clone();
        vec![match self.of.curvature(self.x.clone()) {
            Some(curvature) => moved + g.clone() * single(v) * curvature,
            None => moved,
        }]
    }
}

/// 1 where `x` is positive, else 0; a constant.
fn is_positive(x: &Tensor<2>) -> Tensor<2> {
    let x = x.clone().without_autodiff();
    gate(x.ones_like(), x)
}

/// `max(x, 0)`.
fn positive_part(x: Tensor<2>) -> Tensor<2> {
    gate(x.clone(), x.without_autodiff())
}

/// `1 - x`
fn complement(x: Tensor<2>) -> Tensor<2> {
    -x + 1.0
}

/// Refuses what is no number.
fn finite(name: &'static str, got: f64) -> Result<f64> {
    if got.is_finite() {
        Ok(got)
    } else {
        Err(Error::Finite { name, got })
    }
}
