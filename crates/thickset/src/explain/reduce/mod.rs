//! How a raw attribution becomes importances: one file a rule.
//!
//! Each rule is a differentiable function of a batch and has its pullback: the importances' gradient made one in the raw
//! attributions.

pub mod absolute;
pub mod channel_sum;
pub mod normalised_absolute;
pub mod signed;

use serde::{Deserialize, Serialize};
use thickset_engine::Tensor;

use crate::data::InputShape;
use crate::{Error, Result};

/// A rule as a configuration names it: `reduce = "absolute"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReductionConfig {
    /// Sizes.
    #[default]
    Absolute,
    /// Sizes summed over the channels of a pixel.
    ChannelSum,
    /// Sizes as shares of their sum.
    NormalisedAbsolute,
    /// As they are.
    Signed,
}

impl ReductionConfig {
    /// The registry's id.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Self::Absolute => absolute::INFO.id,
            Self::ChannelSum => channel_sum::INFO.id,
            Self::NormalisedAbsolute => normalised_absolute::INFO.id,
            Self::Signed => signed::INFO.id,
        }
    }

    /// Checks that the rule fits the input.
    pub(super) fn check(self, shape: &InputShape) -> Result<Reduction> {
        Ok(match self {
            Self::Absolute => Reduction::Absolute,
            Self::NormalisedAbsolute => Reduction::NormalisedAbsolute,
            Self::Signed => Reduction::Signed,
            Self::ChannelSum => match shape {
                InputShape::Image { channels, .. } => Reduction::ChannelSum {
                    channels: *channels,
                },
                other => {
                    return Err(Error::ReductionInput {
                        reduction: channel_sum::INFO.id,
                        expected: "images",
                        got: other.to_string(),
                    });
                }
            },
        })
    }
}

/// A rule that fits its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// See [`absolute`].
    Absolute,
    /// See [`channel_sum`].
    ChannelSum {
        /// Of a pixel.
        channels: usize,
    },
    /// See [`normalised_absolute`].
    NormalisedAbsolute,
    /// See [`signed`].
    Signed,
}

impl Reduction {
    /// The importances of raw attributions, `[rows, …]`; differentiable.
    #[must_use]
    pub fn reduce(self, raw: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Absolute => absolute::reduce(raw),
            Self::ChannelSum { channels } => channel_sum::reduce(raw, channels),
            Self::NormalisedAbsolute => normalised_absolute::reduce(raw),
            Self::Signed => raw,
        }
    }

    /// A gradient in the importances as one in the raw attributions.
    #[must_use]
    pub fn pull_back(self, raw: Tensor<2>, slope: Tensor<2>) -> Tensor<2> {
        match self {
            Self::Absolute => absolute::pull_back(raw, slope),
            Self::ChannelSum { channels } => channel_sum::pull_back(raw, slope, channels),
            Self::NormalisedAbsolute => normalised_absolute::pull_back(raw, slope),
            Self::Signed => slope,
        }
    }
}
