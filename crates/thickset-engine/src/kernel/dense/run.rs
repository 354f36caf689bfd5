//! A batch on its way through a chain of linear maps, in plain numbers: up, down, and the gradients in the weights.
//!
//! Rows go through all maps in chunks, which threads share. The sums of a row never leave its chunk, and a weight's gradient is
//! one chain over all rows in order, so bits depend neither on the chunks nor on the threads.

use std::sync::Arc;

use rayon::prelude::*;

use super::loops::{Scale, Soften, SumRows, Transpose};
use super::product::{End, Left, Start, multiplied, multiply};
use crate::interrupt;
use crate::kernel::row_tile::Activation;
use crate::kernel::storage::{Stored, size};
use crate::tensor::Array;

/// Rows that one thread takes at a time: whole tiles of six and of eight, and about half of the usual batch.
pub(super) const CHUNK: usize = 72;
/// Outputs of a map whose weights' gradients one thread takes at a time.
const OUTPUTS: usize = 24;
/// Multiply-adds of one way through the chain below which handing it to other threads takes longer than it saves, or much longer
/// where the processors are busy: a step of a batch of 128 rows stays on its thread.
pub(super) const PARALLEL_WORK: usize = 1 << 22;

/// A linear map with what follows it.
#[derive(Debug)]
pub(super) struct Map<T> {
    /// `[outputs, inputs]`
    pub weight: Array,
    /// `[inputs, outputs]`, for the way up.
    pub transposed: Vec<T>,
    pub bias: Array,
    pub activation: Activation<T>,
    pub inputs: usize,
    pub outputs: usize,
}

impl<T: Stored> Map<T> {
    pub(super) fn new(weight: Array, bias: Array, activation: Activation<T>) -> Self {
        let [outputs, inputs] = size(&weight);
        let mut transposed = vec![T::default(); outputs * inputs];
        T::vectorised(Transpose {
            from: weight.values::<T>(),
            columns: inputs,
            to: &mut transposed,
        });
        Self {
            weight,
            transposed,
            bias,
            activation,
            inputs,
            outputs,
        }
    }

    /// Whether its activation's slope does not move with its sums, but at kinks.
    pub(super) fn is_piecewise_linear(&self) -> bool {
        !matches!(self.activation, Activation::Softplus { .. })
    }

    /// What its activation does with its sums, where that is a matter of signs.
    pub(super) fn end(&self) -> End<'static, T> {
        match self.activation {
            Activation::Relu => End::Relu,
            Activation::None | Activation::Softplus { .. } => End::Plain,
        }
    }
}

/// Numbers between the maps: for every chunk of rows, for every map, one row after the other.
#[derive(Debug)]
pub(super) struct Between<T>(Vec<Vec<Vec<T>>>);

impl<T: Stored> Between<T> {
    /// Those behind the last map, of all rows.
    pub(super) fn last(&self) -> Vec<T> {
        let chunks = self.0.iter().filter_map(|chunk| chunk.last());
        chunks.map(Vec::as_slice).collect::<Vec<_>>().concat()
    }
}

/// A way down the chain and one up it, whose products are gradients of the weights.
#[derive(Clone, Copy)]
pub(super) struct Ways<'a, T> {
    /// Of the maps' outputs.
    pub adjoints: &'a Between<T>,
    /// What the first map reads.
    pub input: &'a [T],
    /// What the others read: it lies behind the map before.
    pub between: &'a Between<T>,
}

/// A batch that has run through a chain, with all that derivatives need.
#[derive(Debug)]
pub(super) struct Kept<T> {
    maps: Vec<Arc<Map<T>>>,
    x: Array,
    rows: usize,
    features: usize,
    /// Of the activations.
    values: Between<T>,
    /// Their slopes, where those are not plain from the values.
    slopes: Between<T>,
}

impl<T: Stored> Kept<T> {
    /// Runs rows through the maps.
    pub(super) fn new(maps: Vec<Arc<Map<T>>>, x: Array) -> Self {
        interrupt::check();
        let [rows, features] = size(&x);
        let mut kept = Self {
            maps,
            x,
            rows,
            features,
            values: Between(Vec::new()),
            slopes: Between(Vec::new()),
        };
        let run = kept.by_chunk(|first, rows| kept.forward(first, rows));
        let (values, slopes) = run.into_iter().unzip();
        (kept.values, kept.slopes) = (Between(values), Between(slopes));
        kept
    }

    pub(super) fn maps(&self) -> usize {
        self.maps.len()
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn features(&self) -> usize {
        self.features
    }

    pub(super) fn outputs(&self) -> usize {
        self.maps.last().map_or(self.features, |map| map.outputs)
    }

    /// The rows that ran.
    pub(super) fn input(&self) -> &[T] {
        self.x.values()
    }

    /// How many outputs each map has.
    pub(super) fn map_outputs(&self) -> impl Iterator<Item = usize> {
        self.maps.iter().map(|map| map.outputs)
    }

    /// The outputs of the chain, `[rows, outputs]`.
    pub(super) fn last_values(&self) -> Vec<T> {
        self.values.last()
    }

    /// Whether slopes do not move with rows and weights.
    pub(super) fn is_piecewise_linear(&self) -> bool {
        self.maps.iter().all(|map| map.is_piecewise_linear())
    }

    /// Whether there are two outputs that move with the rows as linear maps do, but at kinks.
    pub(super) fn has_linear_margin(&self) -> bool {
        let is_linear = |map: &Arc<Map<T>>| map.activation == Activation::None;
        self.outputs() == 2 && self.is_piecewise_linear() && self.maps.last().is_some_and(is_linear)
    }

    fn is_large(&self) -> bool {
        let weights: usize = self.maps.iter().map(|map| map.transposed.len()).sum();
        self.rows * weights >= PARALLEL_WORK && self.rows > CHUNK
    }

    /// What `work` makes of the rows from a first one on, for each chunk of rows.
    fn by_chunk<R: Send>(&self, work: impl Fn(usize, usize) -> R + Sync) -> Vec<R> {
        let chunk = |number: usize| {
            let first = number * CHUNK;
            work(first, CHUNK.min(self.rows - first))
        };
        let count = self.rows.div_ceil(CHUNK);
        if self.is_large() {
            (0..count).into_par_iter().map(chunk).collect()
        } else {
            (0..count).map(chunk).collect()
        }
    }

    fn forward(&self, first: usize, rows: usize) -> (Vec<Vec<T>>, Vec<Vec<T>>) {
        let x = &self.x.values::<T>()[first * self.features..(first + rows) * self.features];
        let (mut values, mut slopes) = (Vec::<Vec<T>>::new(), Vec::new());
        for map in &self.maps {
            let before = values.last().map_or(x, |values| values);
            let mut value = multiplied(
                Left::plain(before, map.inputs),
                &map.transposed,
                [rows, map.outputs, map.inputs],
                (Start::Row(map.bias.values::<T>()), map.end()),
            );
            let mut slope = match map.activation {
                Activation::Softplus { .. } => vec![T::default(); value.len()],
                _ => Vec::new(),
            };
            if let Activation::Softplus { beta } = map.activation {
                T::vectorised(Soften {
                    beta,
                    value: &mut value,
                    slope: &mut slope,
                });
            }
            values.push(value);
            slopes.push(slope);
        }
        (values, slopes)
    }

    /// The change of every map's output when the rows move along `direction`, `[rows, features]`.
    pub(super) fn up(&self, direction: &[T]) -> Between<T> {
        self.way_up(direction, self.maps.len(), None)
    }

    /// What comes of `input`, `[rows, features]`, behind every map but the last, where slopes are those of the rows that ran and
    /// each row's biases count for its factor.
    pub(super) fn up_with_biases(&self, input: &[T], factors: &[T]) -> Between<T> {
        self.way_up(input, self.maps.len() - 1, Some(factors))
    }

    fn way_up(&self, input: &[T], maps: usize, factors: Option<&[T]>) -> Between<T> {
        interrupt::check();
        Between(self.by_chunk(|first, rows| {
            let input = &input[first * self.features..(first + rows) * self.features];
            let mut changes = Vec::<Vec<T>>::with_capacity(maps);
            for (place, map) in self.maps[..maps].iter().enumerate() {
                let before = changes.last().map_or(input, |change| change);
                let start = factors.map_or(Start::Zero, |factors| {
                    Start::Scaled(map.bias.values::<T>(), &factors[first..])
                });
                let mut change = multiplied(
                    Left::plain(before, map.inputs),
                    &map.transposed,
                    [rows, map.outputs, map.inputs],
                    (start, self.gate(first / CHUNK, place)),
                );
                self.scale(first / CHUNK, place, &mut change);
                changes.push(change);
            }
            changes
        }))
    }

    /// The adjoint of every map's output before its activation, for the adjoints `seed` of the chain's, `[rows, outputs]`; and,
    /// where asked for, that of the input.
    pub(super) fn down(&self, seed: &[T], with_input: bool) -> (Between<T>, Option<Vec<T>>) {
        interrupt::check();
        let outputs = self.outputs();
        let run = self.by_chunk(|first, rows| {
            let chunk = first / CHUNK;
            let mut adjoint = seed[first * outputs..(first + rows) * outputs].to_vec();
            if let End::Gate(deciders) = self.gate(chunk, self.maps.len() - 1) {
                for (adjoint, decider) in adjoint.iter_mut().zip(deciders) {
                    *adjoint = if *decider > T::default() {
                        *adjoint
                    } else {
                        T::default()
                    };
                }
            }
            let mut adjoints = Vec::with_capacity(self.maps.len());
            for (place, map) in self.maps.iter().enumerate().rev() {
                self.scale(chunk, place, &mut adjoint);
                let before = place.checked_sub(1);
                let end = before.map_or(End::Plain, |before| self.gate(chunk, before));
                let mut below = Vec::new();
                if place > 0 || with_input {
                    below = multiplied(
                        Left::plain(&adjoint, map.outputs),
                        map.weight.values::<T>(),
                        [rows, map.inputs, map.outputs],
                        (Start::Zero, end),
                    );
                }
                adjoints.push(std::mem::replace(&mut adjoint, below));
            }
            adjoints.reverse();
            (adjoints, adjoint)
        });
        let (adjoints, input): (_, Vec<Vec<T>>) = run.into_iter().unzip();
        let input = with_input.then(|| input.concat());
        (Between(adjoints), input)
    }

    /// What a ReLU behind the map at this place lets through.
    fn gate(&self, chunk: usize, place: usize) -> End<'_, T> {
        match self.maps[place].activation {
            Activation::Relu => End::Gate(&self.values.0[chunk][place]),
            Activation::None | Activation::Softplus { .. } => End::Plain,
        }
    }

    /// Multiplies by the slopes of a softplus behind the map at this place.
    fn scale(&self, chunk: usize, place: usize, numbers: &mut [T]) {
        if let Activation::Softplus { .. } = self.maps[place].activation {
            let slopes = &self.slopes.0[chunk][place];
            T::vectorised(Scale { slopes, numbers });
        }
    }

    /// For every map the sum over ways and rows of the products of its output's adjoints and what it reads,
    /// `[outputs, inputs]`.
    pub(super) fn weights(&self, ways: &[Ways<'_, T>]) -> Vec<Array> {
        let is_large = self.is_large();
        let of_map = |(place, map): (usize, &Arc<Map<T>>)| {
            let mut sums = vec![T::default(); map.outputs * map.inputs];
            let block = |(number, sums): (usize, &mut [T])| {
                let first = number * OUTPUTS;
                let outputs = OUTPUTS.min(map.outputs - first);
                let mut start = Start::Zero;
                for way in ways {
                    for (chunk, adjoints) in way.adjoints.0.iter().enumerate() {
                        let row = chunk * CHUNK;
                        let rows = CHUNK.min(self.rows - row);
                        let read = match place.checked_sub(1) {
                            Some(before) => &way.between.0[chunk][before],
                            None => &way.input[row * map.inputs..(row + rows) * map.inputs],
                        };
                        multiply(
                            Left::transposed(&adjoints[place][first..], map.outputs),
                            read,
                            [outputs, map.inputs, rows],
                            (start, End::Plain),
                            sums,
                        );
                        start = Start::Kept;
                    }
                }
            };
            if is_large && map.outputs > OUTPUTS {
                sums.par_chunks_mut(OUTPUTS * map.inputs)
                    .enumerate()
                    .for_each(block);
            } else {
                sums.chunks_mut(OUTPUTS * map.inputs)
                    .enumerate()
                    .for_each(block);
            }
            Array::new(sums, [map.outputs, map.inputs])
        };
        self.maps.iter().enumerate().map(of_map).collect()
    }

    /// The way that the rows went up when they ran, and one down.
    pub(super) fn as_run<'a>(&'a self, adjoints: &'a Between<T>) -> Ways<'a, T> {
        Ways {
            adjoints,
            input: self.x.values::<T>(),
            between: &self.values,
        }
    }

    /// For every map the sum over rows of its output's adjoints, times the rows' factors where there are some, `[1, outputs]`.
    pub(super) fn biases(&self, adjoints: &Between<T>, factors: Option<&[T]>) -> Vec<Array> {
        let of_map = |(place, map): (usize, &Arc<Map<T>>)| {
            let mut sums = vec![T::default(); map.outputs];
            for (chunk, adjoints) in adjoints.0.iter().enumerate() {
                T::vectorised(SumRows {
                    rows: &adjoints[place],
                    factors: factors.map(|factors| &factors[chunk * CHUNK..]),
                    sums: &mut sums,
                });
            }
            Array::new(sums, [1, map.outputs])
        };
        self.maps.iter().enumerate().map(of_map).collect()
    }
}
