//! What a segmented model ranks with some gates open, and how far the sums of the deployed model can be from it.

use thickset_engine::one_hot;

use super::Segments;
use crate::Result;
use crate::attack::threat::Norm;
use crate::certify::explained::Ranked;
use crate::certify::rounding::{Arithmetic, gamma};
use crate::host::read;
use crate::metric::ranking::{TopK, largest};

/// Margins beyond this may leave no gradient of a probability in `f32`.
const SUREST: f64 = 15.0;

/// Importances with some gates open, up to a positive factor.
pub(super) struct Importances {
    pub(super) values: Vec<f64>,
    /// How far the deployed model's sums can be from each.
    pub(super) slack: Vec<f64>,
}

impl Segments<'_> {
    pub(super) fn map_of(&self, gate: usize) -> &[f64] {
        &self.scores[gate * self.features..(gate + 1) * self.features]
    }

    pub(super) fn score(&self, gate: usize, x: &[f64]) -> f64 {
        let products = self
            .map_of(gate)
            .iter()
            .zip(x)
            .map(|(weight, x)| weight * x);
        products.sum::<f64>() + self.score_bias[gate]
    }

    /// The weights of a map with these gates open.
    pub(super) fn map_with(&self, open: &[usize], map: usize) -> Vec<f64> {
        let of_map = map * self.features..(map + 1) * self.features;
        let mut sum = self.weight[of_map].to_vec();
        for &gate in open {
            let start = (map * self.gates + gate) * self.features;
            for (sum, part) in sum.iter_mut().zip(&self.gated[start..]) {
                *sum += part;
            }
        }
        sum
    }

    /// What is ranked for a class with these gates open, up to a positive factor: the gradient of its margin or logit.
    pub(super) fn gradient(&self, open: &[usize], class: usize) -> Vec<f64> {
        // Of two classes the one map is the second's margin.
        let (map, sign) = match (self.maps, class) {
            (1, 0) => (0, -1.0),
            (1, _) => (0, 1.0),
            (_, class) => (class, 1.0),
        };
        let mut sum = self.map_with(open, map);
        for part in &mut sum {
            *part *= sign;
        }
        // A logit of two classes: the first is constant, and so is its gradient.
        if self.maps == 1 && class == 0 && self.asked.ranked == Ranked::Logit {
            sum.fill(0.0);
        }
        if self.asked.ranked == Ranked::Loss {
            for part in &mut sum {
                *part = -*part;
            }
        }
        sum
    }

    pub(super) fn importance(&self, gradient: &[f64]) -> Vec<f64> {
        let reduced = |value: f64| {
            if self.asked.absolute {
                value.abs()
            } else {
                value
            }
        };
        match self.asked.groups {
            None => gradient.iter().map(|value| reduced(*value)).collect(),
            Some(groups) => groups
                .iter()
                .map(|group| {
                    group
                        .iter()
                        .map(|&feature| reduced(gradient[feature]))
                        .sum()
                })
                .collect(),
        }
    }

    /// The deployed model at a point: its class, and the importances of one.
    pub(super) fn run(&self, x: &[f64], class: Option<usize>) -> Result<(usize, Vec<f64>)> {
        let pass = self.network.pass(self.network.batch(x));
        let predicted = largest(&read(pass.logits()))?;
        let class = class.unwrap_or(predicted);
        let output = self.asked.ranked.output();
        let logits = pass.logits();
        let hot = one_hot(
            &[class],
            self.network.classes(),
            logits.dtype(),
            &logits.device(),
        );
        let gradient = read(pass.input_gradient(output, hot).value());
        Ok((predicted, self.importance(&gradient)))
    }

    /// Whether the model with these gates open may be so sure somewhere in the ball that a probability has no gradient left.
    pub(super) fn may_saturate(&self, x: &[f64], open: &[usize]) -> bool {
        // Probabilities and losses are those of two classes, whose one map is the margin.
        if self.asked.ranked == Ranked::Logit {
            return false;
        }
        let gradient = self.map_with(open, 0);
        let offset = self.bias[0] + open.iter().map(|gate| self.gated_bias[*gate]).sum::<f64>();
        let along: f64 = gradient.iter().zip(x).map(|(part, x)| part * x).sum();
        let reach = self.asked.threat.ball().radius * self.dual(&gradient);
        (offset + along).abs() + reach > SUREST
    }

    /// The length of a gradient in the norm dual to the ball's, over what can move.
    pub(super) fn dual(&self, gradient: &[f64]) -> f64 {
        let movable = gradient.iter().zip(self.asked.threat.immutable());
        let parts = movable.filter(|(_, stays)| !**stays).map(|(part, _)| *part);
        match self.asked.threat.ball().norm {
            Norm::L2 => parts.map(|part| part * part).sum::<f64>().sqrt(),
            Norm::Linf => parts.map(f64::abs).sum(),
        }
    }

    /// How far from 1 the deployed model's share of an open gate can be: sparsemax takes `s / delta - 1` off `s / delta`, both rounded.
    pub(super) fn share_error(&self, x: &[f64], gate: usize) -> f64 {
        if self.delta <= 0.0 {
            return 0.0;
        }
        let reach = self.asked.threat.ball().radius * self.dual(self.map_of(gate));
        let largest = (self.score(gate, x).abs() + reach) / self.delta;
        (2.0 * largest + 3.0) * Arithmetic::SINGLE.unit
    }

    pub(super) fn importances(&self, x: &[f64], open: &[usize], class: usize) -> Importances {
        // Of two classes there is one map, and of many the class has its own, as in `gradient`.
        let map = if self.maps == 1 { 0 } else { class };
        let mut sizes: Vec<f64> = self.weight[map * self.features..(map + 1) * self.features]
            .iter()
            .map(|part| part.abs())
            .collect();
        let mut shared = vec![0.0; self.features];
        for &gate in open {
            let start = (map * self.gates + gate) * self.features;
            let error = self.share_error(x, gate);
            let sums = sizes.iter_mut().zip(&mut shared);
            for ((size, shared), part) in sums.zip(&self.gated[start..]) {
                *size += part.abs();
                *shared += error * part.abs();
            }
        }
        // Closed gates add zeros, which costs nothing; the factor that all have in common is one more product.
        let slack_of = |features: &[usize]| {
            let sum = |of: &[f64]| features.iter().map(|feature| of[*feature]).sum::<f64>();
            let relative = gamma(open.len() + 1 + features.len(), Arithmetic::SINGLE.unit);
            sum(&sizes) * relative + sum(&shared)
        };
        let slack = match self.asked.groups {
            None => (0..self.features)
                .map(|feature| slack_of(&[feature]))
                .collect(),
            Some(groups) => groups.iter().map(|group| slack_of(group)).collect(),
        };
        Importances {
            values: self.importance(&self.gradient(open, class)),
            slack,
        }
    }

    /// How many of the salient features are surely among the first k with these gates open, whatever rounding does.
    pub(super) fn kept(&self, x: &[f64], open: &[usize], class: usize, salient: &TopK) -> usize {
        let Importances { values, slack } = self.importances(x, open, class);
        if values.iter().all(|value| *value == 0.0) || self.may_saturate(x, open) {
            return 0;
        }
        let is_kept = |&feature: &usize| {
            let least = values[feature] - slack[feature];
            let ahead = values.iter().zip(&slack).enumerate();
            let ahead = ahead
                .filter(|(other, (value, slack))| *other != feature && **value + **slack >= least);
            ahead.count() < self.asked.k
        };
        salient.iter().filter(is_kept).count()
    }
}
