//! The sizes of a pixel's attributions summed over its channels: one importance a pixel.

use thickset_engine::Tensor;

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

pub(super) fn reduce(raw: Tensor<2>, channels: usize) -> Tensor<2> {
    let [rows, all] = raw.dims();
    let pixels = all / channels;
    let size = raw.abs();
    let plane = |channel: usize| {
        size.clone()
            .slice([0..rows, channel * pixels..(channel + 1) * pixels])
    };
    (1..channels).fold(plane(0), |sum, channel| sum + plane(channel))
}

pub(super) fn pull_back(raw: Tensor<2>, slope: Tensor<2>, channels: usize) -> Tensor<2> {
    raw.sign() * slope.repeat_dim(1, channels)
}
