//! How a raw attribution becomes importances: one file a rule.
//!
//! Each rule is a differentiable function of a batch and has its tangent, a change of the raw attributions made one of the
//! importances, and its pullback, the importances' gradient made one in the raw attributions.

pub mod absolute;
pub mod channel_sum;
pub mod normalised_absolute;
pub mod signed;

use std::fmt::Debug;

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use crate::data::InputShape;
use crate::registry::Info;
use crate::{Error, Result};

/// A rule. Batches of raw attributions are `[rows, channels * width]`, channel by channel; all but the rules that merge
/// channels ignore them.
pub trait Reduction: Debug + Sync {
    /// The registry's entry.
    fn info(&self) -> &'static Info;

    /// Whether the channels of a pixel become one importance; such a rule is for images alone.
    fn merges_channels(&self) -> bool {
        false
    }

    /// Whether a change of the importances has the sizes of that of the raw attributions, one by one.
    fn keeps_lengths(&self) -> bool {
        false
    }

    /// The importances of raw attributions, `[rows, …]`; differentiable.
    fn reduce(&self, raw: Tensor<2>, channels: usize) -> Tensor<2>;

    /// Terms whose sum over a row is the sum of its importances, each times its weight; the weights are constants.
    fn weighted(&self, raw: Tensor<2>, weights: Tensor<2>, channels: usize) -> Tensor<2> {
        self.reduce(raw, channels) * weights
    }

    /// The change of the importances when the raw attributions change by this much; differentiable in both.
    fn tangent(&self, raw: Tensor<2>, change: Tensor<2>, channels: usize) -> Tensor<2>;

    /// A gradient in the importances as one in the raw attributions.
    fn pull_back(&self, raw: Tensor<2>, gradient: Tensor<2>, channels: usize) -> Tensor<2>;
}

/// Makes of one line a rule the names in configurations and the list of what they name.
macro_rules! reductions {
    ($($(#[$attribute:meta])* $Name:ident($rule:path),)+) => {
        /// A rule as a configuration names it: `reduce = "absolute"`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum ReductionConfig {
            $(
                #[doc = concat!("[`", stringify!($rule), "`].")]
                $(#[$attribute])*
                $Name,
            )+
        }

        impl ReductionConfig {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$Name),+];

            /// What it does.
            #[must_use]
            pub fn behaviour(self) -> &'static dyn Reduction {
                match self {
                    $(Self::$Name => &$rule,)+
                }
            }
        }
    };
}

reductions! {
    #[default]
    Absolute(absolute::Absolute),
    ChannelSum(channel_sum::ChannelSum),
    NormalisedAbsolute(normalised_absolute::NormalisedAbsolute),
    Signed(signed::Signed),
}

/// The registry's entries of reductions.
pub(crate) fn infos() -> impl Iterator<Item = &'static Info> {
    let rules = ReductionConfig::ALL.iter();
    rules.map(|rule| rule.behaviour().info())
}

impl ReductionConfig {
    /// The registry's id.
    #[must_use]
    pub fn kind(self) -> &'static str {
        self.behaviour().info().id
    }

    /// Checks that the rule fits the input.
    pub(super) fn check(self, shape: &InputShape) -> Result<CheckedReduction> {
        let rule = self.behaviour();
        let channels = match shape {
            InputShape::Image { channels, .. } => *channels,
            other if rule.merges_channels() => {
                return Err(Error::ReductionInput {
                    reduction: rule.info().id,
                    expected: "images",
                    got: other.to_string(),
                });
            }
            _ => 1,
        };
        Ok(CheckedReduction { rule, channels })
    }
}

/// A rule that fits its input.
#[derive(Clone, Copy, Debug)]
pub struct CheckedReduction {
    rule: &'static dyn Reduction,
    channels: usize,
}

impl CheckedReduction {
    /// Whether the channels of a pixel become one importance.
    pub(super) fn merges(self) -> bool {
        self.rule.merges_channels()
    }

    /// How many features become one importance.
    pub(super) fn merged(self) -> usize {
        if self.merges() { self.channels } else { 1 }
    }

    /// See [`Reduction::keeps_lengths`].
    pub(super) fn keeps_lengths(self) -> bool {
        self.rule.keeps_lengths()
    }

    /// See [`Reduction::reduce`].
    #[must_use]
    pub fn reduce(self, raw: Tensor<2>) -> Tensor<2> {
        self.rule.reduce(raw, self.channels)
    }

    /// See [`Reduction::weighted`].
    #[must_use]
    pub fn weighted(self, raw: Tensor<2>, weights: Tensor<2>) -> Tensor<2> {
        self.rule.weighted(raw, weights, self.channels)
    }

    /// See [`Reduction::tangent`].
    #[must_use]
    pub fn tangent(self, raw: Tensor<2>, change: Tensor<2>) -> Tensor<2> {
        self.rule.tangent(raw, change, self.channels)
    }

    /// See [`Reduction::pull_back`].
    #[must_use]
    pub fn pull_back(self, raw: Tensor<2>, gradient: Tensor<2>) -> Tensor<2> {
        self.rule.pull_back(raw, gradient, self.channels)
    }
}

/// The signs of the raw attributions, constants: where one is 0, its size has no slope.
fn signs(raw: &Tensor<2>) -> Tensor<2> {
    raw.clone().without_autodiff().sign()
}

#[cfg(test)]
mod tests {
    use thickset_engine::Device;

    use super::*;
    use crate::host::read;

    /// Two rows of two channels of two pixels.
    const RAW: [[f64; 4]; 2] = [[3.0, -1.0, 0.5, 1.5], [-2.0, 0.5, 1.0, -0.5]];

    fn tensor(rows: [[f64; 4]; 2]) -> Tensor<2> {
        let data = thickset_engine::TensorData::new(rows.concat(), [2, 4]);
        Tensor::from_data(data, (&Device::cpu(), thickset_engine::DType::F64))
    }

    fn rule(config: ReductionConfig) -> CheckedReduction {
        let image = InputShape::Image {
            channels: 2,
            height: 1,
            width: 2,
        };
        config.check(&image).unwrap()
    }

    #[test]
    fn importances_by_hand() {
        for (config, expected) in [
            (
                ReductionConfig::Absolute,
                vec![3.0, 1.0, 0.5, 1.5, 2.0, 0.5, 1.0, 0.5],
            ),
            (ReductionConfig::ChannelSum, vec![3.5, 2.5, 3.0, 1.0]),
            (
                ReductionConfig::NormalisedAbsolute,
                vec![0.5, 1.0 / 6.0, 0.5 / 6.0, 0.25, 0.5, 0.125, 0.25, 0.125],
            ),
            (ReductionConfig::Signed, RAW.concat()),
        ] {
            let got = read(rule(config).reduce(tensor(RAW)));
            assert_eq!(got.len(), expected.len(), "{config:?}");
            for (got, expected) in got.iter().zip(expected) {
                assert!(
                    (got - expected).abs() < 1e-12,
                    "{config:?}: {got} {expected}"
                );
            }
        }
    }

    #[test]
    fn tangent_weights_and_pullback_of_every_rule_agree_with_differences() {
        const H: f64 = 1e-6;
        let change = [[0.3, -0.2, 0.7, 0.1], [-0.4, 0.9, 0.2, 0.6]];
        for &config in ReductionConfig::ALL {
            let rule = rule(config);
            let moved = |h: f64| read(rule.reduce(tensor(RAW) + tensor(change) * h));
            let (up, down) = (moved(H), moved(-H));
            let tangent = read(rule.tangent(tensor(RAW), tensor(change)));
            assert_eq!(tangent.len(), up.len(), "{config:?}");
            for ((up, down), tangent) in up.iter().zip(down).zip(&tangent) {
                let expected = (up - down) / (2.0 * H);
                assert!(
                    (tangent - expected).abs() < 1e-8,
                    "{config:?}: {tangent} {expected}"
                );
            }
            if rule.keeps_lengths() {
                for (tangent, change) in tangent.iter().zip(change.concat()) {
                    assert!((tangent.abs() - change.abs()).abs() < 1e-15, "{config:?}");
                }
            }
            // <weights, J change> = <J' weights, change>.
            let size = rule.reduce(tensor(RAW)).dims();
            let mut stream = crate::Seed::new(1).stream("weights");
            let weights: Vec<f64> = (0..size[0] * size[1]).map(|_| stream.normal()).collect();
            let as_tensor = || {
                let data = thickset_engine::TensorData::new(weights.clone(), size);
                Tensor::<2>::from_data(data, (&Device::cpu(), thickset_engine::DType::F64))
            };
            let pulled = read(rule.pull_back(tensor(RAW), as_tensor()));
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let (left, right) = (dot(&weights, &tangent), dot(&pulled, &change.concat()));
            assert!((left - right).abs() < 1e-12, "{config:?}: {left} {right}");
            let importances = read(rule.reduce(tensor(RAW)));
            let sum: f64 = read(rule.weighted(tensor(RAW), as_tensor())).iter().sum();
            let expected = dot(&weights, &importances);
            assert!(
                (sum - expected).abs() < 1e-12,
                "{config:?}: {sum} {expected}"
            );
        }
    }

    #[test]
    fn a_rule_over_channels_is_refused_where_there_are_none() {
        for &config in ReductionConfig::ALL {
            let fits = config.check(&InputShape::Table).is_ok();
            assert_eq!(fits, !config.behaviour().merges_channels(), "{config:?}");
        }
    }
}
