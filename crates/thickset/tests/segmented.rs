//! Segmented models, `distinct`, `taught` and R2ET's ranking loss against `PyTorch` in f64, and segmented models from training to certificate.
//! `tests/golden/segmented/make.py` says what is computed.

mod golden;

use golden::{Golden, close};
use thickset::Seed;
use thickset::data::{InputShape, Schema};
use thickset::explain::{CheckedExplain, ExplainConfig};
use thickset::model::{Activation, Gate, MlpConfig, ModelConfig, SegmentedConfig};
use thickset::objective::{Batch, Loss, ObjectiveConfig};
use thickset_engine::{Network, one_hot};

/// Relative to the largest entry; f64 against f64 with another order of sums.
const TOLERANCE: f64 = 1e-9;

const FEATURES: usize = 8;

fn segmented(case: &str, classes: usize) -> (Golden, Network) {
    let golden = Golden::read(&format!("segmented/{case}"));
    let gate = if case.starts_with("argmax") {
        Gate::Argmax
    } else {
        Gate::Sparsemax { delta: 0.4 }
    };
    let model = ModelConfig::Segmented(SegmentedConfig {
        gate,
        prototypes: Some(3),
        blocks: vec![3, 3, 3],
    });
    let network = filled(&model, &golden, classes);
    (golden, network)
}

fn filled(model: &ModelConfig, golden: &Golden, classes: usize) -> Network {
    let mut source = golden.weights(|place| place);
    let mut network = model
        .network(&InputShape::Table, FEATURES, classes, &mut source)
        .unwrap();
    network.track();
    network
}

fn explain() -> CheckedExplain {
    let names: Vec<String> = (0..FEATURES).map(|place| format!("x{place}")).collect();
    ExplainConfig::default()
        .check(&Schema::table(&names))
        .unwrap()
}

fn batch<'n>(
    network: &'n Network,
    golden: &Golden,
    explain: &'n CheckedExplain,
    reference: Option<&'n Network>,
) -> Batch<'n> {
    let x = golden.batch(network, "x");
    let classes = network.classes();
    Batch {
        network,
        labels: one_hot(&golden.labels(), classes, network.dtype(), &x.device()),
        x,
        explain,
        k: 3,
        reference,
        perturbed: Some(golden.batch(network, "x_adv")),
        seed: Seed::new(0),
        step: 0,
        done: 1.0,
        radius: 0.9,
    }
}

fn assert_alike(what: &str, golden: &Golden, network: &Network, loss: Loss, prefix: &str, name: &str) {
    let total = loss.total.clone().reshape([1, 1]);
    close(what, &total, golden.expected("", name), TOLERANCE);
    let gradients = loss.total.backward();
    for parameter in network.parameters() {
        let Some(expected) = golden.gradient(&format!("{prefix}{}", parameter.name)) else {
            assert!(parameter.name.contains("score"), "{}", parameter.name);
            continue;
        };
        let gradient = parameter.value.grad(&gradients).unwrap();
        close(&format!("{what}: {}", parameter.name), &gradient, expected, TOLERANCE);
    }
}

#[test]
fn segmented_models_and_their_objective_agree_with_pytorch_in_value_and_parameter_gradients() {
    let explain = explain();
    for (case, classes) in [
        ("argmax-2", 2),
        ("sparsemax-2", 2),
        ("argmax-3", 3),
        ("sparsemax-3", 3),
    ] {
        let (golden, network) = segmented(case, classes);
        let batch = batch(&network, &golden, &explain, None);
        let pass = network.pass(batch.x.clone());
        close(case, &pass.logits(), golden.expected("", "logits"), TOLERANCE);
        let explainer = batch.explainer(&pass).unwrap();
        let importance = explainer.at(&pass).value();
        close(case, &importance, golden.expected("", "importance"), TOLERANCE);
        let objective: ObjectiveConfig = toml::from_str(
            "kind = \"distinct\"\ndecay = 0.01\nweight = 0.5\ndistinct_weight = 0.7\ndistinctness = 0.9",
        )
        .unwrap();
        let loss = objective.objective().loss(&batch).unwrap();
        for term in &loss.terms {
            let what = format!("{case}: {}", term.name);
            let expected = golden.expected("", &format!("term {}", term.name));
            close(&what, &term.value.clone().reshape([1, 1]), expected, TOLERANCE);
        }
        assert_eq!(loss.terms.len(), 5, "{case}");
        assert_alike(case, &golden, &network, loss, "", "loss");
    }
}

#[test]
fn a_taught_network_and_the_ranking_gap_agree_with_pytorch_in_value_and_parameter_gradients() {
    let explain = explain();
    let (_, mut teacher) = segmented("argmax-2", 2);
    teacher.untrack();
    let golden = Golden::read("segmented/mlp");
    let model = ModelConfig::Mlp(MlpConfig {
        hidden: vec![6],
        activation: Activation::Softplus { beta: 5.0 },
    });
    for (name, reference, text) in [
        ("taught", Some(&teacher), "kind = \"taught\"\nweight = 0.6"),
        (
            "r2et",
            None,
            "kind = \"r2et\"\ngap_weight = 0.4\nhessian_weight = 0.0",
        ),
    ] {
        let network = filled(&model, &golden, 2);
        let batch = batch(&network, &golden, &explain, reference);
        let objective: ObjectiveConfig = toml::from_str(text).unwrap();
        let loss = objective.objective().loss(&batch).unwrap();
        assert_alike(name, &golden, &network, loss, &format!("{name}/"), name);
    }
}
