//! A layer on the GPU against the same layer on the CPU, both in single precision: its output, tangent, pullback and the tangent of the
//! pullback, and what one `backward` gives in inputs and weights. Without a GPU there is nothing to compare, which is said.

use thickset_engine::layer::Layer;
use thickset_engine::{DType, Device, DeviceKind, Role, Tensor};

use super::Probe;

/// Allowed difference, relative to the larger of 1 and the largest number: both round after every operation, and sums have another
/// order.
const TOLERANCE: f64 = 1e-4;

pub fn agrees(layer: &dyn Layer, inputs: &[Tensor<2>], probe: &Probe) {
    let gpu = match DeviceKind::Gpu.open() {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("the comparison with the GPU is skipped: {error}");
            return;
        }
    };
    let expected = computed(layer, inputs, probe, &Device::cpu());
    let got = computed(layer, inputs, probe, &gpu);
    assert_eq!(got.len(), expected.len());
    let mut most = 0.0_f64;
    for ((what, got), (_, expected)) in got.iter().zip(&expected) {
        assert_eq!(got.len(), expected.len(), "{} {what}", layer.kind());
        let largest = expected
            .iter()
            .fold(1.0_f64, |most, one| most.max(one.abs()));
        for (place, (got, expected)) in got.iter().zip(expected).enumerate() {
            let difference = (got - expected).abs() / largest;
            assert!(
                difference <= TOLERANCE,
                "{} on the GPU, {what} {place}: got {got}, expected {expected}",
                layer.kind()
            );
            most = most.max(difference);
        }
    }
    let kind = layer.kind();
    eprintln!("difference {most:.1e} of {TOLERANCE:.0e}: layer: {kind}");
}

/// All that a layer computes on a device, by name.
fn computed(
    layer: &dyn Layer,
    inputs: &[Tensor<2>],
    probe: &Probe,
    device: &Device,
) -> Vec<(String, Vec<f64>)> {
    let mut layer = layer.boxed();
    for parameter in layer.parameters_mut() {
        parameter.value = moved(&parameter.value, device);
    }
    let inputs: Vec<Tensor<2>> = inputs.iter().map(|input| moved(input, device)).collect();
    let probe = probe.on(|tensor| moved(tensor, device));
    let (output, at) = layer.linearise(&inputs);
    let mut all = vec![
        ("forward".to_owned(), values(&layer.forward(&inputs))),
        ("output".to_owned(), values(&output)),
        ("tangent".to_owned(), values(&at.tangent(&probe.v))),
    ];
    let changes = at.pullback_tangent(&probe.v, &probe.g, probe.g_dot.clone());
    for (what, shares) in [
        ("pullback", at.pullback(probe.g.clone())),
        ("tangent of the pullback", changes),
    ] {
        all.extend(shares.iter().map(|share| (what.to_owned(), values(share))));
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
    let parameters = layer.parameters().into_iter();
    let weights = parameters.map(|parameter| (&*parameter.name, &parameter.value));
    let tensors = tracked.iter().map(|input| ("input", input)).chain(weights);
    for (name, tensor) in tensors {
        if let Some(gradient) = tensor.grad(&gradients) {
            all.push((format!("gradient of {name}"), values(&gradient)));
        }
    }
    all
}

fn moved(tensor: &Tensor<2>, device: &Device) -> Tensor<2> {
    let data = tensor.clone().without_autodiff().into_data();
    Tensor::from_data(data, (device, DType::F32))
}

fn values(tensor: &Tensor<2>) -> Vec<f64> {
    let data = tensor.clone().without_autodiff().into_data();
    data.iter::<f64>().collect()
}
