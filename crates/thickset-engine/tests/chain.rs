//! A chain computes what a pass computes, bit for bit; Hessian products of two classes have a shorter way and agree nearly.

use proptest::prelude::*;
use thickset_engine::layer::{Linear, Relu, Softplus};
use thickset_engine::{
    Chain, DType, Device, Init, Network, NetworkBuilder, Output, Parameter, ParameterSource, Role,
    Tensor, TensorData, kernel::LANES, one_hot,
};

/// Draws in [-1, 1), the same for the same seed.
struct Draws {
    state: u64,
    dtype: DType,
}

impl Draws {
    fn next(&mut self) -> f64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bits = u32::try_from(self.state >> 40).unwrap_or_default();
        f64::from(bits) / f64::from(1u32 << 23) - 1.0
    }

    fn values(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }
}

impl ParameterSource for Draws {
    fn values(
        &mut self,
        _: &str,
        shape: &[usize],
        _: Init,
        _: Role,
    ) -> thickset_engine::Result<Tensor<2>> {
        let size = Parameter::matrix_size(shape);
        let data = TensorData::new(Self::values(self, size[0] * size[1]), size);
        Ok(Tensor::from_data(data, (&Device::cpu(), self.dtype)))
    }

    fn dtype(&self) -> DType {
        self.dtype
    }
}

fn mlp(sizes: &[usize], beta: Option<f64>, draws: &mut Draws) -> Network {
    let mut builder = NetworkBuilder::new(sizes[0], draws);
    for (place, pair) in sizes.windows(2).enumerate() {
        if place > 0 {
            match beta {
                Some(beta) => builder.then(|_| Softplus::new(beta)).unwrap(),
                None => builder.then(|_| Ok(Relu)).unwrap(),
            };
        }
        builder
            .then(|scope| Linear::new(pair[0], pair[1], scope))
            .unwrap();
    }
    builder.finish().unwrap()
}

fn values(tensor: Tensor<2>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Logits, gradients and Hessian products, row by row.
struct Found([Vec<f64>; 3]);

fn by_pass(network: &Network, x: &[f64], u: &[f64], output: Output, classes: &[usize]) -> Found {
    let hot = one_hot(classes, network.classes(), network.dtype(), &Device::cpu());
    let pass = network.pass(network.batch(x));
    let gradient = pass.input_gradient(output, hot);
    Found([
        values(pass.logits()),
        values(gradient.value()),
        values(gradient.hessian_product(network.batch(u))),
    ])
}

fn by_chain(chain: &Chain, x: &[f64], u: &[f64], output: Output, classes: &[usize]) -> Found {
    let mut tile = chain.tile();
    let mut found = [const { Vec::new() }; 3];
    let features = x.len() / classes.len();
    let rows = chain.rows() * features;
    for ((x, u), classes) in x
        .chunks(rows)
        .zip(u.chunks(rows))
        .zip(classes.chunks(chain.rows()))
    {
        tile.run(x, output, classes);
        found[0].extend_from_slice(tile.logits());
        found[1].extend_from_slice(tile.gradient());
        let mut product = vec![f64::NAN; u.len()];
        tile.hessian_product(u, &mut product);
        found[2].extend(product);
    }
    Found(found)
}

/// Rows side by side, eight at a time, zeros beyond the last.
fn side_by_side(rows: &[f64], width: usize) -> Vec<[f64; LANES]> {
    let mut lanes = vec![[0.0; LANES]; (rows.len() / width).div_ceil(LANES) * width];
    for (row, numbers) in rows.chunks(width).enumerate() {
        for (place, number) in numbers.iter().enumerate() {
            lanes[row / LANES * width + place][row % LANES] = *number;
        }
    }
    lanes
}

/// The first rows of those.
fn one_by_one(lanes: &[[f64; LANES]], width: usize, rows: usize) -> Vec<f64> {
    (0..rows * width)
        .map(|place| {
            let (row, number) = (place / width, place % width);
            lanes[row / LANES * width + number][row % LANES]
        })
        .collect()
}

/// The same with rows side by side; `None` where that is not offered.
fn by_margin(
    chain: &Chain,
    x: &[f64],
    u: &[f64],
    output: Output,
    classes: &[usize],
) -> Option<Found> {
    let mut tile = chain.margin_tile()?;
    let mut found = [const { Vec::new() }; 3];
    let features = x.len() / classes.len();
    let rows = chain.rows() * features;
    for ((x, u), classes) in x
        .chunks(rows)
        .zip(u.chunks(rows))
        .zip(classes.chunks(chain.rows()))
    {
        let numbers: Vec<f64> = classes
            .iter()
            .map(|class| f64::from(u8::from(*class == 1)))
            .collect();
        tile.run(
            &side_by_side(x, features),
            output,
            &side_by_side(&numbers, 1),
        );
        let gradient = one_by_one(tile.gradient(), features, classes.len());
        let curvature = one_by_one(tile.curvature(), 1, classes.len());
        for ((g, u), curvature) in gradient
            .chunks(features)
            .zip(u.chunks(features))
            .zip(curvature)
        {
            let along: f64 = g.iter().zip(u).map(|(g, u)| g * u).sum();
            found[2].extend(g.iter().map(|g| along * curvature * g));
        }
        found[0].extend(one_by_one(tile.logits(), 2, classes.len()));
        found[1].extend(gradient);
    }
    Some(Found(found))
}

fn largest(values: &[f64]) -> f64 {
    values
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()))
}

/// Equal up to a share of the largest value, or of `least` where all are small: what is left when large terms cancel holds
/// their rounding.
fn near(what: &str, got: &[f64], expected: &[f64], tolerance: f64, least: f64) {
    assert_eq!(got.len(), expected.len(), "{what}: sizes");
    let scale = largest(expected).max(least);
    for (got, expected) in got.iter().zip(expected) {
        assert!(
            (got - expected).abs() <= tolerance * scale,
            "{what}: got {got}, expected {expected}, of at most {scale}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn a_chain_computes_what_a_pass_computes(
        hidden in prop::collection::vec(1..40usize, 0..4), features in 1..40usize, classes in 2..6usize,
        rows in 1..70usize, smooth in prop::option::of(0.5..20.0f64), wide: bool, output in 0..3usize, seed: u64,
    ) {
        let output = [Output::Probability, Output::Logit, Output::Loss][output];
        let dtype = if wide { DType::F64 } else { DType::F32 };
        let mut draws = Draws { state: seed, dtype };
        let sizes = [&[features], &hidden[..], &[classes]].concat();
        let network = mlp(&sizes, smooth, &mut draws);
        // What enters is what the network's numbers hold.
        let x = values(network.batch(&draws.values(rows * features)));
        let u = values(network.batch(&draws.values(rows * features)));
        let picked: Vec<usize> = (0..rows).map(|row| (row * 7 + sizes.len()) % classes).collect();
        let chain = Chain::new(&network).unwrap();
        let Found(expected) = by_pass(&network, &x, &u, output, &picked);
        let Found(got) = by_chain(&chain, &x, &u, output, &picked);
        prop_assert_eq!(&got[0], &expected[0], "logits");
        prop_assert_eq!(&got[1], &expected[1], "gradient");
        if smooth.is_some() && !hidden.is_empty() || classes > 2 {
            prop_assert_eq!(&got[2], &expected[2], "product");
        }
        let tolerance = if wide { 1e-11 } else { 1e-4 };
        let least = 0.01 * largest(&expected[0]).max(0.1);
        near("product", &got[2], &expected[2], tolerance, least);
        let by_margin = by_margin(&chain, &x, &u, output, &picked);
        let is_smooth = smooth.is_some() && !hidden.is_empty();
        prop_assert_eq!(by_margin.is_some(), classes == 2 && !is_smooth);
        if let Some(Found([logits, gradient, product])) = by_margin {
            prop_assert_eq!(&logits, &got[0], "logits side by side");
            prop_assert_eq!(&gradient, &got[1], "gradient side by side");
            near("product side by side", &product, &got[2], 1e-12, 1e-300);
        }
        // A row alone, and one in another place of its tile.
        for row in [rows / 2, rows - 1] {
            let place = row * features..(row + 1) * features;
            let Found(alone) = by_chain(&chain, &x[place.clone()], &u[place.clone()], output, &picked[row..=row]);
            prop_assert_eq!(&alone[0][..], &got[0][row * classes..(row + 1) * classes]);
            prop_assert_eq!(&alone[1][..], &got[1][place.clone()]);
            prop_assert_eq!(&alone[2][..], &got[2][place]);
        }
    }
}

/// The places of the eight largest sizes, and how far the last of them is from the next one.
fn top_eight(row: &[f64]) -> (Vec<usize>, f64) {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|&a, &b| row[b].abs().total_cmp(&row[a].abs()).then(a.cmp(&b)));
    let gap = row[order[7]].abs() - row[order[8]].abs();
    let mut top = order[..8].to_vec();
    top.sort_unstable();
    (top, gap)
}

/// The gradient of an output in the logits, by sums over pairs of classes, which do not cancel.
fn seeds_by_pairs(logits: &[f64], output: Output, class: usize) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = logits.iter().map(|z| (z - most).exp()).collect();
    let sum: f64 = e.iter().sum();
    let others = |of: usize| {
        (0..e.len())
            .filter(|&one| one != of)
            .map(|one| e[one] / sum)
            .sum::<f64>()
    };
    (0..e.len())
        .map(|one| match output {
            Output::Probability if one == class => e[class] / sum * others(class),
            Output::Probability => -e[class] / sum * (e[one] / sum),
            Output::Loss if one == class => -others(class),
            Output::Loss => e[one] / sum,
            Output::Logit => f64::from(u8::from(one == class)),
        })
        .collect()
}

#[test]
fn rows_that_are_sure_keep_their_eight_most_important_features() {
    const FEATURES: usize = 20;
    for classes in [2, 4] {
        for dtype in [DType::F32, DType::F64] {
            let sizes = [FEATURES, 24, classes];
            let network = mlp(&sizes, None, &mut Draws { state: 11, dtype });
            // The same weights, for what is expected.
            let exact = mlp(
                &sizes,
                None,
                &mut Draws {
                    state: 11,
                    dtype: DType::F64,
                },
            );
            let mut draws = Draws { state: 5, dtype };
            let x: Vec<f64> = (0..600)
                .flat_map(|row| {
                    let size = 0.6 * f64::from(row % 40);
                    draws
                        .values(FEATURES)
                        .into_iter()
                        .map(move |x| x * size)
                        .collect::<Vec<_>>()
                })
                .collect();
            let x = values(network.batch(&x));
            let logits = values(network.logits(network.batch(&x)));
            let sure: Vec<usize> = logits
                .chunks(classes)
                .map(|row| {
                    (0..classes)
                        .max_by(|&a, &b| row[a].total_cmp(&row[b]))
                        .unwrap_or(0)
                })
                .collect();
            let jacobian: Vec<f64> = exact
                .pass(exact.batch(&x))
                .logit_jacobian()
                .into_data()
                .iter::<f64>()
                .collect();
            let chain = Chain::new(&network).unwrap();
            let mut checked = [0; 3];
            for output in [Output::Probability, Output::Loss] {
                let Found(by_pass) = by_pass(&network, &x, &x, output, &sure);
                let Found(by_chain) = by_chain(&chain, &x, &x, output, &sure);
                for row in 0..sure.len() {
                    let seeds =
                        seeds_by_pairs(&logits[row * classes..][..classes], output, sure[row]);
                    let of_row = &jacobian[row * classes * FEATURES..][..classes * FEATURES];
                    let expected: Vec<f64> = (0..FEATURES)
                        .map(|i| {
                            (0..classes)
                                .map(|j| seeds[j] * of_row[j * FEATURES + i])
                                .sum()
                        })
                        .collect();
                    let (top, gap) = top_eight(&expected);
                    // 1 - p of the row, which `f32` still holds when it is multiplied by weights.
                    let unsure = seeds
                        .iter()
                        .fold(0.0_f64, |most, seed| most.max(seed.abs()));
                    let rounding = if dtype == DType::F32 { 1e-5 } else { 1e-13 };
                    if gap <= rounding * largest(&expected) || unsure < 1e-32 {
                        continue;
                    }
                    for (bucket, below) in [1.0, 1e-12, 1e-25].iter().enumerate() {
                        checked[bucket] += usize::from(unsure < *below);
                    }
                    let place = row * FEATURES..(row + 1) * FEATURES;
                    let what = format!("{output:?} in {dtype:?}, 1 - p = {unsure}");
                    assert_eq!(top_eight(&by_pass[1][place.clone()]).0, top, "{what}");
                    assert_eq!(top_eight(&by_chain[1][place]).0, top, "{what}");
                }
            }
            assert!(
                checked[1] > 100 && checked[2] > 20,
                "rows at all, below 1e-12, below 1e-25: {checked:?}"
            );
        }
    }
}

#[test]
fn a_row_that_is_sure_has_products_without_end_or_nan() {
    let mut draws = Draws {
        state: 3,
        dtype: DType::F32,
    };
    let network = mlp(&[6, 9, 2], None, &mut draws);
    let chain = Chain::new(&network).unwrap();
    for size in [1.0, 1e3, 1e6, 1e30] {
        let x: Vec<f64> = draws.values(6 * 8).iter().map(|x| x * size).collect();
        for output in [Output::Probability, Output::Loss] {
            for class in [0, 1] {
                let Found(found) = by_chain(&chain, &x, &[1.0; 48], output, &[class; 8]);
                assert!(
                    found.iter().flatten().all(|number| number.is_finite()),
                    "{output:?} at {size}"
                );
            }
        }
    }
}

#[test]
fn what_is_no_chain_is_told_so() {
    let mut draws = Draws {
        state: 1,
        dtype: DType::F32,
    };
    let chain = mlp(&[4, 3, 2], None, &mut draws);
    assert!(Chain::new(&chain).is_some());
    assert!(Chain::new(&chain.smooth_twin(2.0)).is_some());
    let mut tracked = chain.clone();
    tracked.track();
    assert!(Chain::new(&tracked).is_none(), "weights that are recorded");
    let mut builder = NetworkBuilder::new(4, &mut draws);
    builder.then(|_| Ok(Relu)).unwrap();
    builder.then(|scope| Linear::new(4, 2, scope)).unwrap();
    assert!(
        Chain::new(&builder.finish().unwrap()).is_none(),
        "an activation first"
    );
    let mut builder = NetworkBuilder::new(4, &mut draws);
    let first = builder.then(|scope| Linear::new(4, 4, scope)).unwrap();
    builder.then(|_| Ok(Relu)).unwrap();
    builder
        .join(&[first], |scope| Linear::new(4, 2, scope))
        .unwrap();
    assert!(Chain::new(&builder.finish().unwrap()).is_none(), "a branch");
}
