//! Losses of the integrated gradients of two batches of rows, computed at once where the network has that way.
//!
//! As [`of_logit`](crate::explain::integrated_gradients::of_logit) has them: of a class's logit, from zero, by the midpoint rule. An
//! attribution is the row times its mean gradient, whose slope is so the row times that of the attribution.

use thickset_engine::{Network, Tensor};

use super::logit_rows::classes_of;
use crate::check::as_f64;
use crate::host::read;

/// What is made of two attributions of one row, and its slopes in them, which are written over the attributions.
pub(in crate::objective) type PairLoss = fn(&mut [f64], &mut [f64]) -> f64;

/// The mean over rows of `loss` of the attributions of `x` and of `perturbed`, both constants; to be differentiated in the weights.
pub(in crate::objective) fn mean_pair_loss(
    network: &Network,
    [x, perturbed]: [&Tensor<2>; 2],
    labels: &Tensor<2>,
    steps: usize,
    loss: PairLoss,
) -> Option<Tensor<1>> {
    network.tracked_chain_parts()?;
    let classes = classes_of(&read(labels.clone()), network.classes())?.repeat(2);
    let both = Tensor::cat(vec![x.clone(), perturbed.clone()], 0);
    let step = network.path_step(&both, &classes, steps)?;
    let rows = read(both);
    let mut slopes = attributions(&rows, step.gradient());
    let (first, second) = slopes.split_at_mut(rows.len() / 2);
    let features = network.features();
    let share = 1.0 / as_f64(classes.len() / 2);
    let pairs = first
        .chunks_exact_mut(features)
        .zip(second.chunks_exact_mut(features));
    let sum: f64 = pairs.map(|(first, second)| loss(first, second)).sum();
    for (slope, row) in slopes.iter_mut().zip(&rows) {
        *slope *= row * share;
    }
    Some(step.loss(sum * share, &slopes))
}

/// Rows times their mean gradients.
pub(in crate::objective) fn attributions(rows: &[f64], gradients: &[f64]) -> Vec<f64> {
    let rows = rows.iter().zip(gradients);
    rows.map(|(row, gradient)| row * gradient).collect()
}
