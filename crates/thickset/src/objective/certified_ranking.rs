//! Training for certificates: `L = CE + w R(bounds, T)`, the ranking loss of bounds on the gradient within a ball.
//!
//! Around each row every pre-activation z of a dense `ReLU` chain lies within some rho of its value: `epsilon |W_n|` in the first layer, and what intervals say
//! in later ones. A gate whose kink is nearer than rho may switch, and the gradient lies in an interval, `g - r` to `g + r`, which the same
//! pass backwards gives. Salient features enter the [ranking loss](super::term::ranking) by the least that `|g|` can be, the others by the most, so
//! that the loss is small where the ranking is certified without any search.
//!
//! A gate that may switch or may not has no slope to follow. So it counts in proportion to how far the ball reaches beyond its kink:
//! `1 - |z| / rho`, and not at all where it does not reach it. With radius 0 this is the ranking loss of the gradient.

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;
use thickset_engine::layer::{Layer as _, Part, Softplus};

use super::term::gap::Pairs;
use super::term::ranking::{RankingMargin, levels_between};
use super::term::reading::{mean_over_rows, predicted_one_hot};
use super::{Batch, Loss, Objective};
use crate::check::{check_positive, check_weight};
use crate::registry::{Family, Info, Setting};
use crate::{Error, Result};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "certified-ranking",
    label: "CertRanking",
    family: Family::Objective,
    summary: "The class loss and the ranking loss of bounds on the gradient within a ball, so that more of the ranking is certified",
    formula: "L = CE + w mean over pairs of tau softplus((gamma - l_i + u_j) / tau), l and u the logs of the least and the most that |g| can be within the ball",
    source: "thickset; interval bounds in the manner of Gowal et al. 2018",
    direction: None,
    cost: "about five vanilla steps; dense ReLU chains alone",
    defaults: &[
        Setting::new("weight", "w, the weight of the ranking loss"),
        Setting::new("radius", "epsilon, the radius of the ball in encoded units"),
        Setting::new("margin", "gamma, the log ratio that is asked for"),
        Setting::new("softness", "tau, how softly the loss ends there"),
        Setting::new("adaptive", "weigh relative to the class loss"),
    ],
};

/// Weight and ball.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CertifiedRankingConfig {
    /// The weight of the ranking loss.
    pub weight: f64,
    /// The radius of the ball.
    pub radius: f64,
    /// The log ratio that is asked for.
    pub margin: f64,
    /// How softly the loss ends there.
    pub softness: f64,
    /// Weigh relative to the class loss.
    pub adaptive: bool,
}

impl Default for CertifiedRankingConfig {
    fn default() -> Self {
        Self {
            weight: 0.1,
            radius: 0.05,
            margin: 0.3,
            softness: 0.15,
            adaptive: false,
        }
    }
}

impl Objective for CertifiedRankingConfig {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn check(&self) -> Result<()> {
        check_weight("`certified-ranking.weight`", self.weight)?;
        check_weight("`certified-ranking.radius`", self.radius)?;
        check_weight("`certified-ranking.margin`", self.margin)?;
        check_positive("`certified-ranking.softness`", self.softness)
    }

    fn loss(&self, batch: &Batch<'_>) -> Result<Loss> {
        let pass = batch.network.pass(batch.x.clone());
        let loss = batch.class_loss_of(&pass);
        if self.weight == 0.0 {
            return Ok(loss);
        }
        let explainer = batch.explainer(&pass)?;
        let importance = explainer.at(&pass);
        let pairs = batch.ranked_pairs(&importance, Pairs::All, None)?;
        let classes = predicted_one_hot(batch.network, &pass.logits())?;
        let parts = batch
            .network
            .tracked_chain_parts()
            .ok_or_else(not_a_chain)?;
        let bounds = GradientBounds::new(&parts, &batch.x, classes, self.radius)?;
        let [least, most] = levels_between(&bounds.least(), &bounds.most(), &bounds.center);
        let margin = RankingMargin {
            margin: self.margin,
            softness: self.softness,
        };
        let ranking = mean_over_rows(pairs.loss_between(&least, &most, margin));
        Ok(loss.plus("ranking", self.weight, ranking, self.adaptive))
    }
}

fn not_a_chain() -> Error {
    Error::CertifyInput {
        expected: "a chain of dense layers with ReLU or softplus, to train for certificates",
        got: "a network of another kind".to_owned(),
    }
}

/// An interval around each row's gradient, `[rows, features]`.
struct GradientBounds {
    center: Tensor<2>,
    reach: Tensor<2>,
}

/// What one layer of gates may be: between `low` and `high`.
struct Gates {
    low: Tensor<2>,
    high: Tensor<2>,
}

impl Gates {
    /// Of a softplus of this sharpness, or of a `ReLU`, whose pre-activations lie within `around` of `center`.
    fn new(beta: Option<f64>, center: &Tensor<2>, around: &Tensor<2>) -> Self {
        if let Some(beta) = beta {
            // The slope rises, so its ends are at the ends.
            let slope = |z: Tensor<2>| (z * (beta / 2.0)).tanh() * 0.5 + 0.5;
            return Self {
                low: slope(center.clone() - around.clone()),
                high: slope(center.clone() + around.clone()),
            };
        }
        let open = center.clone().detach().sign().clamp_min(0.0);
        let doubt = doubt(center, around);
        Self {
            low: open.clone() * (-doubt.clone() + 1.0),
            high: open.clone() + (-open + 1.0) * doubt,
        }
    }
}

/// Behind a softplus of this sharpness, or a `ReLU`.
fn activated(beta: Option<f64>, z: Tensor<2>) -> Result<Tensor<2>> {
    Ok(match beta {
        Some(beta) => Softplus::new(beta)?.forward(&[z]),
        None => z.clamp_min(0.0),
    })
}

impl GradientBounds {
    /// Of the margin of the predicted class over the other of two, or of its logit where there are more.
    fn new(parts: &[Part<'_>], x: &Tensor<2>, classes: Tensor<2>, radius: f64) -> Result<Self> {
        let (mut center, mut reach) = (x.clone(), None::<Tensor<2>>);
        let (mut weights, mut gates) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                Part::Linear { weight, bias } => {
                    let across = (*weight).clone().transpose();
                    center = center.matmul(across.clone()) + (*bias).clone();
                    reach = Some(match reach {
                        // The ball itself.
                        None => (across.clone() * across).sum_dim(0).sqrt() * radius,
                        Some(reach) => reach.matmul(across.abs()),
                    });
                    weights.push((*weight).clone());
                }
                Part::Relu | Part::Softplus { .. } => {
                    let Some(around) = reach.take() else {
                        return Err(not_a_chain());
                    };
                    let beta = match part {
                        Part::Softplus { beta } => Some(*beta),
                        _ => None,
                    };
                    gates.push(Gates::new(beta, &center, &around));
                    let low = activated(beta, center.clone() - around.clone())?;
                    let high = activated(beta, center + around)?;
                    center = (low.clone() + high.clone()) * 0.5;
                    reach = Some((high - low) * 0.5);
                }
            }
        }
        let Some(last) = weights.pop() else {
            return Err(not_a_chain());
        };
        // The same sign for both classes: only sizes are ranked.
        let read = if last.dims()[0] == 2 {
            classes * 2.0 - 1.0
        } else {
            classes
        };
        let center = read.matmul(last);
        let mut bounds = Self {
            reach: center.clone() * 0.0,
            center,
        };
        for (weight, gates) in weights.into_iter().zip(gates).rev() {
            bounds = bounds.through(&gates).back(weight);
        }
        Ok(bounds)
    }

    /// Times gates, which are not negative.
    fn through(self, gates: &Gates) -> Self {
        let (low, high) = (
            self.center.clone() - self.reach.clone(),
            self.center + self.reach,
        );
        let smaller = (low.clone() * gates.low.clone()).min_pair(low * gates.high.clone());
        let larger = (high.clone() * gates.low.clone()).max_pair(high * gates.high.clone());
        Self {
            center: (larger.clone() + smaller.clone()) * 0.5,
            reach: (larger - smaller) * 0.5,
        }
    }

    /// Back through a layer of these weights.
    fn back(self, weight: Tensor<2>) -> Self {
        Self {
            center: self.center.matmul(weight.clone()),
            reach: self.reach.matmul(weight.abs()),
        }
    }

    /// The least that the size of each can be.
    fn least(&self) -> Tensor<2> {
        (self.center.clone().abs() - self.reach.clone()).clamp_min(0.0)
    }

    /// The most.
    fn most(&self) -> Tensor<2> {
        self.center.clone().abs() + self.reach.clone()
    }
}

/// How far a ball reaches beyond the kink, as a share: 0 where it does not reach it, 1 at the kink itself.
fn doubt(center: &Tensor<2>, reach: &Tensor<2>) -> Tensor<2> {
    // A neuron that does not move has nothing to doubt: the ratio is large.
    let ratio = center.clone().abs() / (reach.clone() + f64::from(f32::MIN_POSITIVE));
    (-ratio + 1.0).clamp_min(0.0)
}

#[cfg(test)]
mod tests {
    use thickset_engine::{Network, one_hot};

    use super::super::batch::sample;
    use super::super::term::reading::value;
    use super::super::vanilla::VanillaConfig;
    use super::*;
    use crate::Seed;
    use crate::data::InputShape;
    use crate::host::read;
    use crate::model::{Activation, Fresh, MlpConfig, ModelConfig};
    use crate::toy;

    fn network() -> Network {
        let model = ModelConfig::Mlp(MlpConfig {
            hidden: vec![8, 6],
            activation: Activation::Relu,
        });
        let mut source = Fresh::double(Seed::new(5));
        model
            .network(&InputShape::Table, 10, 2, &mut source)
            .unwrap()
    }

    fn bounds(network: &Network, x: &[f64], class: usize, radius: f64) -> (Vec<f64>, Vec<f64>) {
        let x = network.batch(x);
        let classes = one_hot(&[class], 2, network.dtype(), &x.device());
        let parts = network.chain_parts().unwrap();
        let bounds = GradientBounds::new(&parts, &x, classes, radius).unwrap();
        (read(bounds.center), read(bounds.reach))
    }

    /// A network of one gate, `2 max(x0 - x1 + 1, 0)` for the margin.
    fn one_gate() -> [Tensor<2>; 4] {
        let network = toy::network();
        let tensor = |values: &[f64], size: [usize; 2]| network.tensor(values.to_vec(), size);
        [
            tensor(&[1.0, -1.0], [1, 2]),
            tensor(&[1.0], [1, 1]),
            tensor(&[1.0, -1.0], [2, 1]),
            tensor(&[0.0, 0.0], [1, 2]),
        ]
    }

    #[test]
    fn bounds_of_one_gate_by_hand() {
        let [first, shift, last, none] = one_gate();
        let parts = [
            Part::Linear {
                weight: &first,
                bias: &shift,
            },
            Part::Relu,
            Part::Linear {
                weight: &last,
                bias: &none,
            },
        ];
        let network = toy::network();
        let at = |x: [f64; 2], radius: f64| {
            let x = network.tensor(x.to_vec(), [1, 2]);
            let classes = network.tensor(vec![1.0, 0.0], [1, 2]);
            let found = GradientBounds::new(&parts, &x, classes, radius).unwrap();
            (read(found.center), read(found.reach))
        };
        // z = 1 at the origin and moves by sqrt 2 a unit: within 0.5 the gate stays open, and the gradient is (2, -2).
        let (center, reach) = at([0.0, 0.0], 0.5);
        toy::assert_close(&center, &[2.0, -2.0]);
        toy::assert_close(&reach, &[0.0, 0.0]);
        // Within sqrt 2, z may move by 2, twice as far as its kink: half of the gate is in doubt, and it lies between 0.5 and 1.
        let (center, reach) = at([0.0, 0.0], 2.0_f64.sqrt());
        toy::assert_close(&center, &[1.5, -1.5]);
        toy::assert_close(&reach, &[0.5, 0.5]);
        // Closed by 1: between 0 and 0.5.
        let (center, reach) = at([-2.0, 0.0], 2.0_f64.sqrt());
        toy::assert_close(&center, &[0.5, -0.5]);
        toy::assert_close(&reach, &[0.5, 0.5]);
    }

    #[test]
    fn without_a_ball_it_is_the_ranking_loss_of_the_gradient() {
        let network = network();
        let x: Vec<f64> = (0..10).map(|place| f64::from(place) / 7.0 - 0.6).collect();
        let (_, reach) = bounds(&network, &x, 1, 0.0);
        assert!(reach.iter().all(|reach| *reach == 0.0));
        let explain = sample::explain();
        let mut batch = sample::batch(&network, &explain);
        batch.labels = one_hot(&[0; 12], 2, network.dtype(), &batch.x.device());
        let config = CertifiedRankingConfig {
            radius: 0.0,
            weight: 0.5,
            ..CertifiedRankingConfig::default()
        };
        let own = value(&config.loss(&batch).unwrap().total);
        let r2et = super::super::r2et::R2etConfig {
            gap_weight: 0.5,
            hessian_weight: 0.0,
            margin: config.margin,
            softness: config.softness,
            ..super::super::r2et::R2etConfig::default()
        };
        toy::assert_close(&[own], &[value(&r2et.loss(&batch).unwrap().total)]);
    }

    #[test]
    fn no_point_of_a_ball_without_doubt_leaves_the_bounds() {
        let network = network();
        let mut stream = Seed::new(8).stream("points");
        for _ in 0..50 {
            let x: Vec<f64> = (0..10).map(|_| stream.normal()).collect();
            let radius = 0.02;
            let (center, reach) = bounds(&network, &x, 0, radius);
            if reach.iter().any(|reach| *reach > 0.0) {
                continue;
            }
            for _ in 0..20 {
                let direction: Vec<f64> = (0..10).map(|_| stream.normal()).collect();
                let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
                let moved: Vec<f64> = x
                    .iter()
                    .zip(&direction)
                    .map(|(x, d)| x + radius * d / length)
                    .collect();
                let (there, _) = bounds(&network, &moved, 0, 0.0);
                toy::assert_close(&there, &center);
            }
        }
    }

    #[test]
    fn a_larger_ball_costs_more_and_weight_zero_costs_nothing() {
        let network = network();
        let explain = sample::explain();
        let mut batch = sample::batch(&network, &explain);
        batch.labels = one_hot(&[1; 12], 2, network.dtype(), &batch.x.device());
        let of = |weight: f64, radius: f64| {
            let config = CertifiedRankingConfig {
                weight,
                radius,
                ..CertifiedRankingConfig::default()
            };
            value(&config.loss(&batch).unwrap().total)
        };
        assert!(of(1.0, 0.05) > of(1.0, 0.0));
        assert!(of(1.0, 0.5) > of(1.0, 0.05));
        let vanilla = value(&VanillaConfig {}.loss(&batch).unwrap().total);
        assert_eq!(of(0.0, 0.5).to_bits(), vanilla.to_bits());
    }

    #[test]
    fn bounds_of_a_softplus_network_hold_at_every_point() {
        let network = sample::network();
        let mut stream = Seed::new(9).stream("points");
        let x: Vec<f64> = (0..10).map(|_| stream.normal()).collect();
        let of = |x: &[f64], radius: f64| {
            let x = network.batch(x);
            let classes = one_hot(&[1], 3, network.dtype(), &x.device());
            let parts = network.chain_parts().unwrap();
            let bounds = GradientBounds::new(&parts, &x, classes, radius).unwrap();
            (read(bounds.center), read(bounds.reach))
        };
        let (center, reach) = of(&x, 0.1);
        for _ in 0..200 {
            let direction: Vec<f64> = (0..10).map(|_| stream.normal()).collect();
            let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
            let moved = x.iter().zip(&direction);
            let moved: Vec<f64> = moved.map(|(x, d)| x + 0.1 * d / length).collect();
            for ((there, center), reach) in of(&moved, 0.0).0.iter().zip(&center).zip(&reach) {
                assert!((there - center).abs() <= reach + 1e-12);
            }
        }
    }
}
