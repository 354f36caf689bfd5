//! A network as certificates see it: dense layers in `f64`, each hidden one behind a `ReLU`.

use super::rounding::Arithmetic;
use super::vector::{add_scaled, dot};

/// `z = W a + b`.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseLayer {
    /// `[outputs, inputs]`, row-major.
    pub weight: Vec<f64>,
    /// One number an output.
    pub bias: Vec<f64>,
    /// Features that it reads.
    pub inputs: usize,
}

impl DenseLayer {
    /// Features that it gives.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// The weights of each output.
    pub(super) fn rows(&self) -> impl DoubleEndedIterator<Item = &[f64]> {
        self.weight.chunks(self.inputs.max(1))
    }

    /// The weights of one output.
    pub(crate) fn row(&self, output: usize) -> &[f64] {
        &self.weight[output * self.inputs..][..self.inputs]
    }

    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let rows = self.rows().zip(&self.bias);
        rows.map(|(row, bias)| dot(row, x) + bias).collect()
    }
}

/// Hidden layers behind `ReLU`s, and a linear head.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseNetwork {
    /// The first one first; none for a linear model.
    pub hidden: Vec<DenseLayer>,
    /// Gives the logits.
    pub head: DenseLayer,
    /// The format that the deployed model computes in.
    pub arithmetic: Arithmetic,
}

impl DenseNetwork {
    /// Features of an input row.
    #[must_use]
    pub fn features(&self) -> usize {
        self.hidden.first().unwrap_or(&self.head).inputs
    }

    /// Logits of a row.
    #[must_use]
    pub fn classes(&self) -> usize {
        self.head.outputs()
    }

    /// Hidden neurons of all layers.
    #[must_use]
    pub fn neurons(&self) -> usize {
        self.hidden.iter().map(DenseLayer::outputs).sum()
    }

    /// The logits at `x`, and which gates are open, layer by layer.
    pub(super) fn run(&self, x: &[f64]) -> (Vec<f64>, Vec<Vec<bool>>) {
        let mut gates = Vec::with_capacity(self.hidden.len());
        let mut values = x.to_vec();
        for layer in &self.hidden {
            values = layer.apply(&values);
            gates.push(values.iter().map(|value| *value > 0.0).collect());
            for value in &mut values {
                *value = value.max(0.0);
            }
        }
        (self.head.apply(&values), gates)
    }

    /// The gradient in the input of `<seed, last hidden values>` where these gates are open.
    pub(super) fn gradient(&self, seed: &[f64], gates: &[Vec<bool>]) -> Vec<f64> {
        let mut adjoint = seed.to_vec();
        for (layer, gates) in self.hidden.iter().zip(gates).rev() {
            let mut below = vec![0.0; layer.inputs];
            for ((row, adjoint), is_open) in layer.rows().zip(&adjoint).zip(gates) {
                if *is_open {
                    add_scaled(&mut below, *adjoint, row);
                }
            }
            adjoint = below;
        }
        adjoint
    }
}
