//! Gradients in the inputs equal those of the recorded operations.

use crate::tensor::{DType, Tensor, TensorData};
use proptest::prelude::*;

use super::input_search;
use crate::kernel::dense::tests::{dense, maps, parts};
use crate::kernel::testing::{cases, cpu, on_threads, random, same, values};

/// The gradients at `x` of a loss whose slope in a logit z is `z - c`, with c the number in `centres`.
fn searched(maps: &[Tensor<2>], beta: Option<f64>, x: &Tensor<2>, centres: &[f64]) -> Vec<f64> {
    let [rows, features] = x.dims();
    let classes = centres.len() / rows;
    let search = input_search(x, &parts(maps, beta)).expect("a chain");
    let mut gradients = values(x);
    search.run(&mut gradients, 1, &|first, part, slopes| {
        let centres = &centres[first * classes..];
        let at = part.to_vec();
        // What was asked before must not matter.
        slopes.gradient(&vec![0.5; at.len()], &mut |_, out| out.fill(1.0));
        let gradient = slopes.gradient(&at, &mut |logits, out| {
            assert_eq!(logits.len(), part.len() / features * classes);
            for ((out, logit), centre) in out.iter_mut().zip(logits).zip(centres) {
                *out = logit - centre;
            }
        });
        part.copy_from_slice(gradient);
    });
    gradients
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn gradients_are_those_of_the_recorded_operations(
        hidden in prop::collection::vec(1..40usize, 0..5), features in 1..20usize, count in 2..5usize,
        rows in 1..160usize, wide: bool, smooth: bool, seed: u64,
    ) {
        let (dtype, tolerance) = if wide { (DType::F64, 1e-11) } else { (DType::F32, 1e-4) };
        let beta = smooth.then_some(2.0);
        let maps = maps(&[&[features], &hidden[..], &[count]].concat(), seed, dtype);
        let x = random([rows, features], seed ^ 1, dtype);
        let centres = random([rows, count], seed ^ 2, dtype);
        let got = searched(&maps, beta, &x, &values(&centres));
        let got = Tensor::from_data(TensorData::new(got, x.dims()), (&cpu(), dtype));
        let x = x.autodiff().require_grad();
        let off = dense(&x, &maps, beta).output() - centres;
        let gradients = ((off.clone() * off).sum() * 0.5).backward();
        same(&got, &x.grad(&gradients).expect("a gradient"), tolerance);
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let maps = maps(&[28, 128, 64, 3], 5, DType::F32);
    let x = random([401, 28], 1, DType::F32);
    let centres = values(&random([401, 3], 2, DType::F32));
    let work = || -> Vec<u64> {
        let got = searched(&maps, None, &x, &centres);
        got.iter().map(|it| it.to_bits()).collect()
    };
    let one = on_threads(1, work);
    assert!(one == on_threads(2, work) && one == on_threads(4, work));
}

#[test]
fn rows_that_are_recorded_have_no_search() {
    let maps = maps(&[4, 5, 2], 5, DType::F32);
    let x = random([3, 4], 1, DType::F32);
    assert!(input_search(&x, &parts(&maps, None)).is_some());
    let moving = x.autodiff().require_grad();
    assert!(input_search(&moving, &parts(&maps, None)).is_none());
}
