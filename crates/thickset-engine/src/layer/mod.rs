//! Layers. Each has a forward; and, linearised at the point where it ran, a pullback and the
//! tangents of both. All are written in differentiable tensor operations.
//!
//! Batches are `[rows, features]` between layers; an image layer knows its own image shape.

mod add;
mod adjacency;
mod average_pool;
mod axis;
mod batch_norm;
mod channel_affine;
mod concatenate;
mod constant;
mod conv2d;
mod cosine;
mod coupling;
mod elementwise;
mod form;
mod gated_linear;
mod gates;
mod gather;
mod graph_conv;
mod layer_norm;
mod linear;
mod linear_runs;
mod log_softmax;
mod matrix_product;
mod max_pool;
mod multiply;
mod node_mean;
mod pair_split;
mod reduce;
mod select;
mod sliding_average_pool;
mod softmax;
mod yeo_johnson;

pub use add::Add;
pub use adjacency::Adjacency;
pub use average_pool::AveragePool;
pub use axis::Axis;
pub use batch_norm::{BatchNorm, BatchStatistics};
pub use channel_affine::ChannelAffine;
pub use concatenate::Concatenate;
pub use constant::Constant;
pub use conv2d::Conv2d;
pub use cosine::Cosine;
pub use coupling::StoppedCoupling;
pub use elementwise::{
    Absolute, Arctangent, Clip, Elu, Erf, Exp, Gelu, HardSigmoid, HardSwish, InverseSinh,
    LeakyRelu, Log, Mish, PairwiseCoupling, Power, Prelu, Relu, Selu, Sigmoid, Silu, Sine,
    Softplus, SquareRoot, Tanh,
};
pub use form::Form;
pub use gated_linear::GatedLinear;
pub use gates::{Gates, Gating};
pub use gather::Gather;
pub use graph_conv::GraphConv;
pub use layer_norm::LayerNorm;
pub use linear::Linear;
pub use linear_runs::LinearRuns;
pub use log_softmax::LogSoftmax;
pub use matrix_product::{MatrixProduct, ProductShape};
pub use max_pool::MaxPool;
pub use multiply::Multiply;
pub use node_mean::NodeMean;
pub use pair_split::PairSplit;
pub use reduce::Reduce;
pub use select::Select;
pub use sliding_average_pool::{Divisor, SlidingAveragePool};
pub use softmax::Softmax;
pub use yeo_johnson::YeoJohnson;

use crate::kernel::{JoinedPool, PoolShape};
use crate::tensor::Tensor;

use crate::parameter::Parameter;

/// One step of a network.
pub trait Layer: std::fmt::Debug + Send + Sync {
    /// What it is, for messages.
    fn kind(&self) -> &'static str;

    /// What it is, as data from which it can be built again; a layer that is written to no file need not say.
    fn form(&self) -> Option<Form> {
        None
    }

    /// Features of its output, given those of its inputs; `None` where it cannot take them.
    fn out_features(&self, inputs: &[usize]) -> Option<usize>;

    /// Output for the given inputs, `[rows, features]` each.
    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2>;

    /// Output, and the layer linearised at these inputs.
    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>);

    /// Output while fitting the class loss; a layer with batch statistics uses and reports them.
    fn forward_fitting(
        &self,
        inputs: &[Tensor<2>],
        _statistics: &mut Vec<BatchStatistics>,
    ) -> Tensor<2> {
        self.forward(inputs)
    }

    /// Follows the statistics that the same layer reported.
    fn follow(&mut self, _statistics: &BatchStatistics) {}

    /// Whether [`Layer::forward_fitting`] differs from [`Layer::forward`].
    fn has_statistics(&self) -> bool {
        false
    }

    /// Its parameters, in a fixed order.
    fn parameters(&self) -> Vec<&Parameter> {
        Vec::new()
    }

    /// The same, to change.
    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        Vec::new()
    }

    /// A smooth stand-in for a layer with kinks: softplus for ReLU.
    fn smooth(&self, _beta: f64) -> Option<Box<dyn Layer>> {
        None
    }

    /// Whether its Jacobian varies with its inputs, other than by jumps.
    fn is_curved(&self) -> bool {
        true
    }

    /// How it pools, if it is max pooling.
    fn pool(&self) -> Option<PoolShape> {
        None
    }

    /// The scale and the shift of each channel, `[1, channels]` both, if that is all it does.
    fn channel_affine(&self) -> Option<[Tensor<2>; 2]> {
        None
    }

    /// What of the layers that follow it can run together with it: [a channel affine](Layer::channel_affine) of so many channels,
    /// and max pooling.
    fn joins(&self, _follower: Follower) -> bool {
        false
    }

    /// Output after a channel affine and max pooling with or without ReLU, each where it is given, and the layers linearised as
    /// one.
    fn linearise_joined(
        &self,
        _inputs: &[Tensor<2>],
        _affine: Option<[Tensor<2>; 2]>,
        _pool: Option<JoinedPool>,
    ) -> Option<(Tensor<2>, Box<dyn Linearised>)> {
        None
    }

    /// What it is to a [`crate::Chain`], if it can be part of one.
    fn part(&self) -> Option<Part<'_>> {
        None
    }

    /// Itself, if it decides which segment a row lies in.
    fn gates(&self) -> Option<&Gates> {
        None
    }

    /// The same, to change.
    fn gates_mut(&mut self) -> Option<&mut Gates> {
        None
    }

    /// Itself, if it has a linear map for every segment.
    fn gated_linear(&self) -> Option<&GatedLinear> {
        None
    }

    /// A copy that shares the tensors.
    fn boxed(&self) -> Box<dyn Layer>;
}

/// A layer that may run together with the one that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follower {
    /// A scale and a shift for each of so many channels.
    ChannelAffine(usize),
    /// Max pooling.
    Pool,
}

/// A layer that can be part of a [`crate::Chain`].
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// `x Wᵀ + b`, with `W` `[out, in]` and `b` `[1, out]`.
    Linear {
        /// `W`
        weight: &'a Tensor<2>,
        /// `b`
        bias: &'a Tensor<2>,
    },
    /// `max(x, 0)`.
    Relu,
    /// `log(1 + exp(beta x)) / beta`.
    Softplus {
        /// The sharpness.
        beta: f64,
    },
}

/// A layer at the point where it ran: its Jacobian `J` and how `J` changes.
pub trait Linearised: Send {
    /// `Jᵀ g` for each input.
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>>;

    /// `J v`: the output's change when the inputs move along `v`.
    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2>;

    /// The change of `Jᵀ g` when the inputs move along `v` and `g` along `g_dot`.
    ///
    /// A layer whose Jacobian does not depend on its inputs keeps this default.
    fn pullback_tangent(
        &self,
        _v: &[Tensor<2>],
        _g: &Tensor<2>,
        g_dot: Tensor<2>,
    ) -> Vec<Tensor<2>> {
        self.pullback(g_dot)
    }
}

/// The only input of a layer that takes one.
fn single(inputs: &[Tensor<2>]) -> Tensor<2> {
    let [input] = inputs else {
        panic!("the network gives each layer the inputs it declared")
    };
    input.clone()
}

/// The features of a layer that takes one input and gives as many.
fn same(inputs: &[usize]) -> Option<usize> {
    let [features] = inputs else { return None };
    Some(*features)
}
