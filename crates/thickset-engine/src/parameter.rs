//! Parameters: weights and statistics, where they come from, and what they are called.
//!
//! Every parameter is kept as a rank-2 tensor, so that layers, optimisers and files treat all of
//! them alike; its `shape` is the one PyTorch gives the same parameter, and the one files hold.

use crate::tensor::{DType, Tensor};

use crate::Result;

/// Whether a parameter is fitted by gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Fitted by gradients.
    Weight,
    /// Followed during training, such as a running mean; never fitted.
    Statistic,
}

/// How a fresh parameter starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Uniform in `[-bound, bound)`.
    Uniform {
        /// The bound.
        bound: f64,
    },
    /// One number everywhere.
    Constant(f64),
    /// One number for the last entry and another for all before it, such as the outputs of a head that tells one class from the rest.
    LastApart {
        /// The last entry.
        last: f64,
        /// Every other entry.
        rest: f64,
    },
}

impl Init {
    /// PyTorch's default for linear and convolution layers: `1 / sqrt(fan_in)` as the bound.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    pub fn fan_in(fan_in: usize) -> Self {
        Self::Uniform {
            bound: 1.0 / (fan_in as f64).sqrt(),
        }
    }
}

/// One named tensor of a network.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name in files, such as `layers.0.weight`.
    pub name: String,
    /// Its values, rank 2 whatever the shape.
    pub value: Tensor<2>,
    /// Its shape in files, as PyTorch has it.
    pub shape: Vec<usize>,
    /// Whether gradients fit it.
    pub role: Role,
}

impl Parameter {
    /// How many numbers it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it holds no number.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank-2 size that `shape` is kept in: the first extent by the rest; vectors are one row.
    #[must_use]
    pub fn matrix_size(shape: &[usize]) -> [usize; 2] {
        match shape {
            [] => [1, 1],
            [length] => [1, *length],
            [first, rest @ ..] => [*first, rest.iter().product()],
        }
    }
}

/// Where a network's parameters come from: fresh draws, or a file.
pub trait ParameterSource {
    /// The values of one parameter as a rank-2 tensor of [`Parameter::matrix_size`].
    ///
    /// # Errors
    /// If the source cannot provide a parameter of this name and shape.
    fn values(&mut self, name: &str, shape: &[usize], init: Init, role: Role) -> Result<Tensor<2>>;

    /// The element type of all its parameters.
    fn dtype(&self) -> DType;
}

/// Names the parameters of one layer and takes them from a source.
pub struct Scope<'s> {
    pub(crate) source: &'s mut dyn ParameterSource,
    pub(crate) prefix: String,
}

impl Scope<'_> {
    /// A weight called `name` within the layer.
    ///
    /// # Errors
    /// If the source cannot provide it.
    pub fn weight(&mut self, name: &str, shape: &[usize], init: Init) -> Result<Parameter> {
        self.parameter(name, shape, init, Role::Weight)
    }

    /// A statistic called `name` within the layer.
    ///
    /// # Errors
    /// If the source cannot provide it.
    pub fn statistic(&mut self, name: &str, shape: &[usize], init: Init) -> Result<Parameter> {
        self.parameter(name, shape, init, Role::Statistic)
    }

    fn parameter(
        &mut self,
        name: &str,
        shape: &[usize],
        init: Init,
        role: Role,
    ) -> Result<Parameter> {
        let name = format!("{}.{name}", self.prefix);
        Ok(Parameter {
            value: self.source.values(&name, shape, init, role)?,
            name,
            shape: shape.to_vec(),
            role,
        })
    }
}
