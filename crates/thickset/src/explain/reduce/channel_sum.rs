//! The sizes of a pixel's attributions summed over its channels: one importance a pixel.

use thickset_engine::Tensor;

use super::{Reduction, signs};
use crate::registry::{Family, Info};

/// The registry's entry.
pub static INFO: Info = Info {
    id: "channel-sum",
    label: "absolute, summed over channels",
    family: Family::Reduction,
    summary: "Sizes summed over the channels of a pixel, for colour images",
    formula: "I_p = sum_c |a_{c,p}|",
    source: "R2ET, B.1.3 and its released code",
    direction: None,
    cost: "none",
    defaults: &[],
};

/// The rule.
#[derive(Debug)]
pub struct ChannelSum;

/// The sum of a row's planes, one for each channel.
fn over_channels(planes: &Tensor<2>, channels: usize) -> Tensor<2> {
    let [rows, all] = planes.dims();
    let pixels = all / channels;
    let plane = |channel: usize| {
        planes
            .clone()
            .slice([0..rows, channel * pixels..(channel + 1) * pixels])
    };
    (1..channels).fold(plane(0), |sum, channel| sum + plane(channel))
}

impl Reduction for ChannelSum {
    fn info(&self) -> &'static Info {
        &INFO
    }

    fn merges_channels(&self) -> bool {
        true
    }

    fn reduce(&self, raw: Tensor<2>, channels: usize) -> Tensor<2> {
        over_channels(&raw.abs(), channels)
    }

    fn tangent(&self, raw: Tensor<2>, change: Tensor<2>, channels: usize) -> Tensor<2> {
        over_channels(&(signs(&raw) * change), channels)
    }

    fn pull_back(&self, raw: Tensor<2>, gradient: Tensor<2>, channels: usize) -> Tensor<2> {
        signs(&raw) * gradient.repeat_dim(1, channels)
    }
}
