//! Optimisers by hand, and with their memory taken out and put back.

use thickset_engine::layer::Linear;
use thickset_engine::optimizer::{Adam, AdamW, Optimizer, Sgd, clip};
use thickset_engine::{
    DType, Device, Gradients, Init, Network, NetworkBuilder, Parameter, ParameterSource, Result,
    Role, Tensor, TensorData,
};

/// Every weight is 1.
struct Ones;

impl ParameterSource for Ones {
    fn values(&mut self, _: &str, shape: &[usize], _: Init, _: Role) -> Result<Tensor<2>> {
        let values = vec![1.0_f64; shape.iter().product()];
        let data = TensorData::new(values, Parameter::matrix_size(shape));
        Ok(Tensor::from_data(data, (&Device::cpu(), DType::F64)))
    }

    fn dtype(&self) -> DType {
        DType::F64
    }
}

fn network() -> Network {
    let mut source = Ones;
    let mut builder = NetworkBuilder::new(2, &mut source);
    builder.then(|scope| Linear::new(2, 2, scope)).unwrap();
    let mut network = builder.finish().unwrap();
    network.track();
    network
}

/// Gradients 3 for the weights of feature 0, 4 for those of feature 1, 1 for the biases, times `scale`.
fn gradients(network: &Network, scale: f64) -> Gradients {
    let x = network.tensor(vec![3.0 * scale, 4.0 * scale], [1, 2]);
    let parameters = network.parameters();
    let (weight, bias) = (&parameters[0].value, &parameters[1].value);
    ((weight.clone() * x).sum() + bias.clone().sum() * scale).backward()
}

fn weights(network: &Network) -> Vec<f64> {
    let values = network.parameter_values();
    values.iter().flat_map(|data| data.iter::<f64>()).collect()
}

fn close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (got, expected) in got.iter().zip(expected) {
        assert!((got - expected).abs() < 1e-12, "{got} {expected}");
    }
}

#[test]
fn descent_with_momentum_by_hand() {
    let mut network = network();
    let mut optimizer = Sgd::new(0.1, 0.5);
    for _ in 0..2 {
        let gradients = gradients(&network, 1.0);
        optimizer.step(&mut network, gradients);
    }
    // v = g, then 1.5 g: w = 1 - 0.1 * 2.5 g.
    close(&weights(&network), &[0.25, 0.0, 0.25, 0.0, 0.75, 0.75]);
}

#[test]
fn adams_first_step_is_the_rate_whatever_the_gradient() {
    let mut network = network();
    let first = gradients(&network, 1.0);
    Adam::new(0.1).step(&mut network, first);
    for weight in weights(&network) {
        assert!((weight - 0.9).abs() < 1e-8, "{weight}");
    }
}

#[test]
fn decoupled_decay_shrinks_weights_before_the_step() {
    let (mut plain, mut decayed) = (network(), network());
    let first = gradients(&plain, 1.0);
    Adam::new(0.1).step(&mut plain, first);
    let first = gradients(&decayed, 1.0);
    AdamW::new(0.1, 0.5).step(&mut decayed, first);
    // Each weight was 1, and 0.1 * 0.5 of it is taken off.
    let expected: Vec<f64> = weights(&plain).iter().map(|weight| weight - 0.05).collect();
    close(&weights(&decayed), &expected);
}

#[test]
fn long_gradients_are_shortened_and_short_ones_left() {
    let network = network();
    // Two rows of (3, 4) and two biases of 1: the square is 52.
    let mut long = gradients(&network, 1.0);
    let length = clip(&network, &mut long, 1.0);
    assert!((length - 52.0_f64.sqrt()).abs() < 1e-12);
    assert!((clip(&network, &mut long, 10.0) - 1.0).abs() < 1e-12);
    let weight = &network.parameters()[0].value;
    let gradient: Vec<f64> = weight.grad(&long).unwrap().into_data().iter().collect();
    close(&gradient[..2], &[3.0 / length, 4.0 / length]);
}

#[test]
fn an_optimiser_with_its_memory_put_back_goes_on_to_the_same_bits() {
    let makers: [fn() -> Box<dyn Optimizer>; 3] = [
        || Box::new(Adam::new(0.01)),
        || Box::new(AdamW::new(0.01, 0.1)),
        || Box::new(Sgd::new(0.01, 0.9)),
    ];
    for make in makers {
        let (mut one, mut other) = (network(), network());
        let (mut whole, mut parts) = (make(), make());
        for step in 0..6 {
            let scale = 1.0 + f64::from(step);
            let of_one = gradients(&one, scale);
            whole.step(&mut one, of_one);
            let of_other = gradients(&other, scale);
            parts.step(&mut other, of_other);
            let state = parts.state();
            parts = make();
            parts.restore(state).unwrap();
        }
        assert_eq!(weights(&one), weights(&other));
    }
}

#[test]
fn the_memory_of_another_kind_of_optimiser_is_refused() {
    let mut network = network();
    let mut adam = Adam::new(0.01);
    let first = gradients(&network, 1.0);
    adam.step(&mut network, first);
    assert!(Sgd::new(0.01, 0.9).restore(adam.state()).is_err());
}
