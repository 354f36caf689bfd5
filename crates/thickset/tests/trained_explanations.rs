//! R2ET's loss on every explanation and reduction against `PyTorch`: its value and its gradient in every parameter, and every
//! objective that ranks against central differences. `tests/golden/r2et_explanations/make.py` says what is computed.

mod architectures;
mod golden;
mod weights;

use golden::{Golden, Stored, close};
use serde::Deserialize;
use thickset::Seed;
use thickset::data::{References, Schema};
use thickset::explain::{CheckedExplain, ExplanationConfig, InlineExplain};
use thickset::model::{Activation, CnnConfig, MlpConfig, ModelConfig};
use thickset::objective::term::reading::{predicted, value};
use thickset::objective::{Batch, Loss, ObjectiveConfig};
use thickset_engine::{Network, Tensor, one_hot};

/// Relative to the largest entry; f64 against f64 with another order of sums.
const TOLERANCE: f64 = 1e-8;

#[derive(Deserialize)]
struct Spec {
    gap_weight: f64,
    hessian_weight: f64,
    step: f64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    explain: String,
    k: usize,
    hessian: String,
    loss: f64,
}

/// One of the two models, with its cases.
struct Trained {
    name: &'static str,
    golden: Golden,
    schema: Schema,
    spec: Spec,
}

impl Trained {
    fn all() -> [Self; 2] {
        let table = Schema {
            references: Some(References {
                typical: vec![0.1, -0.2, 0.3, 0.0, 0.2, -0.1],
                class_means: std::collections::BTreeMap::new(),
            }),
            ..Schema::table(&["a", "b", "c", "d", "e", "f"])
        };
        let image = Schema::image(3, 8, 8, 255.0);
        [("mlp", table), ("cnn", image)].map(|(name, schema)| {
            let folder = format!("r2et_explanations/{name}");
            let path = format!(
                "{}/tests/golden/{folder}/spec.json",
                env!("CARGO_MANIFEST_DIR")
            );
            Self {
                name,
                golden: Golden::read(&folder),
                schema,
                spec: serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(),
            }
        })
    }

    fn network(&self) -> Network {
        let activation = Activation::Softplus {
            beta: golden::beta(&format!("r2et_explanations/{}", self.name)),
        };
        let model = match self.name {
            "mlp" => ModelConfig::Mlp(MlpConfig {
                hidden: vec![7, 5],
                activation,
            }),
            _ => ModelConfig::Cnn(CnnConfig {
                channels: [3, 4],
                hidden: vec![6],
                activation,
            }),
        };
        let mut source = self.golden.weights(|place| place);
        let shape = &self.schema.shape;
        let mut network = model
            .network(shape, self.schema.len(), 3, &mut source)
            .unwrap();
        network.track();
        network
    }

    fn objective(&self, case: &Case) -> ObjectiveConfig {
        let spec = &self.spec;
        toml::from_str(&format!(
            "kind = \"r2et\"\ngap = \"difference\"\ngap_weight = {}\nhessian_weight = {}\nhessian = \"{}\"\nstep = {}\nexplain = {}",
            spec.gap_weight, spec.hessian_weight, case.hessian, spec.step, case.explain
        ))
        .unwrap()
    }

    fn batch<'n>(&self, network: &'n Network, explain: &'n CheckedExplain, k: usize) -> Batch<'n> {
        let x = self.golden.batch(network, "x");
        let labels = one_hot(&self.golden.labels(), 3, network.dtype(), &x.device());
        Batch {
            network,
            x,
            labels,
            explain,
            k,
            reference: None,
            perturbed: None,
            seed: Seed::new(0),
            step: 0,
            done: 1.0,
            radius: 0.5,
        }
    }
}

fn gradients(network: &Network, loss: &Loss) -> Vec<Tensor<2>> {
    let gradients = loss.total.clone().backward();
    let parameters = network.parameters().into_iter();
    parameters
        .map(|parameter| {
            let gradient = parameter.value.grad(&gradients);
            gradient.unwrap_or_else(|| parameter.value.zeros_like())
        })
        .collect()
}

#[test]
fn r2et_on_every_explanation_agrees_with_pytorch_in_value_and_parameter_gradients() {
    for trained in Trained::all() {
        let network = trained.network();
        let logits = network.logits(trained.golden.batch(&network, "x"));
        assert_eq!(predicted(&logits).unwrap(), trained.golden.predicted(""));
        for case in &trained.spec.cases {
            let objective = trained.objective(case);
            let explain = objective.explain(&trained.schema);
            let explain = explain.check(&trained.schema).unwrap();
            let batch = trained.batch(&network, &explain, case.k);
            let loss = objective.objective().loss(&batch).unwrap();
            let what = format!("{} {}", trained.name, case.name);
            let expected = Stored {
                shape: vec![1],
                values: vec![case.loss],
            };
            close(
                &what,
                &loss.total.clone().reshape([1, 1]),
                &expected,
                TOLERANCE,
            );
            for (parameter, gradient) in network.parameters().iter().zip(gradients(&network, &loss))
            {
                let name = format!("{}/{}", case.name, parameter.name);
                let expected = trained.golden.gradient(&name).unwrap();
                close(
                    &format!("{what}: {}", parameter.name),
                    &gradient,
                    expected,
                    TOLERANCE,
                );
            }
        }
    }
}

#[test]
fn r2et_on_every_explanation_in_f32_agrees_with_pytorch_to_1e_3() {
    for mut trained in Trained::all() {
        trained.golden = trained.golden.single();
        let network = trained.network();
        for case in &trained.spec.cases {
            let objective = trained.objective(case);
            let explain = objective.explain(&trained.schema);
            let explain = explain.check(&trained.schema).unwrap();
            let batch = trained.batch(&network, &explain, case.k);
            let got = value(&objective.objective().loss(&batch).unwrap().total);
            assert!(
                (got - case.loss).abs() < 1e-3,
                "{} {}: {got} {}",
                trained.name,
                case.name,
                case.loss
            );
        }
    }
}

#[test]
fn every_explanation_and_reduction_has_a_golden() {
    let trained = Trained::all();
    let explained: Vec<InlineExplain> = trained
        .iter()
        .flat_map(|trained| &trained.spec.cases)
        .map(|case| {
            let table: toml::Table = format!("explain = {}", case.explain).parse().unwrap();
            table["explain"].clone().try_into().unwrap()
        })
        .collect();
    for kind in ExplanationConfig::all() {
        // Theirs are in `golden/contributions`.
        if kind.kind() == "contributions" {
            continue;
        }
        let mut all = explained.iter();
        assert!(
            all.any(|one| one.explanation.kind() == kind.kind()),
            "{}",
            kind.kind()
        );
    }
    for &rule in thickset::explain::reduce::ReductionConfig::ALL {
        assert!(
            explained.iter().any(|one| one.reduce == Some(rule)),
            "{rule:?}"
        );
    }
}

#[test]
fn every_objective_that_ranks_agrees_with_central_differences_on_every_explanation() {
    // What is not smooth (rankings, signs, the class) does not change within it.
    const H: f64 = 1e-5;
    let [trained, _] = Trained::all();
    let ranking = [
        "kind = \"r2et\"\ngap_weight = 0.7\nhessian_weight = 0.7\npairs = \"closest\"",
        "kind = \"est-h\"\nweight = 0.7",
        "kind = \"exact-h\"\nweight = 0.7",
        "kind = \"max-thickness\"\nweight = 0.7",
        "kind = \"cl\"\nweight = 0.7",
    ];
    let explanations = [
        "{ kind = \"grad\", of = \"logit\", reduce = \"normalised-absolute\" }",
        "{ kind = \"grad-input\" }",
        "{ kind = \"smooth-grad\", draws = 3 }",
        "{ kind = \"integrated-gradients\", steps = 3 }",
        "{ kind = \"concept\" }",
        "{ kind = \"contributions\", points = 3, per = \"feature\" }",
    ];
    for text in ranking {
        for explain in explanations {
            let text = format!("{text}\nexplain = {explain}");
            let objective: ObjectiveConfig = toml::from_str(&text).unwrap();
            let explain = objective.explain(&trained.schema);
            let explain = explain.check(&trained.schema).unwrap();
            let mut network = trained.network();
            let loss_at = |network: &Network| {
                let batch = trained.batch(network, &explain, 2);
                objective.objective().loss(&batch).unwrap()
            };
            let gradients = gradients(&network, &loss_at(&network));
            for (place, gradient) in gradients.iter().enumerate() {
                let gradient = golden::values(gradient);
                let entry = gradient.len() / 2;
                let mut moved = |change: f64| {
                    weights::shift(&mut network, place, entry, change);
                    let total = value(&loss_at(&network).total);
                    weights::shift(&mut network, place, entry, -change);
                    total
                };
                let expected = (moved(H) - moved(-H)) / (2.0 * H);
                assert!(
                    (gradient[entry] - expected).abs() < 1e-7 * (1.0 + expected.abs()),
                    "{text}\nparameter {place}: {} {expected}",
                    gradient[entry]
                );
            }
        }
    }
}

#[test]
fn an_attack_in_training_lowers_the_gap_of_the_explanation_that_it_is_given() {
    let [trained, _] = Trained::all();
    for explain in [
        "{ kind = \"grad-input\" }",
        "{ kind = \"smooth-grad\", draws = 3 }",
        "{ kind = \"integrated-gradients\", steps = 3 }",
        "{ kind = \"concept\" }",
    ] {
        let text = format!("kind = \"at\"\nattack = {{ steps = 5 }}\nexplain = {explain}");
        let objective: ObjectiveConfig = toml::from_str(&text).unwrap();
        let explain = objective.explain(&trained.schema);
        let explain = explain.check(&trained.schema).unwrap();
        let network = trained.network();
        let batch = trained.batch(&network, &explain, 2);
        let clean = value(&batch.class_loss(batch.x.clone()).total);
        let attacked = value(&objective.objective().loss(&batch).unwrap().total);
        assert!(
            attacked.is_finite() && attacked.to_bits() != clean.to_bits(),
            "{text}"
        );
    }
}

#[test]
fn noise_in_training_is_the_steps_own() {
    let [trained, _] = Trained::all();
    let network = trained.network();
    let objective: ObjectiveConfig =
        toml::from_str("kind = \"r2et\"\nexplain = { kind = \"smooth-grad\", draws = 3 }").unwrap();
    let explain = objective.explain(&trained.schema);
    let explain = explain.check(&trained.schema).unwrap();
    let at = |step: u64| {
        let mut batch = trained.batch(&network, &explain, 2);
        batch.step = step;
        value(&objective.objective().loss(&batch).unwrap().total).to_bits()
    };
    assert_eq!(at(0), at(0));
    assert_ne!(at(0), at(1));
}
