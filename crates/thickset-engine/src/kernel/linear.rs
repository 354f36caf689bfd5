//! The linear map and its two adjoints, a closed family under differentiation.
//!
//! With `L(x, w, g) = <x wᵀ, g>`: `linear = dL/dg = x wᵀ`, `linear_input = dL/dx = g w` and
//! `linear_weight = dL/dw = gᵀ x`. `x` is `[rows, in]`, `w` is `[out, in]` as in PyTorch, `g` is
//! `[rows, out]`.

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;

use super::adjoint::Bilinear;
use super::gemm::{Side, multiply};
use super::on_flex;

/// `x wᵀ`, `[rows, out]`.
#[must_use]
pub fn linear(x: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    if !on_flex(&x) {
        return x.matmul(w.transpose());
    }
    Tensor::from_dispatch(<Dispatch as LinearOps>::linear_output(
        x.into_dispatch(),
        w.into_dispatch(),
    ))
}

/// `g w`, `[rows, in]`: the gradient of `<x wᵀ, g>` in `x`.
#[must_use]
pub fn linear_input(g: Tensor<2>, w: Tensor<2>) -> Tensor<2> {
    if !on_flex(&g) {
        return g.matmul(w);
    }
    Tensor::from_dispatch(<Dispatch as LinearOps>::linear_input(
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
    Tensor::from_dispatch(<Dispatch as LinearOps>::linear_weight(
        x.into_dispatch(),
        g.into_dispatch(),
    ))
}

#[backend_extension(Flex, Autodiff)]
pub trait LinearOps: Backend {
    fn linear_output(x: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self>;
    fn linear_input(g: FloatTensor<Self>, w: FloatTensor<Self>) -> FloatTensor<Self>;
    fn linear_weight(x: FloatTensor<Self>, g: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl LinearOps for Flex {
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

impl<B: Backend + LinearOps, C: CheckpointStrategy> LinearOps for Autodiff<B, C> {
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
