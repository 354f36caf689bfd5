//! Hessian products of two classes, where the logits are piecewise linear in the input.
//!
//! There an output f depends on the input through the margin `m = z_c - z_other` alone, and the margin's gradient does not bend.
//! So the gradient is `g = f' ∇m` and `H u = f'' <∇m, u> ∇m = κ <g, u> g` with `κ = f'' / f'^2`: no way through the network.
//! For the class's probability p (and q = 1 - p) `κ = (q - p) / (p q)` and `dκ/dm = -2 - (q - p)^2 / (p q)`; for its cross-entropy
//! `κ = dκ/dm = p / q`; a logit has no curvature. Where a row is so sure that `f'` is zero in numbers, so is the product.
//!
//! Rows are computed in `f64` whatever the tensors' type.

use super::head::Softmax;
use super::storage::{Stored, size};
use crate::Output;
use crate::tensor::{Array, DType, Tensor};

/// The product of each row's Hessian with its direction, given the logits, `[rows, 2]`, the output's gradient in the input and
/// the direction, `[rows, features]`, and the classes, one-hot, which are constants.
pub(crate) fn margin_product(
    output: Output,
    classes: &Tensor<2>,
    [logits, gradient, direction]: [Tensor<2>; 3],
) -> Tensor<2> {
    let parts = [logits, gradient, direction].map(Tensor::into_parts);
    let tracks = parts.iter().map(|(_, track)| track.clone()).collect();
    let kept = Kept {
        output,
        classes: classes.array().clone(),
        arrays: parts.map(|(array, _)| array),
    };
    let is_double = kept.arrays[1].dtype() == DType::F64;
    let product = if is_double {
        product::<f64>(&kept)
    } else {
        product::<f32>(&kept)
    };
    Tensor::recorded(product, tracks, move |h, parents| {
        let gradients = if is_double {
            gradients::<f64>(&kept, &h)
        } else {
            gradients::<f32>(&kept, &h)
        };
        for (place, gradient) in gradients.into_iter().enumerate() {
            parents.give(place, gradient);
        }
    })
}

struct Kept {
    output: Output,
    classes: Array,
    /// Logits, gradient, direction.
    arrays: [Array; 3],
}

/// `κ` and its slope in the margin; zero where the output no longer changes in numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Curvature {
    pub value: f64,
    pub slope: f64,
}

impl Curvature {
    /// For the probability p of the class and that of the other one.
    pub(super) fn new(output: Output, p: f64, q: f64) -> Self {
        let (output_slope, value, slope) = match output {
            Output::Probability => {
                let (bend, slope) = (q - p, p * q);
                (slope, bend / slope, -2.0 - bend * bend / slope)
            }
            Output::Logit => return Self::default(),
            Output::Loss => (q, p / q, p / q),
        };
        if output_slope >= f64::MIN_POSITIVE {
            Self { value, slope }
        } else {
            Self::default()
        }
    }
}

/// What the margin of a row makes of its product.
struct Row {
    class: usize,
    curvature: Curvature,
}

impl Row {
    fn new(output: Output, z: [f64; 2], class: usize) -> Self {
        let mut probabilities = [0.0; 2];
        let _ = Softmax::new(&z, &mut probabilities);
        let (p, q) = (probabilities[class], probabilities[1 - class]);
        Self {
            class,
            curvature: Curvature::new(output, p, q),
        }
    }
}

impl Kept {
    fn rows<T: Stored>(&self) -> impl Iterator<Item = Row> {
        let logits = self.arrays[0].values::<T>().chunks_exact(2);
        let classes = self.classes.values::<T>().chunks_exact(2);
        let output = self.output;
        logits.zip(classes).map(move |(z, hot)| {
            let class = usize::from(hot[1] > hot[0]);
            Row::new(output, [z[0].to_f64(), z[1].to_f64()], class)
        })
    }
}

fn dot<T: Stored>(a: &[T], b: &[T]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| a.to_f64() * b.to_f64()).sum()
}

fn product<T: Stored>(kept: &Kept) -> Array {
    let [_, gradient, direction] = &kept.arrays;
    let [rows, features] = size(gradient);
    let given = gradient
        .values::<T>()
        .chunks_exact(features)
        .zip(direction.values::<T>().chunks_exact(features));
    let mut out = Vec::with_capacity(rows * features);
    for ((g, u), row) in given.zip(kept.rows::<T>()) {
        let factor = row.curvature.value * dot(g, u);
        out.extend(g.iter().map(|g| T::from_f64(factor * g.to_f64())));
    }
    Array::new(out, [rows, features])
}

/// The gradients in logits, gradient and direction of `<product, h>`, which is `κ a b` with `a = <g, u>` and `b = <h, g>`.
fn gradients<T: Stored>(kept: &Kept, h: &Array) -> [Array; 3] {
    let [_, gradient, direction] = &kept.arrays;
    let [rows, features] = size(gradient);
    let numbers = rows * features;
    let (mut in_logits, mut in_gradient, mut in_direction) = (
        Vec::with_capacity(2 * rows),
        Vec::with_capacity(numbers),
        Vec::with_capacity(numbers),
    );
    let given = gradient
        .values::<T>()
        .chunks_exact(features)
        .zip(direction.values::<T>().chunks_exact(features))
        .zip(h.values::<T>().chunks_exact(features));
    for (((g, u), h), row) in given.zip(kept.rows::<T>()) {
        let (a, b) = (dot(g, u), dot(h, g));
        let in_margin = T::from_f64(row.curvature.slope * a * b);
        let away = T::default() - in_margin;
        in_logits.extend(if row.class == 0 {
            [in_margin, away]
        } else {
            [away, in_margin]
        });
        let (along_u, along_h) = (row.curvature.value * b, row.curvature.value * a);
        let both = u.iter().zip(h);
        in_gradient
            .extend(both.map(|(u, h)| T::from_f64(along_u * u.to_f64() + along_h * h.to_f64())));
        in_direction.extend(g.iter().map(|g| T::from_f64(along_u * g.to_f64())));
    }
    [
        Array::new(in_logits, [rows, 2]),
        Array::new(in_gradient, [rows, features]),
        Array::new(in_direction, [rows, features]),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::testing::{cases, check_smooth_gradients, cpu, random, values};
    use crate::one_hot;

    /// The margin's product by the definition, for rows `x` of a linear network `z = x wᵀ`.
    fn by_definition(output: Output, w: &Tensor<2>, x: &Tensor<2>, class: usize) -> [Vec<f64>; 2] {
        let (w, x) = (values(w), values(x));
        let features = w.len() / 2;
        let margin: Vec<f64> = (0..features)
            .map(|i| w[class * features + i] - w[(1 - class) * features + i])
            .collect();
        let rows = x.chunks(features).flat_map(|x| {
            let m: f64 = margin.iter().zip(x).map(|(w, x)| w * x).sum();
            let p = 1.0 / (1.0 + (-m).exp());
            let (slope, bend) = match output {
                Output::Probability => (p * (1.0 - p), p * (1.0 - p) * (1.0 - 2.0 * p)),
                Output::Logit => (1.0, 0.0),
                Output::Loss => (p - 1.0, p * (1.0 - p)),
            };
            // The direction is the row itself.
            margin
                .iter()
                .map(move |w| [slope * w, bend * m * w])
                .collect::<Vec<_>>()
        });
        let (gradient, product) = rows.map(|[gradient, product]| (gradient, product)).unzip();
        [gradient, product]
    }

    proptest! {
        #![proptest_config(cases(20))]

        #[test]
        fn the_product_is_that_of_the_definition(rows in 1..6usize, features in 1..9usize, class in 0..2usize, seed: u64) {
            let x = random([rows, features], seed, DType::F64) * 2.0;
            let w = random([2, features], seed ^ 1, DType::F64);
            let logits = crate::kernel::linear(x.clone(), w.clone());
            let hot = one_hot(&vec![class; rows], 2, DType::F64, &cpu());
            for output in [Output::Probability, Output::Logit, Output::Loss] {
                let [gradient, expected] = by_definition(output, &w, &x, class);
                let data = crate::TensorData::new(gradient, [rows, features]);
                let gradient = Tensor::from_data(data, (&cpu(), DType::F64));
                let got = margin_product(output, &hot, [logits.clone(), gradient, x.clone()]);
                for (got, expected) in values(&got).iter().zip(expected) {
                    prop_assert!((got - expected).abs() < 1e-12, "{output:?}: {got}, expected {expected}");
                }
            }
        }

        #[test]
        fn gradients_equal_central_differences(rows in 1..4usize, features in 1..5usize, class in 0..2usize, seed: u64) {
            let inputs = [
                random([rows, 2], seed, DType::F64),
                random([rows, features], seed ^ 1, DType::F64),
                random([rows, features], seed ^ 2, DType::F64),
            ];
            let hot = one_hot(&vec![class; rows], 2, DType::F64, &cpu());
            for output in [Output::Probability, Output::Loss] {
                check_smooth_gradients(&inputs, |t| {
                    margin_product(output, &hot, [t[0].clone(), t[1].clone(), t[2].clone()])
                });
            }
        }
    }

    #[test]
    fn a_sure_row_has_no_product_and_no_nan() {
        let number = |values: Vec<f32>, size: [usize; 2]| {
            Tensor::<2>::from_data(crate::TensorData::new(values, size), &cpu())
        };
        let logits = number(vec![1e30, -1e30, 90.0, -90.0], [2, 2]);
        let (zero, one) = (number(vec![0.0; 4], [2, 2]), number(vec![1.0; 4], [2, 2]));
        for class in [0, 1] {
            let hot = one_hot(&[class; 2], 2, DType::F32, &cpu());
            for output in [Output::Probability, Output::Loss] {
                let tracked = [&logits, &zero, &one].map(|it| it.clone().autodiff().require_grad());
                let product = margin_product(output, &hot, tracked.clone());
                assert_eq!(values(&product), [0.0; 4]);
                let gradients = product.sum().backward();
                for tensor in &tracked {
                    let gradient = tensor.grad(&gradients).expect("a gradient");
                    assert!(values(&gradient).iter().all(|value| value.is_finite()));
                }
            }
        }
    }
}
