//! Dense layers with `ReLU`, at most two of them hidden: for how long each gate is open on the ways to all moved rows.

mod second_layer;

use self::second_layer::SecondLayer;
use super::super::network::DenseNetwork;
use super::super::vector::{add_scaled, dot};
use super::gate_time::{Interval, Line, Neuron, ordered};
use super::layer_behind::LayerBehind;
use super::move_set::MoveSet;
use super::over_ways::OverWays;
use super::{Bounds, PairBound, SLACK};
use crate::explain::contributions::score_weights;

/// A network and a class, with the reference that ways begin at.
pub(in super::super) struct Ways<'a> {
    network: &'a DenseNetwork,
    groups: &'a [Vec<usize>],
    reference: &'a [f64],
    /// Before the gates of the first layer, at the reference.
    start: Vec<f64>,
    /// The score's weights of the last hidden layer, or of the features where none is hidden.
    score: Vec<f64>,
    /// The second hidden layer, if there is one.
    behind: Option<LayerBehind<'a>>,
}

impl<'a> Ways<'a> {
    /// `None` where more than two layers are hidden.
    pub(in super::super) fn new(
        network: &'a DenseNetwork,
        groups: &'a [Vec<usize>],
        reference: &'a [f64],
        class: usize,
    ) -> Option<Self> {
        if network.hidden.len() > 2 {
            return None;
        }
        let mut score = vec![0.0; network.head.inputs];
        for (row, weight) in network
            .head
            .rows()
            .zip(score_weights(class, network.classes()))
        {
            add_scaled(&mut score, weight, row);
        }
        let start = network.hidden.first().map_or_else(Vec::new, |layer| {
            let rows = layer.rows().zip(&layer.bias);
            rows.map(|(row, bias)| dot(row, reference) + bias).collect()
        });
        let second = network.hidden.get(1);
        Some(Self {
            network,
            groups,
            reference,
            start,
            behind: second.map(|layer| LayerBehind::new(layer, &score)),
            score,
        })
    }

    /// The first layer over all ways to the moves.
    fn first_layer(&self, set: &MoveSet<'_>) -> Vec<Neuron> {
        let Some(layer) = self.network.hidden.first() else {
            return Vec::new();
        };
        let moving: Vec<usize> = set.moving().collect();
        let rows = layer.rows().zip(&layer.bias).zip(&self.start);
        rows.map(|((row, bias), &start)| {
            let terms = || moving.iter().map(|&feature| (feature, row[feature]));
            let (fall, rise) = (set.fall(terms()), set.rise(terms()));
            let end = dot(row, set.x) + bias;
            let size = row.iter().zip(set.x.iter().zip(self.reference));
            let size: f64 = size.map(|(w, (x, b))| w.abs() * (x.abs() + b.abs())).sum();
            let line = |at_1: f64| Line { at_0: start, at_1 };
            Neuron {
                low: line(end - fall),
                high: line(end + rise),
                slack: SLACK * (size + bias.abs() + rise + fall),
            }
        })
        .collect()
    }

    /// The mean adjoint of each neuron of the first layer: of the score, over all ways.
    fn adjoints(&self, set: &MoveSet<'_>) -> Vec<Interval> {
        let first = self.first_layer(set);
        if self.network.hidden.len() == 1 {
            return first
                .iter()
                .zip(&self.score)
                .map(|(neuron, &score)| {
                    let time = neuron.open_time(0.0, 1.0);
                    ordered(score * time.low, score * time.high)
                })
                .collect();
        }
        let mut times: Vec<f64> = first
            .iter()
            .flat_map(|neuron| {
                let low = neuron.low.reaches(neuron.slack);
                [low, neuron.high.reaches(-neuron.slack)]
            })
            .flatten()
            .chain([0.0, 1.0])
            .collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let mut sums = vec![Interval::default(); first.len()];
        if let Some(mut second) = SecondLayer::new(self, set, &first) {
            for pair in times.windows(2) {
                second.add_between(pair[0], pair[1], &mut sums);
            }
        }
        sums
    }
}

impl Bounds for Ways<'_> {
    fn bound(&self, set: &MoveSet<'_>) -> Box<dyn PairBound + '_> {
        let features = self.network.features();
        let adjoints = self.adjoints(set);
        let mut gradient = if adjoints.is_empty() {
            self.score.clone()
        } else {
            vec![0.0; features]
        };
        let mut rest = Vec::new();
        if let Some(layer) = self.network.hidden.first() {
            for (row, adjoint) in layer.rows().zip(&adjoints) {
                add_scaled(&mut gradient, adjoint.middle(), row);
                if adjoint.rest() > 0.0 {
                    rest.push((adjoint.rest(), row));
                }
            }
        }
        Box::new(OverWays::new(
            self.groups,
            self.reference,
            set,
            gradient,
            rest,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::network::DenseLayer;
    use super::super::super::rounding::Arithmetic;
    use super::super::MoveNorm;
    use super::*;

    fn layer(weight: &[f64], bias: &[f64]) -> DenseLayer {
        DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        }
    }

    #[test]
    fn one_hidden_layer_by_hand() {
        // The neuron is 2 x0 - x1 + 1/2: -1/2 at the reference, 1/2 at the row. Moves take it down by 2/4 + 1/10 and up by 2/10 + 1/4.
        let network = DenseNetwork {
            hidden: vec![layer(&[2.0, -1.0], &[0.5])],
            head: layer(&[-1.5, 1.5], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        };
        let groups = vec![vec![0], vec![1]];
        let ways = Ways::new(&network, &groups, &[0.0, 1.0], 1).unwrap();
        let set = MoveSet {
            x: &[1.0, 2.0],
            norm: MoveNorm::Linf,
            radius: 1.0,
            low: &[-0.25; 2],
            high: &[0.1; 2],
        };
        let [neuron] = ways.first_layer(&set)[..] else {
            panic!("one neuron")
        };
        let ends = [
            (neuron.low.at_0, -0.5),
            (neuron.low.at_1, -0.1),
            (neuron.high.at_0, -0.5),
            (neuron.high.at_1, 0.95),
        ];
        for (found, expected) in ends {
            assert!((found - expected).abs() < 1e-12, "{neuron:?}");
        }
        // 2 * 1 + 1 * 3 are multiplied, and the bias and both moves added.
        let slack = SLACK * (5.0 + 0.5 + 0.45 + 0.6);
        assert!((neuron.slack / slack - 1.0).abs() < 1e-9);
        // Three times the share of the way on which it can be open.
        let open = 3.0 * 0.95 / 1.45;
        let [adjoint] = ways.adjoints(&set)[..] else {
            panic!("one neuron")
        };
        assert!(adjoint.low.abs() < 1e-12 && (adjoint.high - open).abs() < 1e-7);
        // In the middle the gradient is (2, -1) times half of that, and the other half is open: a way of 1 along each, and moves of 1/2 and 1/4.
        let middle = open / 2.0;
        let falls = middle * (2.0 * 0.25 + 0.25);
        let expected = 3.0 * middle - falls - middle * (3.0 + 0.5 + 0.25);
        let found = ways.bound(&set).least(0, 1);
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }

    #[test]
    fn without_hidden_layers_contributions_are_weights_times_ways() {
        let network = DenseNetwork {
            hidden: Vec::new(),
            head: layer(&[0.0, 0.0, 3.0, 2.0], &[0.0, 0.0]),
            arithmetic: Arithmetic::DOUBLE,
        };
        let groups = vec![vec![0], vec![1]];
        let ways = Ways::new(&network, &groups, &[0.0, 1.0], 1).unwrap();
        let set = MoveSet {
            x: &[2.0, 2.0],
            norm: MoveNorm::Linf,
            radius: 0.5,
            low: &[-1.0; 2],
            high: &[1.0; 2],
        };
        // 6 - 2, less 2.5 for moves of 1/2.
        let found = ways.bound(&set).least(0, 1);
        assert!((found - 1.5).abs() < 1e-6, "{found}");
    }
}
