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
