//! One row to certify: its kinks, its moves, and which features are salient.

use std::sync::OnceLock;

use super::ball::MoveNorm;
use super::explained::Explained;
use super::half_space::HalfSpace;
use super::network::DenseNetwork;
use super::rounding::{FeatureReach, Slack};
use super::vector::dot;

/// The model as it is used, in its own arithmetic.
pub(super) trait Deployed: Sync {
    /// The nearest number that the model can be given.
    fn nearest_input(&self, value: f64) -> f64;

    /// The predicted class at `x`, and the importances of `class`.
    fn run(&self, x: &[f64], class: usize) -> (usize, Vec<f64>);
}

/// What a row may become.
#[derive(Clone, Debug)]
pub(super) struct Moves {
    pub norm: MoveNorm,
    /// The largest move that is asked about.
    pub radius: f64,
    /// The least and the greatest change of each feature.
    pub low: Vec<f64>,
    pub high: Vec<f64>,
    /// Whether the predicted class must stay.
    pub hold: bool,
}

/// What the difference of two values may have lost to rounding, relatively.
const ROUNDED: f64 = 1e-15;

/// A row, ready to be searched.
pub(super) struct Case<'a> {
    pub network: &'a DenseNetwork,
    pub explained: &'a Explained,
    pub deployed: &'a dyn Deployed,
    pub x: &'a [f64],
    pub class: usize,
    pub k: usize,
    pub moves: &'a Moves,
    /// The features that can move; a move has one number for each.
    pub moving: Vec<usize>,
    pub salient: Vec<usize>,
    pub others: Vec<usize>,
    /// The bounds of features that the radius alone does not keep.
    pub bounds: Vec<HalfSpace>,
    /// Where each first-layer gate can be open.
    pub open: Vec<HalfSpace>,
    /// Where it can be closed, made when it is asked for: few gates are ever split.
    closed: Vec<OnceLock<HalfSpace>>,
    /// The first layer's pre-activations at the row.
    pub centre: Vec<f64>,
    pub slack: Slack,
    /// The first neuron of each hidden layer when all are counted through, and one past the last.
    pub starts: Vec<usize>,
}

impl<'a> Case<'a> {
    /// `salient` are the first k of the deployed model's importances, in ascending order.
    pub(super) fn new(
        network: &'a DenseNetwork,
        explained: &'a Explained,
        deployed: &'a dyn Deployed,
        moves: &'a Moves,
        x: &'a [f64],
        class: usize,
        salient: Vec<usize>,
    ) -> Self {
        let features = network.features();
        let count = explained.importances(features);
        let moving: Vec<usize> = (0..features)
            .filter(|feature| moves.low[*feature] < moves.high[*feature])
            .collect();
        let reach = FeatureReach {
            features: (0..features)
                .map(|feature| {
                    let most = moves.high[feature].max(-moves.low[feature]).max(0.0);
                    most.min(moves.radius)
                })
                .collect(),
            length: (moves.norm == MoveNorm::L2).then_some(moves.radius),
        };
        let slack = Slack::new(network, explained, x, &reach);
        let mut bounds = Vec::new();
        for (place, &feature) in moving.iter().enumerate() {
            for (limit, sign) in [(-moves.low[feature], 1.0), (moves.high[feature], -1.0)] {
                if limit < moves.radius * (1.0 - ROUNDED) {
                    let mut normal = vec![0.0; moving.len()];
                    normal[place] = sign;
                    let widening = ROUNDED * (x[feature].abs() + limit);
                    bounds.push(HalfSpace::new(normal, limit, widening));
                }
            }
        }
        let mut starts = vec![0];
        for layer in &network.hidden {
            starts.push(starts[starts.len() - 1] + layer.outputs());
        }
        let (mut centre, mut open) = (Vec::new(), Vec::new());
        if let Some(first) = network.hidden.first() {
            for (neuron, (row, bias)) in first.rows().zip(&first.bias).enumerate() {
                let at = dot(row, x) + bias;
                let normal = moving.iter().map(|feature| row[*feature]).collect();
                let widening = slack.gate[neuron] + slack.line[neuron];
                open.push(HalfSpace::new(normal, at, widening));
                centre.push(at);
            }
        }
        Self {
            network,
            explained,
            deployed,
            x,
            class,
            k: salient.len(),
            moves,
            others: (0..count)
                .filter(|index| !salient.contains(index))
                .collect(),
            salient,
            moving,
            bounds,
            closed: open.iter().map(|_| OnceLock::new()).collect(),
            open,
            centre,
            slack,
            starts,
        }
    }

    /// Where a first-layer gate can be closed.
    pub(super) fn closed(&self, neuron: usize) -> &HalfSpace {
        self.closed[neuron].get_or_init(|| {
            let open = &self.open[neuron];
            let (at, widening) = (self.centre[neuron], open.widening);
            let mut other = open.other_side();
            other.offset = widening - at;
            other
        })
    }

    pub(super) fn dimensions(&self) -> usize {
        self.moving.len()
    }

    /// Hidden layers.
    pub(super) fn depth(&self) -> usize {
        self.network.hidden.len()
    }

    /// The row moved by d, as the model can be given it.
    pub(super) fn moved(&self, d: &[f64]) -> Vec<f64> {
        let mut point = self.x.to_vec();
        for (&feature, d) in self.moving.iter().zip(d) {
            let (low, high) = (self.moves.low[feature], self.moves.high[feature]);
            let x = self.x[feature];
            let mut value = self.deployed.nearest_input(x + d.clamp(low, high));
            // Rounding may step over a bound; a little inside, it does not.
            let inside = 2.0 * self.network.arithmetic.unit * (x.abs() + d.abs());
            if value - x > high {
                value = self.deployed.nearest_input(x + high - inside);
            } else if value - x < low {
                value = self.deployed.nearest_input(x + low + inside);
            }
            point[feature] = value;
        }
        point
    }

    /// The size of the move to a point, and whether the point is within the features' bounds.
    pub(super) fn size(&self, point: &[f64]) -> Option<f64> {
        let moved: Vec<f64> = point.iter().zip(self.x).map(|(z, x)| z - x).collect();
        let is_within = moved
            .iter()
            .zip(self.moves.low.iter().zip(&self.moves.high))
            .all(|(moved, (low, high))| low <= moved && moved <= high);
        is_within.then(|| self.moves.norm.of(&moved))
    }

    /// How many of the salient features are no longer among the first k.
    pub(super) fn lost(&self, importance: &[f64]) -> usize {
        let is_ahead = |a: usize, b: usize| {
            importance[a] > importance[b] || (importance[a] >= importance[b] && a < b)
        };
        let is_lost = |feature: &&usize| {
            let ahead = (0..importance.len()).filter(|other| is_ahead(*other, **feature));
            ahead.filter(|other| other != *feature).count() >= self.k
        };
        self.salient.iter().filter(is_lost).count()
    }

    /// The same at a point of the exact network; none where the class must stay and does not.
    pub(super) fn lost_exactly(&self, point: &[f64]) -> usize {
        let (logits, gates) = self.network.run(point);
        if self.moves.hold && largest(&logits) != self.class {
            return 0;
        }
        let gradient = self.network.gradient(&self.explained.seed, &gates);
        self.lost(&self.explained.importance(&gradient, point))
    }

    /// The same by the deployed model.
    pub(super) fn lost_deployed(&self, point: &[f64]) -> usize {
        let (class, importance) = self.deployed.run(point, self.class);
        if self.moves.hold && class != self.class {
            return 0;
        }
        self.lost(&importance)
    }
}

/// The index of the largest value; the lower one of equals.
pub(super) fn largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::explained::Ranked;
    use super::super::network::DenseLayer;
    use super::super::rounding::Arithmetic;
    use super::*;

    /// A model that is given single precision and always says the same.
    struct Single;

    impl Deployed for Single {
        fn nearest_input(&self, value: f64) -> f64 {
            Arithmetic::SINGLE.nearest(value)
        }

        fn run(&self, _: &[f64], _: usize) -> (usize, Vec<f64>) {
            (1, vec![1.0, 2.0, 3.0])
        }
    }

    /// Two neurons, `x0 + 2 x1 + 3 x2 + 0.5` and `4 x0 + 5 x1 + 6 x2 - 1`, of which the first speaks for class 0.
    fn with_case<T>(x: &[f64], moves: &Moves, run: impl FnOnce(&Case<'_>) -> T) -> T {
        let network = DenseNetwork {
            hidden: vec![DenseLayer {
                weight: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
                bias: vec![0.5, -1.0],
                inputs: 3,
            }],
            head: DenseLayer {
                weight: vec![1.0, 0.0, 0.0, 1.0],
                bias: vec![0.0, 0.0],
                inputs: 2,
            },
            arithmetic: Arithmetic::SINGLE,
        };
        let explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        run(&Case::new(
            &network,
            &explained,
            &Single,
            moves,
            x,
            0,
            vec![0],
        ))
    }

    fn moves(low: [f64; 3], high: [f64; 3], hold: bool) -> Moves {
        Moves {
            norm: MoveNorm::L2,
            radius: 0.5,
            low: low.to_vec(),
            high: high.to_vec(),
            hold,
        }
    }

    #[test]
    fn limits_that_the_radius_does_not_keep_are_half_spaces() {
        // The first may fall by 1/4, the second rise by 1/8 and fall as far as the radius, the third stays.
        let moves = moves([-0.25, -0.5, 0.0], [9.0, 0.125, 0.0], false);
        with_case(&[1.0, -2.0, 3.0], &moves, |case| {
            assert_eq!((&case.moving[..], case.dimensions()), (&[0, 1][..], 2));
            let normals: Vec<&[f64]> = case.bounds.iter().map(|cut| &cut.normal[..]).collect();
            assert_eq!(normals, [[1.0, 0.0], [0.0, -1.0]]);
            for (cut, (limit, size)) in case.bounds.iter().zip([(0.25, 1.25), (0.125, 2.125)]) {
                assert_eq!(vec![cut.widening], [ROUNDED * size]);
                assert_eq!(vec![cut.offset], [limit + ROUNDED * size]);
            }
        });
    }

    #[test]
    fn a_gate_of_the_first_layer_can_be_open_or_closed_a_little_beyond_its_kink() {
        let moves = moves([-1.0, -1.0, 0.0], [1.0, 1.0, 0.0], false);
        with_case(&[1.0, -2.0, 1.0], &moves, |case| {
            assert_eq!(case.centre, [0.5, -1.0]);
            assert_eq!((&case.starts[..], case.depth()), (&[0, 2][..], 1));
            for (neuron, normal) in [[1.0, 2.0], [4.0, 5.0]].iter().enumerate() {
                let widening = case.slack.gate[neuron] + case.slack.line[neuron];
                let (open, closed) = (&case.open[neuron], case.closed(neuron));
                assert_eq!(open.normal, normal);
                assert_eq!(closed.normal, normal.map(|value| -value));
                assert_eq!(vec![open.offset], [case.centre[neuron] + widening]);
                assert_eq!(vec![closed.offset], [widening - case.centre[neuron]]);
            }
        });
    }

    #[test]
    fn a_moved_row_stays_within_its_limits_when_it_is_rounded() {
        // Beyond 8 and below -8 single precision has steps of 9.5e-7; to go nine tenths of one goes all of it.
        let step = 8.0 * f64::from(f32::EPSILON);
        let moves = moves([-1.0, -0.9 * step, 0.0], [0.9 * step, 1.0, 0.0], false);
        with_case(&[8.0, -8.0, 3.0], &moves, |case| {
            assert!(case.deployed.nearest_input(8.0 + 0.9 * step) - 8.0 > 0.9 * step);
            for d in [[0.9 * step, -0.9 * step], [1.0, -1.0]] {
                let point = case.moved(&d);
                assert!(case.size(&point).is_some(), "{d:?}: {point:?}");
            }
            let near = case.moved(&[0.9 * step, -0.9 * step]);
            for value in &near[..2] {
                assert!((value.abs() - 8.0).abs() <= step, "{near:?}");
            }
            assert_eq!(case.moved(&[-0.25, 0.5]), [7.75, -7.5, 3.0]);
        });
    }

    #[test]
    fn a_feature_that_can_only_fall_reaches_as_far_as_one_that_can_only_rise() {
        for (low, high) in [([-0.25, 0.0, 0.0], [0.0; 3]), ([0.0; 3], [0.25, 0.0, 0.0])] {
            let moves = moves(low, high, false);
            with_case(&[1.0, 1.0, 1.0], &moves, |case| {
                let (low, high) = (case.slack.low[0], case.slack.high[0]);
                assert!((low - 6.25).abs() < 1e-9 && (high - 6.75).abs() < 1e-9);
            });
        }
    }

    #[test]
    fn a_point_at_its_limits_is_within_them_and_one_beyond_is_not() {
        let moves = moves([-0.25, -1.0, 0.0], [1.0, 0.5, 0.0], false);
        with_case(&[1.0, 1.0, 1.0], &moves, |case| {
            assert_eq!(case.size(&[0.75, 1.0, 1.0]), Some(0.25));
            assert_eq!(case.size(&[1.0, 1.5, 1.0]), Some(0.5));
            assert_eq!(case.size(&[1.75, 0.0, 1.0]), Some(1.25));
            for outside in [[0.7, 1.0, 1.0], [1.0, 1.6, 1.0], [1.0, 1.0, 1.1]] {
                assert_eq!(case.size(&outside), None, "{outside:?}");
            }
        });
    }

    #[test]
    fn where_the_class_must_stay_nothing_is_lost_beside_it() {
        // The exact gradient is (1, 2, 3) where the first neuron is open; the deployed model says class 1 and (1, 2, 3).
        let x = [0.1, 0.0, 0.0];
        for (hold, exactly, deployed) in [(false, 1, 1), (true, 1, 0)] {
            let moves = moves([-1.0; 3], [1.0; 3], hold);
            let found = with_case(&x, &moves, |case| {
                (case.lost_exactly(&x), case.lost_deployed(&x))
            });
            assert_eq!(found, (exactly, deployed), "{hold}");
        }
        // At 2 the second logit is ahead.
        let moves = moves([-9.0; 3], [9.0; 3], true);
        let lost = with_case(&x, &moves, |case| case.lost_exactly(&[2.0, 0.0, 0.0]));
        assert_eq!(lost, 0);
    }

    #[test]
    fn the_largest_of_equals_is_the_first() {
        assert_eq!(largest(&[1.0, 3.0, 3.0]), 1);
        assert_eq!(largest(&[-1.0, -3.0]), 0);
        assert_eq!(largest(&[-3.0, -1.0, -2.0]), 1);
    }
}
