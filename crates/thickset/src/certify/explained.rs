//! What is ranked: a gradient that is constant wherever the gates are, up to a factor that all features share.
//!
//! With two classes the gradient of the probability is `p (1 - p)` times that of the margin, and the gradient of the loss
//! `-(1 - p)` times it: the factor is the same for every feature and drops out of the ranking. The logit of one class of many
//! has no factor. The probability of one class of many mixes gradients with weights that change inside a region, and is not
//! among these.

use serde::{Deserialize, Serialize};
use thickset_engine::Output;

use super::network::DenseNetwork;
use super::rounding::pulled_back;

/// The factor that the deployed importances have and the ranked ones do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// None.
    One,
    /// `p (1 - p)`.
    Probability,
    /// `1 - p`.
    Loss,
}

/// How far a logit is ahead of another: `<weights, last hidden values> + bias`.
#[derive(Clone, Debug)]
pub(super) struct Margin {
    pub weights: Vec<f64>,
    pub bias: f64,
    /// Bounds on the absolute values of both logits' weights.
    pub magnitude: Vec<f64>,
    pub bias_magnitude: f64,
}

/// How the importances of one class come from the gates.
#[derive(Clone, Debug)]
pub(super) struct Explained {
    /// The ranked gradient is that of `<seed, last hidden values>`.
    pub seed: Vec<f64>,
    /// Bounds on the absolute values that the deployed model adds up for it.
    pub seed_magnitude: Vec<f64>,
    /// The same for each feature's gradient, with every gate open.
    pub gradient_magnitude: Vec<f64>,
    pub scale: Scale,
    pub classes: usize,
    /// Whether a feature counts by its absolute value.
    pub absolute: bool,
    /// Whether each gradient is multiplied by its feature.
    pub times_input: bool,
    /// The features that each importance sums, where importances are columns'.
    pub groups: Option<Vec<Vec<usize>>>,
    /// The class against every other one.
    pub margins: Vec<Margin>,
}

/// Which output's gradient is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ranked {
    /// The probability of a class.
    Probability,
    /// The logit of a class.
    Logit,
    /// The loss with the class as label.
    Loss,
}

impl Ranked {
    /// The same for a network.
    pub(super) fn output(self) -> Output {
        match self {
            Self::Probability => Output::Probability,
            Self::Logit => Output::Logit,
            Self::Loss => Output::Loss,
        }
    }
}

impl Explained {
    /// The importances of `class`; `None` where their ranking is not constant between kinks.
    pub(super) fn new(network: &DenseNetwork, ranked: Ranked, class: usize) -> Option<Self> {
        let head = &network.head;
        let classes = network.classes();
        if ranked != Ranked::Logit && classes != 2 {
            return None;
        }
        let own = head.row(class);
        let margins: Vec<Margin> = (0..classes)
            .filter(|other| *other != class)
            .map(|other| {
                let pairs = || own.iter().zip(head.row(other));
                Margin {
                    weights: pairs().map(|(own, other)| own - other).collect(),
                    bias: head.bias[class] - head.bias[other],
                    magnitude: pairs()
                        .map(|(own, other)| own.abs() + other.abs())
                        .collect(),
                    bias_magnitude: head.bias[class].abs() + head.bias[other].abs(),
                }
            })
            .collect();
        let (seed, seed_magnitude, scale) = match (ranked, margins.first()) {
            (Ranked::Logit, _) | (_, None) => (
                own.to_vec(),
                own.iter().map(|weight| weight.abs()).collect(),
                Scale::One,
            ),
            (Ranked::Probability, Some(margin)) => (
                margin.weights.clone(),
                margin.magnitude.clone(),
                Scale::Probability,
            ),
            (Ranked::Loss, Some(margin)) => (
                margin.weights.iter().map(|weight| -weight).collect(),
                margin.magnitude.clone(),
                Scale::Loss,
            ),
        };
        let gradient_magnitude = pulled_back(network, &seed_magnitude, |_, _| true).magnitude;
        Some(Self {
            seed,
            seed_magnitude,
            gradient_magnitude,
            scale,
            classes,
            absolute: true,
            times_input: false,
            groups: None,
            margins,
        })
    }

    /// How many importances a row has.
    pub(super) fn importances(&self, features: usize) -> usize {
        self.groups.as_ref().map_or(features, Vec::len)
    }

    /// Numbers of features made numbers of importances: each one's own, or the sum over its group.
    pub(super) fn of_features(
        &self,
        values: &[f64],
        mut of_one: impl FnMut(usize, f64) -> f64,
    ) -> Vec<f64> {
        let mut each = values
            .iter()
            .enumerate()
            .map(|(feature, value)| of_one(feature, *value));
        match &self.groups {
            None => each.collect(),
            Some(groups) => {
                let each: Vec<f64> = each.by_ref().collect();
                let sum = |group: &Vec<usize>| group.iter().map(|feature| each[*feature]).sum();
                groups.iter().map(sum).collect()
            }
        }
    }

    /// The importances at `x` for a ranked gradient, up to the shared factor.
    pub(super) fn importance(&self, gradient: &[f64], x: &[f64]) -> Vec<f64> {
        let signed = self.of_features(gradient, |feature, value| {
            if self.times_input {
                value * x[feature]
            } else {
                value
            }
        });
        if self.absolute {
            signed.into_iter().map(f64::abs).collect()
        } else {
            signed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::DenseLayer;
    use super::super::rounding::Arithmetic;
    use super::*;

    /// Logits of two values, one row of weights a class.
    fn linear(weight: &[f64], bias: &[f64]) -> DenseNetwork {
        DenseNetwork {
            hidden: Vec::new(),
            head: DenseLayer {
                weight: weight.to_vec(),
                bias: bias.to_vec(),
                inputs: 2,
            },
            arithmetic: Arithmetic::DOUBLE,
        }
    }

    #[test]
    fn what_is_explained_is_a_margin_a_logit_or_the_margin_turned_round() {
        let network = linear(&[1.0, -2.0, 4.0, 8.0], &[3.0, -5.0]);
        let of = |ranked| {
            let found = Explained::new(&network, ranked, 1).unwrap();
            (found.seed, found.seed_magnitude, found.scale)
        };
        let (sum, margin) = (vec![5.0, 10.0], vec![3.0, 10.0]);
        assert_eq!(
            of(Ranked::Probability),
            (margin, sum.clone(), Scale::Probability)
        );
        assert_eq!(of(Ranked::Loss), (vec![-3.0, -10.0], sum, Scale::Loss));
        assert_eq!(
            of(Ranked::Logit),
            (vec![4.0, 8.0], vec![4.0, 8.0], Scale::One)
        );
        let found = Explained::new(&network, Ranked::Logit, 1).unwrap();
        let [margin] = &found.margins[..] else {
            panic!("one other class")
        };
        assert_eq!(
            (&margin.weights[..], &margin.magnitude[..]),
            (&[3.0, 10.0][..], &[5.0, 10.0][..])
        );
        assert_eq!(vec![margin.bias, margin.bias_magnitude], [-8.0, 8.0]);
        assert_eq!(found.classes, 2);
    }

    #[test]
    fn of_many_classes_only_logits_rank_the_same_between_kinks() {
        let network = linear(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[0.0; 3]);
        assert!(Explained::new(&network, Ranked::Probability, 0).is_none());
        assert!(Explained::new(&network, Ranked::Loss, 0).is_none());
        assert_eq!(
            Explained::new(&network, Ranked::Logit, 0)
                .unwrap()
                .margins
                .len(),
            2
        );
    }

    #[test]
    fn importances_are_gradients_with_or_without_signs_inputs_and_sums() {
        let network = linear(&[1.0, -2.0, 4.0, 8.0], &[0.0; 2]);
        let mut explained = Explained::new(&network, Ranked::Logit, 0).unwrap();
        let (gradient, x) = ([2.0, -3.0], [-1.0, 5.0]);
        assert_eq!(explained.importance(&gradient, &x), [2.0, 3.0]);
        explained.times_input = true;
        assert_eq!(explained.importance(&gradient, &x), [2.0, 15.0]);
        explained.absolute = false;
        assert_eq!(explained.importance(&gradient, &x), [-2.0, -15.0]);
        assert_eq!(explained.importances(2), 2);
        explained.groups = Some(vec![vec![0, 1]]);
        assert_eq!(explained.importance(&gradient, &x), [-17.0]);
        assert_eq!(explained.importances(2), 1);
    }
}
