//! Integrated gradients, differentiable in weights and input.
//!
//! `IG = (to - from) * mean_j g(from + a_j (to - from))`, with `a_j = (j + 1/2) / m` (midpoint rule) or `(j + 1) / m`
//! (right rule), j = 0..m-1. No rule places a step at the baseline. All steps run as one batch.

use thickset_engine::{Network, Output, Tensor};

use crate::check::as_f64;

/// Where the steps lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// In the middle of each part of the path.
    Midpoint,
    /// At the end of each part of the path.
    Right,
}

/// Along the straight path between two inputs, of the `output` for the classes, one-hot; `[rows, features]`.
#[must_use]
pub fn along(
    network: &Network,
    from: &Tensor<2>,
    to: &Tensor<2>,
    (output, classes): (Output, &Tensor<2>),
    rule: Rule,
    steps: usize,
) -> Tensor<2> {
    let [rows, features] = to.dims();
    let path = to.clone() - from.clone();
    let offset = match rule {
        Rule::Midpoint => 0.5,
        Rule::Right => 1.0,
    };
    let share = 1.0 / as_f64(steps);
    let points = (0..steps)
        .map(|step| from.clone() + path.clone() * ((as_f64(step) + offset) * share))
        .collect();
    let pass = network.pass(Tensor::cat(points, 0));
    let classes = classes.clone().repeat_dim(0, steps);
    let gradients = pass.input_gradient(output, classes).value();
    let sum = gradients
        .reshape([steps, rows, features])
        .sum_dim(0)
        .reshape([rows, features]);
    path * sum * share
}

/// From a zero baseline, of the classes' logit, by the midpoint rule: the attribution that IGR and `AdvAAT` compare.
#[must_use]
pub fn of_logit(network: &Network, x: &Tensor<2>, classes: &Tensor<2>, steps: usize) -> Tensor<2> {
    let baseline = x.zeros_like();
    along(
        network,
        &baseline,
        x,
        (Output::Logit, classes),
        Rule::Midpoint,
        steps,
    )
}
