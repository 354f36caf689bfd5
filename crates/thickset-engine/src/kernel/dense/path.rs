//! Gradients of logits along straight paths from zero, and a loss of their means with its gradients.
//!
//! The points of a row's path are multiples t of it, so most of what the first map does happens once for all of them: it takes a
//! point to `t W x + b`; going down, it takes the sum of what arrives; and going up, it takes one direction for all. Behind
//! it the points are rows of a chain like any other.

use std::sync::Arc;

use super::loops::{AddGated, Gate, Reach};
use super::product::{End, Left, Start, multiplied};
use super::recorded::record_loss;
use super::run::{Between, Kept, Map, Ways};
use super::{Maps, narrowed, widened};
use crate::kernel::row_tile::Activation;
use crate::kernel::storage::Stored;
use crate::layer::Part;
use crate::tensor::{Array, DType, Tensor};
use crate::training_step::PathStep;

/// Runs the paths of the rows of `x`; see [`crate::Network::path_step`] for where there is none.
pub(crate) fn path_step(
    x: &Tensor<2>,
    parts: &[Part<'_>],
    classes: &[usize],
    steps: usize,
) -> Option<Box<dyn PathStep>> {
    let maps = Maps::new(parts).filter(|maps| maps.run_on(x))?;
    if x.is_autodiff() || !maps.tensors().any(Tensor::is_autodiff) || x.dims()[0] == 0 {
        return None;
    }
    Some(match x.dtype() {
        DType::F32 => Box::new(Step::<f32>::new(&maps, x, classes, steps)?),
        DType::F64 => Box::new(Step::<f64>::new(&maps, x, classes, steps)?),
        _ => return None,
    })
}

struct Step<T> {
    paths: Paths<T>,
    /// The weights, then the biases.
    parents: Vec<Tensor<2>>,
    gradient: Vec<f64>,
}

impl<T: Stored> Step<T> {
    fn new(maps: &Maps, x: &Tensor<2>, classes: &[usize], steps: usize) -> Option<Self> {
        let chain = PathChain::new(maps.list())?;
        let paths = Paths::new(&chain, x.array().values(), classes, steps);
        Some(Self {
            gradient: widened(&paths.gradient()),
            paths,
            parents: maps.tensors().cloned().collect(),
        })
    }
}

impl<T: Stored> PathStep for Step<T> {
    fn gradient(&self) -> &[f64] {
        &self.gradient
    }

    fn loss(self: Box<Self>, value: f64, slopes: &[f64]) -> Tensor<1> {
        assert_eq!(slopes.len(), self.gradient.len(), "slopes");
        let gradients = self.paths.weights(&narrowed(slopes));
        record_loss::<T>(&self.parents, gradients, value)
    }
}

/// A piecewise linear chain of two or more maps.
pub(super) struct PathChain<T> {
    first: Arc<Map<T>>,
    rest: Vec<Arc<Map<T>>>,
}

impl<T: Stored> PathChain<T> {
    /// `None` for other chains.
    pub(super) fn new(mut maps: Vec<Arc<Map<T>>>) -> Option<Self> {
        if maps.len() < 2 || !maps.iter().all(|map| map.is_piecewise_linear()) {
            return None;
        }
        let first = maps.remove(0);
        Some(Self { first, rest: maps })
    }
}

/// Rows at so many points of their paths. All numbers of the points of one step stand before those of the next.
pub(super) struct Paths<T> {
    first: Arc<Map<T>>,
    /// Behind the first map.
    rest: Kept<T>,
    adjoints: Between<T>,
    rows: usize,
    /// One over the steps.
    share: T,
    /// The mean over a row's points of the adjoints of the first map's outputs.
    mean: Vec<T>,
}

impl<T: Stored> Paths<T> {
    /// The paths from zero to the rows `x`, at the middles of `steps` equal parts, down from the logit of each row's class.
    pub(super) fn new(chain: &PathChain<T>, x: &[T], classes: &[usize], steps: usize) -> Self {
        let (first, rows) = (&chain.first, classes.len());
        assert_eq!(x.len(), rows * first.inputs, "a class a row");
        let size = [rows, first.outputs, first.inputs];
        let way = Left::plain(x, first.inputs);
        let way = multiplied(way, &first.transposed, size, (Start::Zero, End::Plain));
        let mut points = vec![T::default(); steps * way.len()];
        for (step, points) in points.chunks_exact_mut(way.len()).enumerate() {
            T::vectorised(Reach {
                way: &way,
                place: T::from_f64((whole(step) + 0.5) / whole(steps)),
                bias: first.bias.values(),
                is_gated: first.activation == Activation::Relu,
                to: points,
            });
        }
        let rest = Kept::new(
            chain.rest.clone(),
            Array::new(points, [steps * rows, first.outputs]),
        );
        let outputs = rest.outputs();
        let mut seeds = vec![T::default(); steps * rows * outputs];
        for seeds in seeds.chunks_exact_mut(rows * outputs) {
            for (seed, class) in seeds.chunks_exact_mut(outputs).zip(classes) {
                seed[*class] = T::ONE;
            }
        }
        let (adjoints, below) = rest.down(&seeds, true);
        let below = below.unwrap_or_default();
        let share = T::ONE / T::from_f64(whole(steps));
        let mut mean = vec![T::default(); way.len()];
        let reached = rest.input().chunks_exact(way.len());
        for (below, reached) in below.chunks_exact(way.len()).zip(reached) {
            T::vectorised(AddGated {
                numbers: below,
                deciders: (first.activation == Activation::Relu).then_some(reached),
                share,
                sums: &mut mean,
            });
        }
        Self {
            first: first.clone(),
            rest,
            adjoints,
            rows,
            share,
            mean,
        }
    }

    /// The mean of the gradients at a row's points, `[rows, features]`.
    pub(super) fn gradient(&self) -> Vec<T> {
        let first = &self.first;
        multiplied(
            Left::plain(&self.mean, first.outputs),
            first.weight.values(),
            [self.rows, first.inputs, first.outputs],
            (Start::Zero, End::Plain),
        )
    }

    /// The gradients in weights and biases of a loss with these slopes in the mean gradients.
    fn weights(&self, slopes: &[T]) -> Vec<Array> {
        let first = &self.first;
        let size = [self.rows, first.outputs, first.inputs];
        let along = Left::plain(slopes, first.inputs);
        let along = multiplied(along, &first.transposed, size, (Start::Zero, End::Plain));
        let reached = self.rest.input();
        let mut directions = vec![T::default(); reached.len()];
        let steps = directions.chunks_exact_mut(along.len());
        for (directions, reached) in steps.zip(reached.chunks_exact(along.len())) {
            T::vectorised(Gate {
                numbers: &along,
                deciders: (first.activation == Activation::Relu).then_some(reached),
                factor: self.share,
                to: directions,
            });
        }
        let changes = self.rest.up(&directions);
        let of_first = multiplied(
            Left::transposed(&self.mean, first.outputs),
            slopes,
            [first.outputs, first.inputs, self.rows],
            (Start::Zero, End::Plain),
        );
        let mut gradients = vec![Array::new(of_first, [first.outputs, first.inputs])];
        gradients.extend(self.rest.weights(&[Ways {
            adjoints: &self.adjoints,
            input: &directions,
            between: &changes,
        }]));
        let outputs = std::iter::once(first.outputs).chain(self.rest.map_outputs());
        // Biases move no gradient but across kinks.
        let zeros = outputs.map(|outputs| Array::new(vec![T::default(); outputs], [1, outputs]));
        gradients.extend(zeros);
        gradients
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "paths have far fewer than 2^53 steps"
)]
fn whole(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests;
