//! Loss and gradients of a training step equal those of the recorded operations.

use crate::tensor::{DType, Tensor, TensorData};
use proptest::prelude::*;

use super::training_step;
use crate::kernel::dense::Dense;
use crate::kernel::dense::tests::{maps, parts};
use crate::kernel::testing::{bits, cases, cpu, on_threads, random, same, values};
use crate::kernel::{cross_entropy, probability_seed, probability_seed_tangent};
use crate::layer::Part;
use crate::one_hot;
use crate::training_step::Slopes;

/// A batch, and a loss `CE + <z, of_logits> + <g, of_gradient> + <h, of_product>` of its logits, gradients and Hessian products.
struct Case {
    x: Tensor<2>,
    labels: Tensor<2>,
    classes: Vec<usize>,
    direction: Tensor<2>,
    /// Where absent the loss does not look at logits itself, at gradients or at products.
    of_logits: Option<Tensor<2>>,
    of_gradient: Option<Tensor<2>>,
    of_product: Option<Tensor<2>>,
    /// Whether a ReLU follows the last map.
    ends_gated: bool,
}

impl Case {
    fn new(rows: usize, features: usize, count: usize, seed: u64, dtype: DType) -> Self {
        let picked = |step: usize| {
            (0..rows)
                .map(|row| (row * step + 1) % count)
                .collect::<Vec<_>>()
        };
        let numbers = |place: u64| random([rows, features], seed ^ place, dtype);
        Self {
            x: numbers(1),
            labels: one_hot(&picked(5), count, dtype, &cpu()),
            classes: picked(7),
            direction: numbers(2),
            of_logits: None,
            of_gradient: Some(numbers(3)),
            of_product: Some(numbers(4)),
            ends_gated: false,
        }
    }

    fn parts<'m>(&self, maps: &'m [Tensor<2>], beta: Option<f64>) -> Vec<Part<'m>> {
        let mut parts = parts(maps, beta);
        parts.extend(self.ends_gated.then_some(Part::Relu));
        parts
    }

    /// By the recorded operations, products through the chain whatever the number of classes.
    fn recorded(&self, maps: &[Tensor<2>], beta: Option<f64>) -> Tensor<1> {
        let run = Dense::new(&self.x, &self.parts(maps, beta)).expect("a chain");
        let logits = run.output();
        let mut loss = cross_entropy(logits.clone(), self.labels.clone());
        if let Some(slopes) = &self.of_logits {
            loss = loss + (logits.clone() * slopes.clone()).sum();
        }
        let count = logits.dims()[1];
        let hot = one_hot(&self.classes, count, self.x.dtype(), &cpu());
        if let Some(slopes) = &self.of_gradient {
            let gradient = run.pull_back(probability_seed(logits.clone(), hot.clone()));
            loss = loss + (gradient * slopes.clone()).sum();
        }
        if let Some(slopes) = &self.of_product {
            let change = run.tangent(self.direction.clone());
            let product = run.pull_back(probability_seed_tangent(logits, change, hot));
            loss = loss + (product * slopes.clone()).sum();
        }
        loss
    }

    fn at_once(&self, maps: &[Tensor<2>], beta: Option<f64>) -> Tensor<1> {
        let parts = self.parts(maps, beta);
        let mut step = training_step(&self.x, &parts).expect("a tracked chain");
        let mut value = step.cross_entropy(&self.labels);
        let mut slopes = Slopes::default();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        if let Some(of_logits) = &self.of_logits {
            slopes.logits = values(of_logits);
            value += dot(&slopes.logits, step.logits());
        }
        if self.of_gradient.is_some() || self.of_product.is_some() {
            let gradient = step.input_gradient(&self.classes);
            if let Some(of_gradient) = &self.of_gradient {
                slopes.gradient = values(of_gradient);
                value += dot(&slopes.gradient, gradient);
            }
        }
        if let Some(of_product) = &self.of_product {
            slopes.product = values(of_product);
            value += dot(
                &slopes.product,
                step.hessian_product(values(&self.direction)),
            );
        }
        step.loss(value, slopes)
    }
}

fn tracked(maps: &[Tensor<2>]) -> Vec<Tensor<2>> {
    let maps = maps.iter();
    maps.map(|map| map.clone().autodiff().require_grad())
        .collect()
}

/// A loss and its gradient in every weight and bias.
fn differentiated(
    maps: &[Tensor<2>],
    loss: impl Fn(&[Tensor<2>]) -> Tensor<1>,
) -> (Tensor<2>, Vec<Tensor<2>>) {
    let maps = tracked(maps);
    let loss = loss(&maps);
    let value = loss.clone().without_autodiff().reshape([1, 1]);
    let gradients = loss.backward();
    let of = |map: &Tensor<2>| map.grad(&gradients).expect("a gradient");
    (value, maps.iter().map(of).collect())
}

fn assert_equal(case: &Case, maps: &[Tensor<2>], beta: Option<f64>, tolerance: f64) {
    let (expected, expected_gradients) = differentiated(maps, |maps| case.recorded(maps, beta));
    let (got, gradients) = differentiated(maps, |maps| case.at_once(maps, beta));
    same(&got, &expected, tolerance);
    for (got, expected) in gradients.iter().zip(&expected_gradients) {
        same(got, expected, tolerance);
    }
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn loss_and_gradients_are_those_of_the_recorded_operations(
        hidden in prop::collection::vec(1..40usize, 0..5), features in 1..20usize, count in 2..5usize,
        rows in 1..140usize, wide: bool, with_gradient: bool, with_product: bool, seed: u64,
    ) {
        let (dtype, tolerance) = if wide { (DType::F64, 1e-10) } else { (DType::F32, 1e-3) };
        let sizes = [&[features], &hidden[..], &[count]].concat();
        let mut case = Case::new(rows, features, count, seed, dtype);
        case.of_gradient = case.of_gradient.filter(|_| with_gradient);
        case.of_product = case.of_product.filter(|_| with_product);
        assert_equal(&case, &maps(&sizes, seed, dtype), None, tolerance);
    }

    #[test]
    fn two_classes_have_the_same_gradients_with_slopes_in_logits_and_behind_a_gate(
        hidden in prop::collection::vec(1..40usize, 0..4), rows in 1..140usize,
        with_logits: bool, ends_gated: bool, seed: u64,
    ) {
        let sizes = [&[7], &hidden[..], &[2]].concat();
        let of_logits = with_logits.then(|| random([rows, 2], seed ^ 5, DType::F64));
        let case = Case { of_logits, ends_gated, ..Case::new(rows, 7, 2, seed, DType::F64) };
        assert_equal(&case, &maps(&sizes, seed, DType::F64), None, 1e-10);
    }

    #[test]
    fn the_class_loss_of_smooth_chains_is_that_of_the_recorded_operations(
        hidden in 1..20usize, rows in 1..140usize, beta in 0.5..4.0f64, seed: u64,
    ) {
        let case = Case { of_gradient: None, of_product: None, ..Case::new(rows, 6, 3, seed, DType::F64) };
        assert_equal(&case, &maps(&[6, hidden, 3], seed, DType::F64), Some(beta), 1e-10);
    }
}

#[test]
fn a_linear_model_by_hand() {
    // The logits are x w and 0: the probability of the first class is p = 3/4 where x w = ln 3, its gradient p (1 - p) w.
    let number = |values: Vec<f64>, size: [usize; 2]| {
        Tensor::<2>::from_data(TensorData::new(values, size), (&cpu(), DType::F64))
    };
    let maps = tracked(&[
        number(vec![2.0, -1.0, 0.0, 0.0], [2, 2]),
        number(vec![0.0; 2], [1, 2]),
    ]);
    let x = number(vec![3.0_f64.ln(), 3.0_f64.ln()], [1, 2]);
    let mut step = training_step(&x, &parts(&maps, None)).expect("a tracked chain");
    let near = |got: &[f64], expected: &[f64]| {
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-12, "{got}, expected {expected}");
        }
    };
    near(step.logits(), &[3.0_f64.ln(), 0.0]);
    let labels = number(vec![1.0, 0.0], [1, 2]);
    near(&[step.cross_entropy(&labels)], &[-0.75_f64.ln()]);
    near(step.input_gradient(&[0]), &[0.375, -0.1875]);
    // p'' = p (1 - p) (1 - 2 p) = -3/32, times <w, u> w.
    near(step.hessian_product(vec![1.0, 0.0]), &[-0.375, 0.1875]);
    // Of the gradient's first number, p (1 - p) w_0: in w_0 it is p (1 - p) + p'' x_0 w_0.
    let slopes = Slopes {
        gradient: vec![1.0, 0.0],
        ..Slopes::default()
    };
    let gradients = step.loss(0.0, slopes).backward();
    let weight = values(&maps[0].grad(&gradients).expect("a gradient"));
    let of_class = -0.25 * 3.0_f64.ln();
    near(
        &weight[..2],
        &[
            of_class + 3.0 / 16.0 - 3.0 / 16.0 * 3.0_f64.ln(),
            of_class - 3.0 / 16.0 * 3.0_f64.ln(),
        ],
    );
}

#[test]
fn a_loss_that_is_part_of_another_one_has_gradients_of_that_size() {
    let case = Case::new(5, 4, 3, 1, DType::F64);
    let maps = maps(&[4, 6, 3], 2, DType::F64);
    let (_, whole) = differentiated(&maps, |maps| case.at_once(maps, None));
    let (_, half) = differentiated(&maps, |maps| case.at_once(maps, None) * 0.5);
    for (half, whole) in half.iter().zip(whole) {
        same(half, &(whole * 0.5), 1e-12);
    }
}

#[test]
fn only_tracked_chains_on_plain_rows_have_a_training_step() {
    let case = Case::new(5, 4, 3, 1, DType::F32);
    let plain = maps(&[4, 6, 3], 2, DType::F32);
    assert!(training_step(&case.x, &parts(&plain, None)).is_none());
    let tracked = tracked(&plain);
    assert!(training_step(&case.x, &parts(&tracked, None)).is_some());
    let moving = case.x.clone().autodiff().require_grad();
    assert!(training_step(&moving, &parts(&tracked, None)).is_none());
}

#[test]
fn bits_do_not_depend_on_threads() {
    for count in [2, 3] {
        // So many rows that threads share them.
        let case = Case::new(401, 28, count, 3, DType::F32);
        let maps = maps(&[28, 128, 64, count], 5, DType::F32);
        let work = || {
            let (value, gradients) = differentiated(&maps, |maps| case.at_once(maps, None));
            let all = std::iter::once(&value).chain(&gradients);
            all.map(bits).collect::<Vec<_>>()
        };
        let one = on_threads(1, work);
        assert!(one == on_threads(2, work) && one == on_threads(4, work));
    }
}
