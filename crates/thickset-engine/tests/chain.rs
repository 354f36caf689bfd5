//! A chain computes what a pass computes: bit for bit where both do the same operations, nearly where one has a shorter way.

use proptest::prelude::*;
use thickset_engine::layer::{Linear, Relu, Softplus};
use thickset_engine::{
    Chain, DType, Device, Init, Network, NetworkBuilder, Output, Parameter, ParameterSource, Role,
    Tensor, TensorData, one_hot,
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
        Ok(Tensor::from_data(data, (&Device::flex(), self.dtype)))
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
    let hot = one_hot(classes, network.classes(), network.dtype(), &Device::flex());
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
        if smooth.is_none() {
            prop_assert_eq!(&got[0], &expected[0], "logits");
            if output != Output::Loss {
                prop_assert_eq!(&got[1], &expected[1], "gradient");
            }
        }
        let tolerance = if wide { 1e-11 } else { 1e-4 };
        let least = 0.01 * largest(&expected[0]).max(0.1);
        for ((what, got), expected) in ["logits", "gradient", "product"].iter().zip(&got).zip(&expected) {
            near(what, got, expected, tolerance, least);
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
