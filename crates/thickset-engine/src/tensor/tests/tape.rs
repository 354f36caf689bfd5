//! What is recorded, and the walk back.

use super::{matrix, numbers};
use crate::tensor::Tensor;

#[test]
fn a_shared_part_gets_the_sum_of_its_gradients() {
    let x = matrix([[2.0, 3.0]]).require_grad();
    let square = x.clone() * x.clone();
    let loss = (square.clone() * square.clone() + square * 3.0 + x.clone()).sum();
    let gradients = loss.backward();
    // 4 x^3 + 6 x + 1
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [45.0, 127.0]);
}

#[test]
fn constants_have_no_gradient_and_record_nothing() {
    let (x, y) = (matrix([[2.0]]).require_grad(), matrix([[5.0]]));
    assert!(x.is_require_grad() && x.is_autodiff());
    assert!(!y.is_require_grad() && !(y.clone() * y.clone()).is_autodiff());
    let product = x.clone() * y.clone();
    assert!(product.is_autodiff() && !product.is_require_grad());
    let detached = product.clone().detach() * x.clone();
    let gradients = (detached + product).sum().backward();
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [15.0]);
    assert!(y.grad(&gradients).is_none());
    let elsewhere = matrix([[1.0]]).require_grad();
    assert!(elsewhere.grad(&gradients).is_none());
    let nothing = y.sum().backward();
    assert!(x.grad(&nothing).is_none());
}

#[test]
#[should_panic(expected = "cannot be asked for in what was computed")]
fn gradients_are_asked_for_in_what_a_computation_begins_with() {
    let x = matrix([[2.0]]).require_grad();
    let _ = (x.clone() * x).require_grad();
}

#[test]
fn asking_twice_changes_nothing() {
    let x = matrix([[2.0]]).require_grad();
    let gradients = (x.clone().require_grad() * 3.0).sum().backward();
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [3.0]);
}

#[test]
fn a_graph_can_be_walked_twice() {
    let x = matrix([[2.0]]).require_grad();
    let loss = (x.clone() * x.clone()).exp().sum();
    let first = loss.clone().backward();
    let second = loss.backward();
    assert_eq!(
        numbers(&x.grad(&first).unwrap()),
        numbers(&x.grad(&second).unwrap())
    );
}

#[test]
fn gradients_are_taken_out_and_replaced() {
    let x = matrix([[2.0]]).require_grad();
    let mut gradients = (x.clone() * 3.0).sum().backward();
    x.grad_replace(&mut gradients, matrix([[7.0]]));
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [7.0]);
    assert_eq!(numbers(&x.grad_remove(&mut gradients).unwrap()), [7.0]);
    assert!(x.grad(&gradients).is_none());
}

/// As many operations as no stack holds calls of.
const DEEP: usize = 200_000;

#[test]
fn a_deep_graph_is_differentiated_and_dropped_without_a_deep_stack() {
    let small_stack = std::thread::Builder::new().stack_size(256 * 1024);
    let work = || {
        let x = matrix([[1.0]]).require_grad();
        let deep = (0..DEEP).fold(x.clone(), |y, _| y + x.clone());
        drop(deep.clone() * 2.0);
        drop((0..DEEP).fold(x.clone(), |y, _| y * 1.0));
        let gradients = deep.sum().backward();
        numbers(&x.grad(&gradients).unwrap())
    };
    let gradient = small_stack.spawn(work).unwrap().join().unwrap();
    assert_eq!(gradient, [200_001.0]);
}

#[test]
fn threads_record_side_by_side() {
    let shared = matrix([[3.0]]).require_grad();
    let work = |factor: u32| {
        let x = matrix([[f64::from(factor)]]).require_grad();
        let start: Tensor<2> = shared.clone() * x.clone();
        let long = (0..300).fold(start, |y, _| y * 1.0 + 0.0);
        let gradients = long.sum().backward();
        let of = |tensor: &Tensor<2>| numbers(&tensor.grad(&gradients).unwrap())[0];
        [of(&x), of(&shared)]
    };
    let found: Vec<[f64; 2]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..9)
            .map(|factor| scope.spawn(move || work(factor)))
            .collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for (found, factor) in found.into_iter().zip(1_u32..) {
        assert_eq!(
            found.map(f64::to_bits),
            [3.0, f64::from(factor)].map(f64::to_bits)
        );
    }
}
