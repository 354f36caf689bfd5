//! What a layer is, as data: from it a layer is built, and a layer says it of itself. Weights are not part of it.
//!
//! Networks that no architecture names (those read from other frameworks' files) are lists of forms, and networks are written to
//! other frameworks' files by their forms.

use serde::{Deserialize, Serialize};

use super::{
    Absolute, Add, Adjacency, Arctangent, AveragePool, Axis, BatchNorm, ChannelAffine, Clip,
    Concatenate, Constant, Conv2d, Cosine, Divisor, Elu, Erf, Exp, GatedLinear, Gates, Gather,
    Gating, Gelu, GraphConv, HardSigmoid, HardSwish, InverseSinh, Layer, LayerNorm, LeakyRelu,
    Linear, LinearRuns, Log, LogSoftmax, MatrixProduct, MaxPool, Mish, Multiply, NodeMean,
    PairSplit, PairwiseCoupling, Power, Prelu, ProductShape, Reduce, Relu, Select, Selu, Sigmoid,
    Silu, Sine, SlidingAveragePool, Softmax, Softplus, SquareRoot, StoppedCoupling, Tanh,
    YeoJohnson,
};
use crate::kernel::{ConvShape, PoolShape};
use crate::{Error, Result, Scope};

/// A layer without its weights. Each variant is the layer of that name, with what its constructor takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Form {
    Absolute,
    Add,
    Adjacency {
        nodes: usize,
    },
    Arctangent,
    AveragePool {
        channels: usize,
        height: usize,
        width: usize,
        window: [usize; 2],
    },
    BatchNorm {
        channels: usize,
    },
    ChannelAffine {
        channels: usize,
        fixed: bool,
    },
    Clip {
        least: Option<f64>,
        most: Option<f64>,
    },
    Concatenate,
    Constant {
        features: usize,
    },
    Conv2d {
        shape: ConvShape,
        bias: bool,
    },
    Cosine,
    Elu {
        alpha: f64,
    },
    Erf,
    Exp,
    GatedLinear {
        features: usize,
        gates: usize,
        classes: usize,
    },
    Gates {
        features: usize,
        blocks: Vec<usize>,
        gating: Gating,
    },
    Gather {
        features: usize,
        indices: Vec<usize>,
    },
    Gelu {
        tanh: bool,
    },
    GraphConv {
        nodes: usize,
        inputs: usize,
        outputs: usize,
    },
    HardSigmoid {
        alpha: f64,
        beta: f64,
    },
    HardSwish,
    InverseSinh,
    LayerNorm {
        runs: usize,
        size: usize,
        epsilon: f64,
    },
    LeakyRelu {
        alpha: f64,
    },
    Linear {
        inputs: usize,
        outputs: usize,
    },
    LinearRuns {
        runs: usize,
        inputs: usize,
        outputs: usize,
    },
    Log,
    LogSoftmax {
        axis: Axis,
    },
    MatrixProduct(ProductShape),
    MaxPool {
        shape: PoolShape,
    },
    Mish,
    Multiply,
    NodeMean {
        nodes: usize,
    },
    PairSplit,
    PairwiseCoupling,
    Power {
        exponent: f64,
    },
    Prelu {
        channels: usize,
    },
    Reduce {
        axis: Axis,
        mean: bool,
    },
    Relu,
    Select,
    Selu,
    Sigmoid,
    Silu,
    Sine,
    SlidingAveragePool {
        shape: PoolShape,
        divisor: Divisor,
    },
    Softmax,
    Softplus {
        beta: f64,
    },
    SquareRoot,
    StoppedCoupling {
        classes: usize,
    },
    Tanh,
    YeoJohnson {
        features: usize,
    },
}

impl Form {
    /// The layer, its weights taken from the scope.
    ///
    /// # Errors
    /// If a setting is out of range, or the scope's source cannot provide the weights.
    #[expect(clippy::too_many_lines, reason = "one line a layer")]
    pub fn layer(&self, scope: &mut Scope<'_>) -> Result<Box<dyn Layer>> {
        Ok(match self {
            Self::Absolute => Box::new(Absolute),
            Self::Arctangent => Box::new(Arctangent),
            Self::Add => Box::new(Add),
            Self::Adjacency { nodes } => Box::new(Adjacency::new(*nodes)?),
            Self::AveragePool {
                channels,
                height,
                width,
                window,
            } => Box::new(AveragePool::rectangular(
                *channels, *height, *width, *window,
            )?),
            Self::BatchNorm { channels } => {
                Box::new(BatchNorm::new(positive("channels", *channels)?, scope)?)
            }
            Self::ChannelAffine { channels, fixed } => {
                let channels = positive("channels", *channels)?;
                Box::new(if *fixed {
                    ChannelAffine::fixed(channels, scope)?
                } else {
                    ChannelAffine::new(channels, scope)?
                })
            }
            Self::Clip { least, most } => Box::new(Clip::new(
                least.unwrap_or(f64::NEG_INFINITY),
                most.unwrap_or(f64::INFINITY),
            )?),
            Self::Concatenate => Box::new(Concatenate),
            Self::Constant { features } => {
                Box::new(Constant::new(positive("features", *features)?, scope)?)
            }
            Self::Conv2d { shape, bias } => Box::new(Conv2d::new(*shape, *bias, scope)?),
            Self::Cosine => Box::new(Cosine),
            Self::Elu { alpha } => Box::new(Elu::new(*alpha)?),
            Self::Erf => Box::new(Erf),
            Self::Exp => Box::new(Exp),
            Self::GatedLinear {
                features,
                gates,
                classes,
            } => {
                Axis::new(*gates, *features, *classes)?;
                Box::new(GatedLinear::new(*features, *gates, *classes, scope)?)
            }
            Self::Gates {
                features,
                blocks,
                gating,
            } => {
                let gates = blocks
                    .iter()
                    .fold(0_usize, |sum, &size| sum.saturating_add(size));
                Axis::new(1, *features, gates)?;
                Box::new(Gates::new(*features, blocks, *gating, scope)?)
            }
            Self::Gather { features, indices } => Box::new(Gather::new(*features, indices)?),
            Self::Gelu { tanh } => Box::new(if *tanh { Gelu::Tanh } else { Gelu::Exact }),
            Self::GraphConv {
                nodes,
                inputs,
                outputs,
            } => {
                positive("nodes", *nodes)?;
                Axis::new(*nodes, *inputs, *outputs)?;
                Box::new(GraphConv::new(*nodes, *inputs, *outputs, scope)?)
            }
            Self::HardSigmoid { alpha, beta } => Box::new(HardSigmoid::new(*alpha, *beta)?),
            Self::HardSwish => Box::new(HardSwish),
            Self::InverseSinh => Box::new(InverseSinh),
            Self::LayerNorm {
                runs,
                size,
                epsilon,
            } => Box::new(LayerNorm::new(*runs, *size, *epsilon, scope)?),
            Self::LeakyRelu { alpha } => Box::new(LeakyRelu::new(*alpha)?),
            Self::Linear { inputs, outputs } => {
                Axis::new(1, *inputs, *outputs)?;
                Box::new(Linear::new(*inputs, *outputs, scope)?)
            }
            Self::LinearRuns {
                runs,
                inputs,
                outputs,
            } => {
                Axis::new(1, *inputs, *outputs)?;
                Box::new(LinearRuns::new(*runs, *inputs, *outputs, scope)?)
            }
            Self::Log => Box::new(Log),
            Self::LogSoftmax { axis } => Box::new(LogSoftmax::new(axis.checked()?)),
            Self::MatrixProduct(shape) => Box::new(MatrixProduct::new(*shape)?),
            Self::MaxPool { shape } => Box::new(MaxPool::new(*shape)?),
            Self::Mish => Box::new(Mish),
            Self::Multiply => Box::new(Multiply),
            Self::NodeMean { nodes } => Box::new(NodeMean::new(positive("nodes", *nodes)?)),
            Self::PairSplit => Box::new(PairSplit),
            Self::PairwiseCoupling => Box::new(PairwiseCoupling),
            Self::Power { exponent } => Box::new(Power::new(*exponent)?),
            Self::Prelu { channels } => {
                Box::new(Prelu::new(positive("channels", *channels)?, scope)?)
            }
            Self::Reduce { axis, mean } => {
                let axis = axis.checked()?;
                Box::new(if *mean {
                    Reduce::mean(axis)
                } else {
                    Reduce::sum(axis)
                })
            }
            Self::Relu => Box::new(Relu),
            Self::Select => Box::new(Select),
            Self::Selu => Box::new(Selu),
            Self::Sigmoid => Box::new(Sigmoid),
            Self::Silu => Box::new(Silu),
            Self::Sine => Box::new(Sine),
            Self::SlidingAveragePool { shape, divisor } => {
                Box::new(SlidingAveragePool::new(*shape, *divisor)?)
            }
            Self::Softmax => Box::new(Softmax),
            Self::Softplus { beta } => Box::new(Softplus::new(*beta)?),
            Self::SquareRoot => Box::new(SquareRoot),
            Self::StoppedCoupling { classes } => Box::new(StoppedCoupling::new(*classes)?),
            Self::Tanh => Box::new(Tanh),
            Self::YeoJohnson { features } => {
                Box::new(YeoJohnson::new(positive("features", *features)?, scope)?)
            }
        })
    }
}

/// Refuses a size of zero, or one that cannot be indexed.
fn positive(name: &'static str, got: usize) -> Result<usize> {
    const MOST: usize = i32::MAX as usize;
    if (1..=MOST).contains(&got) {
        Ok(got)
    } else {
        Err(Error::Size {
            name,
            most: MOST,
            got,
        })
    }
}
