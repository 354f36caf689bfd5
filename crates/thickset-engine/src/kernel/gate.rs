//! The gate: passes a value where a second tensor is positive, zero elsewhere.
//!
//! It is ReLU's forward (`gate(x, x)`), its pullback (`gate(g, x)`) and its tangent
//! (`gate(v, x)`). It is linear in the first argument, and its own adjoint; the second argument
//! decides and has no derivative. At exactly zero the gate is closed.

#![expect(unsafe_code, reason = "an output that is written before it is read")]
#![expect(
    clippy::inline_always,
    reason = "a kernel is compiled for the instruction set of the function it is inlined into"
)]

use std::mem::MaybeUninit;

use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::Tensor;
use rayon::prelude::*;

use super::adjoint::Linear;
use super::simd::{Number, Task, Vector};
use super::storage::{by_type, size};
use super::{composed, on_flex};

/// Numbers that one thread takes at a time.
const JOB: usize = 64 * 1024;

/// `value` where `decider > 0`, else 0; both `[rows, features]`.
#[must_use]
pub fn gate(value: Tensor<2>, decider: Tensor<2>) -> Tensor<2> {
    if !on_flex(&value) {
        return composed::gate(value, decider);
    }
    Tensor::from_dispatch(<Dispatch as GateBackend>::gate(
        value.into_dispatch(),
        decider.into_dispatch(),
    ))
}

#[backend_extension(Flex, Autodiff)]
pub(crate) trait GateBackend: Backend {
    fn gate(value: FloatTensor<Self>, decider: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl GateBackend for Flex {
    fn gate(value: FloatTensor<Self>, decider: FloatTensor<Self>) -> FloatTensor<Self> {
        let shape = size(&value);
        by_type!(|value, decider| passed(value, decider), shape)
    }
}

fn passed<T: Number>(value: &[T], decider: &[T]) -> Vec<T> {
    let task = |out, value, decider| {
        T::vectorised(Passed {
            out,
            value,
            decider,
        });
    };
    assert_eq!(value.len(), decider.len(), "a gate has one decider a value");
    let mut out = Vec::with_capacity(value.len());
    let room = &mut out.spare_capacity_mut()[..value.len()];
    // Handing little work to other threads takes longer than doing it.
    if value.len() <= JOB {
        task(room, value, decider);
    } else {
        room.par_chunks_mut(JOB)
            .zip(value.par_chunks(JOB))
            .zip(decider.par_chunks(JOB))
            .for_each(|((room, value), decider)| task(room, value, decider));
    }
    // SAFETY: every value has its number of `out`, which its task has written.
    unsafe { out.set_len(value.len()) };
    out
}

struct Passed<'a, T> {
    out: &'a mut [MaybeUninit<T>],
    value: &'a [T],
    decider: &'a [T],
}

impl<T: Number> Task<T> for Passed<'_, T> {
    #[inline(always)]
    fn run<V: Vector<Number = T>>(self) {
        let zero = T::default();
        let values = self.value.iter().zip(self.decider);
        for (out, (&value, &decider)) in self.out.iter_mut().zip(values) {
            out.write(if decider > zero { value } else { zero });
        }
    }
}

impl<B: Backend + GateBackend, C: CheckpointStrategy> GateBackend for Autodiff<B, C> {
    fn gate(value: FloatTensor<Self>, decider: FloatTensor<Self>) -> FloatTensor<Self> {
        let decider = decider.into_primitive();
        Linear::<B, FloatTensor<B>> {
            adjoint: |gradient, decider| B::gate(gradient, decider),
            with: decider.clone(),
        }
        .apply::<C>(value, |value| B::gate(value, decider))
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        cases, check_gradients, flex, random, same, same_in_every_argument, values,
    };

    #[test]
    fn at_zero_the_gate_is_closed() {
        let decider = TensorData::new(vec![-1.0_f32, -0.0, 0.0, 1e-30, f32::NAN], [1, 5]);
        let decider = Tensor::<2>::from_data(decider, &flex());
        let value = decider.ones_like();
        assert_eq!(values(&gate(value, decider)), [0.0, 0.0, 0.0, 1.0, 0.0]);
    }

    proptest! {
        #![proptest_config(cases(20))]

        #[test]
        fn the_kernel_equals_the_composed_operation(
            rows in 1..300usize, features in 1..500usize, seed: u64,
        ) {
            let value = random([rows, features], seed, DType::F32);
            let decider = random([rows, features], seed ^ 1, DType::F32);
            same(&gate(value.clone(), decider.clone()), &composed::gate(value, decider), 0.0);
        }

        #[test]
        fn the_gate_is_its_own_adjoint(rows in 1..4usize, features in 1..6usize, seed: u64) {
            let value = random([rows, features], seed, DType::F64);
            let decider = random([rows, features], seed ^ 1, DType::F64);
            // What decides has no gradient, here or there.
            same_in_every_argument(
                &[value.clone(), decider.clone()],
                |t| gate(t[0].clone(), t[1].clone()),
                |t| composed::gate(t[0].clone(), t[1].clone()),
                0.0,
            );
            check_gradients(&[value], |t| gate(t[0].clone(), decider.clone()));
        }
    }
}
