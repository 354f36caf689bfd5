//! Every architecture against central differences in f64, first and second order, in weights and
//! inputs: one loss of the logits, an input gradient and a Hessian product.

mod every_architecture;

use every_architecture::every_architecture;
use thickset::Seed;
use thickset::model::Fresh;
use thickset_engine::{Network, Output, Role, Tensor, one_hot};

/// Step of the central differences.
const STEP: f64 = 1e-5;
/// Allowed difference relative to the largest entry of the gradient.
const TOLERANCE: f64 = 1e-6;
/// Entries of each tensor that are checked; all of a smaller one.
const ENTRIES: usize = 6;

fn draws(name: &str, count: usize) -> Vec<f64> {
    let mut stream = Seed::new(7).stream(name);
    (0..count).map(|_| stream.normal()).collect()
}

fn loss(network: &Network, x: Tensor<2>) -> Tensor<1> {
    let [rows, n] = x.dims();
    let direction = network.tensor(draws("direction", rows * n), [rows, n]);
    let weights = network.tensor(draws("weights", rows * n), [rows, n]);
    let pass = network.pass(x);
    let device = pass.logits().device().without_autodiff();
    let classes: Vec<_> = (0..rows).map(|row| row % network.classes()).collect();
    let classes = one_hot(&classes, network.classes(), network.dtype(), &device);
    let gradient = pass.input_gradient(Output::Probability, classes.clone());
    let of_loss = pass.input_gradient(Output::Loss, classes.clone());
    let log = thickset_engine::activation::log_softmax(pass.logits(), 1);
    -(log * classes).sum()
        + (gradient.value() * weights.clone()).sum()
        + (gradient.hessian_product(direction.clone()) * weights.clone()).sum()
        + (of_loss.hessian_product(direction) * weights).sum()
}

fn plain(tensor: Tensor<1>) -> f64 {
    tensor
        .without_autodiff()
        .into_data()
        .try_to_vec::<f64>()
        .unwrap()[0]
}

fn values(tensor: &Tensor<2>) -> Vec<f64> {
    tensor
        .clone()
        .without_autodiff()
        .into_data()
        .try_to_vec()
        .unwrap()
}

fn agree(what: &str, gradient: &[f64], mut shifted: impl FnMut(usize, f64) -> f64) {
    let largest = gradient
        .iter()
        .fold(1e-3_f64, |most, value| most.max(value.abs()));
    let stride = gradient.len().div_ceil(ENTRIES);
    for entry in (0..gradient.len()).step_by(stride) {
        let expected = (shifted(entry, STEP) - shifted(entry, -STEP)) / (2.0 * STEP);
        assert!(
            (gradient[entry] - expected).abs() <= TOLERANCE * largest,
            "{what} entry {entry}: got {}, expected {expected}",
            gradient[entry]
        );
    }
}

#[test]
fn gradients_of_every_architecture_agree_with_central_differences() {
    for (model, input, features) in every_architecture() {
        let kind = format!("{} over {input}", model.kind());
        let mut source = Fresh::double(Seed::new(3));
        let mut network = model.network(&input, features, 2, &mut source).unwrap();
        let start = draws("x", 2 * features);
        let x = network.batch(&start).autodiff().require_grad();
        network.track();
        let gradients = loss(&network, x.clone()).backward();
        let of_x = values(&x.grad(&gradients).unwrap());
        let of_weights: Vec<_> = network
            .parameters()
            .iter()
            .map(|parameter| parameter.value.grad(&gradients))
            .collect();
        network.untrack();
        agree(&format!("{kind}, input"), &of_x, |entry, step| {
            let mut values = start.clone();
            values[entry] += step;
            plain(loss(&network, network.batch(&values)))
        });
        for (place, gradient) in of_weights.into_iter().enumerate() {
            let parameter = network.parameters()[place].clone();
            let Some(gradient) = gradient else {
                assert_eq!(
                    parameter.role,
                    Role::Statistic,
                    "{kind}, {}",
                    parameter.name
                );
                continue;
            };
            let (base, size) = (values(&parameter.value), parameter.value.dims());
            agree(
                &format!("{kind}, {}", parameter.name),
                &values(&gradient),
                |entry, step| {
                    let mut values = base.clone();
                    values[entry] += step;
                    let value = network.tensor(values, size);
                    network.parameters_mut()[place].value = value;
                    let loss = plain(loss(&network, network.batch(&start)));
                    network.parameters_mut()[place].value = parameter.value.clone();
                    loss
                },
            );
        }
    }
}
