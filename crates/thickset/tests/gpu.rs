//! What runs on the GPU against the same on the CPU, both in single precision: every architecture, every objective, a short training,
//! explanations and attacks. Without a GPU there is nothing to compare, which is said.
#![cfg(feature = "gpu")]

mod every_architecture;
mod every_objective;

use every_architecture::every_architecture;
use every_objective::every_objective;
use thickset::attack::AttackKind;
use thickset::attack::suite::Effort;
use thickset::config::RunConfig;
use thickset::data::{Dataset, InputShape, Schema};
use thickset::explain::ExplainConfig;
use thickset::host::read;
use thickset::model::{
    Activation, AttackOptions, AuditOptions, ExplainOptions, Fresh, MlpConfig, ModelConfig,
};
use thickset::objective::{Batch, ObjectiveConfig};
use thickset::{DeviceKind, Model, Seed, Trained, train};
use thickset_engine::{Device, Network, Output, Tensor, one_hot};

/// Allowed difference of what one pass computes, relative to the largest number: rounding after every operation, and sums in another
/// order.
const PASS: f64 = 1e-4;
/// The same of losses and gradients that go through second derivatives, finite differences and long ways.
const LOSS: f64 = 2e-3;

/// Two attacks whose points are farther apart than this took different ways, which rounding decides where two features are nearly equally
/// important: on the CPU, weights changed by one millionth send the same row another way.
const FORK: f64 = 1e-2;
/// How many of eight attacked rows may do so.
const FORKED_ROWS: usize = 2;

/// The GPU, or nothing and a message where there is none.
fn gpu() -> Option<Device> {
    match DeviceKind::Gpu.open() {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Compares, and says how far apart the numbers are.
fn agree(group: &str, what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(got.len(), expected.len(), "{group}: {what}: sizes");
    let largest = expected
        .iter()
        .fold(1e-2_f64, |most, one| most.max(one.abs()));
    let mut most = 0.0_f64;
    for (place, (got, expected)) in got.iter().zip(expected).enumerate() {
        let difference = (got - expected).abs() / largest;
        assert!(
            difference <= tolerance,
            "{group}: {what}: number {place} is {got}, expected {expected}, of at most {largest}"
        );
        most = most.max(difference);
    }
    let what = what.trim().replace('\n', ", ");
    eprintln!("difference {most:.1e} of {tolerance:.0e}: {group}: {what}");
}

fn farthest(one: &[f64], other: &[f64]) -> f64 {
    one.iter()
        .zip(other)
        .fold(0.0, |most, (one, other)| most.max((one - other).abs()))
}

fn draws(name: &str, count: usize) -> Vec<f64> {
    let mut stream = Seed::new(7).stream(name);
    (0..count).map(|_| stream.normal()).collect()
}

/// The gradients of a loss in all weights, zeros where it does not reach one.
fn weight_gradients(network: &Network, loss: Tensor<1>) -> Vec<Vec<f64>> {
    let gradients = loss.backward();
    let parameters = network.parameters().into_iter();
    parameters
        .map(|parameter| {
            let gradient = parameter.value.grad(&gradients);
            read(gradient.unwrap_or_else(|| parameter.value.zeros_like()))
        })
        .collect()
}

/// Logits, an input gradient, a Hessian product, and the weights' gradients of a loss of all three.
fn pass_of(network: &mut Network, features: usize) -> Vec<Vec<f64>> {
    network.track();
    let size = [3, features];
    let directions = network.tensor(draws("direction", 3 * features), size);
    let pass = network.pass(network.batch(&draws("x", 3 * features)));
    let device = pass.logits().device().without_autodiff();
    let classes = one_hot(&[0, 1, 1], network.classes(), network.dtype(), &device);
    let gradient = pass.input_gradient(Output::Probability, classes);
    let product = gradient.hessian_product(directions.clone());
    let loss = pass.logits().sum()
        + (gradient.value() * directions.clone()).sum()
        + (product.clone() * directions).sum();
    let mut all = vec![read(pass.logits()), read(gradient.value()), read(product)];
    all.extend(weight_gradients(network, loss));
    all
}

#[test]
fn every_architecture_computes_the_same() {
    let Some(gpu) = gpu() else { return };
    for (model, input, features) in every_architecture() {
        let what = format!("{} over {input}", model.kind());
        let mut source = Fresh::new(Seed::new(3));
        let mut on_cpu = model.network(&input, features, 2, &mut source).unwrap();
        let mut on_gpu = on_cpu.on_device(&gpu).unwrap();
        assert!(on_cpu.is_on_cpu() && !on_gpu.is_on_cpu());
        assert_eq!(on_gpu.instruction_set(), "gpu");
        let expected = pass_of(&mut on_cpu, features);
        let got = pass_of(&mut on_gpu, features);
        for (place, (got, expected)) in got.iter().zip(&expected).enumerate() {
            let what = format!("{what}, {place}");
            agree("architecture", &what, got, expected, LOSS);
        }
        assert_eq!(on_gpu.to_file("{}"), on_cpu.to_file("{}"), "{what}");
    }
}

/// The loss and the weights' gradients of an objective on a few rows.
fn loss_of(network: &Network, config: &ObjectiveConfig) -> (f64, Vec<Vec<f64>>) {
    let names: Vec<String> = (0..10).map(|feature| format!("x{feature}")).collect();
    let explain = ExplainConfig::default()
        .check(&Schema::table(&names))
        .unwrap();
    let x = network.batch(&draws("rows", 120));
    let classes: Vec<usize> = (0..12).map(|row| row % 3).collect();
    let moved: Vec<f64> = draws("moves", 120).iter().map(|one| one * 0.1).collect();
    let batch = Batch {
        network,
        labels: one_hot(&classes, 3, network.dtype(), &x.device()),
        perturbed: Some(x.clone() + network.batch(&moved)),
        x,
        explain: &explain,
        k: 3,
        reference: None,
        seed: Seed::new(0),
        step: 0,
        done: 1.0,
        radius: 0.5,
    };
    let loss = config.objective().loss(&batch).unwrap().total;
    (read(loss.clone())[0], weight_gradients(network, loss))
}

#[test]
fn every_objective_has_the_same_loss_and_gradients() {
    let Some(gpu) = gpu() else { return };
    let model = ModelConfig::Mlp(MlpConfig {
        hidden: vec![8, 6],
        activation: Activation::Softplus { beta: 2.0 },
    });
    let mut source = Fresh::new(Seed::new(3));
    let on_cpu = model
        .network(&InputShape::Table, 10, 3, &mut source)
        .unwrap();
    for text in every_objective() {
        let config: ObjectiveConfig = toml::from_str(&text).unwrap();
        let (mut on_cpu, mut on_gpu) = (on_cpu.clone(), on_cpu.on_device(&gpu).unwrap());
        on_cpu.track();
        on_gpu.track();
        let (expected, of_cpu) = loss_of(&on_cpu, &config);
        let (got, of_gpu) = loss_of(&on_gpu, &config);
        agree("loss of an objective", &text, &[got], &[expected], PASS);
        for (got, expected) in of_gpu.iter().zip(&of_cpu) {
            agree("gradient of an objective", &text, got, expected, LOSS);
        }
    }
}

/// A few bundled images, and a run that trains a small network of convolutions on them.
fn images(device: &str) -> (RunConfig, Dataset) {
    let text = format!(
        "name = \"test\"\nk = 8\nmodel = {{ kind = \"cnn\", channels = [4, 6], hidden = [8] }}\n\
         objective = {{ kind = \"r2et\" }}\nprobe = {{ rows = 4, steps = 2 }}\n\
         train = {{ epochs = 2, batch = 16, device = \"{device}\" }}\ndata = {{ source = \"digits\" }}\n"
    );
    let config = RunConfig::parse(&text, "run.toml").unwrap();
    let mut dataset = config
        .clone()
        .check()
        .unwrap()
        .config()
        .open_data()
        .unwrap();
    dataset.split.train.truncate(48);
    dataset.split.validation.truncate(16);
    dataset.split.test.truncate(8);
    (config, dataset)
}

fn trained_on(device: &str) -> (Trained, Dataset) {
    let (config, dataset) = images(device);
    let trained = train(&config.check().unwrap(), &dataset).unwrap();
    (trained, dataset)
}

#[test]
fn a_training_on_the_gpu_ends_where_one_on_the_cpu_does() {
    if gpu().is_none() {
        return;
    }
    let (on_cpu, _) = trained_on("cpu");
    let (on_gpu, dataset) = trained_on("gpu");
    // What comes out computes on the CPU, wherever it was trained.
    assert!(on_gpu.model.network.is_on_cpu());
    for (got, expected) in on_gpu.epochs.iter().zip(&on_cpu.epochs) {
        let (got, expected) = (got.loss, expected.loss);
        agree("training", "loss of an epoch", &[got], &[expected], 1e-2);
    }
    let rows = dataset.test();
    let logits = |trained: &Trained| trained.model.logits(&rows).unwrap();
    agree(
        "training",
        "logits at the end",
        &logits(&on_gpu),
        &logits(&on_cpu),
        2e-2,
    );
}

fn single(model: Model) -> (Model, Model) {
    let on_gpu = model.clone().on_device(DeviceKind::Gpu).unwrap();
    (model, on_gpu)
}

#[test]
fn predictions_explanations_attacks_and_audits_agree() {
    if gpu().is_none() {
        return;
    }
    let (trained, mut dataset) = trained_on("cpu");
    let (on_cpu, on_gpu) = single(trained.model);
    let rows = dataset.test();
    let logits = |model: &Model| model.logits(&rows).unwrap();
    agree("model", "logits", &logits(&on_gpu), &logits(&on_cpu), PASS);
    let explained = |model: &Model| {
        let found = model.explain(&rows, &ExplainOptions::default()).unwrap();
        found
            .rows
            .into_iter()
            .flat_map(|row| row.importance)
            .collect::<Vec<f64>>()
    };
    agree(
        "model",
        "importances",
        &explained(&on_gpu),
        &explained(&on_cpu),
        LOSS,
    );
    let options = AttackOptions {
        method: Some(toml::from_str::<AttackKind>("kind = \"er-attack\"").unwrap()),
        steps: Some(5),
        ..AttackOptions::default()
    };
    let attacked = |model: &Model| model.attack(&rows, &options).unwrap().rows;
    let (got, expected) = (attacked(&on_gpu), attacked(&on_cpu));
    let mut forked = 0;
    for (got, expected) in got
        .iter()
        .map(|row| &row.found)
        .zip(expected.iter().map(|row| &row.found))
    {
        if farthest(&got.perturbed, &expected.perturbed) > FORK {
            forked += 1;
            continue;
        }
        agree(
            "model",
            "attacked row",
            &got.perturbed,
            &expected.perturbed,
            PASS,
        );
        assert_eq!(got.precision, expected.precision, "P@k at the same point");
    }
    eprintln!("{forked} of {} attacked rows took another way", got.len());
    assert!(got.len() == 8 && forked <= FORKED_ROWS, "{forked} rows");
    let options = AuditOptions {
        effort: Some(Effort::Quick),
        ..AuditOptions::default()
    };
    // Two rows, since an audit is slow on a software adapter.
    dataset.split.test.truncate(2);
    let audit = on_gpu.audit(&dataset.test(), &options).unwrap();
    assert_eq!(audit.instruction_set.as_deref(), Some("gpu"));
    let absent = audit.certificate.unwrap().absent.unwrap();
    assert!(absent.contains("GPU"), "{absent}");
}

#[test]
fn a_network_of_double_precision_is_refused() {
    let Some(gpu) = gpu() else { return };
    let model = ModelConfig::Mlp(MlpConfig::default());
    let mut source = Fresh::double(Seed::new(3));
    let network = model
        .network(&InputShape::Table, 4, 2, &mut source)
        .unwrap();
    let refused = network.on_device(&gpu).unwrap_err().to_string();
    assert!(refused.contains("single precision"), "{refused}");
}
