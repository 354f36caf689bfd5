//! Intervals of a gradient, and the gates that it goes through.

use super::super::network::DenseLayer;
use super::super::rounding::{Arithmetic, SEARCH_UNIT, gamma};
use super::super::vector::add_scaled;
use super::FUNCTION_UNITS;
use super::activation::Activation;

/// `center ± reach`, entry by entry.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub center: Vec<f64>,
    pub reach: Vec<f64>,
}

/// The gates of one layer.
#[derive(Clone, Debug)]
pub(super) struct GateBounds {
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    /// Each gate lies within `error` of `chord z + offset`, z its pre-activation.
    pub chord: Vec<f64>,
    pub offset: Vec<f64>,
    pub error: Vec<f64>,
}

impl Interval {
    fn size(&self) -> Vec<f64> {
        let both = self.center.iter().zip(&self.reach);
        both.map(|(center, reach)| center.abs() + reach).collect()
    }

    /// Times gates, which lie between 0 and 1, as the model multiplies them.
    pub(super) fn through(&self, gates: &GateBounds, unit: f64) -> Self {
        let mut product = self.clone();
        for place in 0..self.center.len() {
            let (low, high) = (
                self.center[place] - self.reach[place],
                self.center[place] + self.reach[place],
            );
            let (closed, open) = (gates.low[place], gates.high[place]);
            let least = (low * closed).min(low * open);
            let most = (high * closed).max(high * open);
            let rounding = 4.0 * unit * least.abs().max(most.abs());
            product.center[place] = f64::midpoint(least, most);
            product.reach[place] = (most - least) / 2.0 + rounding;
        }
        product
    }

    /// Back through a layer's weights.
    pub(super) fn back(&self, layer: &DenseLayer, arithmetic: Arithmetic) -> Self {
        let mut below = Self {
            center: vec![0.0; layer.inputs],
            reach: vec![0.0; layer.inputs],
        };
        let size = self.size();
        let rounding = gamma(layer.outputs(), arithmetic.unit + SEARCH_UNIT);
        for (neuron, row) in layer.rows().enumerate() {
            add_scaled(&mut below.center, self.center[neuron], row);
            for (reach, weight) in below.reach.iter_mut().zip(row) {
                *reach +=
                    weight.abs() * (self.reach[neuron] + rounding * size[neuron]) + arithmetic.tiny;
            }
        }
        below
    }
}

impl GateBounds {
    /// The same gates as plain intervals.
    pub(super) fn without_chords(&self) -> Self {
        let between = || self.low.iter().zip(&self.high);
        Self {
            chord: vec![0.0; self.low.len()],
            offset: between()
                .map(|(low, high)| f64::midpoint(*low, *high))
                .collect(),
            error: between().map(|(low, high)| (high - low) / 2.0).collect(),
            ..self.clone()
        }
    }
}

/// The gates of a layer whose pre-activations lie between bounds.
pub(super) fn gate_bounds(
    activation: Activation,
    low: &[f64],
    high: &[f64],
    errors: &[f64],
    unit: f64,
) -> GateBounds {
    let mut gates = GateBounds {
        low: Vec::new(),
        high: Vec::new(),
        chord: Vec::new(),
        offset: Vec::new(),
        error: Vec::new(),
    };
    for ((&low, &high), &moved) in low.iter().zip(high).zip(errors) {
        let [first, last, chord, offset, error] = activation.gate(low, high);
        let off = match activation {
            Activation::Relu => 0.0,
            Activation::Softplus { .. } => FUNCTION_UNITS * unit,
        };
        gates.low.push((first - off).max(0.0));
        gates.high.push((last + off).min(1.0 + off));
        gates.chord.push(chord);
        gates.offset.push(offset);
        // The chord is taken at the exact pre-activation, from which the deployed one differs.
        gates.error.push(error + off + chord * moved);
    }
    gates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_that_may_be_half_open_leaves_the_ends_of_what_it_multiplies() {
        // From -1 to 3, by a half to 1.
        let interval = Interval {
            center: vec![1.0],
            reach: vec![2.0],
        };
        let gates = GateBounds {
            low: vec![0.5],
            high: vec![1.0],
            chord: vec![0.0],
            offset: vec![0.75],
            error: vec![0.25],
        };
        let product = interval.through(&gates, 0.0);
        assert_eq!((product.center, product.reach), (vec![1.0], vec![2.0]));
    }
}
