//! The explained output of a row as a function of its logits, in `f64` whatever the network's type.

use crate::Output;

/// The gradient of the output in the logits.
pub(super) fn seed(output: Output, p: &[f64], class: usize, out: &mut [f64]) {
    let of_class = p[class];
    for (index, (out, p)) in out.iter_mut().zip(p).enumerate() {
        let hot = f64::from(u8::from(index == class));
        *out = match output {
            Output::Probability => p * (hot - of_class),
            Output::Logit => hot,
            Output::Loss => p - hot,
        };
    }
}

/// The change of [`seed`] when the logits move along `v`, in place of `v`.
pub(super) fn seed_tangent(output: Output, p: &[f64], v: &mut [f64], class: usize) {
    let mean: f64 = p.iter().zip(&*v).map(|(p, v)| p * v).sum();
    let of_class = p[class];
    let change_of_class = of_class * (v[class] - mean);
    for (index, (v, p)) in v.iter_mut().zip(p).enumerate() {
        let hot = f64::from(u8::from(index == class));
        let change = p * (*v - mean);
        *v = match output {
            Output::Probability => change * (hot - of_class) - p * change_of_class,
            Output::Logit => 0.0,
            Output::Loss => change,
        };
    }
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
