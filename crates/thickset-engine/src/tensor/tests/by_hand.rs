//! Values that fit on paper.

use super::{matrix, numbers};
use crate::tensor::activation::{log_softmax, sigmoid, softmax};
use crate::tensor::{Bool, DType, Device, Int, Tensor, TensorData};

fn indices<const D: usize>(values: Vec<i64>, size: [usize; D]) -> Tensor<D, Int> {
    Tensor::from_data(TensorData::new(values, size), &Device::cpu())
}

fn truths(tensor: &Tensor<2, Bool>) -> Vec<bool> {
    tensor.to_data().try_into_vec().unwrap()
}

/// Asserts that two numbers differ by rounding alone.
fn near(got: f64, expected: f64) {
    assert!(
        (got - expected).abs() <= 1e-15 * expected.abs().max(1.0),
        "got {got}, expected {expected}"
    );
}

#[test]
fn functions_of_single_numbers() {
    type Case = (fn(Tensor<2>) -> Tensor<2>, fn(f64) -> f64);
    let cases: [Case; 17] = [
        (|x| -x, |x| -x),
        (Tensor::abs, f64::abs),
        (Tensor::exp, f64::exp),
        (|x| x.abs().log(), |x| x.abs().ln()),
        (|x| x.abs().log1p(), |x| x.abs().ln_1p()),
        (|x| x.abs().sqrt(), |x| x.abs().sqrt()),
        (Tensor::recip, |x| 1.0 / x),
        (Tensor::sin, f64::sin),
        (Tensor::cos, f64::cos),
        (Tensor::tanh, f64::tanh),
        (Tensor::atan, f64::atan),
        (Tensor::asinh, f64::asinh),
        (sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
        (|x| x.powi_scalar(3), |x| x * x * x),
        (|x| x.abs().powf_scalar(-1.5), |x| x.abs().powf(-1.5)),
        (|x| x.clamp(-1.0, 0.5), |x| x.clamp(-1.0, 0.5)),
        (
            |x| (x * 3.0 - 1.0) / 4.0 + 2.0,
            |x| (x * 3.0 - 1.0) / 4.0 + 2.0,
        ),
    ];
    let x = [-2.5, -0.25, 0.75, 3.0];
    for (place, (of_tensor, of_number)) in cases.into_iter().enumerate() {
        for (got, x) in numbers(&of_tensor(matrix([x]))).into_iter().zip(x) {
            let expected = of_number(x);
            assert!(
                (got - expected).abs() <= 1e-15 * expected.abs().max(1.0),
                "function {place} of {x} is {got}, expected {expected}"
            );
        }
    }
    near(numbers(&matrix([[0.5]]).erf())[0], 0.520_499_877_813_046_5);
}

#[test]
fn signs_and_powers_of_special_numbers() {
    let x = matrix([[-0.0, 0.0, f64::NAN, -3.0, f64::INFINITY]]);
    assert_eq!(numbers(&x.sign()), [0.0, 0.0, 0.0, -1.0, 1.0]);
    let x = matrix([[2.0, -4.0]]);
    assert_eq!(numbers(&x.clone().powi_scalar(0)), [1.0, 1.0]);
    assert_eq!(numbers(&x.clone().powi_scalar(1)), [2.0, -4.0]);
    assert_eq!(numbers(&x.clone().powi_scalar(2)), [4.0, 16.0]);
    assert_eq!(numbers(&x.clone().powi_scalar(-1)), [0.5, -0.25]);
    assert_eq!(numbers(&x.powi_scalar(-2)), [0.25, 0.0625]);
}

#[test]
fn a_logistic_function_that_would_overflow_does_not() {
    let y = numbers(&sigmoid(matrix([[-800.0, 800.0]])));
    assert_eq!(y, [0.0, 1.0]);
}

#[test]
fn arithmetic_stretches_sizes_of_one() {
    let a = matrix([[1.0, 2.0], [3.0, 4.0]]);
    let (row, column) = (matrix([[10.0, 20.0]]), matrix([[100.0], [200.0]]));
    assert_eq!(
        numbers(&(a.clone() + row.clone())),
        [11.0, 22.0, 13.0, 24.0]
    );
    assert_eq!(
        numbers(&(column.clone() - a.clone())),
        [99.0, 98.0, 197.0, 196.0]
    );
    assert_eq!(numbers(&(a.clone() * a.clone())), [1.0, 4.0, 9.0, 16.0]);
    assert_eq!(
        numbers(&(column * row.clone())),
        [1000.0, 2000.0, 2000.0, 4000.0]
    );
    assert_eq!(numbers(&(row / a)), [10.0, 10.0, 10.0 / 3.0, 5.0]);
}

#[test]
#[should_panic(expected = "[2, 2] and [1, 3] do not fit an elementwise operation")]
fn other_sizes_are_refused() {
    let _ = matrix([[1.0, 2.0], [3.0, 4.0]]) + matrix([[1.0, 2.0, 3.0]]);
}

#[test]
#[should_panic(expected = "one floating type, got F64 and F32")]
fn other_types_are_refused() {
    let x = matrix([[1.0]]);
    let _ = x.clone() + x.cast(DType::F32);
}

#[test]
fn comparisons_and_masks() {
    let x = matrix([[-1.0, 0.0, 2.0, f64::NAN]]);
    let (yes, no) = (true, false);
    assert_eq!(truths(&x.clone().lower_elem(0.0)), [yes, no, no, no]);
    assert_eq!(truths(&x.clone().lower_equal_elem(0.0)), [yes, yes, no, no]);
    assert_eq!(truths(&x.clone().greater_elem(0.0)), [no, no, yes, no]);
    assert_eq!(
        truths(&x.clone().greater_equal_elem(0.0)),
        [no, yes, yes, no]
    );
    assert_eq!(truths(&x.clone().equal_elem(0.0)), [no, yes, no, no]);
    let mask = x.greater_elem(-0.5);
    assert_eq!(truths(&mask.clone().bool_not()), [yes, no, no, yes]);
    let (a, b) = (
        matrix([[1.0, 2.0, 3.0, 4.0]]),
        matrix([[4.0, 3.0, 2.0, 4.0]]),
    );
    assert_eq!(
        numbers(&a.clone().mask_fill(mask.clone(), 9.0)),
        [1.0, 9.0, 9.0, 4.0]
    );
    assert_eq!(
        numbers(&a.clone().mask_where(mask, b.clone())),
        [1.0, 3.0, 2.0, 4.0]
    );
    assert_eq!(truths(&a.clone().lower(b.clone())), [yes, yes, no, no]);
    assert_eq!(
        numbers(&a.clone().max_pair(b.clone())),
        [4.0, 3.0, 3.0, 4.0]
    );
    assert_eq!(numbers(&a.min_pair(b)), [1.0, 2.0, 2.0, 4.0]);
}

#[test]
fn sums_means_and_maxima() {
    let x = matrix([[1.0, 5.0, 2.0], [7.0, 7.0, -3.0]]);
    assert_eq!(numbers(&x.clone().sum()), [19.0]);
    assert_eq!(numbers(&x.clone().sum_dim(0)), [8.0, 12.0, -1.0]);
    assert_eq!(numbers(&x.clone().sum_dim(1)), [8.0, 11.0]);
    near(numbers(&x.clone().mean())[0], 19.0 / 6.0);
    assert_eq!(numbers(&x.clone().mean_dim(0)), [4.0, 6.0, -0.5]);
    assert_eq!(numbers(&x.clone().max_dim(1)), [5.0, 7.0]);
    assert_eq!(numbers(&x.clone().max_dim(0)), [7.0, 7.0, 2.0]);
    // The first of equals wins, and what is no number wins over numbers.
    let places: Vec<i64> = x.argmax(1).to_data().iter().collect();
    assert_eq!(places, [1, 0]);
    let x = matrix([[1.0, f64::NAN, 2.0]]);
    assert!(numbers(&x.clone().max_dim(1))[0].is_nan());
    assert_eq!(x.argmax(1).to_data().iter::<i64>().next(), Some(1));
}

#[test]
fn long_sums_have_the_same_bits_for_any_number_of_threads() {
    let x = crate::kernel::testing::random([700, 300], 3, DType::F32);
    let work = || {
        let blocks = x.clone().reshape([70, 10, 300]);
        [
            numbers(&x.clone().sum()),
            numbers(&x.clone().sum_dim(0)),
            numbers(&x.clone().sum_dim(1)),
            numbers(&blocks.sum_dim(1)),
        ]
    };
    let alone = crate::kernel::testing::on_threads(1, work);
    for threads in [2, 4] {
        assert_eq!(alone, crate::kernel::testing::on_threads(threads, work));
    }
    let exact: f64 = numbers(&x).iter().sum();
    assert!(
        (alone[0][0] - exact).abs() < 0.01,
        "{} of {exact}",
        alone[0][0]
    );
}

#[test]
fn numbers_in_other_places() {
    let x = matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(
        numbers(&x.clone().transpose()),
        [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]
    );
    assert_eq!(numbers(&x.clone().slice([1..2, 0..2])), [4.0, 5.0]);
    assert_eq!(numbers(&x.clone().narrow(1, 2, 1)), [3.0, 6.0]);
    assert_eq!(numbers(&x.clone().slice_dim(0, 0..1)), [1.0, 2.0, 3.0]);
    assert_eq!(
        numbers(&Tensor::cat(vec![x.clone(), x.clone().narrow(1, 0, 1)], 1)),
        [1.0, 2.0, 3.0, 1.0, 4.0, 5.0, 6.0, 4.0]
    );
    assert_eq!(
        numbers(&x.clone().narrow(0, 0, 1).expand([2, 3])),
        [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    );
    assert_eq!(
        numbers(&x.clone().narrow(1, 0, 2).repeat_dim(1, 2)),
        [1.0, 2.0, 1.0, 2.0, 4.0, 5.0, 4.0, 5.0]
    );
    let blocks = x.clone().reshape([2, 3, 1]).expand([2, 3, 2]);
    assert_eq!(
        numbers(&blocks.clone().flatten::<1>(0, 2))[..4],
        [1.0, 1.0, 2.0, 2.0]
    );
    let turned = blocks.swap_dims(0, 2);
    assert_eq!(turned.dims(), [2, 3, 2]);
    assert_eq!(numbers(&turned)[..6], [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
}

#[test]
#[should_panic(expected = "ranges [0..1, 2..4] of shape [1, 3]")]
fn a_range_beyond_an_axis_is_refused() {
    let _ = matrix([[1.0, 2.0, 3.0]]).narrow(1, 2, 2);
}

#[test]
fn reading_and_adding_at_places() {
    let x = matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let places = indices(vec![2, 0, 1, 1], [2, 2]);
    assert_eq!(
        numbers(&x.clone().gather(1, places.clone())),
        [3.0, 1.0, 5.0, 5.0]
    );
    let values = matrix([[10.0, 20.0], [30.0, 40.0]]);
    assert_eq!(
        numbers(&x.clone().scatter_add(1, places, values.clone())),
        [21.0, 2.0, 13.0, 4.0, 75.0, 6.0]
    );
    assert_eq!(
        numbers(&x.clone().gather(0, indices(vec![1, 0, 1], [1, 3]))),
        [4.0, 2.0, 6.0]
    );
    let twice = indices(vec![1, 1], [2]);
    assert_eq!(
        numbers(&x.clone().select(1, twice.clone())),
        [2.0, 2.0, 5.0, 5.0]
    );
    assert_eq!(
        numbers(&x.clone().select_add(1, twice, values)),
        [1.0, 32.0, 3.0, 4.0, 75.0, 6.0]
    );
    assert_eq!(
        numbers(&x.select(0, indices(vec![1], [1]))),
        [4.0, 5.0, 6.0]
    );
}

#[test]
#[should_panic(expected = "place 3 of an axis of 3")]
fn a_place_beyond_an_axis_is_refused() {
    let _ = matrix([[1.0, 2.0, 3.0]]).select(1, indices(vec![3], [1]));
}

#[test]
fn products_of_matrices_and_of_stacks_of_them() {
    let a = matrix([[1.0, 2.0], [3.0, 4.0]]);
    let b = matrix([[5.0], [6.0]]);
    assert_eq!(numbers(&a.clone().matmul(b.clone())), [17.0, 39.0]);
    let stack = Tensor::cat(vec![a.clone(), a * 2.0], 0).reshape([2, 2, 2]);
    assert_eq!(
        numbers(&stack.matmul(b.reshape([1, 2, 1]))),
        [17.0, 39.0, 34.0, 78.0]
    );
}

#[test]
fn probabilities_of_a_row_sum_to_one_whatever_its_size() {
    let p = numbers(&softmax(matrix([[1000.0, 1000.0], [0.0, -1000.0]]), 1));
    assert_eq!(p, [0.5, 0.5, 1.0, 0.0]);
    let logarithms = numbers(&log_softmax(matrix([[0.0, -1000.0]]), 1));
    assert_eq!(logarithms, [0.0, -1000.0]);
}

#[test]
fn types_and_kinds() {
    let x = matrix([[1.5, -2.5]]);
    assert_eq!(x.dtype(), DType::F64);
    assert_eq!(x.clone().cast(DType::F32).dtype(), DType::F32);
    assert_eq!(numbers(&x.ones_like()), [1.0, 1.0]);
    assert_eq!(numbers(&x.zeros_like()), [0.0, 0.0]);
    let narrow = Tensor::<2>::from_data(x.to_data(), &Device::cpu());
    assert_eq!(narrow.dtype(), DType::F32);
    let sum = indices(vec![1, 2], [1, 2]) + indices(vec![10], [1, 1]);
    assert_eq!(sum.to_data().iter::<i64>().collect::<Vec<_>>(), [11, 12]);
}
