//! What the kernels' tests share: seeded tensors, comparisons, central differences.

use crate::tensor::{DType, Device, Tensor, TensorData};
use proptest::prelude::ProptestConfig;

/// The step of central differences in `f64`; a trilinear form has no error of higher order, so only rounding counts.
const STEP: f64 = 1e-3;
/// The same for smooth functions, where the error of third order counts too: both are near 1e-10.
const SMOOTH_STEP: f64 = 1e-5;

/// So many random cases, or fewer where the environment says so: tests under valgrind take fifty times as long.
pub(crate) fn cases(count: u32) -> ProptestConfig {
    let most = std::env::var("THICKSET_TEST_CASES").ok();
    let most = most.and_then(|most| most.parse().ok()).unwrap_or(count);
    ProptestConfig::with_cases(count.min(most))
}

pub(crate) fn cpu() -> Device {
    Device::cpu()
}

/// Numbers in [-1, 1), the same for the same seed.
pub(crate) fn random(size: [usize; 2], seed: u64, dtype: DType) -> Tensor<2> {
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    let values: Vec<f64> = (0..size[0] * size[1])
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bits = u32::try_from(state >> 40).unwrap_or_default();
            f64::from(bits) / f64::from(1u32 << 23) - 1.0
        })
        .collect();
    Tensor::from_data(TensorData::new(values, size), (&cpu(), dtype))
}

pub(crate) fn values(tensor: &Tensor<2>) -> Vec<f64> {
    tensor.to_data().iter::<f64>().collect()
}

pub(crate) fn bits(tensor: &Tensor<2>) -> Vec<u64> {
    values(tensor).into_iter().map(f64::to_bits).collect()
}

/// One row of a tensor.
pub(crate) fn alone(tensor: &Tensor<2>, row: usize) -> Tensor<2> {
    let [_, features] = tensor.dims();
    tensor.clone().slice([row..row + 1, 0..features])
}

/// Asserts equal sizes and differences of at most `tolerance` times the largest number.
pub(crate) fn same(tensor: &Tensor<2>, expected: &Tensor<2>, tolerance: f64) {
    assert_eq!(tensor.dims(), expected.dims());
    let (tensor, expected) = (values(tensor), values(expected));
    let scale = expected
        .iter()
        .fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
    for (at, (value, expected)) in tensor.iter().zip(&expected).enumerate() {
        let difference = (value - expected).abs();
        assert!(
            difference <= tolerance * scale,
            "number {at} is {value}, expected {expected}, of at most {scale}"
        );
    }
}

/// The sum of products of two tensors.
pub(crate) fn inner(left: &Tensor<2>, right: &Tensor<2>) -> f64 {
    values(left)
        .iter()
        .zip(values(right))
        .map(|(left, right)| left * right)
        .sum()
}

/// Compares the gradient of `<operation(inputs), v>`, v random, with central differences, in every input; the operation is
/// linear in each of them.
pub(crate) fn check_gradients(inputs: &[Tensor<2>], operation: impl Fn(&[Tensor<2>]) -> Tensor<2>) {
    by_differences(inputs, operation, STEP, 1e-9);
}

/// The same for an operation that is no more than smooth.
pub(crate) fn check_smooth_gradients(
    inputs: &[Tensor<2>],
    operation: impl Fn(&[Tensor<2>]) -> Tensor<2>,
) {
    by_differences(inputs, operation, SMOOTH_STEP, 1e-6);
}

fn by_differences(
    inputs: &[Tensor<2>],
    operation: impl Fn(&[Tensor<2>]) -> Tensor<2>,
    step: f64,
    tolerance: f64,
) {
    let v = random(operation(inputs).dims(), 77, DType::F64);
    let gradients = gradients(inputs, &operation);
    for (at, input) in inputs.iter().enumerate() {
        let gradient = gradients[at].as_ref().expect("a gradient for every input");
        let numbers = values(input);
        let slopes: Vec<f64> = (0..numbers.len())
            .map(|number| {
                let moved = |step: f64| {
                    let mut numbers = numbers.clone();
                    numbers[number] += step;
                    let mut inputs = inputs.to_vec();
                    inputs[at] = Tensor::from_data(
                        TensorData::new(numbers, input.dims()),
                        (&cpu(), DType::F64),
                    );
                    inner(&operation(&inputs), &v)
                };
                (moved(step) - moved(-step)) / (2.0 * step)
            })
            .collect();
        let slopes = Tensor::from_data(TensorData::new(slopes, input.dims()), (&cpu(), DType::F64));
        same(gradient, &slopes, tolerance);
    }
}

/// Compares a kernel with the composed operation: the value, and the gradient in every argument, including whether there is
/// one. A pullback is such an operation too, so this covers second derivatives where pullbacks are given.
pub(crate) fn same_in_every_argument(
    inputs: &[Tensor<2>],
    kernel: impl Fn(&[Tensor<2>]) -> Tensor<2>,
    composed: impl Fn(&[Tensor<2>]) -> Tensor<2>,
    tolerance: f64,
) {
    same(&kernel(inputs), &composed(inputs), tolerance);
    let (got, expected) = (gradients(inputs, &kernel), gradients(inputs, &composed));
    for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
        match (got, expected) {
            (Some(got), Some(expected)) => same(got, expected, tolerance),
            (None, None) => {}
            _ => panic!(
                "argument {at}: the kernel has a gradient: {}, the composed operation: {}",
                got.is_some(),
                expected.is_some()
            ),
        }
    }
}

/// The gradient of `<operation(inputs), v>`, v random, in every input.
fn gradients(
    inputs: &[Tensor<2>],
    operation: impl Fn(&[Tensor<2>]) -> Tensor<2>,
) -> Vec<Option<Tensor<2>>> {
    let device = cpu().autodiff();
    let tracked: Vec<Tensor<2>> = inputs
        .iter()
        .map(|input| Tensor::from_data(input.to_data(), (&device, input.dtype())).require_grad())
        .collect();
    let result = operation(&tracked);
    let v = random(result.dims(), 77, result.dtype());
    let v = Tensor::from_data(v.to_data(), (&device, result.dtype()));
    let gradients = (result * v).sum().backward();
    tracked.iter().map(|input| input.grad(&gradients)).collect()
}

/// Runs `work` on a pool of its own.
pub(crate) fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("a pool")
        .install(work)
}
