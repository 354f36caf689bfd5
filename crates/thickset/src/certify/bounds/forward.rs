//! What the forward pass can come to within a ball.

use super::super::explained::Ranked;
use super::super::network::DenseLayer;
use super::super::rounding::{SEARCH_UNIT, gamma};
use super::super::vector::dot;
use super::interval::{GateBounds, gate_bounds};
use super::lines::{Lines, activated, layer_lines};
use super::{BoundedRow, FUNCTION_UNITS, negated};

/// Margins beyond which probabilities may underflow, and with them their gradients.
const MOST_MARGIN: f64 = 60.0;

/// What the forward pass can come to within a ball.
pub(super) struct ForwardBounds {
    /// Of every hidden layer.
    pub gates: Vec<GateBounds>,
    /// The first layer's pre-activations at the row.
    pub first: Vec<f64>,
    /// The other classes, one a margin.
    pub rivals: Vec<Odds>,
}

/// How likely a class can be against the explained one, as a ratio of probabilities.
pub(super) struct Odds {
    pub least: f64,
    pub most: f64,
}

impl BoundedRow<'_> {
    /// What the forward pass can come to within the ball; none where it can overflow, or a probability underflow.
    pub(super) fn forward(&self, radius: f64) -> Option<ForwardBounds> {
        let dense = &self.network.dense;
        let arithmetic = dense.arithmetic;
        let unit = arithmetic.unit + SEARCH_UNIT;
        let features = dense.features();
        // Lines below and above the values that the next layer reads, and their largest sizes.
        let identity = Lines {
            slope: (0..features * features)
                .map(|place| f64::from(u8::from(place % (features + 1) == 0)))
                .collect(),
            offset: self.x.to_vec(),
            inputs: features,
        };
        let (mut below, mut above) = (identity.clone(), identity);
        let mut sizes = self.moves.sizes(self.x, radius);
        // What the lines of a value are made of can be larger than the value.
        let mut wide = sizes.clone();
        let (mut gates, mut first) = (Vec::new(), Vec::new());
        for (layer, activation) in dense.hidden.iter().zip(&self.network.activations) {
            let [mut low_lines, mut high_lines] = layer_lines(layer, &below, &above);
            let rounding = gamma(layer.inputs + 1, unit);
            let count = layer.outputs();
            let (mut low, mut high, mut errors) =
                (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
            for (neuron, (row, bias)) in layer.rows().zip(&layer.bias).enumerate() {
                let magnitude: f64 = row.iter().zip(&sizes).map(|(w, size)| w.abs() * size).sum();
                let of_lines: f64 = row.iter().zip(&wide).map(|(w, size)| w.abs() * size).sum();
                #[expect(clippy::cast_precision_loss, reason = "features are few")]
                let error = rounding * (magnitude + bias.abs())
                    + arithmetic.tiny * (layer.inputs + 1) as f64
                    // The lines' own arithmetic.
                    + gamma(8 * layer.inputs + 64, SEARCH_UNIT) * (of_lines + bias.abs());
                errors[neuron] = error;
                low_lines.offset[neuron] -= error;
                high_lines.offset[neuron] += error;
                low[neuron] = low_lines.offset[neuron]
                    - self.moves.most(&negated(low_lines.row(neuron)), radius);
                high[neuron] =
                    high_lines.offset[neuron] + self.moves.most(high_lines.row(neuron), radius);
            }
            if !low.iter().chain(&high).all(|bound| bound.is_finite()) {
                return None;
            }
            if gates.is_empty() {
                first = layer
                    .rows()
                    .zip(&layer.bias)
                    .map(|(row, bias)| dot(row, self.x) + bias)
                    .collect();
            }
            gates.push(gate_bounds(*activation, &low, &high, &errors, unit));
            [below, above] = activated(*activation, low_lines, high_lines, &low, &high, unit);
            sizes = low
                .iter()
                .zip(&high)
                .map(|(low, high)| {
                    let size = activation
                        .value(*high)
                        .abs()
                        .max(activation.value(*low).abs());
                    size + FUNCTION_UNITS * unit * (size + 1.0)
                })
                .collect();
            let bounds = low.iter().zip(&high).zip(&sizes);
            wide = bounds
                .map(|((low, high), size)| 4.0 * (low.abs() + high.abs() + size))
                .collect();
        }
        Some(ForwardBounds {
            rivals: self.rivals(&below, &above, &sizes, radius)?,
            gates,
            first,
        })
    }

    /// How likely every other class can be, against the explained one; none where a margin can be so large that a probability's gradient is lost.
    fn rivals(
        &self,
        below: &Lines,
        above: &Lines,
        sizes: &[f64],
        radius: f64,
    ) -> Option<Vec<Odds>> {
        if self.order.ranked == Ranked::Logit {
            return Some(vec![Odds {
                least: 1.0,
                most: 1.0,
            }]);
        }
        let head = &self.network.dense.head;
        let unit = self.network.dense.arithmetic.unit + SEARCH_UNIT;
        let own = head.row(self.order.class);
        let rivals = (0..head.outputs()).filter(|other| *other != self.order.class);
        rivals
            .map(|other| {
                let weight = own.iter().zip(head.row(other));
                let weight: Vec<f64> = weight.map(|(own, other)| own - other).collect();
                let margin = DenseLayer {
                    bias: vec![head.bias[self.order.class] - head.bias[other]],
                    inputs: weight.len(),
                    weight,
                };
                let [low, high] = layer_lines(&margin, below, above);
                let pairs = own.iter().zip(head.row(other)).zip(sizes);
                let magnitude: f64 = pairs
                    .map(|((own, other), size)| (own.abs() + other.abs()) * size)
                    .sum();
                let bias = head.bias[self.order.class].abs() + head.bias[other].abs();
                let slack = gamma(8 * margin.inputs + 64, unit) * (magnitude + bias + 1.0);
                let least = low.offset[0] - self.moves.most(&negated(low.row(0)), radius) - slack;
                let most = high.offset[0] + self.moves.most(high.row(0), radius) + slack;
                (least > -MOST_MARGIN && most < MOST_MARGIN).then(|| Odds {
                    least: (-most).exp() * (1.0 - FUNCTION_UNITS * unit),
                    most: (-least).exp() * (1.0 + FUNCTION_UNITS * unit),
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::MoveNorm;
    use super::super::super::network::DenseNetwork;
    use super::super::super::rounding::Arithmetic;
    use super::super::{Activation, MoveSet, Order, SmoothNetwork};
    use super::*;

    /// So coarse that every step's rounding is seen.
    const COARSE: Arithmetic = Arithmetic {
        unit: 1e-3,
        tiny: 1e-3,
    };

    fn layer(weight: &[f64], bias: &[f64]) -> DenseLayer {
        DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        }
    }

    /// What the forward pass of a row at (1, 1) comes to within 1/2 in the largest norm.
    fn forward(network: &SmoothNetwork, class: usize, ranked: Ranked) -> Option<ForwardBounds> {
        let moves = MoveSet {
            norm: MoveNorm::Linf,
            low: vec![-1.0; 2],
            high: vec![1.0; 2],
        };
        let order = Order {
            salient: &[0],
            absolute: true,
            gradient: &[2.0, -1.0],
            class,
            ranked,
        };
        BoundedRow::new(network, &[1.0, 1.0], &moves, order).forward(0.5)
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn odds_hold_the_rounding_of_every_step() {
        // The one neuron is 2 x0 - x1 + 3, between 2.5 and 5.5. The margin of the second class is twice that and 3/4.
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: vec![layer(&[2.0, -1.0], &[3.0])],
                head: layer(&[-1.0, 1.0], &[-0.25, 0.5]),
                arithmetic: COARSE,
            },
            activations: vec![Activation::Relu],
        };
        let found = forward(&network, 1, Ranked::Probability).unwrap();
        assert_eq!(found.first, [4.0]);
        // Three numbers are added up for the neuron, of sizes up to 3, 1.5 and 3; each product may underflow.
        let neuron = gamma(3, 1e-3) * 7.5 + 3e-3;
        let most = 5.5 + neuron;
        let behind = 0.032 * most;
        let size = most + 0.032 * (most + 1.0);
        let head = gamma(72, 1e-3) * (2.0 * size + 0.75 + 1.0);
        let least = 2.0 * (2.5 - neuron - behind) + 0.75 - head;
        let most = 2.0 * (most + behind) + 0.75 + head;
        assert_near(found.rivals[0].least, (-most).exp() * 0.968);
        assert_near(found.rivals[0].most, (-least).exp() * 1.032);
    }

    #[test]
    fn a_second_layer_reads_what_the_first_can_be() {
        // The first layer gives 4 and 2 at the row and is always open: 2 x0 - x1 + 3 and x0 + x1. The second takes the first less half of the second.
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: vec![
                    layer(&[2.0, -1.0, 1.0, 1.0], &[3.0, 0.0]),
                    layer(&[1.0, -0.5], &[0.5]),
                ],
                head: layer(&[0.0, 1.0], &[0.0, 0.0]),
                arithmetic: Arithmetic::DOUBLE,
            },
            activations: vec![Activation::Softplus { beta: 1e6 }; 2],
        };
        let found = forward(&network, 1, Ranked::Probability).unwrap();
        assert_eq!(found.first, [4.0, 2.0]);
        // 3.5 + 1.5 d0 - 1.5 d1: between 2 and 5.
        assert!((found.rivals[0].most - (-2.0_f64).exp()).abs() < 1e-5);
        assert!((found.rivals[0].least - (-5.0_f64).exp()).abs() < 1e-5);
        assert!(found.rivals[0].most >= (-2.0_f64).exp());
        assert!(found.rivals[0].least <= (-5.0_f64).exp());
    }

    #[test]
    fn a_gate_is_bounded_where_its_neuron_can_be() {
        // A sigmoid of x0 - x1 / 2, which lies between -1/4 and 5/4.
        let soft = Activation::Softplus { beta: 1.0 };
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: vec![layer(&[1.0, -0.5], &[0.0])],
                head: layer(&[0.0, 1.0], &[0.0, 0.0]),
                arithmetic: Arithmetic::DOUBLE,
            },
            activations: vec![soft],
        };
        let found = forward(&network, 1, Ranked::Logit).unwrap();
        let gate = &found.gates[0];
        assert!((gate.low[0] - soft.slope(-0.25)).abs() < 1e-12);
        assert!((gate.high[0] - soft.slope(1.25)).abs() < 1e-12);
        // The logit of one class has no rival.
        let odds: Vec<(f64, f64)> = found
            .rivals
            .iter()
            .map(|one| (one.least, one.most))
            .collect();
        assert_eq!(odds, [(1.0, 1.0)]);
    }

    #[test]
    fn margins_beyond_which_a_probability_underflows_are_refused() {
        let is_known = |margin: f64| {
            let network = SmoothNetwork {
                dense: DenseNetwork {
                    hidden: Vec::new(),
                    head: layer(&[0.0, 0.0, 1.0, -1.0], &[0.0, margin]),
                    arithmetic: Arithmetic::DOUBLE,
                },
                activations: Vec::new(),
            };
            forward(&network, 1, Ranked::Loss).is_some()
        };
        // A move of 1/2 in each of two features of weight 1 changes the margin by 1.
        let known = [-59.1, -58.9, 0.0, 58.9, 59.1].map(is_known);
        assert_eq!(known, [false, true, true, true, false]);
    }

    #[test]
    fn a_layer_that_can_overflow_is_refused() {
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: vec![layer(&[1e308, 1e308], &[1e308])],
                head: layer(&[0.0, 1.0], &[0.0, 0.0]),
                arithmetic: Arithmetic::DOUBLE,
            },
            activations: vec![Activation::Relu],
        };
        assert!(forward(&network, 1, Ranked::Logit).is_none());
    }

    #[test]
    fn margins_of_a_linear_model_hold_the_rounding_of_both_logits() {
        // The margin is -2 x0 - 3 x1 + 3/4, -4.25 at the row and 2.5 to either side. Of features up to 1.5 both logits add up 4 and 3 times as much.
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: Vec::new(),
                head: layer(&[3.0, 1.0, 1.0, -2.0], &[-0.25, 0.5]),
                arithmetic: COARSE,
            },
            activations: Vec::new(),
        };
        let found = forward(&network, 1, Ranked::Probability).unwrap();
        let slack = gamma(80, 1e-3) * (10.5 + 0.75 + 1.0);
        assert_near(found.rivals[0].least, (4.25 - 2.5 - slack).exp() * 0.968);
        assert_near(found.rivals[0].most, (4.25 + 2.5 + slack).exp() * 1.032);
    }
}
