//! Tests of the whole search: every activation pattern of tiny networks, the radii of a reference, and the deployed model.

mod bounds;
mod brute_force;
mod by_hand;
mod deployed;
mod forms;
mod proofs;
mod reference;
mod speed;

use super::ball::MoveNorm;
use super::case::{Case, Deployed, Moves, largest};
use super::explained::Explained;
use super::network::{DenseLayer, DenseNetwork};
use super::result::{CertifiedRadius, CertifiedWorstCase};
use super::rounding::Arithmetic;
use super::{certified_radius, certified_worst_case};
use crate::Stream;
use crate::metric::ranking::TopK;

/// The exact network as its own deployed model, in `f64`.
struct Exact<'a> {
    network: &'a DenseNetwork,
    explained: &'a Explained,
}

impl Deployed for Exact<'_> {
    fn nearest_input(&self, value: f64) -> f64 {
        value
    }

    fn run(&self, x: &[f64], _class: usize) -> (usize, Vec<f64>) {
        let (logits, gates) = self.network.run(x);
        let gradient = self.network.gradient(&self.explained.seed, &gates);
        (largest(&logits), self.explained.importance(&gradient, x))
    }
}

fn layer(inputs: usize, outputs: usize, stream: &mut Stream) -> DenseLayer {
    DenseLayer {
        weight: (0..inputs * outputs).map(|_| stream.normal()).collect(),
        bias: (0..outputs).map(|_| 0.5 * stream.normal()).collect(),
        inputs,
    }
}

/// A network of these widths, from the input to the logits, with random weights.
pub(super) fn random_network(widths: &[usize], stream: &mut Stream) -> DenseNetwork {
    let mut layers: Vec<DenseLayer> = widths
        .windows(2)
        .map(|pair| layer(pair[0], pair[1], stream))
        .collect();
    let head = layers.pop().unwrap();
    DenseNetwork {
        hidden: layers,
        head,
        arithmetic: Arithmetic::DOUBLE,
    }
}

/// Any move up to the radius.
pub(super) fn free_moves(norm: MoveNorm, radius: f64, features: usize, hold: bool) -> Moves {
    Moves {
        norm,
        radius,
        low: vec![f64::NEG_INFINITY; features],
        high: vec![f64::INFINITY; features],
        hold,
    }
}

/// Runs something on the case of a row of the exact network.
pub(super) fn with_case<T>(
    network: &DenseNetwork,
    explained: &Explained,
    moves: &Moves,
    x: &[f64],
    k: usize,
    run: impl FnOnce(&Case<'_>) -> T,
) -> T {
    let exact = Exact { network, explained };
    let (class, importance) = exact.run(x, 0);
    let salient = TopK::of(&importance, k).unwrap().iter().collect();
    run(&Case::new(
        network, explained, &exact, moves, x, class, salient,
    ))
}

const NODES: usize = 100_000;

fn radius(case: &Case<'_>) -> CertifiedRadius {
    certified_radius::certify(case, NODES, case.moves.radius)
}

fn worst_case(case: &Case<'_>) -> CertifiedWorstCase {
    certified_worst_case::certify(case, NODES, 0)
}
