//! Bounds of one margin's gradient: the first layer's chords are added up before their slope in the move is bounded.

use super::super::network::DenseLayer;
use super::super::rounding::{SEARCH_UNIT, gamma};
use super::super::vector::add_scaled;
use super::BoundedRow;
use super::interval::{GateBounds, Interval};

/// Bounds of one margin's gradient, ready for pairs of features.
pub(super) struct MarginGradient<'b> {
    row: &'b BoundedRow<'b>,
    radius: f64,
    layer: Option<&'b DenseLayer>,
    /// Each feature's chord gradient at the row.
    value: Vec<f64>,
    /// How it moves with d, `[features, features]`.
    slope: Vec<f64>,
    /// Of each neuron: what the chord leaves out.
    doubt: Vec<f64>,
    /// Of each feature.
    rounding: Vec<f64>,
}

impl BoundedRow<'_> {
    /// What the first layer makes of one margin's gradient.
    pub(super) fn gradient<'b>(
        &'b self,
        seed: &Interval,
        gates: &[GateBounds],
        first: &[f64],
        radius: f64,
    ) -> MarginGradient<'b> {
        let dense = &self.network.dense;
        let arithmetic = dense.arithmetic;
        let unit = arithmetic.unit + SEARCH_UNIT;
        let mut above = seed.clone();
        let layers = dense.hidden.iter().zip(gates);
        for (layer, gates) in layers.skip(1).rev() {
            above = above.through(gates, unit).back(layer, arithmetic);
        }
        let features = dense.features();
        let (Some(layer), Some(gates)) = (dense.hidden.first(), gates.first()) else {
            // A linear model: the seed is the gradient.
            return MarginGradient {
                row: self,
                radius,
                layer: None,
                value: above.center.clone(),
                slope: vec![0.0; features * features],
                doubt: Vec::new(),
                rounding: above.reach,
            };
        };
        let mut found = MarginGradient {
            row: self,
            radius,
            layer: Some(layer),
            value: vec![0.0; features],
            slope: vec![0.0; features * features],
            doubt: Vec::with_capacity(layer.outputs()),
            rounding: vec![0.0; features],
        };
        let summed = gamma(layer.outputs() + 4, unit);
        for (neuron, row) in layer.rows().enumerate() {
            let (center, reach) = (above.center[neuron], above.reach[neuron]);
            let gate = gates.chord[neuron] * first[neuron] + gates.offset[neuron];
            let slope = center * gates.chord[neuron];
            // The gate beside its chord, and what comes from above beside its center.
            found
                .doubt
                .push(center.abs() * gates.error[neuron] + gates.high[neuron] * reach);
            let size = (center.abs() + reach) * gates.high[neuron].max(gate.abs());
            let moved = slope.abs() * self.moves.most(row, radius).abs();
            for feature in 0..features {
                let weight = row[feature];
                found.value[feature] += weight * center * gate;
                found.rounding[feature] += summed * weight.abs() * (size + moved) + arithmetic.tiny;
                let line = &mut found.slope[feature * features..(feature + 1) * features];
                add_scaled(line, weight * slope, row);
            }
        }
        found
    }
}

impl MarginGradient<'_> {
    /// The least of `sign g_ahead + other g_behind`.
    pub(super) fn least(&self, ahead: usize, behind: usize, sign: f64, other: f64) -> f64 {
        let features = self.value.len();
        let line = |feature: usize| &self.slope[feature * features..(feature + 1) * features];
        let falling: Vec<f64> = line(ahead)
            .iter()
            .zip(line(behind))
            .map(|(first, second)| -(sign * first + other * second))
            .collect();
        let doubt: f64 = self.layer.map_or(0.0, |layer| {
            let rows = layer.rows().zip(&self.doubt);
            rows.map(|(row, doubt)| (sign * row[ahead] + other * row[behind]).abs() * doubt)
                .sum()
        });
        let value = sign * self.value[ahead] + other * self.value[behind];
        let rounding = 2.0 * (self.rounding[ahead] + self.rounding[behind])
            + gamma(features + self.doubt.len(), SEARCH_UNIT) * (value.abs() + doubt);
        value - self.row.moves.most(&falling, self.radius) - doubt - rounding
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::MoveNorm;
    use super::super::super::explained::Ranked;
    use super::super::super::network::DenseNetwork;
    use super::super::super::rounding::Arithmetic;
    use super::super::{Activation, MoveSet, Order, SmoothNetwork};
    use super::*;

    const RADIUS: f64 = 0.2;

    /// Runs something on a row at 0 of a network with one neuron, of value `x0 + x1 / 2 + bias`, whose moves change each feature by at most 0.2.
    fn with_row<T>(activation: Activation, bias: f64, run: impl FnOnce(&BoundedRow<'_>) -> T) -> T {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: vec![layer(&[1.0, 0.5], &[bias])],
                head: layer(&[0.0, 1.0], &[0.0, 0.0]),
                arithmetic: Arithmetic::SINGLE,
            },
            activations: vec![activation],
        };
        let moves = MoveSet {
            norm: MoveNorm::Linf,
            low: vec![-1.0; 2],
            high: vec![1.0; 2],
        };
        let order = Order {
            salient: &[0],
            absolute: true,
            gradient: &[0.5, 0.25],
            class: 1,
            ranked: Ranked::Logit,
        };
        run(&BoundedRow::new(&network, &[0.0, 0.0], &moves, order))
    }

    #[test]
    fn sum_and_difference_of_two_features_fall_as_far_as_their_gate_does() {
        // The gradient is (1, 1/2) times a sigmoid of 4 z, which falls to z = -0.3.
        with_row(Activation::Softplus { beta: 4.0 }, 0.0, |row| {
            let bounds = row.forward(RADIUS).unwrap();
            let gradient = row.gradient(&row.seeds[0], &bounds.gates, &bounds.first, RADIUS);
            let lowest = 1.0 / (1.0 + 1.2_f64.exp());
            for (other, exact) in [(1.0, 1.5 * lowest), (-1.0, 0.5 * lowest)] {
                let least = gradient.least(0, 1, 1.0, other);
                assert!(least <= exact && least > exact - 0.03, "{least} {exact}");
            }
        });
    }

    #[test]
    fn rounding_counts_the_most_that_can_come_from_above() {
        with_row(Activation::Relu, 5.0, |row| {
            let bounds = row.forward(RADIUS).unwrap();
            let [known, open] = [(4.0, 0.0), (1.0, 3.0)].map(|(center, reach)| {
                let seed = Interval {
                    center: vec![center],
                    reach: vec![reach],
                };
                let gradient = row.gradient(&seed, &bounds.gates, &bounds.first, RADIUS);
                gradient.rounding[0]
            });
            assert!(known > 0.0 && (open - known).abs() < 1e-9 * known);
        });
    }

    #[test]
    fn the_rounding_of_the_last_sum_grows_with_what_is_summed() {
        with_row(Activation::Relu, 5.0, |row| {
            let gradient = MarginGradient {
                row,
                radius: RADIUS,
                layer: None,
                value: vec![8.0, 0.0],
                slope: vec![0.0; 4],
                doubt: Vec::new(),
                rounding: vec![0.0; 2],
            };
            assert!(gradient.least(0, 1, 1.0, 1.0) <= 8.0 - 8.0 * gamma(2, SEARCH_UNIT));
        });
    }

    #[test]
    fn through_one_gate_value_slope_doubt_and_rounding_are_those_of_its_chord() {
        // The neuron is 3 at the row. Its gate is z / 8 + 1/4 up to 1/16, and what comes from above is 2 up to 1/2.
        with_row(Activation::Relu, 3.0, |row| {
            let seed = Interval {
                center: vec![2.0],
                reach: vec![0.5],
            };
            let gates = GateBounds {
                low: vec![0.5],
                high: vec![0.75],
                chord: vec![0.125],
                offset: vec![0.25],
                error: vec![0.0625],
            };
            let found = row.gradient(&seed, &[gates], &[3.0], RADIUS);
            // The chord is 5/8 at the row, times 2 and the weights 1 and 1/2; along them it rises by 2/8.
            assert_eq!(found.value, [1.25, 0.625]);
            assert_eq!(found.slope, [0.25, 0.125, 0.125, 0.0625]);
            assert_eq!(found.doubt, [2.0 * 0.0625 + 0.75 * 0.5]);
            // At most 2.5 times 3/4, and what 0.3 of a move adds.
            let unit = Arithmetic::SINGLE.unit + SEARCH_UNIT;
            let size = gamma(5, unit) * (2.5 * 0.75 + 0.25 * 0.3);
            for (rounding, weight) in found.rounding.iter().zip([1.0, 0.5]) {
                let expected = weight * size + Arithmetic::SINGLE.tiny;
                assert!(
                    (rounding / expected - 1.0).abs() < 1e-9,
                    "{rounding} {expected}"
                );
            }
            // 1.25 - 0.625, less a fall along (1/8, 1/16) by 0.2 each, less half of the doubt, less twice the rounding of both.
            let least = found.least(0, 1, 1.0, -1.0);
            let rounding = 2.0 * (found.rounding[0] + found.rounding[1]);
            let expected = 0.625 - 0.0375 - 0.25 - rounding;
            assert!((least - expected).abs() < 1e-12, "{least} {expected}");
            // The sum rises to one and a half times the first.
            let least = found.least(0, 1, -1.0, -1.0);
            let expected = -1.875 - 0.1125 - 0.75 - rounding;
            assert!((least - expected).abs() < 1e-12, "{least} {expected}");
        });
    }

    #[test]
    fn a_linear_model_has_its_weights_for_a_gradient() {
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: Vec::new(),
                head: DenseLayer {
                    weight: vec![0.0, 0.0, 3.0, -2.0],
                    bias: vec![0.0, 0.0],
                    inputs: 2,
                },
                arithmetic: Arithmetic::SINGLE,
            },
            activations: Vec::new(),
        };
        let moves = MoveSet {
            norm: MoveNorm::L2,
            low: vec![-1.0; 2],
            high: vec![1.0; 2],
        };
        let order = Order {
            salient: &[0],
            absolute: true,
            gradient: &[3.0, -2.0],
            class: 1,
            ranked: Ranked::Logit,
        };
        let row = BoundedRow::new(&network, &[0.0, 0.0], &moves, order);
        let found = row.gradient(&row.seeds[0], &[], &[], RADIUS);
        assert_eq!(found.value, [3.0, -2.0]);
        for (other, exact) in [(1.0, 1.0), (-1.0, 5.0)] {
            let least = found.least(0, 1, 1.0, other);
            assert!(least < exact && least > exact - 1e-4, "{least} {exact}");
        }
    }

    #[test]
    fn a_gradient_falls_to_the_side_that_features_may_move_to() {
        let layer = |weight: &[f64], bias: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        };
        let coarse = Arithmetic {
            unit: 1e-3,
            tiny: 0.125,
        };
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: vec![layer(&[1.0, 0.5], &[0.0])],
                head: layer(&[0.0, 1.0], &[0.0, 0.0]),
                arithmetic: coarse,
            },
            activations: vec![Activation::Relu],
        };
        // The first feature can only fall, by 1/4, and the second not move at all.
        let moves = MoveSet {
            norm: MoveNorm::Linf,
            low: vec![-0.25, 0.0],
            high: vec![0.0; 2],
        };
        let order = Order {
            salient: &[0],
            absolute: true,
            gradient: &[0.5, 0.25],
            class: 1,
            ranked: Ranked::Logit,
        };
        let row = BoundedRow::new(&network, &[0.0, 0.0], &moves, order);
        let gradient = MarginGradient {
            row: &row,
            radius: 1.0,
            layer: None,
            value: vec![3.0, 1.0],
            slope: vec![2.0, 0.0, -4.0, 0.0],
            doubt: Vec::new(),
            rounding: vec![0.0; 2],
        };
        // 3 + 2 d, and 1 - 4 d.
        for (sign, other, least) in [
            (1.0, 0.0, 2.5),
            (-1.0, 0.0, -3.0),
            (0.0, 1.0, 1.0),
            (0.0, -1.0, -2.0),
        ] {
            let found = gradient.least(0, 1, sign, other);
            assert!((found - least).abs() < 1e-12, "{found} {least}");
        }
        // A product of weights may underflow whatever its size.
        let seed = Interval {
            center: vec![0.0],
            reach: vec![0.0],
        };
        let gates = GateBounds {
            low: vec![0.0],
            high: vec![1.0],
            chord: vec![0.0],
            offset: vec![0.5],
            error: vec![0.5],
        };
        assert_eq!(
            row.gradient(&seed, &[gates], &[0.0], 1.0).rounding,
            [0.125; 2]
        );
    }

    #[test]
    fn what_is_doubted_is_rounded_too() {
        with_row(Activation::Relu, 5.0, |row| {
            let gradient = MarginGradient {
                row,
                radius: RADIUS,
                layer: row.network.dense.hidden.first(),
                value: vec![8.0, 0.0],
                slope: vec![0.0; 4],
                doubt: vec![8.0],
                rounding: vec![0.0; 2],
            };
            // 8 less 8, and 16 were added up.
            let expected = -16.0 * gamma(3, SEARCH_UNIT);
            let found = gradient.least(0, 1, 1.0, 0.0);
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        });
    }
}
