//! The layers that regions are cut by.

#![expect(
    clippy::inline_always,
    reason = "a loop is compiled for the instruction set of the function it is inlined into"
)]

use thickset_engine::Network;

use super::MOST_NUMBERS;
use super::projection::dot;
use crate::certify::{DenseLayer, DenseNetwork};

/// Dense layers in `f64`, a `ReLU` behind each but the last.
pub(super) struct Layers(pub(super) Vec<DenseLayer>);

impl Layers {
    /// The network's layers, if it is a chain of them with at least one `ReLU` and small enough to search.
    pub(super) fn of(network: &Network) -> Option<Self> {
        let DenseNetwork { hidden, head, .. } = DenseNetwork::of(network).ok()?;
        let mut layers = hidden;
        if layers.is_empty() {
            return None;
        }
        layers.push(head);
        let layers = Self(layers);
        (layers.gates() * network.features() <= MOST_NUMBERS).then_some(layers)
    }

    fn gates(&self) -> usize {
        let hidden = &self.0[..self.0.len() - 1];
        hidden.iter().map(DenseLayer::outputs).sum()
    }

    /// Which gates are open at a point, and its logits.
    #[inline(always)]
    pub(super) fn run(&self, x: &[f64]) -> (Vec<bool>, Vec<f64>) {
        let mut gates = Vec::with_capacity(self.gates());
        let mut values = x.to_vec();
        for (place, layer) in self.0.iter().enumerate() {
            let mut outputs = layer.bias.clone();
            for (output, value) in outputs.iter_mut().enumerate() {
                *value += dot(layer.row(output), &values);
            }
            values = outputs;
            if place + 1 < self.0.len() {
                gates.extend(values.iter().map(|value| *value > 0.0));
                for value in &mut values {
                    *value = value.max(0.0);
                }
            }
        }
        (gates, values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::one_hidden_layer;

    #[test]
    fn a_network_of_as_many_numbers_as_are_allowed_is_searched_and_a_larger_one_is_not() {
        let side = MOST_NUMBERS.isqrt();
        let is_searched = |gates: usize| {
            let network = one_hidden_layer(side, gates, [Vec::new(), Vec::new()]);
            Layers::of(&network).is_some()
        };
        assert!(is_searched(side));
        assert!(!is_searched(side + 1));
    }

    #[test]
    fn gates_are_open_above_zero_and_the_last_layer_has_none() {
        let dense = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: 2,
        };
        let layers = Layers(vec![
            dense(&[1.0, 2.0, 1.0, -1.0], &[0.5, 1.0]),
            dense(&[2.0, 3.0, -1.0, 1.0, 1.0, 1.0], &[0.0, 0.0, -4.5]),
            DenseLayer {
                inputs: 3,
                ..dense(&[1.0, 1.0, 1.0, -2.0, 0.0, 0.0], &[0.25, 0.0])
            },
        ]);
        assert_eq!(layers.gates(), 5);
        // 1 + 4 + 1/2 = 11/2 and 1 - 2 + 1 = 0, which is closed; then 11, -11/2 and 1.
        let (gates, logits) = layers.run(&[1.0, 2.0]);
        assert_eq!(gates, [true, false, true, false, true]);
        crate::toy::assert_close(&logits, &[12.25, -22.0]);
    }
}
