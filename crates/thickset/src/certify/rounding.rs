//! How far rounded arithmetic can be from the numbers it stands for.
//!
//! A sum of n products in a format of unit roundoff u differs from the exact one by at most `γ_n Σ|a||b|`, with
//! `γ_n = n u / (1 - n u)`, in whatever order it is added up and whether or not products are fused (Higham 2002, section 3.1).
//! Two kinds of rounding matter here:
//!
//! - The deployed model computes in its own format. [`Slack::gate`] bounds how far each of its pre-activations can be from
//!   the exact network's, so a gate may be open wherever the exact pre-activation is above `-gate`, and closed wherever it is
//!   below `gate`. [`ImportanceSlack`] bounds the same of each importance, in units of the explained output's own scale.
//! - The search itself computes in `f64`. [`Slack::line`] bounds the error of the linear bounds it makes.
//!
//! What is proved with these holds for the model as deployed, on any machine, in any order of sums.

use super::explained::{Explained, Scale};
use super::network::{DenseLayer, DenseNetwork};
use super::vector::dot;

/// Unit roundoff of the search's own arithmetic.
pub(super) const SEARCH_UNIT: f64 = f64::EPSILON / 2.0;

/// The format that a model computes in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arithmetic {
    /// Half the distance from 1 to the next number.
    pub unit: f64,
    /// What a product may lose when it is too small for the format, even if such numbers are flushed to zero.
    pub tiny: f64,
}

impl Arithmetic {
    /// Of models in `f32`.
    pub const SINGLE: Self = Self {
        unit: (f32::EPSILON / 2.0) as f64,
        tiny: f32::MIN_POSITIVE as f64,
    };

    /// Of models in `f64`. More than a product may lose, so that bounds of it are no subnormal numbers, which processors are slow with.
    pub const DOUBLE: Self = Self {
        unit: SEARCH_UNIT,
        tiny: f64::MIN_POSITIVE / f64::EPSILON,
    };

    /// The number of the format that is nearest to this one.
    pub(super) fn nearest(self, value: f64) -> f64 {
        if self == Self::SINGLE {
            #[expect(clippy::cast_possible_truncation, reason = "the model takes f32")]
            let single = value as f32;
            f64::from(single)
        } else {
            value
        }
    }
}

/// `γ_n`: the relative error of a sum of `operations` rounded terms.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of features and neurons stay far below 2^53"
)]
pub(super) fn gamma(operations: usize, unit: f64) -> f64 {
    let part = (operations + 2) as f64 * unit;
    part / (1.0 - part)
}

/// The largest margin between two logits at which probabilities are told from 0 and 1. Beyond, a probability's gradient
/// underflows, and no ranking of it is certain.
const MOST_MARGIN: f64 = 60.0;

/// How far the exponential, the sum and the quotient of a softmax can be off, in units of roundoff.
const SOFTMAX_UNITS: f64 = 16.0;

/// The bounds for one row and all its moves up to a radius.
#[derive(Clone, Debug)]
pub(super) struct Slack {
    /// Of each hidden neuron, layer after layer: the deployed pre-activation against the exact one.
    pub gate: Vec<f64>,
    /// Of each hidden neuron: the search's lines against the exact ones.
    pub line: Vec<f64>,
    /// Of each margin that keeps the class: both of the above.
    pub class: Vec<f64>,
    /// Of the importances.
    pub importance: ImportanceSlack,
    /// Interval bounds of the exact pre-activations.
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

impl Slack {
    /// The bounds for moves from `x` within this reach.
    pub(super) fn new(
        network: &DenseNetwork,
        explained: &Explained,
        x: &[f64],
        reach: &FeatureReach,
    ) -> Self {
        let arithmetic = network.arithmetic;
        let own = own_rounding(network);
        let mut forward = Forward::new(x, &reach.features);
        let (mut gate, mut line) = (Vec::new(), Vec::new());
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let mut dead = Vec::new();
        for (depth, layer) in network.hidden.iter().enumerate() {
            let mut next = forward.step(&layer.weight, &layer.bias, layer.inputs, arithmetic);
            if depth == 0 {
                next.narrow(layer, x, reach);
            }
            gate.extend_from_slice(&next.error);
            line.extend(next.magnitude.iter().map(|magnitude| own * magnitude));
            low.extend_from_slice(&next.low);
            high.extend_from_slice(&next.high);
            dead.push(next.dead());
            forward = next.rectified();
        }
        let mut class = Vec::new();
        for margin in &explained.margins {
            // Both logits are rounded sums; their weights' absolute values bound what either adds up.
            let bias = [margin.bias_magnitude];
            let inputs = margin.magnitude.len();
            let logits = forward.step(&margin.magnitude, &bias, inputs, arithmetic);
            class.push(2.0 * logits.error[0] + own * logits.magnitude[0]);
        }
        Self {
            importance: ImportanceSlack::new(network, explained, x, &reach.features, &dead),
            gate,
            line,
            class,
            low,
            high,
        }
    }
}

/// How far the deployed importances can be from the ranked ones. The part that the class's margin decides is added for each part
/// of the search.
#[derive(Clone, Debug)]
pub(super) struct ImportanceSlack {
    scale: Scale,
    unit: f64,
    /// Whatever the margin.
    fixed: Vec<f64>,
    /// Per unit of relative error of the seeds.
    per_seed: Vec<f64>,
    /// Lost to underflow, where the shared factor is 1.
    lost: Vec<f64>,
}

impl ImportanceSlack {
    fn new(
        network: &DenseNetwork,
        explained: &Explained,
        x: &[f64],
        reach: &[f64],
        dead: &[Vec<bool>],
    ) -> Self {
        let Arithmetic { unit, tiny } = network.arithmetic;
        let operations: usize = network.neurons() + explained.classes + 8;
        let deployed = pulled_back(network, &explained.seed_magnitude, |depth, neuron| {
            !dead[depth][neuron]
        });
        let searched = &explained.gradient_magnitude;
        let own = 16.0 * own_rounding(network);
        // Multiplying by the feature is one more rounded product.
        let (relative, value): (f64, Vec<f64>) = if explained.times_input {
            let largest = x.iter().zip(reach).map(|(x, reach)| x.abs() + reach);
            (gamma(operations + 1, unit), largest.collect())
        } else {
            (gamma(operations, unit), vec![1.0; x.len()])
        };
        let gather = |of_one: &dyn Fn(usize) -> f64| {
            let all: Vec<f64> = (0..x.len()).map(of_one).collect();
            explained.of_features(&all, |feature, number| number * value[feature])
        };
        Self {
            scale: explained.scale,
            unit,
            fixed: gather(&|feature| {
                relative * deployed.magnitude[feature] + own * searched[feature]
            }),
            per_seed: gather(&|feature| 2.0 * deployed.magnitude[feature]),
            lost: gather(&|feature| deployed.lost[feature] + tiny),
        }
    }

    /// Of each importance, where the class's margins are between these bounds.
    pub(super) fn at(&self, margins: (f64, f64)) -> Vec<f64> {
        let (scale, seed) = seed_error(self.scale, margins, self.unit);
        let parts = self.fixed.iter().zip(&self.per_seed).zip(&self.lost);
        parts
            .map(|((fixed, per_seed), lost)| {
                if scale > 0.0 {
                    fixed + seed * per_seed + lost / scale
                } else {
                    f64::INFINITY
                }
            })
            .collect()
    }
}

/// How far each feature can move, and all of them together where moves are measured by their length.
#[derive(Clone, Debug)]
pub(super) struct FeatureReach {
    pub features: Vec<f64>,
    pub length: Option<f64>,
}

/// The relative error of a line or form that the search computes, over the absolute values that enter it.
fn own_rounding(network: &DenseNetwork) -> f64 {
    let neurons = network.neurons() + network.features();
    4.0 * gamma(8 * neurons + 64, SEARCH_UNIT)
}

/// The least factor that the importances share, and how far the seeds of the two logits are from it, relatively. Of a
/// probability near 1 the seed is what is left of 1, so a large margin costs digits; one far below zero costs none.
fn seed_error(scale: Scale, margins: (f64, f64), unit: f64) -> (f64, f64) {
    let most = margins.1.max(-margins.0);
    let spoilt = 1.0 + margins.1.exp();
    match scale {
        Scale::One => (1.0, unit),
        _ if most > MOST_MARGIN => (0.0, f64::INFINITY),
        Scale::Probability => (
            (-most).exp() / 4.0,
            unit + SOFTMAX_UNITS * SEARCH_UNIT * spoilt,
        ),
        Scale::Loss => ((-most).exp() / 2.0, SOFTMAX_UNITS * unit * spoilt),
    }
}

/// What is added up for each feature's gradient.
pub(super) struct PulledBack {
    /// Bounds of the absolute values.
    pub magnitude: Vec<f64>,
    /// Bounds of what is lost where numbers are too small.
    pub lost: Vec<f64>,
}

/// From the output's weights of the last hidden values back to the features, through neurons that count: by layer and number.
pub(super) fn pulled_back(
    network: &DenseNetwork,
    seed_magnitude: &[f64],
    counts: impl Fn(usize, usize) -> bool,
) -> PulledBack {
    let tiny = network.arithmetic.tiny;
    let mut above = PulledBack {
        magnitude: seed_magnitude.to_vec(),
        lost: vec![tiny; seed_magnitude.len()],
    };
    for (depth, layer) in network.hidden.iter().enumerate().rev() {
        let mut below = PulledBack {
            magnitude: vec![0.0; layer.inputs],
            lost: vec![tiny; layer.inputs],
        };
        for (neuron, row) in layer.rows().enumerate() {
            if !counts(depth, neuron) {
                continue;
            }
            let (magnitude, lost) = (above.magnitude[neuron], above.lost[neuron]);
            for (below, w) in below.magnitude.iter_mut().zip(row) {
                *below += w.abs() * magnitude;
            }
            for (below, w) in below.lost.iter_mut().zip(row) {
                *below += w.abs() * lost + tiny;
            }
        }
        above = below;
    }
    above
}

/// Interval bounds of one layer's values over the set of moves.
struct Forward {
    /// Of the exact network.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Bounds on the absolute values of everything that is added up.
    magnitude: Vec<f64>,
    /// How far the deployed values can be from the exact ones.
    error: Vec<f64>,
}

impl Forward {
    fn new(x: &[f64], reach: &[f64]) -> Self {
        let of = |sign: f64| {
            x.iter()
                .zip(reach)
                .map(|(x, reach)| x + sign * reach)
                .collect()
        };
        Self {
            low: of(-1.0),
            high: of(1.0),
            magnitude: x
                .iter()
                .zip(reach)
                .map(|(x, reach)| x.abs() + reach)
                .collect(),
            error: vec![0.0; x.len()],
        }
    }

    /// Through a linear map.
    fn step(&self, weight: &[f64], bias: &[f64], inputs: usize, arithmetic: Arithmetic) -> Self {
        let mut next = Self {
            low: Vec::new(),
            high: Vec::new(),
            magnitude: Vec::new(),
            error: Vec::new(),
        };
        let rounding = gamma(inputs + 1, arithmetic.unit);
        // Outward, for the rounding of these bounds themselves.
        let outward = gamma(2 * inputs + 8, SEARCH_UNIT);
        for (row, bias) in weight.chunks(inputs.max(1)).zip(bias) {
            let (mut low, mut high) = (*bias, *bias);
            let (mut magnitude, mut summed, mut error) = (bias.abs(), bias.abs(), 0.0);
            for (place, w) in row.iter().enumerate() {
                let (a, b) = (w * self.low[place], w * self.high[place]);
                low += a.min(b);
                high += a.max(b);
                magnitude += w.abs() * self.magnitude[place];
                let largest = self.low[place].abs().max(self.high[place].abs());
                summed += w.abs() * (largest + self.error[place]);
                error += w.abs() * self.error[place];
            }
            next.low.push(low - outward * magnitude);
            next.high.push(high + outward * magnitude);
            next.magnitude.push(magnitude);
            let underflow =
                arithmetic.tiny * f64::from(u32::try_from(inputs + 1).unwrap_or(u32::MAX));
            next.error
                .push((error + rounding * summed + underflow) * (1.0 + outward));
        }
        next
    }

    /// Bounds of the first layer by the length of the move, where that is tighter.
    fn narrow(&mut self, first: &DenseLayer, x: &[f64], reach: &FeatureReach) {
        let Some(length) = reach.length else { return };
        let outward = gamma(3 * first.inputs + 8, SEARCH_UNIT);
        for (neuron, (row, bias)) in first.rows().zip(&first.bias).enumerate() {
            let at = dot(row, x) + bias;
            let moving = row.iter().zip(&reach.features);
            let square: f64 = moving
                .filter(|(_, reach)| **reach > 0.0)
                .map(|(w, _)| w * w)
                .sum();
            let width = length * square.sqrt() + outward * self.magnitude[neuron];
            self.low[neuron] = self.low[neuron].max(at - width);
            self.high[neuron] = self.high[neuron].min(at + width);
        }
    }

    /// Which neurons are closed, exactly and as deployed, whatever the move.
    fn dead(&self) -> Vec<bool> {
        let both = self.high.iter().zip(&self.error);
        both.map(|(high, error)| *high <= -error).collect()
    }

    /// Behind `max(0, z)`.
    fn rectified(mut self) -> Self {
        let dead = self.dead();
        for (place, dead) in dead.into_iter().enumerate() {
            self.low[place] = self.low[place].max(0.0);
            self.high[place] = self.high[place].max(0.0);
            if dead {
                self.error[place] = 0.0;
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::explained::Ranked;
    use super::*;

    #[test]
    fn a_sum_is_off_by_no_less_than_each_of_its_operations_can_be() {
        for operations in 1..20 {
            let unit = Arithmetic::SINGLE.unit;
            let part = f64::from(operations) * unit;
            let found = gamma(usize::try_from(operations).unwrap(), unit);
            assert!(found >= part / (1.0 - part), "{operations}");
        }
    }

    #[test]
    fn bounds_are_widened_as_far_up_as_down() {
        // 3 x0 + 4 x1 is between -11 and 11.
        let moves = Forward::new(&[0.0, 0.0], &[1.0, 2.0]);
        let next = moves.step(&[3.0, 4.0], &[0.0], 2, Arithmetic::DOUBLE);
        assert!(next.high[0] > 11.0);
        assert_eq!(next.high[0].to_bits(), (-next.low[0]).to_bits());
    }

    #[test]
    fn every_product_may_be_too_small_for_the_format() {
        // Three products of 1.1e-38 each, less than the least normal number of 1.18e-38: some machines take them for zero.
        let row = Forward::new(&[1.1e-19; 3], &[0.0; 3]);
        let next = row.step(&[1e-19; 3], &[0.0], 3, Arithmetic::SINGLE);
        assert!(next.error[0] >= 3.3e-38, "{}", next.error[0]);
    }

    /// So coarse that every step's rounding is seen.
    const COARSE: Arithmetic = Arithmetic {
        unit: 1e-3,
        tiny: 0.25,
    };

    fn layer(weight: &[f64], bias: &[f64]) -> DenseLayer {
        DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        }
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (one, other) in found.iter().zip(expected) {
            let off = (one - other).abs();
            assert!(off <= 1e-9 * (1.0 + other.abs()), "{found:?} {expected:?}");
        }
    }

    #[test]
    fn gamma_counts_two_operations_more_than_it_is_told() {
        // 5 / 100 over 95 / 100.
        assert_near(&[gamma(3, 0.01)], &[5.0 / 95.0]);
    }

    #[test]
    fn intervals_begin_at_the_row_and_reach_to_either_side() {
        let moves = Forward::new(&[3.0, -2.0], &[0.5, 1.0]);
        assert_eq!((moves.low, moves.high), (vec![2.5, -3.0], vec![3.5, -1.0]));
        assert_eq!(
            (moves.magnitude, moves.error),
            (vec![3.5, 3.0], vec![0.0; 2])
        );
    }

    #[test]
    fn through_a_linear_map_errors_grow_by_weights_sums_and_underflow() {
        let before = Forward {
            low: vec![-1.0, 2.0],
            high: vec![3.0, 4.0],
            magnitude: vec![5.0, 6.0],
            error: vec![0.5, 0.25],
        };
        let next = before.step(&[2.0, -3.0, 1.0, 1.0], &[-7.0, 0.0], 2, COARSE);
        assert_near(&next.low, &[-7.0 - 2.0 - 12.0, 1.0]);
        assert_near(&next.high, &[-7.0 + 6.0 - 6.0, 7.0]);
        assert_near(&next.magnitude, &[7.0 + 10.0 + 18.0, 11.0]);
        // What comes in, and the rounding of three terms: 7, 2 * 3.5 and 3 * 4.25, or 3.5 and 4.25. Three products may underflow.
        let rounding = gamma(3, 1e-3);
        let first = 1.0 + 0.75 + rounding * (7.0 + 7.0 + 12.75) + 0.75;
        let second = 0.75 + rounding * 7.75 + 0.75;
        assert_near(&next.error, &[first, second]);
    }

    #[test]
    fn the_length_of_a_move_narrows_the_first_layer_where_it_is_tighter() {
        // The third feature does not move; the others do by up to 1, so 3 x0 + 4 x1 moves by 7, but by 5 * 1 if their length is at most 1.
        let first = layer(&[3.0, 4.0, 100.0], &[2.0]);
        let x = [1.0, 1.0, 0.5];
        let bounds = |length: Option<f64>| {
            let reach = FeatureReach {
                features: vec![1.0, 1.0, 0.0],
                length,
            };
            let before = Forward::new(&x, &reach.features);
            let mut next = before.step(&first.weight, &first.bias, 3, Arithmetic::DOUBLE);
            next.narrow(&first, &x, &reach);
            (next.low[0], next.high[0])
        };
        for (length, width) in [(None, 7.0), (Some(1.0), 5.0), (Some(2.0), 7.0)] {
            let (low, high) = bounds(length);
            assert!(low < 59.0 - width && low > 59.0 - width - 1e-9, "{low}");
            assert!(high > 59.0 + width && high < 59.0 + width + 1e-9, "{high}");
        }
    }

    #[test]
    fn a_neuron_that_is_closed_whatever_rounding_does_has_no_error_behind_its_gate() {
        let before = Forward {
            low: vec![-3.0, -3.0, -1.0],
            high: vec![-0.5, -0.25, 2.0],
            magnitude: vec![4.0; 3],
            error: vec![0.5; 3],
        };
        assert_eq!(before.dead(), [true, false, false]);
        let behind = before.rectified();
        assert_eq!(
            (behind.low, behind.high),
            (vec![0.0; 3], vec![0.0, 0.0, 2.0])
        );
        assert_eq!(
            (behind.magnitude, behind.error),
            (vec![4.0; 3], vec![0.0, 0.5, 0.5])
        );
    }

    /// Two layers of two neurons, and a head of two classes.
    fn network() -> DenseNetwork {
        DenseNetwork {
            hidden: vec![
                layer(&[1.0, -2.0, 3.0, 4.0], &[0.0, 0.0]),
                layer(&[-5.0, 6.0, 7.0, 8.0], &[0.0, 0.0]),
            ],
            head: layer(&[1.0, -2.0, 0.0, 0.0], &[0.0, 0.0]),
            arithmetic: COARSE,
        }
    }

    #[test]
    fn what_is_pulled_back_is_added_up_in_absolute_values_over_what_counts() {
        let all = pulled_back(&network(), &[1.0, 2.0], |_, _| true);
        // 5 + 14 and 6 + 16 at the first layer: 19 + 66 and 38 + 88 at the features.
        assert_eq!(all.magnitude, [85.0, 126.0]);
        // A quarter is lost at the start, and once more with every product and at every layer.
        let middle = [
            0.25 + 1.25 + 0.25 + 1.75 + 0.25,
            0.25 + 1.5 + 0.25 + 2.0 + 0.25,
        ];
        let lost = [
            0.25 + middle[0] + 0.25 + 3.0 * middle[1] + 0.25,
            0.25 + 2.0 * middle[0] + 0.25 + 4.0 * middle[1] + 0.25,
        ];
        assert_near(&all.lost, &lost);
        let some = pulled_back(&network(), &[1.0, 2.0], |depth, neuron| {
            (depth, neuron) != (1, 0)
        });
        assert_eq!(some.magnitude, [14.0 + 48.0, 28.0 + 64.0]);
    }

    #[test]
    fn importances_are_off_by_their_sums_their_seeds_and_what_is_lost() {
        let network = network();
        let dead = [vec![false; 2], vec![false; 2]];
        let (x, reach) = ([2.0, -3.0], [0.5, 1.0]);
        let mut explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let plain = ImportanceSlack::new(&network, &explained, &x, &reach, &dead);
        // Four neurons, two classes and eight more.
        let sums = gamma(14, 1e-3);
        let lost = pulled_back(&network, &[1.0, 2.0], |_, _| true).lost;
        let expected: Vec<f64> = [85.0, 126.0]
            .iter()
            .zip(&lost)
            .map(|(size, lost)| sums * size + 1e-3 * 2.0 * size + lost + 0.25)
            .collect();
        assert_near(&plain.at((-1.0, 1.0)), &expected);
        // Times their inputs, which are at most 2.5 and 4; that is one product more.
        explained.times_input = true;
        let times = ImportanceSlack::new(&network, &explained, &x, &reach, &dead);
        let sums = gamma(15, 1e-3);
        let expected: Vec<f64> = [(85.0, 2.5), (126.0, 4.0)]
            .iter()
            .zip(&lost)
            .map(|((size, input), lost)| input * (sums * size + 1e-3 * 2.0 * size + lost + 0.25))
            .collect();
        assert_near(&times.at((-1.0, 1.0)), &expected);
    }

    #[test]
    fn a_neuron_that_never_opens_adds_no_rounding_to_importances() {
        let network = network();
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let dead = [vec![false; 2], vec![true, false]];
        let found = ImportanceSlack::new(&network, &explained, &[0.0; 2], &[0.0; 2], &dead);
        assert_near(&found.per_seed, &[2.0 * 62.0, 2.0 * 92.0]);
    }

    #[test]
    fn the_rounding_of_the_search_itself_counts_every_weight_that_it_reads() {
        let mut network = network();
        network.arithmetic = Arithmetic {
            unit: 0.0,
            tiny: 0.0,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let dead = [vec![false; 2], vec![false; 2]];
        let found = ImportanceSlack::new(&network, &explained, &[0.0; 2], &[0.0; 2], &dead);
        // Four neurons and two features, eight operations each and 64 more; four times over for a line, sixteen times that for a form.
        let line = 4.0 * gamma(8 * 6 + 64, SEARCH_UNIT);
        for (found, size) in found.at((0.0, 0.0)).iter().zip([85.0, 126.0]) {
            assert!((found / (16.0 * line * size) - 1.0).abs() < 1e-9, "{found}");
        }
    }

    #[test]
    fn the_larger_a_margin_the_more_a_seed_is_off_and_beyond_60_nothing_is_known() {
        let unit = 0.01;
        let logit = seed_error(Scale::One, (-99.0, 99.0), unit);
        assert_eq!(logit, (1.0, unit));
        let e = 1.0_f64.exp();
        // Margins between -2 and 1: the probability times the rest is at least e^-2 / 4, and 1 + e units are off.
        let (least, off) = seed_error(Scale::Probability, (-2.0, 1.0), unit);
        let softmax = 16.0 * SEARCH_UNIT * (1.0 + e);
        assert_near(&[least, off], &[(-2.0_f64).exp() / 4.0, unit + softmax]);
        let (least, off) = seed_error(Scale::Probability, (-2.0, 1.0), 0.0);
        assert_near(&[least, off / softmax], &[(-2.0_f64).exp() / 4.0, 1.0]);
        let (least, off) = seed_error(Scale::Loss, (-1.0, 2.0), unit);
        let squared = 2.0_f64.exp();
        assert_near(
            &[least, off],
            &[1.0 / squared / 2.0, 16.0 * unit * (1.0 + squared)],
        );
        for scale in [Scale::Probability, Scale::Loss] {
            for margins in [(-60.5, 0.0), (0.0, 60.5)] {
                assert_eq!(seed_error(scale, margins, unit), (0.0, f64::INFINITY));
            }
            assert!(seed_error(scale, (-60.0, 60.0), unit).0 > 0.0);
        }
    }

    #[test]
    fn what_is_lost_counts_by_the_factor_and_without_a_factor_nothing_is_known() {
        let slack = ImportanceSlack {
            scale: Scale::Loss,
            unit: 0.0,
            fixed: vec![1.0],
            per_seed: vec![2.0],
            lost: vec![3.0],
        };
        // A margin of 0 has the factor 1/2.
        assert_near(&slack.at((0.0, 0.0)), &[1.0 + 6.0]);
        assert_eq!(slack.at((0.0, 61.0)), [f64::INFINITY]);
    }

    #[test]
    fn the_slack_of_gates_lines_and_margins_follows_the_layers() {
        // z = 2 x0 - x1 + 3 is open between 2.5 and 5.5; the second layer takes it twice, less 1.
        let network = DenseNetwork {
            hidden: vec![layer(&[2.0, -1.0], &[3.0]), layer(&[2.0], &[-1.0])],
            head: layer(&[1.0, -3.0], &[0.5, -0.25]),
            arithmetic: COARSE,
        };
        let explained = Explained::new(&network, Ranked::Probability, 0).unwrap();
        let reach = FeatureReach {
            features: vec![0.5, 0.5],
            length: None,
        };
        let slack = Slack::new(&network, &explained, &[1.0, 1.0], &reach);
        assert_near(&slack.low, &[2.5, 4.0]);
        assert_near(&slack.high, &[5.5, 10.0]);
        let first = gamma(3, 1e-3) * (3.0 + 3.0 + 1.5) + 0.75;
        let second = 2.0 * first + gamma(2, 1e-3) * (1.0 + 2.0 * (5.5 + first)) + 0.5;
        assert_near(&slack.gate, &[first, second]);
        // Added up are 7.5, and twice that and 1.
        let own = own_rounding(&network);
        assert!((slack.line[0] / (own * 7.5) - 1.0).abs() < 1e-9);
        assert!((slack.line[1] / (own * 16.0) - 1.0).abs() < 1e-9);
        // Both logits weigh 4 together, with biases of 3/4.
        let logits = 4.0 * second + gamma(2, 1e-3) * (0.75 + 4.0 * (10.0 + second)) + 0.5;
        assert_near(&slack.class, &[2.0 * logits]);
        let exact = DenseNetwork {
            arithmetic: Arithmetic {
                unit: 0.0,
                tiny: 0.0,
            },
            ..network
        };
        let slack = Slack::new(&exact, &explained, &[1.0, 1.0], &reach);
        assert!((slack.class[0] / (own * (0.75 + 4.0 * 16.0)) - 1.0).abs() < 1e-9);
    }
}
