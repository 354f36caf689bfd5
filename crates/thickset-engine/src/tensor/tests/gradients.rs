//! Every differentiable operation against central differences, in `f64`.

use super::super::activation::{log_softmax, sigmoid, softmax};
use super::{matrix, numbers};
use crate::kernel::testing::{check_smooth_gradients, random};
use crate::tensor::{DType, Device, Int, Tensor, TensorData};

/// An operation by name, of one matrix and maybe of a second.
type Case = (&'static str, fn(&[Tensor<2>]) -> Tensor<2>);

fn indices<const D: usize>(values: Vec<i64>, size: [usize; D]) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(values, size), &Device::cpu())
}

/// Checks operations of a matrix of 3 rows and 4 columns whose numbers lie between 0.5 and 2.5.
fn check_all(cases: &[Case]) {
    check_inputs(cases, &[first()]);
}

/// The same of that matrix and another one.
fn check_pairs(cases: &[Case], second: Tensor<2>) {
    check_inputs(cases, &[first(), second]);
}

fn first() -> Tensor<2> {
    random([3, 4], 11, DType::F64) + 1.5
}

fn check_inputs(cases: &[Case], inputs: &[Tensor<2>]) {
    for (name, operation) in cases {
        println!("{name}");
        check_smooth_gradients(inputs, operation);
    }
}

#[test]
fn functions_of_single_numbers() {
    let cases: [Case; 22] = [
        ("negation", |x| -x[0].clone()),
        ("absolute value", |x| (x[0].clone() - 1.4).abs()),
        ("exponential", |x| x[0].clone().exp()),
        ("logarithm", |x| x[0].clone().log()),
        ("logarithm of one more", |x| x[0].clone().log1p()),
        ("square root", |x| x[0].clone().sqrt()),
        ("reciprocal", |x| x[0].clone().recip()),
        ("sine", |x| x[0].clone().sin()),
        ("cosine", |x| x[0].clone().cos()),
        ("hyperbolic tangent", |x| x[0].clone().tanh()),
        ("arctangent", |x| x[0].clone().atan()),
        ("inverse hyperbolic sine", |x| x[0].clone().asinh()),
        ("error function", |x| x[0].clone().erf()),
        ("logistic function", |x| sigmoid(x[0].clone())),
        ("square", |x| x[0].clone().powi_scalar(2)),
        ("cube", |x| x[0].clone().powi_scalar(3)),
        ("power", |x| x[0].clone().powf_scalar(-1.7)),
        ("lower limit", |x| x[0].clone().clamp_min(1.31)),
        ("upper limit", |x| x[0].clone().clamp_max(1.31)),
        ("limits", |x| x[0].clone().clamp(1.1, 1.9)),
        ("scalars", |x| ((x[0].clone() * 3.0 - 1.0) / 4.0) + 2.0),
        ("other type", |x| x[0].clone().cast(DType::F64)),
    ];
    check_all(&cases);
}

#[test]
fn arithmetic_of_two_with_stretched_sizes() {
    let cases: [Case; 4] = [
        ("sum", |x| x[0].clone() + x[1].clone()),
        ("difference", |x| x[1].clone() - x[0].clone()),
        ("product", |x| x[0].clone() * x[1].clone()),
        ("quotient", |x| x[0].clone() / x[1].clone()),
    ];
    for size in [[3, 4], [1, 4], [3, 1], [1, 1]] {
        check_pairs(&cases, random(size, 5, DType::F64) + 2.0);
    }
    // The stretched one on the left.
    let inputs = [
        random([1, 4], 3, DType::F64) + 2.0,
        random([3, 1], 4, DType::F64) + 2.0,
    ];
    check_smooth_gradients(&inputs, |x| x[0].clone() / x[1].clone());
}

#[test]
fn masks_and_choices() {
    let cases: [Case; 4] = [
        ("filled", |x| {
            let mask = x[0].clone().greater_elem(1.5);
            x[0].clone().mask_fill(mask, 3.0) * x[1].clone()
        }),
        ("chosen", |x| {
            let mask = x[1].clone().greater_elem(2.0);
            x[0].clone().mask_where(mask, x[1].clone())
        }),
        ("larger", |x| x[0].clone().max_pair(x[1].clone())),
        ("smaller", |x| x[0].clone().min_pair(x[1].clone())),
    ];
    check_pairs(&cases, random([3, 4], 8, DType::F64) + 1.6);
}

#[test]
fn sums_means_and_maxima() {
    let cases: [Case; 9] = [
        ("sum", |x| x[0].clone().sum().reshape([1, 1])),
        ("mean", |x| x[0].clone().mean().reshape([1, 1])),
        ("sum over rows", |x| x[0].clone().sum_dim(0)),
        ("sum over columns", |x| x[0].clone().sum_dim(1)),
        ("mean over rows", |x| x[0].clone().mean_dim(0)),
        ("mean over columns", |x| x[0].clone().mean_dim(1)),
        ("maximum over rows", |x| x[0].clone().max_dim(0)),
        ("maximum over columns", |x| x[0].clone().max_dim(1)),
        ("sum over the middle", |x| {
            let sums = x[0].clone().reshape([3, 2, 2]).sum_dim(1);
            sums.reshape([3, 2])
        }),
    ];
    check_all(&cases);
}

#[test]
fn numbers_in_other_places() {
    let cases: [Case; 8] = [
        ("transposed", |x| x[0].clone().transpose()),
        ("reshaped", |x| x[0].clone().reshape([6, 2])),
        ("swapped", |x| {
            let blocks = x[0].clone().reshape([3, 2, 2]).swap_dims(0, 2);
            blocks.reshape([4, 3])
        }),
        ("part", |x| x[0].clone().slice([1..3, 1..3])),
        ("rows", |x| x[0].clone().narrow(0, 1, 2)),
        ("stretched", |x| x[0].clone().narrow(0, 0, 1).expand([5, 4])),
        ("repeated", |x| x[0].clone().repeat_dim(1, 3)),
        ("repeated rows", |x| x[0].clone().repeat_dim(0, 2)),
    ];
    check_all(&cases);
    let pairs: [Case; 1] = [("concatenated", |x| {
        Tensor::cat(vec![x[0].clone(), x[1].clone(), x[0].clone()], 1)
    })];
    check_pairs(&pairs, random([3, 2], 21, DType::F64));
}

#[test]
fn reading_and_adding_at_places() {
    let cases: [Case; 2] = [
        ("gathered", |x| {
            let places = indices(vec![3, 0, 1, 1, 2, 2], [3, 2]);
            x[0].clone().gather(1, places)
        }),
        ("selected", |x| {
            x[0].clone().select(1, indices(vec![2, 2, 0], [3]))
        }),
    ];
    check_all(&cases);
    let pairs: [Case; 2] = [
        ("scattered", |x| {
            let places = indices(vec![3, 0, 1, 1, 2, 2], [3, 2]);
            x[0].clone().scatter_add(1, places, x[1].clone())
        }),
        ("added", |x| {
            let places = indices(vec![1, 1], [2]);
            x[0].clone().select_add(1, places, x[1].clone())
        }),
    ];
    check_pairs(&pairs, random([3, 2], 31, DType::F64));
}

#[test]
fn products_of_matrices() {
    let cases: [Case; 2] = [
        ("product", |x| x[0].clone().matmul(x[1].clone())),
        ("stacks", |x| {
            // Three matrices of two rows times one that is stretched.
            let left = x[0].clone().reshape([3, 2, 2]);
            let right = x[1].clone().reshape([1, 2, 4]);
            left.matmul(right).reshape([6, 4])
        }),
    ];
    check_pairs(&cases, random([4, 2], 41, DType::F64));
}

#[test]
fn probabilities() {
    let cases: [Case; 3] = [
        ("softmax", |x| softmax(x[0].clone(), 1)),
        ("softmax of columns", |x| softmax(x[0].clone(), 0)),
        ("its logarithm", |x| log_softmax(x[0].clone(), 1)),
    ];
    check_all(&cases);
    let pairs: [Case; 1] = [("a mixture", |x| {
        let p = softmax(x[0].clone() * x[1].clone(), 1);
        p.clone() * p.log() + x[1].clone()
    })];
    check_pairs(&pairs, random([3, 4], 51, DType::F64));
}

#[test]
fn the_sign_and_the_first_of_equals() {
    let x = matrix([[2.0, 2.0, 0.0]]).require_grad();
    let gradients = x.clone().max_dim(1).sum().backward();
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [1.0, 0.0, 0.0]);
    let gradients = x.clone().sign().sum().backward();
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [0.0; 3]);
    let gradients = x.clone().abs().sum().backward();
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [1.0, 1.0, 0.0]);
    // At a limit the gradient goes through.
    let gradients = x.clone().clamp(0.0, 2.0).sum().backward();
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [1.0; 3]);
    // Of equals the first has it.
    let other = matrix([[2.0, 3.0, 0.0]]).require_grad();
    let gradients = x.clone().max_pair(other.clone()).sum().backward();
    assert_eq!(numbers(&x.grad(&gradients).unwrap()), [1.0, 0.0, 1.0]);
    assert_eq!(numbers(&other.grad(&gradients).unwrap()), [0.0, 1.0, 0.0]);
}
