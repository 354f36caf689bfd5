//! The linear map and its two adjoints, a closed family under differentiation.
//!
//! With `L(x, w, g) = <x wᵀ, g>`: `linear = dL/dg = x wᵀ`, `linear_input = dL/dx = g w` and
//! `linear_weight = dL/dw = gᵀ x`. `x` is `[rows, in]`, `w` is `[out, in]` as in PyTorch, `g` is
//! `[rows, out]`.

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
use burn::tensor::Tensor;

use super::adjoint::Bilinear;
use super::channel::ChannelBackend;
use super::gemm::{Side, multiply, multiply_onto};
use super::on_flex;

/// `x wᵀ`, `[rows, out]`.
#[must_use]
pub fn linear(x: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    if !on_flex(&x) {
        return x.matmul(w.transpose());
    }
    Tensor::from_dispatch(<Dispatch as LinearBackend>::linear_output(
        x.into_dispatch(),
        w.into_dispatch(),
    ))
}

/// `x wᵀ + b` with `b` `[1, out]`, in one pass.
#[must_use]
pub fn affine(x: Tensor<2>, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    if !on_flex(&x) {
        return x.matmul(w.transpose()) + b;
    }
    Tensor::from_dispatch(<Dispatch as LinearBackend>::affine(
        x.into_dispatch(),
        w.into_dispatch(),
        b.into_dispatch(),
    ))
}

/// `g w`, `[rows, in]`: the gradient of `<x wᵀ, g>` in `x`.
#[must_use]
pub fn linear_input(g: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    if !on_flex(&g) {
        return g.matmul(w);
    }
    Tensor::from_dispatch(<Dispatch as LinearBackend>::linear_input(
        g.into_dispatch(),
        w.into_dispatch(),
    ))
}

/// `gᵀ x`, `[out, in]`: the gradient of `<x wᵀ, g>` in `w`.
#[must_use]
pub fn linear_weight(x: Tensor<2>, g: Tensor<2>) -> Tensor<2> {
    if !on_flex(&x) {
        return g.transpose().matmul(x);
    }
    Tensor::from_dispatch(<Dispatch as LinearBackend>::linear_weight(
        x.into_dispatch(),
        g.into_dispatch(),
    ))
}

/// The operations on a backend's own tensors.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait LinearBackend: Backend {
    fn affine(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        b: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
    fn linear_output(x: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self>;
    fn linear_input(g: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self>;
    fn linear_weight(x: FloatTensor<Self>, g: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl LinearBackend for Flex {
    fn affine(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        b: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        multiply_onto(&b, &x, Side::Plain, &w, Side::Transposed)
    }

    fn linear_output(x: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self> {
        multiply(&x, Side::Plain, &w, Side::Transposed)
    }

    fn linear_input(g: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self> {
        multiply(&g, Side::Plain, &w, Side::Plain)
    }

    fn linear_weight(x: FloatTensor<Self>, g: FloatTensor<Self>) -> FloatTensor<Self> {
        multiply(&g, Side::Transposed, &x, Side::Plain)
    }
}

#[derive(Debug)]
struct Affine;

impl<B: LinearBackend + ChannelBackend> Backward<B, 3> for Affine {
    /// Features out, and what the gradients in `x` and `w` need.
    type State = (usize, Option<FloatTensor<B>>, Option<FloatTensor<B>>);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let [x_node, w_node, b_node] = ops.parents;
        let gradient = grads.consume::<B>(&ops.node);
        let (out_features, x, w) = ops.state;
        if let (Some(node), Some(w)) = (x_node, w) {
            grads.register::<B>(node.id, B::linear_input(gradient.clone(), w));
        }
        if let (Some(node), Some(x)) = (w_node, x) {
            grads.register::<B>(node.id, B::linear_weight(x, gradient.clone()));
        }
        if let Some(node) = b_node {
            grads.register::<B>(node.id, B::sum(gradient, out_features));
        }
    }
}

impl<B: LinearBackend + ChannelBackend, C: CheckpointStrategy> LinearBackend for Autodiff<B, C> {
    fn affine(
        x: FloatTensor<Self>,
        w: FloatTensor<Self>,
        b: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let (x_tracked, w_tracked) = (x.is_tracked(), w.is_tracked());
        let (x, x_node) = x.into_parts();
        let (w, w_node) = w.into_parts();
        let (b, b_node) = b.into_parts();
        let nodes = [x_node, w_node, b_node];
        match Affine.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let [out_features, _] = TensorMetadata::shape(&w).dims();
                let kept = (
                    out_features,
                    w_tracked.then(|| x.clone()),
                    x_tracked.then(|| w.clone()),
                );
                prepared.finish(kept, B::affine(x, w, b))
            }
            OpsKind::UnTracked(prepared) => prepared.finish(B::affine(x, w, b)),
        }
    }

    fn linear_output(x: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self> {
        Bilinear::<B, ()> {
            forward: |x, w, ()| B::linear_output(x, w),
            left: |gradient, w, ()| B::linear_input(gradient, w),
            right: |x, gradient, ()| B::linear_weight(x, gradient),
            shape: (),
        }
        .apply::<C>(x, w)
    }

    fn linear_input(g: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self> {
        Bilinear::<B, ()> {
            forward: |g, w, ()| B::linear_input(g, w),
            left: |gradient, w, ()| B::linear_output(gradient, w),
            right: |g, gradient, ()| B::linear_weight(gradient, g),
            shape: (),
        }
        .apply::<C>(g, w)
    }

    fn linear_weight(x: FloatTensor<Self>, g: FloatTensor<Self>) -> FloatTensor<Self> {
        Bilinear::<B, ()> {
            forward: |x, g, ()| B::linear_weight(x, g),
            left: |gradient, g, ()| B::linear_input(g, gradient),
            right: |x, gradient, ()| B::linear_output(x, gradient),
            shape: (),
        }
        .apply::<C>(x, g)
    }
}
