//! The layers that regions are cut by.

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
    pub(super) fn run(&self, x: &[f64]) -> (Vec<bool>, Vec<f64>) {
        let mut gates = Vec::with_capacity(self.gates());
        let mut values = x.to_vec();
        for (place, layer) in self.0.iter().enumerate() {
            values = (0..layer.outputs())
                .map(|output| dot(layer.row(output), &values) + layer.bias[output])
                .collect();
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
}
