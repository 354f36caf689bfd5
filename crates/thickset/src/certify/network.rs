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
    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = &[f64]> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hidden layers: `x0 - x1` and `x0 + x1 - 4`, then `2 a - b + 1` and `-a`.
    fn network() -> DenseNetwork {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        DenseNetwork {
            hidden: vec![
                layer(&[1.0, -1.0, 1.0, 1.0], &[0.0, -4.0]),
                layer(&[2.0, -1.0, -1.0, 0.0], &[1.0, 0.0]),
            ],
            head: layer(&[1.0, 5.0, 0.5, 0.0, -1.0, 0.0], &[0.0, 0.0, 2.0]),
            arithmetic: Arithmetic::DOUBLE,
        }
    }

    #[test]
    fn a_network_runs_and_is_pulled_back_through_its_open_gates() {
        let network = network();
        assert_eq!(
            (network.features(), network.neurons(), network.classes()),
            (2, 4, 3)
        );
        // At (3, 2) the first layer is 1 and 1, the second 2 and closed.
        let (logits, gates) = network.run(&[3.0, 2.0]);
        assert_eq!(logits, [2.0, 1.0, 0.0]);
        assert_eq!(gates, [[true, true], [true, false]]);
        // 2 (1, -1) - (1, 1).
        assert_eq!(network.gradient(&[1.0, 5.0], &gates), [1.0, -3.0]);
        // A gate at its kink is closed.
        let (logits, gates) = network.run(&[2.0, 2.0]);
        assert_eq!(
            (logits, gates[0].clone()),
            (vec![1.0, 0.5, 1.0], vec![false, false])
        );
        assert_eq!(network.gradient(&[1.0, 5.0], &gates), [0.0, 0.0]);
    }
}
