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

    #[test]
    fn a_product_with_a_gate_is_rounded_by_the_largest_that_it_can_be() {
        let gates = GateBounds {
            low: vec![0.5, 0.0],
            high: vec![1.0, 1.0],
            chord: vec![0.0; 2],
            offset: vec![0.0; 2],
            error: vec![0.0; 2],
        };
        // From -1 to 3 and from -6 to -2, by 1/2 to 1 and by 0 to 1.
        let interval = Interval {
            center: vec![1.0, -4.0],
            reach: vec![2.0, 2.0],
        };
        let product = interval.through(&gates, 1.0 / 64.0);
        assert_eq!(product.center, [1.0, -3.0]);
        assert_eq!(product.reach, [2.0 + 3.0 / 16.0, 3.0 + 6.0 / 16.0]);
    }

    #[test]
    fn back_through_weights_centers_are_summed_and_reaches_by_size() {
        let layer = DenseLayer {
            weight: vec![2.0, -3.0, 5.0, 7.0],
            bias: vec![0.0; 2],
            inputs: 2,
        };
        let interval = Interval {
            center: vec![1.0, -4.0],
            reach: vec![0.5, 0.25],
        };
        let arithmetic = Arithmetic {
            unit: 0.01,
            tiny: 0.125,
        };
        let below = interval.back(&layer, arithmetic);
        assert_eq!(below.center, [-18.0, -31.0]);
        // Sums of two: each is off by so much of the sizes, 1.5 and 4.25.
        let off = gamma(2, 0.01);
        let reaches = [0.5 + off * 1.5, 0.25 + off * 4.25];
        let expected = [
            2.0 * reaches[0] + 5.0 * reaches[1] + 0.25,
            3.0 * reaches[0] + 7.0 * reaches[1] + 0.25,
        ];
        for (found, expected) in below.reach.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }

    #[test]
    fn a_gate_is_widened_by_its_rounding_and_its_chord_by_that_of_its_argument() {
        let soft = Activation::Softplus { beta: 4.0 };
        let unit = 1.0 / 4096.0;
        let off = 32.0 * unit;
        let (low, high) = ([-0.5, -9.0, 9.0], [0.25, -8.0, 10.0]);
        let gates = gate_bounds(soft, &low, &high, &[0.5, 0.0, 0.0], unit);
        let [first, last, chord, offset, error] = soft.gate(-0.5, 0.25);
        assert_eq!((gates.chord[0], gates.offset[0]), (chord, offset));
        assert!((gates.low[0] - (first - off)).abs() < 1e-12);
        assert!((gates.high[0] - (last + off)).abs() < 1e-12);
        assert!((gates.error[0] - (error + off + 0.5 * chord)).abs() < 1e-12);
        // Not below zero, and hardly above one.
        assert!(gates.low[1].abs() < f64::MIN_POSITIVE);
        assert!((gates.high[2] - (1.0 + off)).abs() < 1e-9);
        let relu = gate_bounds(Activation::Relu, &[-1.0], &[1.0], &[0.5], unit);
        assert_eq!(
            (relu.low, relu.high, relu.error),
            (vec![0.0], vec![1.0], vec![0.5])
        );
    }

    #[test]
    fn without_its_chord_a_gate_is_the_middle_of_its_ends() {
        let gates = GateBounds {
            low: vec![0.25],
            high: vec![0.75],
            chord: vec![3.0],
            offset: vec![4.0],
            error: vec![5.0],
        };
        let flat = gates.without_chords();
        assert_eq!((flat.low, flat.high), (vec![0.25], vec![0.75]));
        assert_eq!(
            (flat.chord, flat.offset, flat.error),
            (vec![0.0], vec![0.5], vec![0.25])
        );
    }
}
