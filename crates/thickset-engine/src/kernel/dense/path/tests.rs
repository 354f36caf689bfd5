//! Gradients along paths, and those of a loss of them, equal what the recorded operations give point by point.

use crate::tensor::{DType, Tensor, TensorData};
use proptest::prelude::*;

use super::path_step;
use crate::kernel::dense::tests::{dense, maps, parts};
use crate::kernel::testing::{bits, cases, cpu, on_threads, random, same, values};
use crate::one_hot;

fn tracked(maps: &[Tensor<2>]) -> Vec<Tensor<2>> {
    let maps = maps.iter();
    maps.map(|map| map.clone().autodiff().require_grad())
        .collect()
}

fn number(values: Vec<f64>, size: [usize; 2]) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, size), (&cpu(), DType::F64))
}

/// The mean gradients, and the gradients in weights and biases of their sum weighted by `slopes`.
fn at_once(
    maps: &[Tensor<2>],
    (x, slopes): (&Tensor<2>, &Tensor<2>),
    (classes, steps): (&[usize], usize),
) -> (Vec<f64>, Vec<Tensor<2>>) {
    let maps = tracked(maps);
    let step = path_step(x, &parts(&maps, None), classes, steps).expect("a tracked chain");
    let mean = step.gradient().to_vec();
    let gradients = step.loss(1.0, &values(slopes)).backward();
    let of = |map: &Tensor<2>| map.grad(&gradients).expect("a gradient");
    (mean, maps.iter().map(of).collect())
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn means_and_gradients_are_those_of_single_points(
        hidden in prop::collection::vec(1..30usize, 1..5), features in 1..20usize, count in 2..5usize,
        rows in 1..90usize, steps in 1..6u32, wide: bool, seed: u64,
    ) {
        let (dtype, tolerance) = if wide { (DType::F64, 1e-10) } else { (DType::F32, 1e-3) };
        let maps = maps(&[&[features], &hidden[..], &[count]].concat(), seed, dtype);
        let x = random([rows, features], seed ^ 1, dtype);
        let slopes = random([rows, features], seed ^ 2, dtype);
        let classes: Vec<usize> = (0..rows).map(|row| (row * 5 + 1) % count).collect();
        let (mean, gradients) = at_once(&maps, (&x, &slopes), (&classes, steps as usize));

        let maps = tracked(&maps);
        let hot = one_hot(&classes, count, dtype, &cpu());
        let at = |step: u32| {
            let place = (f64::from(step) + 0.5) / f64::from(steps);
            dense(&(x.clone() * place), &maps, None).pull_back(hot.clone())
        };
        let sum = (0..steps).map(at).reduce(|sum, gradient| sum + gradient).unwrap();
        let expected = sum * (1.0 / f64::from(steps));
        let got = Tensor::from_data(TensorData::new(mean, [rows, features]), (&cpu(), dtype));
        same(&got, &expected.clone().without_autodiff(), tolerance);
        let of_sum = (expected * slopes).sum().backward();
        for (place, (got, map)) in gradients.iter().zip(&maps).enumerate() {
            match map.grad(&of_sum) {
                Some(expected) => same(got, &expected, tolerance),
                // Biases move no gradient.
                None => assert!(place % 2 == 1 && values(got).iter().all(|it| *it == 0.0)),
            }
        }
    }
}

#[test]
fn a_unit_that_opens_half_way_by_hand() {
    // 5 relu(2 x - 3) on the way to 4: of the points 1 and 3 the second one is open.
    let maps = [
        number(vec![2.0], [1, 1]),
        number(vec![-3.0], [1, 1]),
        number(vec![5.0, 0.0], [2, 1]),
        number(vec![0.0, 0.0], [1, 2]),
    ];
    let (x, slopes) = (number(vec![4.0], [1, 1]), number(vec![10.0], [1, 1]));
    let (mean, gradients) = at_once(&maps, (&x, &slopes), (&[0], 2));
    assert_eq!(mean, [5.0]);
    // The mean is w v / 2.
    let expected = [vec![25.0], vec![0.0], vec![10.0, 0.0], vec![0.0, 0.0]];
    for (got, expected) in gradients.iter().zip(expected) {
        assert_eq!(values(got), expected);
    }
}

#[test]
fn smooth_chains_and_single_maps_have_no_paths() {
    let x = random([3, 4], 1, DType::F64);
    let deep = tracked(&maps(&[4, 5, 2], 2, DType::F64));
    assert!(path_step(&x, &parts(&deep, Some(1.0)), &[0; 3], 2).is_none());
    let single = tracked(&maps(&[4, 2], 2, DType::F64));
    assert!(path_step(&x, &parts(&single, None), &[0; 3], 2).is_none());
    let still = maps(&[4, 5, 2], 2, DType::F64);
    assert!(path_step(&x, &parts(&still, None), &[0; 3], 2).is_none());
}

#[test]
fn bits_do_not_depend_on_threads() {
    // So many rows that threads share them.
    let maps = maps(&[28, 64, 32, 2], 5, DType::F32);
    let (x, slopes) = (
        random([256, 28], 1, DType::F32),
        random([256, 28], 2, DType::F32),
    );
    let classes: Vec<usize> = (0..256).map(|row| row % 2).collect();
    let work = || {
        let (mean, gradients) = at_once(&maps, (&x, &slopes), (&classes, 10));
        let mean: Vec<u64> = mean.iter().map(|it| it.to_bits()).collect();
        (mean, gradients.iter().map(bits).collect::<Vec<_>>())
    };
    let one = on_threads(1, work);
    assert!(one == on_threads(2, work) && one == on_threads(4, work));
}
