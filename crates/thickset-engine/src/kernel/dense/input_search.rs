//! Gradients in the inputs of losses of the logits, while the weights stand still: rows go up and down a chain in memory that is kept
//! from one gradient to the next.

use std::sync::Arc;

use rayon::prelude::*;

use super::loops::{Scale, Soften};
use super::path::{PathChain, Paths};
use super::product::{End, Left, Start, multiply};
use super::run::{CHUNK, Map, PARALLEL_WORK};
use super::{Maps, narrowed, widened};
use crate::input_search::{InputSearch, InputSlopes, SearchPart};
use crate::interrupt;
use crate::kernel::row_tile::Activation;
use crate::kernel::storage::Stored;
use crate::layer::Part;
use crate::tensor::{DType, Tensor};

/// The search among inputs like `x`; see [`crate::Network::input_search`] for where there is none.
pub(crate) fn input_search(x: &Tensor<2>, parts: &[Part<'_>]) -> Option<Box<dyn InputSearch>> {
    let maps = Maps::new(parts).filter(|maps| maps.run_on(x) && !x.is_autodiff())?;
    Some(match x.dtype() {
        DType::F32 => Box::new(Search::<f32>::new(&maps)),
        DType::F64 => Box::new(Search::<f64>::new(&maps)),
        _ => return None,
    })
}

struct Search<T> {
    maps: Vec<Arc<Map<T>>>,
    /// For gradients along paths, where the chain has them.
    paths: Option<PathChain<T>>,
}

impl<T: Stored> Search<T> {
    fn new(maps: &Maps) -> Self {
        let maps = maps.list();
        Self {
            paths: PathChain::new(maps.clone()),
            maps,
        }
    }
}

impl<T: Stored> InputSearch for Search<T> {
    fn has_paths(&self) -> bool {
        self.paths.is_some()
    }

    fn run(&self, rows: &mut [f64], passes: usize, search: &SearchPart<'_>) {
        let features = self.maps.first().map_or(0, |map| map.inputs);
        if rows.is_empty() || features == 0 {
            return;
        }
        interrupt::check();
        let weights: usize = self.maps.iter().map(|map| map.transposed.len()).sum();
        let part = |(number, rows): (usize, &mut [f64])| {
            search(number * CHUNK, rows, &mut Rows::new(self));
        };
        // A gradient goes up and down.
        let work = 2 * passes * weights * (rows.len() / features);
        if work >= PARALLEL_WORK && rows.len() > CHUNK * features {
            let parts = rows.par_chunks_mut(CHUNK * features);
            parts.enumerate().for_each(part);
        } else {
            let parts = rows.chunks_mut(CHUNK * features);
            parts.enumerate().for_each(part);
        }
    }
}

/// Some rows on their way.
struct Rows<'s, T> {
    of: &'s Search<T>,
    /// Behind each map's activation, and the slopes of softplus.
    values: Vec<Vec<T>>,
    slopes: Vec<Vec<T>>,
    /// On the way down.
    adjoint: Vec<T>,
    below: Vec<T>,
    logits: Vec<f64>,
    logit_slopes: Vec<f64>,
    gradient: Vec<f64>,
}

impl<'s, T: Stored> Rows<'s, T> {
    fn new(of: &'s Search<T>) -> Self {
        let empty = || of.maps.iter().map(|_| Vec::new()).collect();
        Self {
            of,
            values: empty(),
            slopes: empty(),
            adjoint: Vec::new(),
            below: Vec::new(),
            logits: Vec::new(),
            logit_slopes: Vec::new(),
            gradient: Vec::new(),
        }
    }

    fn up(&mut self, x: &[T], rows: usize) {
        for (place, map) in self.of.maps.iter().enumerate() {
            let (before, here) = self.values.split_at_mut(place);
            let value = &mut here[0];
            value.resize(rows * map.outputs, T::default());
            multiply(
                Left::plain(before.last().map_or(x, |before| before), map.inputs),
                &map.transposed,
                [rows, map.outputs, map.inputs],
                (Start::Row(map.bias.values()), map.end()),
                value,
            );
            if let Activation::Softplus { beta } = map.activation {
                let slope = &mut self.slopes[place];
                slope.resize(value.len(), T::default());
                T::vectorised(Soften { beta, value, slope });
            }
        }
    }

    /// From the adjoints of the logits to those of the input, which take their place.
    fn down(&mut self, rows: usize) {
        for (place, map) in self.of.maps.iter().enumerate().rev() {
            let numbers = &mut self.adjoint[..];
            match map.activation {
                Activation::Softplus { .. } => T::vectorised(Scale {
                    slopes: &self.slopes[place],
                    numbers,
                }),
                // Behind the other maps it is the end of the product.
                Activation::Relu if place + 1 == self.of.maps.len() => {
                    for (number, value) in numbers.iter_mut().zip(&self.values[place]) {
                        *number = if *value > T::default() {
                            *number
                        } else {
                            T::default()
                        };
                    }
                }
                Activation::Relu | Activation::None => {}
            }
            let end = match place.checked_sub(1) {
                Some(before) if self.of.maps[before].activation == Activation::Relu => {
                    End::Gate(&self.values[before])
                }
                _ => End::Plain,
            };
            self.below.resize(rows * map.inputs, T::default());
            multiply(
                Left::plain(&self.adjoint, map.outputs),
                map.weight.values(),
                [rows, map.inputs, map.outputs],
                (Start::Zero, end),
                &mut self.below,
            );
            std::mem::swap(&mut self.adjoint, &mut self.below);
        }
    }
}

impl<T: Stored> InputSlopes for Rows<'_, T> {
    fn gradient(&mut self, x: &[f64], slopes: &mut dyn FnMut(&[f64], &mut [f64])) -> &[f64] {
        interrupt::check();
        let features = self.of.maps.first().map_or(1, |map| map.inputs);
        let rows = x.len() / features;
        self.up(&narrowed::<T>(x), rows);
        self.logits.clear();
        let logits = self.values.last().into_iter().flatten();
        self.logits.extend(logits.map(|logit| logit.to_f64()));
        self.logit_slopes.clear();
        self.logit_slopes.resize(self.logits.len(), 0.0);
        slopes(&self.logits, &mut self.logit_slopes);
        self.adjoint.clear();
        let seeds = self.logit_slopes.iter();
        self.adjoint.extend(seeds.map(|seed| T::from_f64(*seed)));
        self.down(rows);
        self.gradient.clear();
        let gradient = self.adjoint.iter().map(|number| number.to_f64());
        self.gradient.extend(gradient);
        &self.gradient
    }

    fn path_gradient(&mut self, x: &[f64], classes: &[usize], steps: usize) -> Vec<f64> {
        let Some(paths) = &self.of.paths else {
            panic!("a chain that has paths");
        };
        let paths = Paths::new(paths, &narrowed::<T>(x), classes, steps);
        widened(&paths.gradient())
    }
}

#[cfg(test)]
mod tests;
