//! Every layer against central differences in f64: its tangent, pullback and the tangent of the
//! pullback, and what one `backward` gives for a loss of all of them, in weights and inputs.

#[cfg(feature = "gpu")]
mod on_gpu;

use thickset_engine::kernel::{ConvShape, PoolShape};
use thickset_engine::layer::{
    Absolute, Add, Adjacency, Arctangent, AveragePool, Axis, BatchNorm, ChannelAffine, Clip,
    Concatenate, Constant, Conv2d, Cosine, Divisor, Elu, Erf, Exp, Form, GatedLinear, Gates,
    Gather, Gating, Gelu, GraphConv, HardSigmoid, HardSwish, InverseSinh, Layer, LayerNorm,
    LeakyRelu, Linear, LinearRuns, Log, LogSoftmax, MatrixProduct, MaxPool, Mish, Multiply,
    NodeMean, PairSplit, PairwiseCoupling, Power, Prelu, ProductShape, Reduce, Relu, Select, Selu,
    Sigmoid, Silu, Sine, SlidingAveragePool, Softmax, Softplus, SquareRoot, StoppedCoupling, Tanh,
    YeoJohnson,
};
use thickset_engine::{
    DType, Device, Init, Network, NetworkBuilder, Output, Parameter, ParameterSource, Result, Role,
    Scope, Source, Tensor, TensorData, one_hot,
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
    Tensor::from_data(TensorData::new(values, size), (&Device::cpu(), DType::F64))
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

fn close_within(what: &str, got: f64, expected: f64, most: f64) {
    assert!(
        (got - expected).abs() <= most,
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

    /// The same directions and weights elsewhere.
    #[cfg(feature = "gpu")]
    fn on(&self, moved: impl Fn(&Tensor<2>) -> Tensor<2>) -> Self {
        let all = |tensors: &[Tensor<2>]| tensors.iter().map(&moved).collect();
        Self {
            v: all(&self.v),
            g: moved(&self.g),
            g_dot: moved(&self.g_dot),
            of_output: moved(&self.of_output),
            of_tangent: moved(&self.of_tangent),
            of_pullback: all(&self.of_pullback),
            of_change: all(&self.of_change),
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
    #[cfg(feature = "gpu")]
    on_gpu::agrees(&*layer, inputs, &probe);

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
fn bounded_and_smooth_activations() {
    let x = inputs(&[[4, 5]]);
    let x = [x[0].clone() * 3.0];
    check(made(&[5], |_| Ok(Sigmoid)), &x);
    check(made(&[5], |_| Ok(Tanh)), &x);
    check(made(&[5], |_| Ok(Gelu::Exact)), &x);
    check(made(&[5], |_| Ok(Gelu::Tanh)), &x);
    check(made(&[5], |_| Elu::new(0.7)), &x);
    check(made(&[5], |_| Ok(Selu)), &x);
    check(made(&[5], |_| Ok(Silu)), &x);
    check(made(&[5], |_| Ok(Mish)), &x);
}

#[test]
fn activations_with_kinks_and_their_smooth_twins() {
    let x = inputs(&[[4, 5]]);
    let x = [x[0].clone() * 3.0];
    let kinked: [Box<dyn Layer>; 5] = [
        made(&[5], |_| LeakyRelu::new(0.1)),
        made(&[5], |_| Clip::new(-0.5, 1.5)),
        made(&[5], |_| Ok(Clip::relu6())),
        made(&[5], |_| HardSigmoid::new(0.2, 0.5)),
        made(&[5], |_| Ok(Absolute)),
    ];
    for layer in kinked {
        let kind = layer.kind();
        assert!(!layer.is_curved(), "{kind}");
        let twin = layer.smooth(1e4).unwrap();
        for (kinked, smooth) in values(&layer.forward(&x))
            .iter()
            .zip(values(&twin.forward(&x)))
        {
            assert!(
                (kinked - smooth).abs() < 1e-3,
                "{kind}: {kinked} and {smooth}"
            );
        }
        check(layer.smooth(2.0).unwrap(), &x);
        check(layer, &x);
    }
    check(made(&[5], |_| Ok(HardSwish)), &x);
    check(made(&[6], |scope| Prelu::new(3, scope)), &inputs(&[[3, 6]]));
}

#[test]
fn elementary_functions() {
    let x = inputs(&[[3, 5]]);
    check(made(&[5], |_| Ok(Exp)), &x);
    check(made(&[5], |_| Ok(Sine)), &x);
    check(made(&[5], |_| Ok(Arctangent)), &x);
    check(made(&[5], |_| Ok(InverseSinh)), &x);
    for exponent in [0.0, 1.0, 2.0, 3.0] {
        check(made(&[5], |_| Power::new(exponent)), &x);
    }
    let positive = [x[0].clone().abs() + 0.5];
    check(made(&[5], |_| Ok(Log)), &positive);
    check(made(&[5], |_| Ok(SquareRoot)), &positive);
    check(made(&[5], |_| Power::new(-1.0)), &positive);
    check(made(&[5], |_| Power::new(1.7)), &positive);
}

/// Values of PyTorch 2.15 at -2, -0.5, 0, 0.5 and 2, in double precision.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of values")]
fn activations_have_the_values_of_pytorch() {
    let x = tensor(vec![-2.0, -0.5, 0.0, 0.5, 2.0], [1, 5]);
    let table: Vec<(Box<dyn Layer>, [f64; 5])> = vec![
        (
            made(&[5], |_| LeakyRelu::new(0.1)),
            [-0.2, -0.05, 0.0, 0.5, 2.0],
        ),
        (
            made(&[5], |_| Ok(Sigmoid)),
            [
                0.119_202_922_022_12,
                0.377_540_668_798_15,
                0.5,
                0.622_459_331_201_85,
                0.880_797_077_977_88,
            ],
        ),
        (
            made(&[5], |_| Ok(Tanh)),
            [
                -0.964_027_580_075_82,
                -0.462_117_157_260_01,
                0.0,
                0.462_117_157_260_01,
                0.964_027_580_075_82,
            ],
        ),
        (
            made(&[5], |_| Ok(Gelu::Exact)),
            [
                -0.045_500_263_896_358,
                -0.154_268_769_362_99,
                0.0,
                0.345_731_230_637_01,
                1.954_499_736_103_6,
            ],
        ),
        (
            made(&[5], |_| Ok(Gelu::Tanh)),
            [
                -0.045_402_305_912_225,
                -0.154_285_990_174_86,
                0.0,
                0.345_714_009_825_14,
                1.954_597_694_087_8,
            ],
        ),
        (
            made(&[5], |_| Elu::new(0.7)),
            [-0.605_265_301_734_37, -0.275_428_538_201_16, 0.0, 0.5, 2.0],
        ),
        (
            made(&[5], |_| Ok(Selu)),
            [
                -1.520_166_468_595_7,
                -0.691_758_187_802_87,
                0.0,
                0.525_350_493_677_74,
                2.101_401_974_711,
            ],
        ),
        (
            made(&[5], |_| Ok(HardSwish)),
            [
                -0.333_333_333_333_33,
                -0.208_333_333_333_33,
                0.0,
                0.291_666_666_666_67,
                1.666_666_666_666_7,
            ],
        ),
        (
            made(&[5], |_| HardSigmoid::new(1.0 / 6.0, 0.5)),
            [
                0.166_666_666_666_67,
                0.416_666_666_666_67,
                0.5,
                0.583_333_333_333_33,
                0.833_333_333_333_33,
            ],
        ),
        (
            made(&[5], |_| Ok(Mish)),
            [
                -0.252_501_482_695_71,
                -0.220_743_774_651_73,
                0.0,
                0.375_245_211_304_9,
                1.943_958_959_534,
            ],
        ),
        (
            made(&[5], |_| Ok(Silu)),
            [
                -0.238_405_844_044_24,
                -0.188_770_334_399_07,
                0.0,
                0.311_229_665_600_93,
                1.761_594_155_955_8,
            ],
        ),
        (made(&[5], |_| Ok(Clip::relu6())), [0.0, 0.0, 0.0, 0.5, 2.0]),
    ];
    for (layer, expected) in table {
        let got = values(&layer.forward(std::slice::from_ref(&x)));
        for (got, expected) in got.iter().zip(expected) {
            let kind = layer.kind();
            assert!(
                (got - expected).abs() < 1e-12,
                "{kind}: {got}, expected {expected}"
            );
        }
    }
}

#[test]
fn settings_that_are_no_numbers_are_refused() {
    assert!(LeakyRelu::new(f64::NAN).is_err() && Elu::new(f64::INFINITY).is_err());
    assert!(Clip::new(1.0, 1.0).is_err() && Clip::new(f64::NAN, 1.0).is_err());
    assert!(Clip::new(f64::NEG_INFINITY, 1.0).is_ok());
    assert!(HardSigmoid::new(0.0, 0.5).is_err() && Power::new(f64::NAN).is_err());
    assert!(Gather::new(3, &[0, 3]).is_err() && Gather::new(3, &[]).is_err());
    assert!(Axis::new(1, 0, 1).is_err() && Axis::new(1 << 30, 4, 1).is_err());
}

#[test]
fn general_convolutions() {
    let general = ConvShape {
        kernel: [3, 2],
        stride: [2, 1],
        padding: [[1, 2], [1, 0]],
        dilation: [1, 2],
        ..ConvShape::square([2, 5, 4], 3, 1, 1, 0)
    };
    let grouped = ConvShape {
        groups: 2,
        ..ConvShape::square([2, 4, 3], 4, 3, 1, 1)
    };
    for (shape, bias) in [(general, true), (grouped, false)] {
        let features = shape.in_features();
        check(
            made(&[features], |scope| Conv2d::new(shape, bias, scope)),
            &inputs(&[[2, features]]),
        );
    }
}

#[test]
fn pools_that_overlap_and_reach_beyond_the_image() {
    let shape = PoolShape {
        window: [3, 2],
        stride: [2, 1],
        padding: [[1, 1], [1, 0]],
        ..PoolShape::square([2, 4, 5], 1)
    };
    let x = inputs(&[[2, 40]]);
    check(made(&[40], |_| MaxPool::new(shape)), &x);
    for divisor in [Divisor::Window, Divisor::Pixels] {
        check(made(&[40], |_| SlidingAveragePool::new(shape, divisor)), &x);
    }
}

#[test]
fn padding_is_counted_or_not_in_a_mean() {
    let shape = PoolShape {
        window: [2; 2],
        stride: [2; 2],
        padding: [[1; 2]; 2],
        ..PoolShape::square([1, 2, 2], 1)
    };
    let x = tensor(vec![1.0, 2.0, 3.0, 4.0], [1, 4]);
    for (divisor, expected) in [
        (Divisor::Window, [0.25, 0.5, 0.75, 1.0]),
        (Divisor::Pixels, [1.0, 2.0, 3.0, 4.0]),
    ] {
        let layer = SlidingAveragePool::new(shape, divisor).unwrap();
        assert_eq!(values(&layer.forward(std::slice::from_ref(&x))), expected);
    }
}

#[test]
fn products_and_joins() {
    check(made(&[4, 4], |_| Ok(Multiply)), &inputs(&[[2, 4], [2, 4]]));
    let parts = inputs(&[[2, 3], [2, 1], [2, 4]]);
    check(made(&[3, 1, 4], |_| Ok(Concatenate)), &parts);
    check(
        made(&[6], |scope| ChannelAffine::new(3, scope)),
        &inputs(&[[2, 6]]),
    );
    check(
        made(&[6], |scope| ChannelAffine::fixed(6, scope)),
        &inputs(&[[2, 6]]),
    );
    check(
        made(&[4], |_| Gather::new(4, &[3, 0, 0, 2, 1, 0])),
        &inputs(&[[2, 4]]),
    );
}

#[test]
fn along_an_axis() {
    let axis = Axis::new(2, 3, 2).unwrap();
    let x = inputs(&[[2, 12]]);
    check(made(&[12], |_| Ok(Reduce::sum(axis))), &x);
    check(made(&[12], |_| Ok(Reduce::mean(axis))), &x);
    check(made(&[12], |_| Ok(LogSoftmax::new(axis))), &x);
    check(made(&[12], |_| Ok(LogSoftmax::new(Axis::all(12)?))), &x);
    check(made(&[12], |scope| LayerNorm::new(3, 4, 1e-5, scope)), &x);
}

#[test]
fn a_reduction_by_hand() {
    let x = tensor((0..8_u8).map(f64::from).collect(), [1, 8]);
    let axis = Axis::new(2, 2, 2).unwrap();
    let sum = Reduce::sum(axis).forward(std::slice::from_ref(&x));
    assert_eq!(values(&sum), [2.0, 4.0, 10.0, 12.0]);
    let mean = Reduce::mean(axis).forward(&[x]);
    assert_eq!(values(&mean), [1.0, 2.0, 5.0, 6.0]);
}

#[test]
fn layers_of_other_frameworks_graphs() {
    let x = inputs(&[[3, 5]]);
    check(made(&[5], |_| Ok(Erf)), &x);
    // A constant does not depend on its input, so there is nothing to differentiate.
    let constant = made(&[5], |scope| Constant::new(4, scope));
    let (output, at) = constant.linearise(&x);
    assert_eq!(output.dims(), [3, 4]);
    let pulled = at.pullback(output).remove(0);
    assert_eq!(values(&pulled), [0.0; 15]);
    check(
        made(&[12], |scope| LinearRuns::new(3, 4, 2, scope)),
        &inputs(&[[2, 12]]),
    );
    let shape = ProductShape {
        pairs: 2,
        rows: 3,
        inner: 2,
        columns: 4,
    };
    check(
        made(&[12, 16], |_| MatrixProduct::new(shape)),
        &inputs(&[[2, 12], [2, 16]]),
    );
    check(
        made(&[4, 4, 4], |_| Ok(Select)),
        &inputs(&[[3, 4], [3, 4], [3, 4]]),
    );
    check(
        made(&[5], |scope| YeoJohnson::new(5, scope)),
        &[x[0].clone() * 2.0],
    );
}

#[test]
fn a_power_transform_by_hand() {
    let mut layer = made(&[4], |scope| YeoJohnson::new(4, scope));
    layer.parameters_mut()[0].value = tensor(vec![0.0, 2.0, 1.0, 0.5], [1, 4]);
    let at = |x: f64| values(&layer.forward(&[tensor(vec![x; 4], [1, 4])]));
    // log 4; (16 - 1) / 2; 3; (2 - 1) / 0.5
    for (got, expected) in at(3.0).into_iter().zip([4.0_f64.ln(), 7.5, 3.0, 2.0]) {
        close("above", got, expected);
    }
    // -(16 - 1) / 2; -log 4; -3; -(8 - 1) / 1.5
    let below = [-7.5, -(4.0_f64.ln()), -3.0, -7.0 / 1.5];
    for (got, expected) in at(-3.0).into_iter().zip(below) {
        close("below", got, expected);
    }
}

#[test]
fn what_is_not_selected_may_be_no_number() {
    let decider = tensor(vec![1.0, -1.0], [1, 2]);
    let a = tensor(vec![2.0, f64::NAN], [1, 2]);
    let b = tensor(vec![f64::INFINITY, 3.0], [1, 2]);
    assert_eq!(values(&Select.forward(&[decider, a, b])), [2.0, 3.0]);
}

#[test]
fn coupled_probabilities_have_the_derivative_of_their_limit() {
    let x = tensor(vec![-7.0, -1.0, -0.3, 0.0, 0.01, 2.0], [1, 6]);
    let (output, at) = PairwiseCoupling.linearise(std::slice::from_ref(&x));
    let output = values(&output);
    assert_eq!(output[3..5], [0.0, 0.0], "no round is made near one half");
    for (got, logit) in output.iter().zip(values(&x)) {
        let probability = |logit: f64| 1.0 / (1.0 + (-logit).exp());
        close_within("the limit", probability(*got), probability(logit), 0.005);
    }
    let g = tensor(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 6]);
    assert_eq!(values(&at.pullback(g.clone())[0]), values(&g));
    assert_eq!(values(&at.tangent(std::slice::from_ref(&g))), values(&g));
}

#[test]
fn coupled_probabilities_of_many_classes_have_the_derivative_of_their_limit_too() {
    let layer = made(&[3, 3], |_| StoppedCoupling::new(3));
    let limit = tensor(vec![0.5, 0.3, 0.2], [1, 3]);
    let logit = |i: f64, j: f64| (i / j).ln();
    let pairs = vec![logit(0.5, 0.3), logit(0.5, 0.2), logit(0.3, 0.2)];
    let (output, at) = layer.linearise(&[limit.clone(), tensor(pairs, [1, 3])]);
    for (got, limit) in values(&output).into_iter().zip(values(&limit)) {
        close_within("the limit", got, limit, 0.005);
    }
    let g = tensor(vec![1.0, 2.0, 3.0], [1, 3]);
    let pulled = at.pullback(g.clone());
    assert_eq!(values(&pulled[0]), values(&g));
    assert_eq!(values(&pulled[1]), [0.0; 3]);
    assert_eq!(
        values(&at.tangent(&[g.clone(), g.clone() * 9.0])),
        values(&g)
    );
    assert!(StoppedCoupling::new(1).is_err());
}

#[test]
fn a_layer_is_built_again_from_its_form() {
    let layers: Vec<(Box<dyn Layer>, Vec<usize>)> = vec![
        (made(&[5], |scope| Linear::new(5, 2, scope)), vec![5]),
        (made(&[5], |_| Clip::new(f64::NEG_INFINITY, 1.0)), vec![5]),
        (made(&[6], |scope| ChannelAffine::fixed(3, scope)), vec![6]),
        (made(&[4], |_| Gather::new(4, &[3, 0, 0])), vec![4]),
        (
            made(&[12], |_| Ok(Reduce::mean(Axis::new(2, 3, 2)?))),
            vec![12],
        ),
        (made(&[36], |_| Ok(AveragePool::global(1, 6, 6))), vec![36]),
        (made(&[1], |_| Ok(PairwiseCoupling)), vec![1]),
        (made(&[5], |_| Ok(Sine)), vec![5]),
        (
            made(&[5], |scope| Gates::new(5, &[2, 3], Gating::Argmax, scope)),
            vec![5],
        ),
    ];
    for (layer, features) in layers {
        let form = layer.form().unwrap();
        let text = serde_json::to_string(&form).unwrap();
        let read: Form = serde_json::from_str(&text).unwrap();
        assert_eq!(read, form);
        let mut source = Draws(0);
        let mut builder = NetworkBuilder::new(features[0], &mut source);
        builder.join_form(&[Source::Input], &read).unwrap();
        let network = builder.finish().unwrap();
        assert_eq!(network.forms().unwrap()[0].0, form, "{text}");
        let size = [2, features[0]];
        let x = Draws(9).tensor(size);
        assert_eq!(network.logits(x.clone()).dims(), layer.forward(&[x]).dims());
    }
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

#[test]
fn gates_and_the_maps_that_they_choose() {
    for gating in [
        Gating::Sparsemax { delta: 2.0 },
        Gating::Sparsemax { delta: 0.1 },
        Gating::Softmax { beta: 1.5 },
    ] {
        let layer = made(&[5], |scope| Gates::new(5, &[3, 2, 4], gating, scope));
        check(layer, &inputs(&[[4, 5]]));
    }
    // An argmax jumps and has no slope between its jumps.
    let layer = made(&[5], |scope| {
        Gates::new(5, &[3, 2, 4], Gating::Argmax, scope)
    });
    let (pi, at) = layer.linearise(&inputs(&[[4, 5]]));
    assert!(
        values(&at.pullback(pi)[0])
            .iter()
            .all(|slope| slope.abs() < 1e-300)
    );
    for classes in [2, 3] {
        let layer = made(&[5, 7], |scope| GatedLinear::new(5, 7, classes, scope));
        check(layer, &inputs(&[[3, 5], [3, 7]]));
    }
}

#[test]
fn gates_of_a_block_are_shares_and_one_that_is_far_ahead_has_it_alone() {
    let gates = |gating, x: Vec<f64>| {
        let mut source = Draws(0);
        let mut builder = NetworkBuilder::new(4, &mut source);
        builder
            .then(|scope| Gates::new(4, &[2, 2], gating, scope))
            .unwrap();
        let mut network = builder.finish().unwrap();
        let mut scores = vec![0.0; 16];
        for feature in 0..4 {
            scores[feature * 4 + feature] = 1.0;
        }
        network
            .gates_mut()
            .unwrap()
            .set_scores(scores, vec![0.0; 4]);
        values(&network.logits(tensor(x, [1, 4])))
    };
    let sparse = Gating::Sparsemax { delta: 0.4 };
    // Ahead by 0.2 of 0.4: sparsemax((0.6, 0.4) / 0.4) = ((1 + 0.5) / 2, (1 - 0.5) / 2).
    let got = gates(sparse, vec![0.6, 0.4, 1.0, 0.0]);
    for (got, expected) in got.into_iter().zip([0.75, 0.25, 1.0, 0.0]) {
        close("sparsemax", got, expected);
    }
    let got = gates(Gating::Argmax, vec![0.6, 0.4, 0.5, 0.5]);
    let open: Vec<bool> = got.into_iter().map(|share| share > 0.5).collect();
    assert_eq!(open, [true, false, true, false]);
}

/// Convolutions with and without bias, batch normalisation, pooling and ReLU, with `apart` between them or nothing.
fn convolutions(apart: bool) -> Network {
    let mut draws = Draws(7);
    let mut builder = NetworkBuilder::new(2 * 36, &mut draws);
    let separate = |builder: &mut NetworkBuilder<'_>| {
        if apart {
            builder.then(|_| LeakyRelu::new(1.0)).unwrap();
        }
    };
    let first = ConvShape::square([2, 6, 6], 3, 3, 1, 1);
    builder
        .then(|scope| Conv2d::new(first, false, scope))
        .unwrap();
    separate(&mut builder);
    builder.then(|scope| BatchNorm::new(3, scope)).unwrap();
    separate(&mut builder);
    builder.then(|_| Ok(Relu)).unwrap();
    for (image, with_bias) in [([3, 6, 6], false), ([4, 3, 3], true)] {
        let conv = ConvShape::square(image, 4, 3, 1, 1);
        let pool = PoolShape::square([4, image[1], image[2]], if with_bias { 3 } else { 2 });
        builder
            .then(|scope| Conv2d::new(conv, with_bias, scope))
            .unwrap();
        separate(&mut builder);
        if !with_bias {
            builder.then(|scope| BatchNorm::new(4, scope)).unwrap();
            separate(&mut builder);
        }
        builder.then(|_| MaxPool::new(pool)).unwrap();
        separate(&mut builder);
        builder.then(|_| Ok(Relu)).unwrap();
    }
    builder.then(|scope| Linear::new(4, 3, scope)).unwrap();
    let mut network = builder.finish().unwrap();
    network.track();
    network
}

#[test]
fn layers_that_run_together_give_what_they_give_one_by_one() {
    let x = Draws(100).tensor([5, 2 * 36]);
    let v = Draws(1000).tensor([5, 2 * 36]);
    let classes = one_hot(&[0, 1, 2, 0, 1], 3, DType::F64, &Device::cpu());
    let all = |network: &Network| {
        let pass = network.pass(x.clone());
        let gradient = pass.input_gradient(Output::Probability, classes.clone());
        let product = gradient.hessian_product(v.clone());
        let (fitting, _) = network.logits_fitting(x.clone());
        let results = [pass.logits(), gradient.value(), product, fitting];
        let loss = results.iter().fold(None, |sum: Option<Tensor<1>>, result| {
            let squares = (result.clone() * result.clone()).sum();
            Some(sum.map_or(squares.clone(), |sum| sum + squares))
        });
        let gradients = loss.unwrap().backward();
        let weights = network.parameters().into_iter();
        let slopes = weights.filter_map(|parameter| parameter.value.grad(&gradients));
        let mut numbers = values(&network.logits(x.clone()));
        for tensor in results.iter().cloned().chain(slopes) {
            numbers.extend(values(&tensor));
        }
        numbers
    };
    let (joined, apart) = (all(&convolutions(false)), all(&convolutions(true)));
    assert_eq!(joined.len(), apart.len());
    for (joined, apart) in joined.into_iter().zip(apart) {
        close("a number of layers that run together", joined, apart);
    }
}
