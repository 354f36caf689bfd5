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
}
