//! Certificates by bounds alone, of what no search can split: softplus networks, and probabilities of many classes. Sound, not complete.
//!
//! 1. **Lines.** Within the radius every hidden value lies between two lines in the move d: an exact one for the first layer, and for later ones
//!    what chords above and tangents below an activation give. Over the ball they bound each pre-activation.
//! 2. **Gates.** A slope of an activation lies between its values at the ends, and within `error` of a chord. The gradient of a margin is
//!    `W1' (gate * u)`, with intervals for what comes from above, `u = center ± reach`.
//! 3. **Pairs.** Feature i stays ahead of j if `s_i g_i - g_j` and `s_i g_i + g_j` stay positive. Each is a sum over the first layer's
//!    neurons, whose chords are added up before their slope in d is bounded, so that neurons that pull against each other cancel.
//!
//! The gradient of the probability of class c of many is `p_c` times `sum over j of p_j (grad z_c - grad z_j)`, a mixture of the gradients of its margins. Each
//! margin bounds its own weight, so the least of a mixture is had with the least weight where a part is positive and the most where it is not.
//!
//! Rounding: each interval is widened by what the deployed model can be off at that step in any order of sums, so that intervals
//! hold what the model computes; that the bounds themselves are computed in `f64` is part of the same term.

mod activation;
mod forward;
mod interval;
mod lines;
mod margin_gradient;

use super::MoveNorm;
use super::explained::Ranked;
use super::network::DenseNetwork;
use super::result::{CertifiedRadius, CertifiedWorstCase, Status};
use super::rounding::{SEARCH_UNIT, gamma};
use super::swaps::OpenPairs;

pub(super) use self::activation::Activation;
use self::interval::{GateBounds, Interval};

/// Halvings of the interval in which the largest certified radius is looked for.
const HALVINGS: usize = 14;

/// How far an exponential, a logarithm, a softmax or a gate can be off, in units of roundoff.
const FUNCTION_UNITS: f64 = 32.0;

/// A chain of dense layers with any of the activations.
#[derive(Clone, Debug)]
pub(super) struct SmoothNetwork {
    pub dense: DenseNetwork,
    /// One a hidden layer.
    pub activations: Vec<Activation>,
}

/// Where a row may move: `|d| <= radius`, and each feature within limits of its own.
#[derive(Clone, Debug)]
pub(super) struct MoveSet {
    pub norm: MoveNorm,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// What is ranked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order<'a> {
    /// The salient features.
    pub salient: &'a [usize],
    /// Whether a feature counts by its absolute value.
    pub absolute: bool,
    /// The gradient at the row as the model computes it, up to a positive factor.
    pub gradient: &'a [f64],
    /// The explained output, and the class that it is of.
    pub class: usize,
    pub ranked: Ranked,
}

/// One row and what is asked of it.
pub(super) struct BoundedRow<'a> {
    network: &'a SmoothNetwork,
    x: &'a [f64],
    moves: &'a MoveSet,
    order: Order<'a>,
    /// The heads' weights of each margin, or of the logit, with a bound on what the deployed model's differ from them.
    seeds: Vec<Interval>,
    others: Vec<usize>,
}

impl MoveSet {
    /// The most that `<direction, d>` can be.
    fn most(&self, direction: &[f64], radius: f64) -> f64 {
        let limits = || self.low.iter().zip(&self.high).zip(direction);
        let moving = limits().filter(|((low, high), _)| low < high);
        let in_ball = match self.norm {
            MoveNorm::L2 => moving.map(|(_, way)| way * way).sum::<f64>().sqrt() * radius,
            MoveNorm::Linf => moving.map(|(_, way)| way.abs()).sum::<f64>() * radius,
        };
        let in_box: f64 = limits()
            .map(|((low, high), way)| (way * low.max(-radius)).max(way * high.min(radius)))
            .sum();
        let most = in_ball.min(in_box);
        // What this sum itself may have lost.
        most + gamma(2 * direction.len(), SEARCH_UNIT) * in_ball.abs()
    }

    /// The largest absolute value of each moved feature.
    fn sizes(&self, x: &[f64], radius: f64) -> Vec<f64> {
        let limits = self.low.iter().zip(&self.high).zip(x);
        let size = |((low, high), x): ((&f64, &f64), &f64)| {
            let (low, high) = (low.max(-radius), high.min(radius));
            (x + low).abs().max((x + high).abs())
        };
        limits.map(size).collect()
    }
}

impl<'a> BoundedRow<'a> {
    pub(super) fn new(
        network: &'a SmoothNetwork,
        x: &'a [f64],
        moves: &'a MoveSet,
        order: Order<'a>,
    ) -> Self {
        let head = &network.dense.head;
        let classes = head.outputs();
        let own = head.row(order.class);
        let unit = network.dense.arithmetic.unit;
        #[expect(clippy::cast_precision_loss, reason = "classes are few")]
        let relative = (FUNCTION_UNITS + classes as f64) * unit;
        let seeds = if order.ranked == Ranked::Logit {
            vec![Interval {
                center: own.to_vec(),
                reach: own.iter().map(|weight| relative * weight.abs()).collect(),
            }]
        } else {
            let rivals = (0..classes).filter(|other| *other != order.class);
            let margin = |other: usize| {
                let pairs = || own.iter().zip(head.row(other));
                Interval {
                    center: pairs().map(|(own, other)| own - other).collect(),
                    reach: pairs()
                        .map(|(own, other)| relative * (own.abs() + other.abs()))
                        .collect(),
                }
            };
            rivals.map(margin).collect::<Vec<_>>()
        };
        let seeds = match order.ranked {
            Ranked::Loss => seeds
                .into_iter()
                .map(|seed| Interval {
                    center: negated(&seed.center),
                    ..seed
                })
                .collect(),
            _ => seeds,
        };
        let features = network.dense.features();
        Self {
            network,
            x,
            moves,
            others: (0..features)
                .filter(|feature| !order.salient.contains(feature))
                .collect(),
            order,
            seeds,
        }
    }

    /// The largest radius, up to the given one, at which the bounds show that the top-k set stays.
    pub(super) fn radius(&self, largest: f64) -> CertifiedRadius {
        let holds = |radius: f64| {
            self.open_pairs(radius)
                .is_some_and(|open| open.complete(1).is_none())
        };
        let (mut certified, mut refused) = (0.0, largest);
        if holds(largest) {
            certified = largest;
        } else {
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(certified, refused);
                if holds(middle) {
                    certified = middle;
                } else {
                    refused = middle;
                }
            }
        }
        CertifiedRadius {
            status: if certified >= largest {
                Status::Certified
            } else {
                Status::Unknown
            },
            certified,
            counterexample: None,
            nodes: 1,
        }
    }

    /// How many of the salient features are shown to stay.
    pub(super) fn worst_case(&self, radius: f64) -> CertifiedWorstCase {
        let k = self.order.salient.len();
        let most = k.min(self.others.len());
        let lost = self.open_pairs(radius).map_or(most, |open| {
            (1..=most)
                .find(|t| open.complete(*t).is_none())
                .map_or(most, |t| t - 1)
        });
        CertifiedWorstCase {
            status: match k - lost {
                kept if kept == k => Status::Exact,
                0 => Status::Unknown,
                _ => Status::Certified,
            },
            kept_at_least: k - lost,
            kept_at_most: k,
            counterexample: None,
            nodes: 1,
        }
    }

    /// The pairs whose order the bounds do not show; none where probabilities may underflow.
    fn open_pairs(&self, radius: f64) -> Option<OpenPairs> {
        let bounds = self.forward(radius)?;
        // The better of the chords and of plain intervals: chords for small balls, intervals for large ones.
        let flat: Vec<GateBounds> = bounds
            .gates
            .iter()
            .map(GateBounds::without_chords)
            .collect();
        let gradients = [&bounds.gates, &flat].map(|gates| {
            let seeds = self.seeds.iter();
            seeds
                .map(|seed| self.gradient(seed, gates, &bounds.first, radius))
                .collect::<Vec<_>>()
        });
        let mut open = OpenPairs::new(self.order.salient.len(), self.others.len());
        for (row, &ahead) in self.order.salient.iter().enumerate() {
            let sign = if self.order.absolute && self.order.gradient[ahead] < 0.0 {
                -1.0
            } else {
                1.0
            };
            for (column, &behind) in self.others.iter().enumerate() {
                let stays = |other: f64| {
                    let mixture = gradients.iter().map(|gradients| {
                        let margins = gradients.iter().zip(&bounds.rivals);
                        margins
                            .map(|(gradient, rival)| {
                                let least = gradient.least(ahead, behind, sign, other);
                                least * if least > 0.0 { rival.least } else { rival.most }
                            })
                            .sum::<f64>()
                    });
                    mixture.fold(f64::NEG_INFINITY, f64::max) > 0.0
                };
                if !(stays(-1.0) && (!self.order.absolute || stays(1.0))) {
                    open.open(row, column);
                }
            }
        }
        Some(open)
    }
}

fn negated(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

#[cfg(test)]
mod tests {
    use super::super::network::DenseLayer;
    use super::super::rounding::Arithmetic;
    use super::*;

    #[test]
    fn weights_that_cancel_leave_the_rounding_of_both() {
        let layer = |weight: &[f64]| DenseLayer {
            weight: weight.to_vec(),
            bias: vec![0.0; weight.len()],
            inputs: 1,
        };
        let network = SmoothNetwork {
            dense: DenseNetwork {
                hidden: vec![layer(&[1.0])],
                head: layer(&[3.0, 3.0]),
                arithmetic: Arithmetic::SINGLE,
            },
            activations: vec![Activation::Relu],
        };
        let moves = MoveSet {
            norm: MoveNorm::L2,
            low: vec![-1.0],
            high: vec![1.0],
        };
        let order = Order {
            salient: &[0],
            absolute: true,
            gradient: &[0.0],
            class: 0,
            ranked: Ranked::Probability,
        };
        let row = BoundedRow::new(&network, &[0.5], &moves, order);
        assert!(row.seeds[0].center[0].abs() < f64::MIN_POSITIVE);
        assert!(row.seeds[0].reach[0] >= 6.0 * Arithmetic::SINGLE.unit);
    }

    fn layer(weight: &[f64], bias: &[f64]) -> DenseLayer {
        DenseLayer {
            weight: weight.to_vec(),
            bias: bias.to_vec(),
            inputs: weight.len() / bias.len(),
        }
    }

    /// Logits that are linear in the features, one row of weights a class.
    fn linear(weight: &[f64], bias: &[f64], arithmetic: Arithmetic) -> SmoothNetwork {
        SmoothNetwork {
            dense: DenseNetwork {
                hidden: Vec::new(),
                head: layer(weight, bias),
                arithmetic,
            },
            activations: Vec::new(),
        }
    }

    fn free(features: usize) -> MoveSet {
        MoveSet {
            norm: MoveNorm::L2,
            low: vec![-9.0; features],
            high: vec![9.0; features],
        }
    }

    #[test]
    fn a_direction_goes_as_far_as_ball_and_limits_both_allow() {
        let set = |norm| MoveSet {
            norm,
            low: vec![-1.0, -0.1, 0.0],
            high: vec![1.0, 1.0, 0.0],
        };
        // The third feature stays. The ball allows 0.5 * 5, or 0.5 * 7 by the largest entry; downwards the limits allow 0.5 * 3 + 0.1 * 4.
        for (norm, direction, exact) in [
            (MoveNorm::L2, [3.0, 4.0, 100.0], 2.5),
            (MoveNorm::L2, [-3.0, -4.0, 100.0], 1.9),
            (MoveNorm::Linf, [3.0, 4.0, 100.0], 3.5),
            (MoveNorm::Linf, [-3.0, -4.0, 100.0], 1.9),
        ] {
            let found = set(norm).most(&direction, 0.5);
            assert!(found > exact && found < exact + 1e-12, "{norm:?} {found}");
        }
        // What the sum of three products may have lost, of a ball that allows 1000.
        let off = gamma(6, SEARCH_UNIT) * 1000.0;
        let found = set(MoveNorm::L2).most(&[1200.0, 1600.0, 0.0], 0.5);
        assert!((found - (1000.0 + off)).abs() <= f64::EPSILON * 1000.0);
        assert!(off > 3.0 * f64::EPSILON * 1000.0);
    }

    #[test]
    fn a_feature_is_as_large_as_its_farther_end() {
        let set = MoveSet {
            norm: MoveNorm::L2,
            low: vec![-0.25, -9.0, 0.0],
            high: vec![0.125, 9.0, 0.0],
        };
        assert_eq!(set.sizes(&[1.0, -2.0, 3.0], 0.5), [1.125, 2.5, 3.0]);
        assert_eq!(set.sizes(&[-1.0, 2.0, -3.0], 0.5), [1.25, 2.5, 3.0]);
    }

    #[test]
    fn what_is_explained_is_a_logit_or_its_margins_and_the_loss_turns_them_round() {
        let arithmetic = Arithmetic {
            unit: 1.0 / 1024.0,
            tiny: 0.0,
        };
        let network = linear(&[1.0, 2.0, 4.0, -8.0, 16.0, 32.0], &[0.0; 3], arithmetic);
        let moves = free(2);
        let seeds = |ranked| {
            let order = Order {
                salient: &[0],
                absolute: true,
                gradient: &[1.0, 1.0],
                class: 1,
                ranked,
            };
            let row = BoundedRow::new(&network, &[0.0, 0.0], &moves, order);
            let seeds = row.seeds.into_iter();
            let (centers, reaches): (Vec<_>, Vec<_>) =
                seeds.map(|seed| (seed.center, seed.reach)).unzip();
            assert_eq!(row.others, [1]);
            (centers, reaches)
        };
        // Of three classes the weights are off by 35 units of their sizes.
        let unit = 35.0 / 1024.0;
        let logit = (vec![vec![4.0, -8.0]], vec![vec![4.0 * unit, 8.0 * unit]]);
        assert_eq!(seeds(Ranked::Logit), logit);
        let reaches = vec![
            vec![5.0 * unit, 10.0 * unit],
            vec![20.0 * unit, 40.0 * unit],
        ];
        let margins = vec![vec![3.0, -10.0], vec![-12.0, -40.0]];
        assert_eq!(seeds(Ranked::Probability), (margins, reaches.clone()));
        let turned = vec![vec![-3.0, 10.0], vec![12.0, 40.0]];
        assert_eq!(seeds(Ranked::Loss), (turned, reaches));
    }

    /// The worst case of a linear logit with these weights.
    fn worst(weights: &[f64], salient: &[usize], absolute: bool) -> (Status, usize, usize) {
        let zeros = vec![0.0; weights.len()];
        let both = [weights, &zeros].concat();
        let network = linear(&both, &[0.0; 2], Arithmetic::DOUBLE);
        let moves = free(weights.len());
        let order = Order {
            salient,
            absolute,
            gradient: weights,
            class: 0,
            ranked: Ranked::Logit,
        };
        let found = BoundedRow::new(&network, &zeros, &moves, order).worst_case(1.0);
        (found.status, found.kept_at_least, found.kept_at_most)
    }

    #[test]
    fn of_a_linear_model_what_is_clearly_ahead_stays() {
        assert_eq!(
            worst(&[3.0, 2.0, 1.0], &[0, 1], true),
            (Status::Exact, 2, 2)
        );
        // A tie may be lost, of two salient features or of one.
        assert_eq!(
            worst(&[3.0, 1.0, 1.0], &[0, 1], true),
            (Status::Certified, 1, 2)
        );
        assert_eq!(worst(&[1.0, 1.0], &[0], true), (Status::Unknown, 0, 1));
        assert_eq!(
            worst(&[1.0, 1.0, 1.0], &[0, 1], true),
            (Status::Certified, 1, 2)
        );
    }

    #[test]
    fn sizes_and_signs_are_ranked_differently() {
        assert_eq!(worst(&[-3.0, 1.0], &[0], true).0, Status::Exact);
        assert_eq!(worst(&[2.0, -1.0], &[0], true).0, Status::Exact);
        assert_eq!(worst(&[1.0, -3.0], &[0], true).0, Status::Unknown);
        assert_eq!(worst(&[1.0, 3.0], &[0], true).0, Status::Unknown);
        assert_eq!(worst(&[1.0, -3.0], &[0], false).0, Status::Exact);
        assert_eq!(worst(&[-3.0, 1.0], &[0], false).0, Status::Unknown);
    }

    #[test]
    fn a_probability_that_may_underflow_is_not_ranked() {
        // The margin is 50 at the row, and a move of 20 along a weight of 1 takes it beyond 60.
        let network = linear(&[1.0, 0.5, 0.0, 0.0], &[50.0, 0.0], Arithmetic::DOUBLE);
        let moves = MoveSet {
            norm: MoveNorm::L2,
            low: vec![0.0; 2],
            high: vec![20.0, 0.0],
        };
        let order = Order {
            salient: &[0],
            absolute: true,
            gradient: &[1.0, 0.5],
            class: 0,
            ranked: Ranked::Probability,
        };
        let row = BoundedRow::new(&network, &[0.0; 2], &moves, order);
        assert_eq!(row.worst_case(9.0).status, Status::Exact);
        let lost = row.worst_case(11.0);
        assert_eq!((lost.status, lost.kept_at_least), (Status::Unknown, 0));
        // Up to where it may, halving by halving.
        let found = row.radius(20.0);
        assert_eq!(found.status, Status::Unknown);
        assert!(
            found.certified <= 10.0 && found.certified > 9.99,
            "{found:?}"
        );
        let near = row.radius(9.0);
        assert_eq!(near.status, Status::Certified);
        assert!((near.certified - 9.0).abs() < 1e-12);
    }
}
