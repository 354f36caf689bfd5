//! Operations write over what they alone hold, and never over what another handle reads.

use super::{matrix, numbers};
use crate::tensor::{Device, Int, Tensor, TensorData};

/// Every operation that may write over an operand, of two matrices of one size.
fn operations() -> Vec<fn(Tensor<2>, Tensor<2>) -> Tensor<2>> {
    fn places(size: [usize; 2]) -> Tensor<2, Int> {
        let zeros = vec![0_i64; size[0] * size[1]];
        Tensor::from_data(TensorData::new(zeros, size), &Device::cpu())
    }
    fn place() -> Tensor<1, Int> {
        Tensor::from_data(TensorData::new(vec![0_i64, 1], [2]), &Device::cpu())
    }
    vec![
        |a, b| a + b,
        |a, b| a - b,
        |a, b| a * b,
        |a, b| a / b,
        |a, _| a.exp(),
        |a, _| -a,
        |a, _| a * 2.0,
        |a, _| a.powi_scalar(3),
        |a, _| a.clamp(0.0, 1.0),
        |a, b| a.mask_fill(b.greater_elem(0.0), 7.0),
        |a, b| a.clone().mask_where(b.clone().greater_elem(0.0), b),
        |a, b| a.clone().scatter_add(1, places(a.dims()), b),
        |a, b| a.select_add(1, place(), b),
    ]
}

#[test]
fn no_operation_changes_what_another_handle_reads() {
    let (a, b) = (
        matrix([[1.0, -2.0], [3.0, 4.0]]),
        matrix([[5.0, 6.0], [-7.0, 8.0]]),
    );
    let (a_before, b_before) = (numbers(&a), numbers(&b));
    for operation in operations() {
        let shared = numbers(&operation(a.clone(), b.clone()));
        assert_eq!(numbers(&a), a_before);
        assert_eq!(numbers(&b), b_before);
        // The same operation of operands that it alone holds.
        let copy = |tensor: &Tensor<2>| {
            Tensor::from_data(fresh(tensor), (&tensor.device(), tensor.dtype()))
        };
        let alone = numbers(&operation(copy(&a), copy(&b)));
        assert_eq!(alone, shared);
    }
}

#[test]
fn gradients_do_not_depend_on_who_holds_the_operands() {
    for operation in operations() {
        let (a, b) = (
            matrix([[1.0, -2.0], [3.0, 4.0]]).require_grad(),
            matrix([[5.0, 6.0], [-7.0, 8.0]]).require_grad(),
        );
        let gradients = |held: bool| {
            let y = operation(a.clone() * 1.0, b.clone() * 1.0);
            let other = held.then(|| y.clone());
            let gradients = (y * 2.0).sum().backward();
            drop(other);
            [&a, &b].map(|it| it.grad(&gradients).map(|it| numbers(&it)))
        };
        assert_eq!(gradients(false), gradients(true));
    }
}

#[test]
fn an_operand_that_nobody_else_holds_is_written_over() {
    let a = matrix([[1.0, 2.0]]);
    let address = a.array().values::<f64>().as_ptr();
    let b = (a * 2.0).exp() + matrix([[1.0, 1.0]]);
    assert_eq!(b.array().values::<f64>().as_ptr(), address);
    let held = b.clone();
    let c = b * 3.0;
    assert_ne!(c.array().values::<f64>().as_ptr(), address);
    assert_eq!(held.array().values::<f64>().as_ptr(), address);
}

/// Data that shares nothing with the tensor.
fn fresh(tensor: &Tensor<2>) -> TensorData {
    TensorData::new(numbers(tensor), tensor.dims())
}
