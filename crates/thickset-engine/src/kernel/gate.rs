//! The gate: passes a value where a second tensor is positive, zero elsewhere.
//!
//! It is ReLU's forward (`gate(x, x)`), its pullback (`gate(g, x)`) and its tangent
//! (`gate(v, x)`). It is linear in the first argument, and its own adjoint; the second argument
//! decides and has no derivative. At exactly zero the gate is closed.

use std::sync::Arc;

use super::elementwise::{zip, zip_onto};
use super::simd::Number;
use super::storage::wrong_types;
use super::{composed, on_cpu};
use crate::tensor::{Array, Numbers, Tensor};

/// `value` where `decider > 0`, else 0; both `[rows, features]`.
///
/// # Panics
/// If the sizes differ.
#[must_use]
pub fn gate(value: Tensor<2>, decider: Tensor<2>) -> Tensor<2> {
    if !on_cpu(&value) {
        return composed::gate(value, decider);
    }
    assert_eq!(
        value.dims(),
        decider.dims(),
        "a gate has one decider a value"
    );
    let (decider, _) = decider.into_parts();
    let back = decider.clone();
    value.linear(
        |value| passed(value, &decider),
        move |gradient| passed(gradient, &back),
    )
}

fn passed(value: Array, decider: &Array) -> Array {
    let shape = value.shape;
    let numbers = match (value.into_numbers(), decider.numbers()) {
        (Numbers::F32(value), Numbers::F32(decider)) => Numbers::F32(each(value, decider)),
        (Numbers::F64(value), Numbers::F64(decider)) => Numbers::F64(each(value, decider)),
        (value, _) => wrong_types(&[&Array::of(value, shape), decider]),
    };
    Array::of(numbers, shape)
}

/// Written over the values where nobody else reads them.
fn each<T: Number>(mut value: Arc<Vec<T>>, decider: &[T]) -> Arc<Vec<T>> {
    let zero = T::default();
    let pass = |value: T, decider: T| if decider > zero { value } else { zero };
    match Arc::get_mut(&mut value) {
        Some(alone) => {
            zip_onto(alone, decider, pass);
            value
        }
        None => Arc::new(zip(&value, decider, pass)),
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{DType, TensorData};
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{
        cases, check_gradients, cpu, random, same, same_in_every_argument, values,
    };

    #[test]
    fn at_zero_the_gate_is_closed() {
        let decider = TensorData::new(vec![-1.0_f32, -0.0, 0.0, 1e-30, f32::NAN], [1, 5]);
        let decider = Tensor::<2>::from_data(decider, &cpu());
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
