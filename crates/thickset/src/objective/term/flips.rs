//! Points just beyond the borders of a segmented model's segments: where a row would be explained by another segment.
//!
//! Gate c of a block takes over from gate a on the way along `S_c - S_a`, after `d = (s_a - s_c + delta) / |S_c - S_a|`, where S and s are the
//! scores' weights and values, and delta is 0 for an argmax. For two categories d is `(1 + delta) / sqrt(2)`.

use thickset_engine::Network;
use thickset_engine::layer::Gating;

use crate::host::read;

/// How far beyond the border a point lies, so that rounding does not put it back.
const BEYOND: f64 = 1e-3;

/// The scores of a segmented model's gates, in plain numbers.
#[derive(Clone, Debug)]
pub struct Borders {
    weight: Vec<f64>,
    bias: Vec<f64>,
    blocks: Vec<usize>,
    features: usize,
    /// By how much a score must be ahead to have its block alone.
    delta: f64,
}

/// A gate that opens, and the point where it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Flip {
    /// The gate, counted over all blocks.
    pub gate: usize,
    /// How far the border is.
    pub distance: f64,
    /// A point just beyond it.
    pub point: Vec<f64>,
}

impl Borders {
    /// Those of a network, where it has segments.
    #[must_use]
    pub fn of(network: &Network) -> Option<Self> {
        let gates = network.gates()?;
        let delta = match gates.gating() {
            Gating::Argmax | Gating::Softmax { .. } => 0.0,
            Gating::Sparsemax { delta } => delta,
        };
        Some(Self {
            weight: read(gates.weight().clone()),
            bias: read(gates.bias().clone()),
            blocks: gates.blocks().to_vec(),
            features: network.features(),
            delta,
        })
    }

    /// The number of gates.
    #[must_use]
    pub fn gates(&self) -> usize {
        self.bias.len()
    }

    fn map(&self, gate: usize) -> &[f64] {
        &self.weight[gate * self.features..(gate + 1) * self.features]
    }

    fn score(&self, gate: usize, x: &[f64]) -> f64 {
        let products = self.map(gate).iter().zip(x).map(|(weight, x)| weight * x);
        products.sum::<f64>() + self.bias[gate]
    }

    /// The gate of each block that is open at a row; ties to the lower one.
    #[must_use]
    pub fn open(&self, x: &[f64]) -> Vec<usize> {
        let mut start = 0;
        let of_block = |&size: &usize| {
            let mut best = start;
            for gate in start..start + size {
                if self.score(gate, x) > self.score(best, x) {
                    best = gate;
                }
            }
            start += size;
            best
        };
        self.blocks.iter().map(of_block).collect()
    }

    /// Every gate that can take over within `radius` of a row, block by block, one at a time.
    #[must_use]
    pub fn flips(&self, x: &[f64], radius: f64) -> Vec<Flip> {
        let mut flips = Vec::new();
        let mut start = 0;
        for (open, &size) in self.open(x).into_iter().zip(&self.blocks) {
            for gate in (start..start + size).filter(|gate| *gate != open) {
                flips.extend(self.flip(x, open, gate, radius));
            }
            start += size;
        }
        flips
    }

    fn flip(&self, x: &[f64], open: usize, gate: usize, radius: f64) -> Option<Flip> {
        let way: Vec<f64> = self
            .map(gate)
            .iter()
            .zip(self.map(open))
            .map(|(to, from)| to - from)
            .collect();
        let length = way.iter().map(|part| part * part).sum::<f64>().sqrt();
        if length == 0.0 {
            return None;
        }
        let behind = self.score(open, x) - self.score(gate, x);
        let distance = (behind + self.delta) / length;
        if distance > radius {
            return None;
        }
        let step = (distance + BEYOND) / length;
        let moved = x.iter().zip(&way);
        Some(Flip {
            gate,
            distance,
            point: moved.map(|(x, way)| x + step * way).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One column of two categories, and a number that no gate reads.
    fn two_categories(delta: f64) -> Borders {
        Borders {
            weight: vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            bias: vec![0.0, 0.0],
            blocks: vec![2],
            features: 3,
            delta,
        }
    }

    #[test]
    fn two_categories_flip_at_one_over_the_root_of_two() {
        let x = [1.0, 0.0, 0.3];
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let borders = two_categories(0.0);
        assert_eq!(borders.open(&x), [0]);
        assert!(borders.flips(&x, half - 1e-9).is_empty());
        let flips = borders.flips(&x, half + 1e-9);
        assert!(flips.len() == 1 && (flips[0].distance - half).abs() < 1e-12);
        assert_eq!(borders.open(&flips[0].point), [1]);
        assert!((flips[0].point[2] - 0.3).abs() < 1e-15);
        let soft = two_categories(0.2).flips(&x, 1.0);
        assert!((soft[0].distance - 1.2 * half).abs() < 1e-12);
    }
}
