//! Gates in blocks: which segment of each block a row lies in.
//!
//! Every gate has a score `s = S x + s0`, a constant of the layer: the feature itself for a category of a one-hot column,
//! `mu . x - |mu|^2 / 2` for a prototype mu, whose largest score is the nearest prototype's. Block by block the scores become
//! `pi`: the argmax (ties to the lower gate), which is constant between its jumps; `sparsemax(s / delta)`, which is continuous and the
//! same wherever one score is ahead by delta; or `softmax(beta s)`, whose slopes show a search where the jumps of the first two lie.
//!
//! With the support m of a sparsemax block, `pi = m (s / delta - (sum of m s / delta - 1) / |m|)`, and its Jacobian is
//! `(diag m - m m^T / |m|) / delta`.

use crate::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::{Form, Layer, Linearised, single};
use crate::kernel::{affine, linear, linear_input};
use crate::{Error, Init, Parameter, Result, Scope};

/// How scores of a block become gates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gating {
    /// 1 for the largest score, 0 for the others.
    Argmax,
    /// `sparsemax(s / delta)`.
    Sparsemax {
        /// A score that is ahead by this much has its block for itself.
        delta: f64,
    },
    /// `softmax(beta s)`.
    Softmax {
        /// The sharpness.
        beta: f64,
    },
}

/// Gates of all blocks, one after the other.
#[derive(Clone, Debug)]
pub struct Gates {
    weight: Parameter,
    bias: Parameter,
    features: usize,
    /// The number of gates of each block.
    blocks: Vec<usize>,
    gating: Gating,
}

impl Gates {
    /// Gates over `features`, in blocks of these sizes. The scores come from the scope, `score_weight` and `score_bias`, and are not
    /// fitted.
    ///
    /// # Errors
    /// If there is no block or one is empty, delta or beta is not finite and positive, or the source cannot provide the scores.
    pub fn new(
        features: usize,
        blocks: &[usize],
        gating: Gating,
        scope: &mut Scope<'_>,
    ) -> Result<Self> {
        let gates = blocks
            .iter()
            .fold(0_usize, |sum, &size| sum.saturating_add(size));
        if blocks.is_empty() || blocks.contains(&0) {
            return Err(Error::Size {
                name: "gates of a block",
                most: usize::MAX,
                got: 0,
            });
        }
        let (name, positive) = match gating {
            Gating::Argmax => ("gating", 1.0),
            Gating::Sparsemax { delta } => ("delta", delta),
            Gating::Softmax { beta } => ("beta", beta),
        };
        if !(positive.is_finite() && positive > 0.0) {
            return Err(Error::Positive {
                name,
                got: positive,
            });
        }
        Ok(Self {
            weight: scope.statistic("score_weight", &[gates, features], Init::Constant(0.0))?,
            bias: scope.statistic("score_bias", &[gates], Init::Constant(0.0))?,
            features,
            blocks: blocks.to_vec(),
            gating,
        })
    }

    /// The number of gates of each block.
    #[must_use]
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// How scores become gates.
    #[must_use]
    pub fn gating(&self) -> Gating {
        self.gating
    }

    /// `S`, `[gates, features]`.
    #[must_use]
    pub fn weight(&self) -> &Tensor<2> {
        &self.weight.value
    }

    /// `s0`, `[1, gates]`.
    #[must_use]
    pub fn bias(&self) -> &Tensor<2> {
        &self.bias.value
    }

    /// Sets the scores: `S` row by row, and `s0`.
    ///
    /// # Panics
    /// If their sizes are not those of the layer.
    pub fn set_scores(&mut self, weight: Vec<f64>, bias: Vec<f64>) {
        for (parameter, values) in [(&mut self.weight, weight), (&mut self.bias, bias)] {
            let size = parameter.value.dims();
            let like = &parameter.value;
            parameter.value = Tensor::from_data(
                TensorData::new(values, size),
                (&like.device().without_autodiff(), like.dtype()),
            );
        }
    }

    fn count(&self) -> usize {
        self.blocks.iter().sum()
    }

    /// `[blocks, gates]`: 1 where the gate is of the block.
    fn membership(&self, like: &Tensor<2>) -> Tensor<2> {
        let gates = self.count();
        let mut values = vec![0.0_f32; self.blocks.len() * gates];
        let mut start = 0;
        for (block, &size) in self.blocks.iter().enumerate() {
            values[block * gates + start..block * gates + start + size].fill(1.0);
            start += size;
        }
        Tensor::from_data(
            TensorData::new(values, [self.blocks.len(), gates]),
            (&like.device().without_autodiff(), like.dtype()),
        )
    }

    /// Numbers made of the scores, block by block, as a constant.
    fn constant(&self, scores: &Tensor<2>, of_block: impl Fn(&[f64], &mut [f64])) -> Tensor<2> {
        let (size, plain) = (scores.dims(), scores.clone().without_autodiff());
        let (device, dtype) = (plain.device(), plain.dtype());
        let data: Vec<f64> = plain.into_data().iter::<f64>().collect();
        let mut values = vec![0.0; data.len()];
        let gates = self.count();
        for (row, out) in data.chunks(gates).zip(values.chunks_mut(gates)) {
            let mut start = 0;
            for &block in &self.blocks {
                of_block(&row[start..start + block], &mut out[start..start + block]);
                start += block;
            }
        }
        Tensor::from_data(TensorData::new(values, size), (&device, dtype))
    }

    fn linearised(&self, x: &Tensor<2>) -> (Tensor<2>, At) {
        let weight = self.weight.value.clone();
        let scores = affine(x.clone(), weight.clone(), self.bias.value.clone());
        let membership = self.membership(x);
        let (pi, kind) = match self.gating {
            Gating::Argmax => (self.constant(&scores, argmax), Kind::Constant),
            Gating::Sparsemax { delta } => {
                let support = self.constant(&scores, |block, out| support(block, delta, out));
                let scaled = scores * (1.0 / delta);
                let inside = linear(support.clone(), membership.clone());
                let over = linear(support.clone() * scaled.clone(), membership.clone()) - 1.0;
                let threshold = linear_input(over / inside.clone(), membership.clone());
                let pi = support.clone() * (scaled - threshold);
                let shared = Shared {
                    support,
                    inside,
                    delta,
                };
                (pi, Kind::Shared(Box::new(shared)))
            }
            Gating::Softmax { beta } => {
                let largest = self.constant(&scores, |block, out| {
                    out.fill(block.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                });
                let size = ((scores - largest) * beta).exp();
                let sum = linear(size.clone(), membership.clone());
                let pi = size / linear_input(sum, membership.clone());
                (pi.clone(), Kind::Soft(Box::new((pi, beta))))
            }
        };
        (
            pi,
            At {
                weight,
                membership,
                kind,
            },
        )
    }
}

/// The largest of a block; ties to the lower gate.
fn argmax(block: &[f64], out: &mut [f64]) {
    let mut best = 0;
    for (gate, score) in block.iter().enumerate() {
        if *score > block[best] {
            best = gate;
        }
    }
    out[best] = 1.0;
}

/// Where sparsemax of the block's scores over delta is not zero.
fn support(block: &[f64], delta: f64, out: &mut [f64]) {
    let mut sorted: Vec<f64> = block.iter().map(|score| score / delta).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, f64::NEG_INFINITY);
    for (place, score) in sorted.iter().enumerate() {
        sum += score;
        #[expect(clippy::cast_precision_loss, reason = "gates are far below 2^53")]
        let next = (sum - 1.0) / (place as f64 + 1.0);
        if *score > next {
            threshold = next;
        }
    }
    for (out, score) in out.iter_mut().zip(block) {
        *out = f64::from(u8::from(score / delta > threshold));
    }
}

impl Layer for Gates {
    fn kind(&self) -> &'static str {
        "gates"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::Gates {
            features: self.features,
            blocks: self.blocks.clone(),
            gating: self.gating,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        (inputs == [self.features]).then(|| self.count())
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.linearised(&single(inputs)).0
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let (pi, at) = self.linearised(&single(inputs));
        (pi, Box::new(at))
    }

    fn parameters(&self) -> Vec<&Parameter> {
        vec![&self.weight, &self.bias]
    }

    fn parameters_mut(&mut self) -> Vec<&mut Parameter> {
        vec![&mut self.weight, &mut self.bias]
    }

    fn smooth(&self, beta: f64) -> Option<Box<dyn Layer>> {
        (self.gating == Gating::Argmax).then(|| {
            let gating = Gating::Softmax { beta };
            Box::new(Self {
                gating,
                ..self.clone()
            }) as Box<dyn Layer>
        })
    }

    fn is_curved(&self) -> bool {
        matches!(self.gating, Gating::Softmax { .. })
    }

    fn gates(&self) -> Option<&Gates> {
        Some(self)
    }

    fn gates_mut(&mut self) -> Option<&mut Gates> {
        Some(self)
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }
}

/// How gates move with their scores.
enum Kind {
    /// Not at all.
    Constant,
    /// Sparsemax.
    Shared(Box<Shared>),
    /// Softmax: its gates, and the sharpness.
    Soft(Box<(Tensor<2>, f64)>),
}

/// Where sparsemax is not zero.
struct Shared {
    support: Tensor<2>,
    /// The size of the support in each block.
    inside: Tensor<2>,
    delta: f64,
}

struct At {
    weight: Tensor<2>,
    membership: Tensor<2>,
    kind: Kind,
}

impl At {
    /// The gates' Jacobian in their scores, which is symmetric, times `v`.
    fn gates(&self, v: Tensor<2>) -> Tensor<2> {
        let spread = |sums: Tensor<2>| linear_input(sums, self.membership.clone());
        match &self.kind {
            Kind::Constant => v.zeros_like(),
            Kind::Shared(shared) => {
                let Shared {
                    support,
                    inside,
                    delta,
                } = &**shared;
                let sums = linear(support.clone() * v.clone(), self.membership.clone());
                support.clone() * (v - spread(sums / inside.clone())) * (1.0 / delta)
            }
            Kind::Soft(soft) => {
                let (pi, beta) = &**soft;
                let sums = linear(pi.clone() * v.clone(), self.membership.clone());
                pi.clone() * (v - spread(sums)) * *beta
            }
        }
    }
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![linear_input(self.gates(g), self.weight.clone())]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        self.gates(linear(single(v), self.weight.clone()))
    }

    fn pullback_tangent(&self, v: &[Tensor<2>], g: &Tensor<2>, g_dot: Tensor<2>) -> Vec<Tensor<2>> {
        let mut change = self.gates(g_dot);
        if let Kind::Soft(soft) = &self.kind {
            let (pi, beta) = &**soft;
            let spread = |sums: Tensor<2>| linear_input(sums, self.membership.clone());
            let sums = |values: Tensor<2>| spread(linear(values, self.membership.clone()));
            let pi_dot = self.tangent(v);
            let centred = g.clone() - sums(pi.clone() * g.clone());
            let centre_dot = sums(pi_dot.clone() * g.clone());
            change = change + (pi_dot * centred - pi.clone() * centre_dot) * *beta;
        }
        vec![linear_input(change, self.weight.clone())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparsemax_of_three_scores_by_hand() {
        // Of (1, 0.8, 0) / 0.5 = (2, 1.6, 0): the first two, above (3.6 - 1) / 2 = 1.3.
        let mut out = [0.0; 3];
        support(&[1.0, 0.8, 0.0], 0.5, &mut out);
        assert_eq!(out.map(|share| share > 0.5), [true, true, false]);
        // Ahead by delta, the first has the block for itself.
        support(&[1.0, 0.5, 0.0], 0.5, &mut out);
        assert_eq!(out.map(|share| share > 0.5), [true, false, false]);
    }

    #[test]
    fn of_equal_scores_the_lower_gate_is_open() {
        let mut out = [0.0; 3];
        argmax(&[0.0, 0.5, 0.5], &mut out);
        assert_eq!(out.map(|share| share > 0.5), [false, true, false]);
    }
}
