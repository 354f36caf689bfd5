//! Probabilities of classes from probabilities of pairs of them, as libsvm, and so scikit-learn and onnxruntime, give them.
//!
//! With `r_ij = P(i | i or j)`, the probabilities minimise `sum_(i<j) (r_ji p_i - r_ij p_j)^2 = p'Qp` among those that sum to 1, where
//! `Q_tt = sum_(j≠t) r_jt^2` and `Q_tj = -r_jt r_tj`. They are looked for by an iteration (Wu, Lin and Weng 2004, algorithm 2) that
//! begins with equal ones and stops when `max_t |(Qp)_t - p'Qp| < 0.005 / classes`, up to 0.005 before its limit. As a function of the
//! pairs it jumps where the number of rounds changes and is flat where none is made, near the border between classes. Its own
//! slope would be zero exactly where decisions are closest, and no explanation. So values are the stopped ones, which agree with
//! the other programs, and **derivatives are those of the limit**.

use crate::tensor::{Tensor, TensorData};

use super::{Form, Layer, Linearised};
use crate::{Error, Result};

/// As libsvm has them: the stop of the iteration, to be shared among the classes, the most rounds, and the least probability of a pair.
const STOP: f64 = 0.005;
const MOST_ROUNDS: usize = 100;
const LEAST: f64 = 1e-7;

/// The probabilities of the classes after the iteration; `pairs` holds `P(i | i or j)` for (0, 1), (0, 2), …, (1, 2), …
pub(super) fn coupled(pairs: &[f64], classes: usize) -> Vec<f64> {
    let mut r = vec![0.0; classes * classes];
    let mut next = pairs.iter();
    for i in 0..classes {
        for j in i + 1..classes {
            let first = next
                .next()
                .map_or(0.5, |&first| first.clamp(LEAST, 1.0 - LEAST));
            r[i * classes + j] = first;
            r[j * classes + i] = 1.0 - first;
        }
    }
    let mut q = vec![0.0; classes * classes];
    for t in 0..classes {
        for j in (0..classes).filter(|&j| j != t) {
            let (from, to) = (r[j * classes + t], r[t * classes + j]);
            q[t * classes + t] += from * from;
            q[t * classes + j] = -from * to;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "classes")]
    let (mut p, close) = (vec![1.0 / classes as f64; classes], STOP / classes as f64);
    for _ in 0..MOST_ROUNDS.max(classes) {
        let row = |t: usize| -> f64 {
            let row = &q[t * classes..][..classes];
            row.iter().zip(&p).map(|(q, p)| q * p).sum()
        };
        let mut q_p: Vec<f64> = (0..classes).map(row).collect();
        let mut product: f64 = p.iter().zip(&q_p).map(|(p, q_p)| p * q_p).sum();
        if q_p.iter().all(|value| (value - product).abs() < close) {
            break;
        }
        for t in 0..classes {
            let own = q[t * classes + t];
            let step = (product - q_p[t]) / own;
            let sum = 1.0 + step;
            p[t] += step;
            product = (product + step * (step * own + 2.0 * q_p[t])) / (sum * sum);
            for j in 0..classes {
                q_p[j] = (q_p[j] + step * q[t * classes + j]) / sum;
                p[j] /= sum;
            }
        }
    }
    p
}

/// Of `[limit, logits]`: the probabilities that the iteration stops at, with the derivative of the limit. `logits` has one of
/// `P(i | i or j)` a pair, `limit` the probabilities that the iteration approaches.
#[derive(Clone, Copy, Debug)]
pub struct StoppedCoupling {
    classes: usize,
}

impl StoppedCoupling {
    /// # Errors
    /// Fewer than two classes, or more than have pairs that can be counted.
    pub fn new(classes: usize) -> Result<Self> {
        const MOST: usize = 1 << 12;
        let pairs = classes.saturating_mul(classes.saturating_sub(1)) / 2;
        if pairs == 0 || classes > MOST {
            return Err(Error::Size {
                name: "pairs of classes",
                most: MOST * (MOST - 1) / 2,
                got: pairs,
            });
        }
        Ok(Self { classes })
    }

    fn value(self, limit: Tensor<2>, logits: &Tensor<2>) -> Tensor<2> {
        let plain = limit.clone().without_autodiff();
        let (size, device, dtype) = (plain.dims(), plain.device(), plain.dtype());
        let logits = logits.clone().without_autodiff().into_data();
        let pairs: Vec<f64> = logits
            .iter::<f64>()
            .map(|logit| 1.0 / (1.0 + (-logit).exp()))
            .collect();
        let each = pairs.chunks(self.classes * (self.classes - 1) / 2);
        let values: Vec<f64> = each
            .flat_map(|pairs| coupled(pairs, self.classes))
            .collect();
        let stopped = Tensor::<2>::from_data(TensorData::new(values, size), (&device, dtype));
        // What the limit is moved by is a constant, so that what is recorded has the limit's derivative too.
        limit + (stopped - plain)
    }
}

impl Layer for StoppedCoupling {
    fn kind(&self) -> &'static str {
        "stopped-coupling"
    }

    fn form(&self) -> Option<Form> {
        Some(Form::StoppedCoupling {
            classes: self.classes,
        })
    }

    fn out_features(&self, inputs: &[usize]) -> Option<usize> {
        let [limit, logits] = inputs else { return None };
        (*limit == self.classes && *logits == self.classes * (self.classes - 1) / 2)
            .then_some(self.classes)
    }

    fn forward(&self, inputs: &[Tensor<2>]) -> Tensor<2> {
        self.value(inputs[0].clone(), &inputs[1])
    }

    fn linearise(&self, inputs: &[Tensor<2>]) -> (Tensor<2>, Box<dyn Linearised>) {
        let none = inputs[1].clone().without_autodiff().zeros_like();
        (self.forward(inputs), Box::new(At { none }))
    }

    fn is_curved(&self) -> bool {
        false
    }

    fn boxed(&self) -> Box<dyn Layer> {
        Box::new(*self)
    }
}

struct At {
    none: Tensor<2>,
}

impl Linearised for At {
    fn pullback(&self, g: Tensor<2>) -> Vec<Tensor<2>> {
        vec![g, self.none.clone()]
    }

    fn tangent(&self, v: &[Tensor<2>]) -> Tensor<2> {
        v[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stops_where_libsvm_stops() {
        // Of two classes, with d = r - s, the first errors are |d| / 4: no round is made below 0.01.
        assert_eq!(coupled(&[0.504_9], 2), [0.5, 0.5]);
        assert_ne!(coupled(&[0.505_1], 2), [0.5, 0.5]);
        // One round at r = 2/5, by hand: Qp = (3, -2) / 50 and p'Qp = 1/100, so p_0 moves by -5/36 and p becomes (13, 18) / 31;
        // there Qp = (0.36, -0.24) / 31 and p'Qp = 0.36 / 961, so p_1 moves by 48.75 / 961 and p becomes (1612, 2427) / 4039.
        let p = coupled(&[0.4], 2);
        assert!((p[0] - 1612.0 / 4039.0).abs() < 1e-12, "{p:?}");
        assert!((p[1] - 2427.0 / 4039.0).abs() < 1e-12, "{p:?}");
    }

    #[test]
    fn pairs_that_fit_together_give_their_probabilities() {
        // Where r_ij = p_i / (p_i + p_j) the least p'Qp is 0, at p.
        let p = [0.5, 0.3, 0.15, 0.05];
        let mut pairs = Vec::new();
        for i in 0..4 {
            for j in i + 1..4 {
                pairs.push(p[i] / (p[i] + p[j]));
            }
        }
        let found = coupled(&pairs, 4);
        for (found, p) in found.iter().zip(p) {
            assert!((found - p).abs() < 0.01, "{found} and {p}");
        }
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn certain_pairs_stay_finite() {
        let p = coupled(&[0.0, 1.0, 1.0], 3);
        assert!(p.iter().all(|p| p.is_finite() && *p >= 0.0), "{p:?}");
    }
}
