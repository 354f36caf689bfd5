//! The chain as a whole equals its layers one by one: values bit for bit, gradients of every argument up to rounding.

use crate::tensor::{DType, Tensor};
use proptest::prelude::*;

use super::Dense;
use crate::kernel::testing::{
    bits, cases, check_smooth_gradients, on_threads, random, same_in_every_argument,
};
use crate::kernel::{affine, gate, linear, linear_input, softplus};
use crate::layer::Part;

/// Weights and biases of maps between these sizes, by turns.
pub(super) fn maps(sizes: &[usize], seed: u64, dtype: DType) -> Vec<Tensor<2>> {
    let pairs = sizes.windows(2).zip(seed..);
    pairs
        .flat_map(|(pair, seed)| {
            let weight = random([pair[1], pair[0]], seed.wrapping_mul(3), dtype);
            [
                weight,
                random([1, pair[1]], seed.wrapping_mul(5) ^ 9, dtype),
            ]
        })
        .collect()
}

/// The chain of these weights and biases with ReLU between its maps, or softplus.
pub(super) fn dense(x: &Tensor<2>, maps: &[Tensor<2>], beta: Option<f64>) -> Dense {
    Dense::new(x, &parts(maps, beta)).expect("a chain")
}

/// What that chain is made of.
pub(super) fn parts(maps: &[Tensor<2>], beta: Option<f64>) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for (place, map) in maps.chunks(2).enumerate() {
        if place > 0 {
            parts.push(beta.map_or(Part::Relu, |beta| Part::Softplus { beta }));
        }
        parts.push(Part::Linear {
            weight: &map[0],
            bias: &map[1],
        });
    }
    parts
}

/// What each map of the same chain reads, and last its outputs.
fn by_layers(x: &Tensor<2>, maps: &[Tensor<2>], beta: Option<f64>) -> Vec<Tensor<2>> {
    let mut read = vec![x.clone()];
    for (place, map) in maps.chunks(2).enumerate() {
        let before = read[place].clone();
        let out = affine(before, map[0].clone(), map[1].clone());
        read.push(match beta {
            _ if 2 * (place + 1) == maps.len() => out,
            None => gate(out.clone(), out),
            Some(beta) => softplus(out, beta),
        });
    }
    read
}

fn pull_back_by_layers(x: &Tensor<2>, maps: &[Tensor<2>], seed: Tensor<2>) -> Tensor<2> {
    let read = by_layers(x, maps, None);
    let mut adjoint = seed;
    for (place, map) in maps.chunks(2).enumerate().rev() {
        adjoint = linear_input(adjoint, map[0].clone());
        if place > 0 {
            adjoint = gate(adjoint, read[place].clone());
        }
    }
    adjoint
}

fn tangent_by_layers(x: &Tensor<2>, maps: &[Tensor<2>], direction: Tensor<2>) -> Tensor<2> {
    let read = by_layers(x, maps, None);
    let mut change = direction;
    for (place, map) in maps.chunks(2).enumerate() {
        if place > 0 {
            change = gate(change, read[place].clone());
        }
        change = linear(change, map[0].clone());
    }
    change
}

#[test]
fn a_chain_of_two_maps_by_hand() {
    let tensor = |values: Vec<f64>, size: [usize; 2]| {
        let data = crate::TensorData::new(values, size);
        Tensor::<2>::from_data(data, (&crate::kernel::testing::cpu(), DType::F64))
    };
    let maps = [
        tensor(vec![1.0, 2.0, -1.0, 1.0], [2, 2]),
        tensor(vec![0.5, -0.5], [1, 2]),
        tensor(vec![3.0, 4.0], [1, 2]),
        tensor(vec![1.0], [1, 1]),
    ];
    // The first unit is 1 + 4 + 0.5 and open, the second -1 + 2 - 0.5 and open; in the other row 3.5 and -1.5, closed.
    let x = tensor(vec![1.0, 2.0, 1.0, 1.0, 2.0, 0.0], [3, 2]);
    let run = dense(&x, &maps, None);
    let values = |tensor: Tensor<2>| crate::kernel::testing::values(&tensor);
    assert_eq!(values(run.output()), [19.5, 11.5, 8.5]);
    let seed = tensor(vec![1.0, 1.0, 2.0], [3, 1]);
    assert_eq!(
        values(run.pull_back(seed)),
        [-1.0, 10.0, 3.0, 6.0, 6.0, 12.0]
    );
    let direction = tensor(vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0], [3, 2]);
    assert_eq!(values(run.tangent(direction)), [-1.0, 6.0, 9.0]);
}

#[test]
fn what_is_no_chain_has_no_run_as_a_whole() {
    let x = random([2, 3], 1, DType::F32);
    assert!(Dense::new(&x, &[]).is_none());
    assert!(Dense::new(&x, &[Part::Relu]).is_none());
    let [weight, bias] = [random([3, 3], 1, DType::F32), random([1, 3], 2, DType::F32)];
    let linear = Part::Linear {
        weight: &weight,
        bias: &bias,
    };
    assert!(Dense::new(&x, &[linear, Part::Relu, Part::Relu]).is_none());
    assert!(Dense::new(&x, &[linear, Part::Relu]).is_some());
    let empty = Dense::new(&random([0, 3], 1, DType::F32), &[linear]).expect("a chain");
    assert_eq!(empty.output().dims(), [0, 3]);
}

/// Relative to the largest number of a gradient, which may itself be what is left of sums that cancel.
const CANCELLED: f64 = 1e-10;

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn values_are_those_of_the_layers_bit_for_bit(
        hidden in prop::collection::vec(1..50usize, 0..5), features in 1..40usize, outputs in 1..20usize,
        rows in 1..150usize, beta in prop::option::of(0.5..8.0f64), wide: bool, seed: u64,
    ) {
        let dtype = if wide { DType::F64 } else { DType::F32 };
        let sizes = [&[features], &hidden[..], &[outputs]].concat();
        let maps = maps(&sizes, seed, dtype);
        let x = random([rows, features], seed ^ 1, dtype);
        let run = dense(&x, &maps, beta);
        let read = by_layers(&x, &maps, beta);
        prop_assert_eq!(bits(&run.output()), bits(&read[read.len() - 1]));
        if beta.is_none() {
            let up = random([rows, features], seed ^ 2, dtype);
            let down = random([rows, outputs], seed ^ 3, dtype);
            let expected = pull_back_by_layers(&x, &maps, down.clone());
            prop_assert_eq!(bits(&run.pull_back(down)), bits(&expected));
            let expected = tangent_by_layers(&x, &maps, up.clone());
            prop_assert_eq!(bits(&run.tangent(up)), bits(&expected));
        }
    }

    #[test]
    fn every_gradient_is_that_of_the_layers(
        hidden in prop::collection::vec(1..12usize, 0..5), features in 1..9usize, outputs in 1..5usize,
        rows in 1..140usize, beta in prop::option::of(0.5..4.0f64), seed: u64,
    ) {
        let sizes = [&[features], &hidden[..], &[outputs]].concat();
        let x = random([rows, features], seed ^ 1, DType::F64);
        let inputs = [vec![x], maps(&sizes, seed, DType::F64)].concat();
        same_in_every_argument(
            &inputs,
            |t| dense(&t[0], &t[1..], beta).output(),
            |t| by_layers(&t[0], &t[1..], beta).pop().expect("outputs"),
            CANCELLED,
        );
        if beta.is_none() {
            // Neither rows nor biases have a gradient here: they only open and close gates.
            let along = [random([rows, outputs], seed ^ 2, DType::F64), random([rows, features], seed ^ 3, DType::F64)];
            let of_weights = |t: &[Tensor<2>]| {
                let mut maps = inputs[1..].to_vec();
                for (place, weight) in t[1..].iter().enumerate() {
                    maps[2 * place] = weight.clone();
                }
                maps
            };
            let weights = inputs[1..].iter().step_by(2).cloned();
            let arguments: Vec<_> = std::iter::once(along[0].clone()).chain(weights.clone()).collect();
            same_in_every_argument(
                &arguments,
                |t| dense(&inputs[0], &of_weights(t), None).pull_back(t[0].clone()),
                |t| pull_back_by_layers(&inputs[0], &of_weights(t), t[0].clone()),
                CANCELLED,
            );
            let arguments: Vec<_> = std::iter::once(along[1].clone()).chain(weights).collect();
            same_in_every_argument(
                &arguments,
                |t| dense(&inputs[0], &of_weights(t), None).tangent(t[0].clone()),
                |t| tangent_by_layers(&inputs[0], &of_weights(t), t[0].clone()),
                CANCELLED,
            );
        }
    }

    #[test]
    fn gradients_of_smooth_chains_equal_central_differences(rows in 1..4usize, seed: u64) {
        let x = random([rows, 3], seed ^ 1, DType::F64);
        let inputs = [vec![x], maps(&[3, 4, 2], seed, DType::F64)].concat();
        check_smooth_gradients(&inputs, |t| dense(&t[0], &t[1..], Some(1.5)).output());
    }
}

#[test]
fn bits_of_values_and_gradients_do_not_depend_on_threads() {
    let sizes = [28, 128, 64, 2];
    let maps = maps(&sizes, 5, DType::F32);
    // So many rows that threads share them.
    let x = random([400, 28], 6, DType::F32);
    let work = || {
        let tracked: Vec<Tensor<2>> = maps
            .iter()
            .map(|map| map.clone().autodiff().require_grad())
            .collect();
        let run = dense(&x, &tracked, None);
        let seed = run.output() * 0.5;
        let gradient = run.pull_back(seed.clone());
        let change = run.tangent(gradient.clone());
        let loss = (gradient.clone() * gradient.clone()).sum() + (change.clone() * seed).sum();
        let gradients = loss.backward();
        let mut all = vec![bits(&gradient), bits(&change)];
        for map in &tracked {
            all.push(bits(&map.grad(&gradients).expect("a gradient")));
        }
        all
    };
    let one = on_threads(1, work);
    assert!(one == on_threads(2, work) && one == on_threads(4, work));
}
