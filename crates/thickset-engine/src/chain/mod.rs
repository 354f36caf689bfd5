//! The fast path for chains of dense layers: a few rows at a time without leaving the cache.
//!
//! [`Network::pass`] runs one operation of every layer for a whole batch, records where asked to, and takes memory for each
//! result. A search that evaluates the same network a hundred times at few rows pays more for that than for the arithmetic. A
//! [`Chain`] holds the weights in the order in which they are read; a [`Tile`] of it runs some rows through all layers, up and
//! down, in memory that it keeps.
//!
//! # Contract
//!
//! - [`Network::chain`] gives a chain where the network is one, and `None` for everything else; the caller then uses
//!   [`Network::pass`].
//! - A tile computes what [`Pass`](crate::Pass) computes, with the same bits: logits, the gradient of one output a row, Hessian
//!   products. The two share the formulas of heads and activations and the order of every sum. One thing has a shorter way
//!   and agrees up to rounding: Hessian products of two classes and a piecewise linear network, which are multiples of the
//!   gradient. They are directions to search in; what is ranked and reported are gradients.
//! - A row's numbers depend neither on its place in a tile nor on the other rows.
//! - The chain copies the weights: it does not follow a network that is trained on. Nothing is recorded for `backward`.

mod head;
mod margin;
mod tile;

use crate::tensor::DType;

use self::margin::MarginRun;
use self::tile::{Maps, Run};
use crate::kernel::{Lanes, tile_rows};
use crate::{Network, Output};

/// A network packed for tiles of rows: the logits, input gradients and Hessian products of [`Network::pass`], in a fraction of
/// its time where rows are few.
#[derive(Debug)]
pub struct Chain(Kind);

#[derive(Debug)]
enum Kind {
    F32(Maps<f32>),
    F64(Maps<f64>),
}

/// Some rows of a [`Chain`]. All slices are row-major.
pub trait Tile {
    /// Runs rows, at most [`Chain::rows`], forward to the logits and back to the gradient of each row's `output` for its class.
    ///
    /// # Panics
    /// If rows and classes do not fit the network or each other.
    fn run(&mut self, x: &[f64], output: Output, classes: &[usize]);

    /// Of the rows of the last run.
    fn logits(&self) -> &[f64];

    /// Of the rows of the last run.
    fn gradient(&self) -> &[f64];

    /// The exact product of each row's Hessian with its direction, at the rows of the last run.
    ///
    /// # Panics
    /// If there are not as many directions or products as rows.
    fn hessian_product(&mut self, direction: &[f64], product: &mut [f64]);
}

/// Some rows of a [`Chain`] of two classes that is piecewise linear, side by side: number `i` of row `r` is lane `r % 8` of
/// number `(r / 8) * n + i`, where each row has `n`. The output is a function `f` of the margin between the classes,
/// whose gradient does not bend, so that the Hessian follows from the gradient `g`: it is `(f'' / f'^2) g g^T`.
pub trait MarginTile {
    /// Runs rows, at most [`Chain::rows`], forward to the logits and back to the gradient of each row's `output` for its class, 0
    /// or 1. The bits are those of [`Tile::run`].
    ///
    /// # Panics
    /// If rows and classes do not fit the network or each other.
    fn run(&mut self, x: &[Lanes], output: Output, classes: &[Lanes]);

    /// Of the rows of the last run, two each.
    fn logits(&self) -> &[Lanes];

    /// Of the rows of the last run.
    fn gradient(&self) -> &[Lanes];

    /// `f'' / f'^2` at the rows of the last run; zero where the output no longer changes in numbers.
    fn curvature(&self) -> &[Lanes];
}

impl Network {
    /// The fast path for few rows at a time, where this network is a chain: linear maps, each with or without ReLU or softplus,
    /// each reading the one before, and none of them tracked or on another device than the CPU. See [`Chain`] for what it computes.
    #[must_use]
    pub fn chain(&self) -> Option<Chain> {
        Chain::new(self)
    }
}

impl Chain {
    /// As [`Network::chain`].
    #[must_use]
    pub fn new(network: &Network) -> Option<Self> {
        let parts = network.chain_parts().filter(|_| network.is_on_cpu())?;
        Some(Self(match network.dtype() {
            DType::F32 => Kind::F32(Maps::new(network.features(), &parts)?),
            DType::F64 => Kind::F64(Maps::new(network.features(), &parts)?),
            _ => return None,
        }))
    }

    /// The most rows of a tile.
    #[must_use]
    pub fn rows(&self) -> usize {
        match &self.0 {
            Kind::F32(_) => tile_rows::<f32>(),
            Kind::F64(_) => tile_rows::<f64>(),
        }
    }

    /// Room for a tile of rows.
    #[must_use]
    pub fn tile(&self) -> Box<dyn Tile + '_> {
        match &self.0 {
            Kind::F32(maps) => Box::new(Run::new(maps)),
            Kind::F64(maps) => Box::new(Run::new(maps)),
        }
    }

    /// Room for a tile of rows side by side, where the output depends on a margin: two classes, and no smooth activation.
    #[must_use]
    pub fn margin_tile(&self) -> Option<Box<dyn MarginTile + '_>> {
        match &self.0 {
            Kind::F32(maps) if maps.depends_on_margin_only => Some(Box::new(MarginRun::new(maps))),
            Kind::F64(maps) if maps.depends_on_margin_only => Some(Box::new(MarginRun::new(maps))),
            Kind::F32(_) | Kind::F64(_) => None,
        }
    }
}
