//! A chain of linear maps with their activations as few operations, each with its backward: what a training step of dense layers
//! asks for without a recorded operation for every layer.
//!
//! - [`Dense::new`]: the outputs, in rows, weights and biases.
//! - [`Dense::pull_back`]: the input's adjoints, in the outputs' adjoints and the weights.
//! - [`Dense::tangent`]: the outputs' change along a direction, in the direction and the weights.
//!
//! The last two are for piecewise linear chains, whose slopes do not move with rows and weights. They are each other's adjoints:
//! one's backward is the other, and the weights' gradients are sums over rows of products of what both have between the maps.
//! All values are those of the layers one by one, bit for bit.
//!
//! [`training_step`] goes further: the gradients of a whole loss, recorded as one operation. [`path_step`] does that for
//! gradients along a path, and [`input_search`] gives gradients in the inputs, to move those by.

mod input_search;
mod loops;
mod path;
mod product;
mod recorded;
mod run;
mod step;

use std::sync::Arc;

use self::recorded::{record_output, record_pull_back, record_tangent};
use self::run::{Kept, Map};
use super::on_cpu;
use super::row_tile::Activation;
use super::storage::Stored;
use crate::layer::Part;
use crate::tensor::{DType, Tensor};

pub(crate) use input_search::input_search;
pub(crate) use path::path_step;
pub(crate) use step::training_step;

/// A batch that has run through a chain.
#[derive(Debug)]
pub(crate) struct Dense {
    output: Tensor<2>,
    weights: Vec<Tensor<2>>,
    kept: AnyKept,
}

#[derive(Clone, Debug)]
enum AnyKept {
    F32(Arc<Kept<f32>>),
    F64(Arc<Kept<f64>>),
}

/// The maps of a chain: weights, biases and what follows each.
#[derive(Default)]
struct Maps {
    weights: Vec<Tensor<2>>,
    biases: Vec<Tensor<2>>,
    activations: Vec<Activation<f64>>,
}

impl Maps {
    /// `None` where an activation follows no linear map.
    fn new(parts: &[Part<'_>]) -> Option<Self> {
        let mut maps = Self::default();
        for part in parts {
            let activation = match *part {
                Part::Linear { weight, bias } => {
                    maps.weights.push(weight.clone());
                    maps.biases.push(bias.clone());
                    maps.activations.push(Activation::None);
                    continue;
                }
                Part::Relu => Activation::Relu,
                Part::Softplus { beta } => Activation::Softplus { beta },
            };
            let last = maps.activations.last_mut()?;
            if *last != Activation::None {
                return None;
            }
            *last = activation;
        }
        Some(maps)
    }

    /// The weights, then the biases.
    fn tensors(&self) -> impl Iterator<Item = &Tensor<2>> {
        self.weights.iter().chain(&self.biases)
    }

    /// Whether these rows can run through them as a whole.
    fn run_on(&self, x: &Tensor<2>) -> bool {
        let is_alike = |tensor: &Tensor<2>| on_cpu(tensor) && tensor.dtype() == x.dtype();
        !self.weights.is_empty() && on_cpu(x) && self.tensors().all(is_alike)
    }

    /// Their numbers.
    fn list<T: Stored>(&self) -> Vec<Arc<Map<T>>> {
        let maps = self.weights.iter().zip(&self.biases).zip(&self.activations);
        let map = |((weight, bias), activation): ((&Tensor<2>, &Tensor<2>), &_)| {
            let activation = match *activation {
                Activation::None => Activation::None,
                Activation::Relu => Activation::Relu,
                Activation::Softplus { beta } => Activation::Softplus {
                    beta: T::from_f64(beta),
                },
            };
            Arc::new(Map::new(
                weight.array().clone(),
                bias.array().clone(),
                activation,
            ))
        };
        maps.map(map).collect()
    }

    fn run<T: Stored>(&self, x: &Tensor<2>) -> Kept<T> {
        Kept::new(self.list(), x.array().clone())
    }
}

impl Dense {
    /// Runs `x`, `[rows, features]`, through the parts of a chain. `None` where they are no chain, or not on the
    /// device of the kernels.
    pub(crate) fn new(x: &Tensor<2>, parts: &[Part<'_>]) -> Option<Self> {
        let maps = Maps::new(parts).filter(|maps| maps.run_on(x))?;
        let tensors = std::iter::once(x).chain(maps.tensors());
        let (kept, output) = match x.dtype() {
            DType::F32 => {
                let kept = Arc::new(maps.run(x));
                (AnyKept::F32(kept.clone()), record_output(tensors, kept))
            }
            DType::F64 => {
                let kept = Arc::new(maps.run(x));
                (AnyKept::F64(kept.clone()), record_output(tensors, kept))
            }
            _ => return None,
        };
        Some(Self {
            output,
            weights: maps.weights,
            kept,
        })
    }

    /// `[rows, outputs]`.
    pub(crate) fn output(&self) -> Tensor<2> {
        self.output.clone()
    }

    /// The adjoint of the input, `[rows, features]`, for the adjoint `seed` of the outputs. The chain must be piecewise linear.
    pub(crate) fn pull_back(&self, seed: Tensor<2>) -> Tensor<2> {
        match &self.kept {
            AnyKept::F32(kept) => record_pull_back(kept.clone(), &self.weights, seed),
            AnyKept::F64(kept) => record_pull_back(kept.clone(), &self.weights, seed),
        }
    }

    /// The change of the outputs, `[rows, outputs]`, when the rows move along `direction`. The chain must be piecewise linear.
    pub(crate) fn tangent(&self, direction: Tensor<2>) -> Tensor<2> {
        match &self.kept {
            AnyKept::F32(kept) => record_tangent(kept.clone(), &self.weights, direction),
            AnyKept::F64(kept) => record_tangent(kept.clone(), &self.weights, direction),
        }
    }
}

fn widened<T: Stored>(numbers: &[T]) -> Vec<f64> {
    numbers.iter().map(|number| number.to_f64()).collect()
}

fn narrowed<T: Stored>(numbers: &[f64]) -> Vec<T> {
    numbers.iter().map(|number| T::from_f64(*number)).collect()
}

#[cfg(test)]
mod tests;
