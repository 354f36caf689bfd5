//! Every layer against central differences in f64: its tangent, pullback and the tangent of the
//! pullback, and what one `backward` gives for a loss of all of them, in weights and inputs.

use thickset_engine::kernel::{ConvShape, PoolShape};
use thickset_engine::layer::{
    Add, Adjacency, AveragePool, BatchNorm, Conv2d, Cosine, GraphConv, Layer, Linear, MaxPool,
    NodeMean, PairSplit, Relu, Softmax, Softplus,
};
use thickset_engine::{
    DType, Device, Init, NetworkBuilder, Parameter, ParameterSource, Result, Role, Scope, Tensor,
    TensorData,
};

/// Step of the central differences: truncation and rounding are both near 1e-10 in f64.
const STEP: f64 = 1e-5;
/// Allowed difference, relative to the larger of 1 and the value.
const TOLERANCE: f64 = 1e-7;

/// Numbers that look random and never repeat: the fractional parts of multiples of the golden ratio.
struct Draws(u32);

impl Draws {
    fn next(&mut self) -> f64 {
        self.0 += 1;
        (f64::from(self.0) * 0.618_033_988_749_894_9).fract() * 2.0 - 1.0
    }

    fn tensor(&mut self, size: [usize; 2]) -> Tensor<2> {
        let values: Vec<f64> = (0..size[0] * size[1]).map(|_| self.next()).collect();
        tensor(values, size)
    }
}

fn tensor(values: Vec<f64>, size: [usize; 2]) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, size), (&Device::flex(), DType::F64))
}

impl ParameterSource for Draws {
    fn values(&mut self, name: &str, shape: &[usize], _: Init, _: Role) -> Result<Tensor<2>> {
        let values = self.tensor(Parameter::matrix_size(shape));
        // Variances must be positive.
        Ok(if name.ends_with("var") {
            values.abs() + 0.5
        } else {
            values
        })
    }

    fn dtype(&self) -> DType {
        DType::F64
    }
}

fn values(tensor: &Tensor<2>) -> Vec<f64> {
    tensor
        .clone()
        .without_autodiff()
        .into_data()
        .try_to_vec()
        .unwrap()
}

fn close(what: &str, got: f64, expected: f64) {
    assert!(
        (got - expected).abs() <= TOLERANCE * expected.abs().max(1.0),
        "{what}: got {got}, expected {expected}"
    );
}

fn close_all(what: &str, got: &Tensor<2>, expected: &Tensor<2>) {
    assert_eq!(got.dims(), expected.dims(), "{what}: sizes");
    for (got, expected) in values(got).into_iter().zip(values(expected)) {
        close(what, got, expected);
    }
}

fn moved(tensors: &[Tensor<2>], along: &[Tensor<2>], step: f64) -> Vec<Tensor<2>> {
    let pairs = tensors.iter().zip(along);
    pairs
        .map(|(tensor, along)| tensor.clone() + along.clone() * step)
        .collect()
}

fn difference(after: Tensor<2>, before: Tensor<2>) -> Tensor<2> {
    (after - before) / (2.0 * STEP)
}

/// Fixed directions and weights for one layer's checks.
struct Probe {
    v: Vec<Tensor<2>>,
    g: Tensor<2>,
    g_dot: Tensor<2>,
    of_output: Tensor<2>,
    of_tangent: Tensor<2>,
    of_pullback: Vec<Tensor<2>>,
    of_change: Vec<Tensor<2>>,
}

impl Probe {
    fn new(inputs: &[Tensor<2>], output: &Tensor<2>, draws: &mut Draws) -> Self {
        let mut like = || -> Vec<Tensor<2>> {
            inputs
                .iter()
                .map(|input| draws.tensor(input.dims()))
                .collect()
        };
        let (v, of_pullback, of_change) = (like(), like(), like());
        let size = output.dims();
        Self {
            v,
            g: draws.tensor(size),
            g_dot: draws.tensor(size),
            of_output: draws.tensor(size),
            of_tangent: draws.tensor(size),
            of_pullback,
            of_change,
        }
    }

    /// One number that depends on everything a layer computes.
    fn scalar(&self, layer: &dyn Layer, inputs: &[Tensor<2>]) -> Tensor<1> {
        let (output, at) = layer.linearise(inputs);
        let dot = |a: Tensor<2>, b: &Tensor<2>| (a * b.clone()).sum();
        let mut sum = dot(output, &self.of_output) + dot(at.tangent(&self.v), &self.of_tangent);
        for (share, weight) in at
            .pullback(self.g.clone())
            .into_iter()
            .zip(&self.of_pullback)
        {
            sum = sum + dot(share, weight);
        }
        let changes = at.pullback_tangent(&self.v, &self.g, self.g_dot.clone());
        for (change, weight) in changes.into_iter().zip(&self.of_change) {
            sum = sum + dot(change, weight);
        }
        sum
    }
}

fn plain(scalar: &Tensor<1>) -> f64 {
    scalar
        .clone()
        .without_autodiff()
        .into_data()
        .try_to_vec::<f64>()
        .unwrap()[0]
}

fn check(mut layer: Box<dyn Layer>, inputs: &[Tensor<2>]) {
    let kind = layer.kind();
    let mut draws = Draws(1000);
    let (output, at) = layer.linearise(inputs);
    close_all(kind, &layer.forward(inputs), &output);
    let probe = Probe::new(inputs, &output, &mut draws);

    let (after, before) = (
        moved(inputs, &probe.v, STEP),
        moved(inputs, &probe.v, -STEP),
    );
    let change = difference(layer.forward(&after), layer.forward(&before));
    close_all(&format!("{kind} tangent"), &at.tangent(&probe.v), &change);

    let pulled = at.pullback(probe.g.clone());
    let dot = |a: &Tensor<2>, b: &Tensor<2>| plain(&(a.clone() * b.clone()).sum());
    let by_pullback: f64 = pulled.iter().zip(&probe.v).map(|(p, v)| dot(p, v)).sum();
    close(
        &format!("{kind} pullback"),
        by_pullback,
        dot(&at.tangent(&probe.v), &probe.g),
    );

    let pullback_at = |inputs: &[Tensor<2>], step: f64| {
        let g = probe.g.clone() + probe.g_dot.clone() * step;
        layer.linearise(inputs).1.pullback(g)
    };
    let changes = at.pullback_tangent(&probe.v, &probe.g, probe.g_dot.clone());
    let (up, down) = (pullback_at(&after, STEP), pullback_at(&before, -STEP));
    for ((change, up), down) in changes.iter().zip(up).zip(down) {
        close_all(
            &format!("{kind} tangent of the pullback"),
            change,
            &difference(up, down),
        );
    }

    let tracked: Vec<_> = inputs
        .iter()
        .map(|input| input.clone().autodiff().require_grad())
        .collect();
    for parameter in layer.parameters_mut() {
        if parameter.role == Role::Weight {
            parameter.value = parameter.value.clone().autodiff().require_grad();
        }
    }
    let gradients = probe.scalar(&*layer, &tracked).backward();
    let of_weights: Vec<Option<Tensor<2>>> = layer
        .parameters()
        .iter()
        .map(|parameter| {
            let gradient = parameter.value.grad(&gradients);
            let is_weight = parameter.role == Role::Weight;
            assert_eq!(gradient.is_some(), is_weight, "{}", parameter.name);
            gradient
        })
        .collect();
    for parameter in layer.parameters_mut() {
        parameter.value = parameter.value.clone().without_autodiff();
    }
    for (place, input) in tracked.iter().enumerate() {
        // A layer may not depend on an input beyond first order.
        let zeros = inputs[place].zeros_like();
        let gradient = values(&input.grad(&gradients).unwrap_or(zeros));
        let (base, size) = (values(&inputs[place]), inputs[place].dims());
        for (entry, got) in gradient.into_iter().enumerate() {
            let shifted = |step: f64| {
                let mut values = base.clone();
                values[entry] += step;
                let mut inputs = inputs.to_vec();
                inputs[place] = tensor(values, size);
                plain(&probe.scalar(&*layer, &inputs))
            };
            let expected = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
            close(
                &format!("{kind} input {place} entry {entry}"),
                got,
                expected,
            );
        }
    }
    check_weights(&mut *layer, inputs, &probe, of_weights);
}

/// What `backward` gives for each weight, entry by entry; statistics must have none.
fn check_weights(
    layer: &mut dyn Layer,
    inputs: &[Tensor<2>],
    probe: &Probe,
    of_weights: Vec<Option<Tensor<2>>>,
) {
    let kind = layer.kind();
    for (place, gradient) in of_weights.into_iter().enumerate() {
        let Some(gradient) = gradient else { continue };
        let (base, size) = {
            let parameter = layer.parameters()[place];
            (values(&parameter.value), parameter.value.dims())
        };
        for (entry, got) in values(&gradient).into_iter().enumerate() {
            let mut shifted = |step: f64| {
                let mut values = base.clone();
                values[entry] += step;
                layer.parameters_mut()[place].value = tensor(values, size);
                plain(&probe.scalar(layer, inputs))
            };
            let expected = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
            close(
                &format!("{kind} parameter {place} entry {entry}"),
                got,
                expected,
            );
        }
        layer.parameters_mut()[place].value = tensor(base, size);
    }
}

/// Makes a layer the way networks do, and hands it back on its own.
fn made<L: Layer + Clone + 'static>(
    features: &[usize],
    make: impl Fn(&mut Scope<'_>) -> Result<L>,
) -> Box<dyn Layer> {
    let mut draws = Draws(1);
    let mut kept = None;
    let mut builder = NetworkBuilder::new(features[0], &mut draws);
    let sources = vec![thickset_engine::Source::Input; features.len()];
    let keep = |scope: &mut Scope<'_>| {
        let layer = make(scope)?;
        kept = Some(layer.boxed());
        Ok(layer)
    };
    // Only single-input layers fit a fresh builder; others are refused after they were made.
    let _ = builder.join(&sources, keep);
    kept.unwrap()
}

fn inputs(sizes: &[[usize; 2]]) -> Vec<Tensor<2>> {
    let mut draws = Draws(500);
    sizes.iter().map(|&size| draws.tensor(size)).collect()
}

#[test]
fn linear() {
    check(
        made(&[4], |scope| Linear::new(4, 3, scope)),
        &inputs(&[[3, 4]]),
    );
}

#[test]
fn convolution_with_stride_and_padding() {
    for (stride, padding, bias) in [(1, 1, true), (2, 1, false), (1, 0, true), (2, 0, false)] {
        let shape = ConvShape::square([2, 5, 4], 3, 3, stride, padding);
        check(
            made(&[40], |scope| Conv2d::new(shape, bias, scope)),
            &inputs(&[[2, 40]]),
        );
    }
}

#[test]
fn batch_norm_with_running_statistics() {
    check(
        made(&[12], |scope| BatchNorm::new(3, scope)),
        &inputs(&[[2, 12]]),
    );
}

#[test]
fn max_pool() {
    let shape = PoolShape::square([2, 4, 5], 2);
    check(made(&[40], |_| MaxPool::new(shape)), &inputs(&[[2, 40]]));
}

#[test]
fn average_pools() {
    check(
        made(&[48], |_| AveragePool::new(2, 4, 6, 2)),
        &inputs(&[[2, 48]]),
    );
    check(
        made(&[48], |_| Ok(AveragePool::global(2, 4, 6))),
        &inputs(&[[2, 48]]),
    );
}

#[test]
fn activations() {
    check(made(&[5], |_| Ok(Relu)), &inputs(&[[3, 5]]));
    check(made(&[5], |_| Softplus::new(2.5)), &inputs(&[[3, 5]]));
}

#[test]
fn addition() {
    check(made(&[4, 4], |_| Ok(Add)), &inputs(&[[2, 4], [2, 4]]));
}

#[test]
fn adjacency() {
    check(made(&[6], |_| Adjacency::new(4)), &inputs(&[[2, 6]]));
}

#[test]
fn graph_convolutions() {
    check(
        made(&[9], |scope| GraphConv::new(3, 3, 4, scope)),
        &inputs(&[[2, 9]]),
    );
    let layer = made(&[9, 6], |scope| GraphConv::new(3, 2, 4, scope));
    check(layer, &inputs(&[[2, 9], [2, 6]]));
}

#[test]
fn node_mean_and_pair_split() {
    check(made(&[12], |_| Ok(NodeMean::new(3))), &inputs(&[[2, 12]]));
    check(made(&[6], |_| Ok(PairSplit)), &inputs(&[[3, 6]]));
}

#[test]
fn cosine_head() {
    check(made(&[5], |_| Ok(Cosine)), &inputs(&[[4, 5]]));
}

#[test]
fn softmax() {
    check(made(&[4], |_| Ok(Softmax)), &inputs(&[[3, 4]]));
}

#[test]
fn softplus_neither_overflows_nor_loses_its_slope_far_from_zero() {
    let layer = Softplus::new(1.0).unwrap();
    let x = tensor(vec![-1e4, -40.0, 40.0, 1e4], [1, 4]);
    let (output, at) = layer.linearise(&[x]);
    let slopes = at.tangent(&[tensor(vec![1.0; 4], [1, 4])]);
    close("far below", values(&output)[0], 0.0);
    close("far above", values(&output)[3], 1e4);
    assert!(values(&output)[1] > 0.0);
    close("slope far above", values(&slopes)[3], 1.0);
    assert!(Softplus::new(0.0).is_err() && Softplus::new(f64::NAN).is_err());
}

#[test]
fn batch_statistics_normalise_the_batch_and_are_followed() {
    let mut layer = made(&[4], |scope| BatchNorm::new(2, scope));
    let unit = |values: Vec<f64>| tensor(values, [1, 2]);
    for (parameter, start) in layer.parameters_mut().into_iter().zip([1.0, 0.0, 0.0, 1.0]) {
        parameter.value = unit(vec![start; 2]);
    }
    // Channel 0 holds 1, 3, 5, 7: mean 4, biased variance 5, unbiased 20/3.
    let x = tensor(vec![1.0, 3.0, 10.0, 10.0, 5.0, 7.0, 10.0, 10.0], [2, 4]);
    let mut statistics = Vec::new();
    let y = values(&layer.forward_fitting(&[x], &mut statistics));
    close("first", y[0], -3.0 / (5.0_f64 + 1e-5).sqrt());
    close("constant channel", y[2], 0.0);
    layer.follow(&statistics[0]);
    let parameters = layer.parameters();
    close("running mean", values(&parameters[2].value)[0], 0.4);
    close(
        "running variance",
        values(&parameters[3].value)[0],
        0.9 + 0.1 * 20.0 / 3.0,
    );
}

#[test]
fn the_batch_statistics_themselves_are_differentiated() {
    let mut layer = made(&[12], |scope| BatchNorm::new(3, scope));
    let base = inputs(&[[4, 12]]);
    let weight = Draws(900).tensor([4, 12]);
    let loss = |layer: &dyn Layer, x: Tensor<2>| {
        let y = layer.forward_fitting(&[x], &mut Vec::new());
        (y.clone() * y * weight.clone()).sum()
    };
    let x = base[0].clone().autodiff().require_grad();
    for parameter in layer.parameters_mut().into_iter().take(2) {
        parameter.value = parameter.value.clone().autodiff().require_grad();
    }
    let gradients = loss(&*layer, x.clone()).backward();
    let scale = layer.parameters()[0].value.clone();
    let of_scale = values(&scale.grad(&gradients).unwrap());
    for parameter in layer.parameters_mut() {
        parameter.value = parameter.value.clone().without_autodiff();
    }
    let start = values(&base[0]);
    for (entry, got) in values(&x.grad(&gradients).unwrap()).into_iter().enumerate() {
        let shifted = |step: f64| {
            let mut values = start.clone();
            values[entry] += step;
            plain(&loss(&*layer, tensor(values, [4, 12])))
        };
        close(
            "input",
            got,
            (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP),
        );
    }
    let start = values(&scale);
    for (entry, got) in of_scale.into_iter().enumerate() {
        let mut shifted = |step: f64| {
            let mut values = start.clone();
            values[entry] += step;
            layer.parameters_mut()[0].value = tensor(values, [1, 3]);
            plain(&loss(&*layer, base[0].clone()))
        };
        close(
            "scale",
            got,
            (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP),
        );
    }
}
