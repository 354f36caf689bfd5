//! A network's head in single passes: cross-entropy, and the probability's gradient in the logits
//! with its tangent.
//!
//! On a table these are a few hundred numbers, and what they cost when composed is not arithmetic
//! but three dozen recorded operations. With `p = softmax(z)` and class weights `c` (one-hot):
//!
//! - `cross_entropy`: `-mean over rows of <c, log p>`.
//! - `probability_seed`: `s = p (c - <p, c>)`, the gradient of `<p, c>` in `z`.
//! - `probability_seed_tangent`: the change of `s` when `z` moves along `v`:
//!   `q (c - <p, c>) - p <q, c>` with `q = p (v - <p, v>)`.
//!
//! The gradient of `<s, h>` in `z` is `p (r - <p, r>)` with `r = h c - c <p, h> - h <p, c>`; it is
//! also the gradient of `<s tangent, h>` in `v`, whose gradient in `z` is its change along `v`.
//! Rows are computed in `f64` whatever the tensor's type.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Tensor, TensorData, activation::log_softmax};

use super::adjoint::Linear;
use super::on_flex;
use super::storage::{Numbers, numbers, size};
use crate::layer::{Layer as _, Softmax};

/// The mean over rows of the cross-entropy of `logits` with `classes`, `[rows, classes]` both.
#[must_use]
pub fn cross_entropy(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<1> {
    if on_flex(&logits) {
        return Tensor::from_dispatch(<Dispatch as HeadBackend>::cross_entropy(
            logits.into_dispatch(),
            classes.into_dispatch(),
        ));
    }
    #[expect(
        clippy::cast_precision_loss,
        reason = "batches are far below 2^53 rows"
    )]
    let share = -1.0 / logits.dims()[0] as f64;
    (log_softmax(logits, 1) * classes).sum() * share
}

/// The gradient in the logits of the probability that `classes` picks in each row.
#[must_use]
pub fn probability_seed(logits: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if on_flex(&logits) {
        return Tensor::from_dispatch(<Dispatch as HeadBackend>::probability_seed(
            logits.into_dispatch(),
            classes.into_dispatch(),
        ));
    }
    Softmax.linearise(&[logits]).1.tangent(&[classes])
}

/// The change of [`probability_seed`] when the logits move along `v`.
#[must_use]
pub fn probability_seed_tangent(logits: Tensor<2>, v: Tensor<2>, classes: Tensor<2>) -> Tensor<2> {
    if on_flex(&logits) {
        return Tensor::from_dispatch(<Dispatch as HeadBackend>::probability_seed_tangent(
            logits.into_dispatch(),
            v.into_dispatch(),
            classes.into_dispatch(),
        ));
    }
    let still = classes.zeros_like();
    let at = Softmax.linearise(&[logits]).1;
    at.pullback_tangent(&[v], &classes, still).swap_remove(0)
}

/// The operations on a backend's own tensors.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait HeadBackend: Backend {
    fn cross_entropy(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self>;
    fn probability_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self>;
    fn probability_seed_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

/// The gradients that the backwards of [`HeadBackend`] need; they are not differentiated again.
pub(crate) trait HeadGradients: Backend {
    /// Of the cross-entropy in `z`, times the one number in `g`.
    fn cross_entropy_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        g: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    /// Of `<seed, h>` in `z`.
    fn seed_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    /// The change of [`Self::seed_gradient`] when `z` moves along `v`.
    fn seed_gradient_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

impl HeadBackend for Flex {
    fn cross_entropy(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        let [rows, classes] = size(&z);
        let (like, z, c) = (z.clone(), values(&z), values(&c));
        let mut sum = 0.0;
        let mut p = vec![0.0; classes];
        for (z, c) in z.chunks(classes).zip(c.chunks(classes)) {
            let log_sum = softmax(z, &mut p);
            sum += z.iter().zip(c).map(|(z, c)| c * (log_sum - z)).sum::<f64>();
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "batches are far below 2^53 rows"
        )]
        tensor(vec![sum / rows as f64], &[1], &like)
    }

    fn probability_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        by_row(&[&z, &c], |[z, c], p, out| {
            softmax(z, p);
            tilt(p, c, out);
        })
    }

    fn probability_seed_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let mut q = vec![0.0; size(&z)[1]];
        by_row(&[&z, &v, &c], |[z, v, c], p, out| {
            softmax(z, p);
            tilt(p, v, &mut q);
            let (mean, mean_change) = (dot(p, c), dot(&q, c));
            for (((out, p), q), c) in out.iter_mut().zip(&*p).zip(&q).zip(c) {
                *out = q * (c - mean) - p * mean_change;
            }
        })
    }
}

#[expect(
    clippy::many_single_char_names,
    reason = "the names of the formulas above"
)]
impl HeadGradients for Flex {
    fn cross_entropy_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        g: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "batches are far below 2^53 rows"
        )]
        let share = values(&g)[0] / size(&z)[0] as f64;
        by_row(&[&z, &c], |[z, c], p, out| {
            softmax(z, p);
            let total: f64 = c.iter().sum();
            for ((out, p), c) in out.iter_mut().zip(&*p).zip(c) {
                *out = share * (p * total - c);
            }
        })
    }

    fn seed_gradient(
        z: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let mut r = vec![0.0; size(&z)[1]];
        by_row(&[&z, &c, &h], |[z, c, h], p, out| {
            softmax(z, p);
            in_probabilities(p, c, h, &mut r);
            tilt(p, &r, out);
        })
    }

    fn seed_gradient_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
        h: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let classes = size(&z)[1];
        let (mut q, mut r, mut change) =
            (vec![0.0; classes], vec![0.0; classes], vec![0.0; classes]);
        by_row(&[&z, &v, &c, &h], |[z, v, c, h], p, out| {
            softmax(z, p);
            tilt(p, v, &mut q);
            in_probabilities(p, c, h, &mut r);
            let (along_h, along_c) = (dot(&q, h), dot(&q, c));
            for ((change, c), h) in change.iter_mut().zip(c).zip(h) {
                *change = -c * along_h - h * along_c;
            }
            let mean = dot(p, &r);
            let mean_change = dot(&q, &r) + dot(p, &change);
            for ((((out, p), q), r), change) in out.iter_mut().zip(&*p).zip(&q).zip(&r).zip(&change)
            {
                *out = q * (r - mean) + p * (change - mean_change);
            }
        })
    }
}

/// `p = softmax(z)`; returns the logarithm of the sum of exponentials.
fn softmax(z: &[f64], p: &mut [f64]) -> f64 {
    let most = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for (p, z) in p.iter_mut().zip(z) {
        *p = (z - most).exp();
        sum += *p;
    }
    for p in p.iter_mut() {
        *p /= sum;
    }
    most + sum.ln()
}

/// `p (g - <p, g>)`
fn tilt(p: &[f64], g: &[f64], out: &mut [f64]) {
    let mean = dot(p, g);
    for ((out, p), g) in out.iter_mut().zip(p).zip(g) {
        *out = p * (g - mean);
    }
}

/// The gradient of `<p (c - <p, c>), h>` in `p`.
fn in_probabilities(p: &[f64], c: &[f64], h: &[f64], out: &mut [f64]) {
    let (along_h, along_c) = (dot(p, h), dot(p, c));
    for ((out, c), h) in out.iter_mut().zip(c).zip(h) {
        *out = h * c - c * along_h - h * along_c;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Runs `work(rows of each tensor, room for probabilities, output row)` over rows.
fn by_row<const N: usize>(
    tensors: &[&FlexTensor; N],
    mut work: impl FnMut([&[f64]; N], &mut [f64], &mut [f64]),
) -> FlexTensor {
    let [rows, classes] = size(tensors[0]);
    let all = tensors.map(values);
    let mut p = vec![0.0; classes];
    let mut out = vec![0.0; rows * classes];
    for (row, out) in out.chunks_mut(classes).enumerate() {
        let place = row * classes..(row + 1) * classes;
        work(
            std::array::from_fn(|tensor| &all[tensor][place.clone()]),
            &mut p,
            out,
        );
    }
    tensor(out, &[rows, classes], tensors[0])
}

fn values(tensor: &FlexTensor) -> Vec<f64> {
    let tensor = tensor.to_contiguous();
    match numbers(&tensor) {
        Numbers::F32(values) => values.iter().copied().map(f64::from).collect(),
        Numbers::F64(values) => values.to_vec(),
    }
}

/// A tensor of the type of `like`.
fn tensor(values: Vec<f64>, size: &[usize], like: &FlexTensor) -> FlexTensor {
    let data = TensorData::new(values, size.to_vec());
    FlexTensor::from_data(data.convert_dtype(like.dtype()))
}

impl<B: HeadBackend + HeadGradients, C: CheckpointStrategy> HeadBackend for Autodiff<B, C> {
    fn cross_entropy(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        let c = c.into_primitive();
        let plain = z.primitive().clone();
        Linear::<B, (FloatTensor<B>, FloatTensor<B>)> {
            adjoint: |gradient, (z, c)| B::cross_entropy_gradient(z, c, gradient),
            with: (plain, c.clone()),
        }
        .apply::<C>(z, |z| B::cross_entropy(z, c))
    }

    fn probability_seed(z: FloatTensor<Self>, c: FloatTensor<Self>) -> FloatTensor<Self> {
        let c = c.into_primitive();
        let plain = z.primitive().clone();
        Linear::<B, (FloatTensor<B>, FloatTensor<B>)> {
            adjoint: |gradient, (z, c)| B::seed_gradient(z, c, gradient),
            with: (plain, c.clone()),
        }
        .apply::<C>(z, |z| B::probability_seed(z, c))
    }

    fn probability_seed_tangent(
        z: FloatTensor<Self>,
        v: FloatTensor<Self>,
        c: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let c = c.into_primitive();
        let (z, z_node) = z.into_parts();
        let (v, v_node) = v.into_parts();
        match SeedTangent
            .prepare::<C>([z_node, v_node])
            .compute_bound()
            .stateful()
        {
            OpsKind::Tracked(prepared) => prepared.finish(
                (z.clone(), v.clone(), c.clone()),
                B::probability_seed_tangent(z, v, c),
            ),
            OpsKind::UnTracked(prepared) => prepared.finish(B::probability_seed_tangent(z, v, c)),
        }
    }
}

#[derive(Debug)]
struct SeedTangent;

impl<B: HeadGradients> Backward<B, 2> for SeedTangent {
    type State = (FloatTensor<B>, FloatTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [in_logits, in_direction] = ops.parents;
        let h = grads.consume::<B>(&ops.node);
        let (z, v, c) = ops.state;
        if let Some(node) = in_direction {
            let gradient = B::seed_gradient(z.clone(), c.clone(), h.clone());
            grads.register::<B>(node.id, gradient);
        }
        if let Some(node) = in_logits {
            grads.register::<B>(node.id, B::seed_gradient_tangent(z, v, c, h));
        }
    }
}
