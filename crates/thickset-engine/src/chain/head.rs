//! The explained output of a row as a function of its logits, by the formulas of the kernels' heads.

use crate::Output;
use crate::kernel::RowSoftmax;

/// The gradient of the output in the logits `z`, for the class that is 1 in `hot`; the probabilities go to `p`.
pub(super) fn seed(output: Output, z: &[f64], hot: &[f64], p: &mut [f64], out: &mut [f64]) {
    let softmax = RowSoftmax::new(z, p);
    match output {
        Output::Probability => softmax.tilt(hot, out),
        Output::Logit => out.copy_from_slice(hot),
        Output::Loss => softmax.residual(hot, 1.0, out),
    }
}

/// The change of [`seed`] when the logits move along `v`, in place of `v`. There must be room for two rows.
pub(super) fn seed_tangent(
    output: Output,
    z: &[f64],
    hot: &[f64],
    v: &mut [f64],
    [p, q, change]: [&mut [f64]; 3],
) {
    let softmax = RowSoftmax::new(z, p);
    match output {
        Output::Probability => softmax.tilt_tangent(v, hot, q, change),
        Output::Logit => change.fill(0.0),
        Output::Loss => softmax.tilt(v, change),
    }
    v.copy_from_slice(change);
}

/// `f'' / f'^2` of the output as a function of the margin between its class and the only other one, where the probabilities
/// are `p` and `q`; zero where the output no longer changes in numbers.
#[inline]
pub(super) fn curvature_ratio(output: Output, p: f64, q: f64) -> f64 {
    let (slope, curvature) = match output {
        // p' = p q, p'' = p q (q - p)
        Output::Probability => (p * q, (q - p) / (p * q)),
        Output::Logit => return 0.0,
        // -log p: the slope is -q, its slope p q.
        Output::Loss => (q, p / q),
    };
    if slope >= f64::MIN_POSITIVE {
        curvature
    } else {
        0.0
    }
}
