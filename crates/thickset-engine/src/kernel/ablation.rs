//! What each hand-written part is worth: the part and its plain rival by turns in one run, on the shapes of `bench speed`.
//!
//! `cargo test --workspace --lib ablation -- --ignored --nocapture --test-threads=1` prints the table of `ARCHITECTURE.md`.
//! Nothing else may run meanwhile.

#![expect(
    unsafe_code,
    reason = "the rivals' interfaces: pointers, the allocator's settings"
)]

use std::hint::black_box;
use std::time::Instant;

use crate::tensor::{DType, Tensor};

use super::conv::without_winograd;
use super::testing::{cpu, random};
use super::{ConvShape, PoolShape, composed, linear, linear_input, linear_weight, softplus};
use crate::layer::{Conv2d, Linear, MaxPool, Relu};
use crate::optimizer::{Adam, Optimizer as _};
use crate::{
    Init, Network, NetworkBuilder, Output, Parameter, ParameterSource, Result, Role, one_hot,
};

/// What is timed.
type Work<'a> = &'a dyn Fn() -> Tensor<2>;

/// Rounds of all candidates by turns.
const ROUNDS: usize = 9;
/// Seconds of one candidate in one round.
const SECONDS: f64 = 0.08;

/// Best and median milliseconds of each candidate, the first one being ours.
fn by_turns(what: &str, candidates: &mut [(&str, &mut dyn FnMut())]) {
    let mut times = vec![Vec::new(); candidates.len()];
    for _ in 0..ROUNDS {
        for ((_, work), times) in candidates.iter_mut().zip(&mut times) {
            work();
            let begun = Instant::now();
            while begun.elapsed().as_secs_f64() < SECONDS {
                let start = Instant::now();
                work();
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    for times in &mut times {
        times.sort_by(f64::total_cmp);
    }
    let best = |times: &[f64]| times[0];
    let median = |times: &[f64]| times[times.len() / 2];
    for ((name, _), of) in candidates.iter().zip(&times) {
        println!(
            "| {what} | {name} | {:.4} ({:.4}) | {:.2} |",
            best(of),
            median(of),
            best(of) / best(&times[0])
        );
    }
}

/// `x wᵀ` and its two adjoints by the `gemm` crate.
fn gemm(
    [rows, columns, depth]: [usize; 3],
    a: &[f32],
    [a_row, a_column]: [usize; 2],
    b: &[f32],
    [b_row, b_column]: [usize; 2],
    parallelism: gemm::Parallelism,
) -> Vec<f32> {
    let mut out = vec![0.0; rows * columns];
    let step = |step: usize| isize::try_from(step).unwrap_or(isize::MAX);
    // SAFETY: the steps stay within the slices, as the sizes say.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            depth,
            out.as_mut_ptr(),
            1,
            step(columns),
            false,
            a.as_ptr(),
            step(a_column),
            step(a_row),
            b.as_ptr(),
            step(b_column),
            step(b_row),
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
    out
}

fn numbers(tensor: &Tensor<2>) -> Vec<f32> {
    tensor.to_data().iter::<f32>().collect()
}

#[test]
#[ignore = "a measurement, for a quiet machine"]
fn ablation_of_the_matrix_product() {
    for [rows, inputs, outputs] in [
        [128, 28, 64],
        [128, 64, 32],
        [128, 128, 64],
        [4096, 28, 64],
        [64, 3136, 128],
    ] {
        let x = random([rows, inputs], 1, DType::F32);
        let w = random([outputs, inputs], 2, DType::F32);
        let g = random([rows, outputs], 3, DType::F32);
        let [xs, ws, gs] = [&x, &w, &g].map(numbers);
        let size = format!("{rows}x{inputs}x{outputs}");
        let alone = gemm::Parallelism::None;
        let all = gemm::Parallelism::Rayon(0);
        let forward = |how| {
            gemm(
                [rows, outputs, inputs],
                &xs,
                [inputs, 1],
                &ws,
                [1, inputs],
                how,
            )
        };
        let input = |how| {
            gemm(
                [rows, inputs, outputs],
                &gs,
                [outputs, 1],
                &ws,
                [inputs, 1],
                how,
            )
        };
        let weight = |how| {
            gemm(
                [outputs, inputs, rows],
                &gs,
                [1, outputs],
                &xs,
                [inputs, 1],
                how,
            )
        };
        by_turns(
            &format!("`linear` {size}"),
            &mut [
                ("ours", &mut || {
                    drop(black_box(linear(x.clone(), w.clone())));
                }),
                ("`gemm`", &mut || drop(black_box(forward(alone)))),
                ("`gemm`, rayon", &mut || drop(black_box(forward(all)))),
            ],
        );
        by_turns(
            &format!("`linear_input` {size}"),
            &mut [
                ("ours", &mut || {
                    drop(black_box(linear_input(g.clone(), w.clone())));
                }),
                ("`gemm`", &mut || drop(black_box(input(alone)))),
                ("`gemm`, rayon", &mut || drop(black_box(input(all)))),
            ],
        );
        by_turns(
            &format!("`linear_weight` {size}"),
            &mut [
                ("ours", &mut || {
                    drop(black_box(linear_weight(x.clone(), g.clone())));
                }),
                ("`gemm`", &mut || drop(black_box(weight(alone)))),
                ("`gemm`, rayon", &mut || drop(black_box(weight(all)))),
            ],
        );
    }
}

#[test]
#[ignore = "a measurement, for a quiet machine"]
fn ablation_of_exponential_and_logarithm() {
    for size in [[128, 64], [4096, 64]] {
        let x = random(size, 1, DType::F32) * 4.0;
        let plain = numbers(&x);
        let std_loop = || -> Vec<f32> {
            let value = |x: &f32| x.max(0.0) + (-(2.0 * x).abs()).exp().ln_1p() * 0.5;
            plain.iter().map(value).collect()
        };
        by_turns(
            &format!("softplus of {}x{}", size[0], size[1]),
            &mut [
                ("ours", &mut || drop(black_box(softplus(x.clone(), 2.0)))),
                ("a loop over std's `exp` and `ln_1p`", &mut || {
                    drop(black_box(std_loop()));
                }),
                ("the tensor library's operations", &mut || {
                    drop(black_box(composed::softplus(x.clone(), 2.0)));
                }),
            ],
        );
    }
}

struct Draws(u64);

impl ParameterSource for Draws {
    fn values(&mut self, _: &str, shape: &[usize], _: Init, _: Role) -> Result<Tensor<2>> {
        let size = Parameter::matrix_size(shape);
        self.0 += 1;
        #[expect(clippy::cast_precision_loss, reason = "sizes of layers are small")]
        let scale = 1.0 / (size[1] as f64).sqrt();
        Ok(random(size, self.0, DType::F32) * scale)
    }

    fn dtype(&self) -> DType {
        DType::F32
    }
}

/// The CNN of `bench speed`.
fn cnn() -> Network {
    let mut draws = Draws(0);
    let mut builder = NetworkBuilder::new(28 * 28, &mut draws);
    let mut block = |image: [usize; 3], channels: usize| {
        let [_, height, width] = image;
        let conv = ConvShape::square(image, channels, 3, 1, 1);
        builder.then(|scope| Conv2d::new(conv, true, scope))?;
        builder.then(|_| MaxPool::new(PoolShape::square([channels, height, width], 2)))?;
        builder.then(|_| Ok(Relu)).map(drop)
    };
    block([1, 28, 28], 32).unwrap();
    block([32, 14, 14], 64).unwrap();
    for (place, pair) in [3136, 128, 64, 10].windows(2).enumerate() {
        if place > 0 {
            builder.then(|_| Ok(Relu)).unwrap();
        }
        builder
            .then(|scope| Linear::new(pair[0], pair[1], scope))
            .unwrap();
    }
    builder.finish().unwrap()
}

/// A training step of the CNN: the class loss, and if asked the size of a Hessian product.
struct Step {
    network: Network,
    adam: Adam,
    x: Tensor<2>,
    classes: Tensor<2>,
    with_product: bool,
}

impl Step {
    fn new(with_product: bool) -> Self {
        let mut network = cnn();
        network.track();
        let labels: Vec<usize> = (0..64).map(|row| row % 10).collect();
        Self {
            network,
            adam: Adam::new(1e-3),
            x: random([64, 28 * 28], 5, DType::F32),
            classes: one_hot(&labels, 10, DType::F32, &cpu()),
            with_product,
        }
    }

    fn take(&mut self) {
        let pass = self.network.pass(self.x.clone());
        let mut loss = super::cross_entropy(pass.logits(), self.classes.clone());
        if self.with_product {
            let gradient = pass.input_gradient(Output::Probability, self.classes.clone());
            let product = gradient.hessian_product(self.x.clone());
            loss = loss + product.powi_scalar(2).sum() * 1e-3;
        }
        let gradients = loss.backward();
        drop(pass);
        self.adam.step(&mut self.network, gradients);
    }
}

#[test]
#[ignore = "a measurement, for a quiet machine"]
fn ablation_of_winograd() {
    for (rows, image, channels) in [
        (64, [32, 14, 14], 64),
        (20, [64, 32, 32], 128),
        (20, [128, 16, 16], 128),
        (20, [512, 4, 4], 512),
    ] {
        let shape = ConvShape::square(image, channels, 3, 1, 1);
        let x = random([rows, shape.in_features()], 1, DType::F32);
        let w = random([channels, shape.fan_in()], 2, DType::F32);
        let g = random([rows, shape.out_features()], 3, DType::F32);
        let size = format!(
            "{rows} of {}x{}x{} to {channels}",
            image[0], image[1], image[2]
        );
        let operations: [(&str, Work<'_>); 3] = [
            ("`conv2d`", &|| super::conv2d(x.clone(), w.clone(), shape)),
            ("`conv2d_input`", &|| {
                super::conv2d_input(g.clone(), w.clone(), shape)
            }),
            ("`conv2d_weight`", &|| {
                super::conv2d_weight(x.clone(), g.clone(), shape)
            }),
        ];
        for (name, work) in operations {
            by_turns(
                &format!("{name}, {size}"),
                &mut [
                    ("Winograd", &mut || drop(black_box(work()))),
                    ("direct", &mut || drop(black_box(without_winograd(work)))),
                ],
            );
        }
    }
    for with_product in [false, true] {
        let mut steps = [0, 1].map(|_| Step::new(with_product));
        let [ours, rival] = &mut steps;
        let what = if with_product {
            "CNN step with a Hessian product"
        } else {
            "CNN step"
        };
        by_turns(
            what,
            &mut [
                ("Winograd", &mut || ours.take()),
                ("direct", &mut || without_winograd(|| rival.take())),
            ],
        );
    }
}

/// As a process starts: blocks beyond 128 KiB come from the system and go back to it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_blocks_back() {
    // SAFETY: the calls only set parameters of the allocator.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 128 << 10);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
#[ignore = "a measurement, for a quiet machine"]
fn ablation_of_the_allocators_setting() {
    for with_product in [false, true] {
        let mut steps = [0, 1].map(|_| Step::new(with_product));
        let [ours, rival] = &mut steps;
        let what = if with_product {
            "CNN step with a Hessian product"
        } else {
            "CNN step"
        };
        by_turns(
            what,
            &mut [
                ("freed blocks are kept", &mut || {
                    crate::memory::keep_freed_blocks();
                    ours.take();
                }),
                ("glibc's default", &mut || {
                    give_blocks_back();
                    rival.take();
                }),
            ],
        );
    }
    crate::memory::keep_freed_blocks();
}
