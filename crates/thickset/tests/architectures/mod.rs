//! Objectives on networks that are no MLP against `PyTorch`: the value of the loss and its gradient in every parameter.
//! `tests/golden/architectures/make.py` says what is computed.

use serde::Deserialize;
use thickset::Seed;
use thickset::data::{InputShape, Schema};
use thickset::explain::CheckedExplain;
use thickset::model::{
    Activation, CnnConfig, GcnConfig, ModelConfig, Resnet9Config, SiameseConfig, siamese,
};
use thickset::objective::term::reading::predicted;
use thickset::objective::{Batch, Loss, ObjectiveConfig};
use thickset_engine::{Network, one_hot};

use crate::golden::{self, Golden, Stored, close};

/// Relative to the largest entry; f64 against f64 with another order of sums.
const TOLERANCE: f64 = 1e-7;

#[derive(Deserialize)]
struct Spec {
    losses: std::collections::BTreeMap<String, f64>,
    #[serde(default)]
    k: usize,
    #[serde(default)]
    gap_weight: f64,
    #[serde(default)]
    hessian_weight: f64,
    #[serde(default)]
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    explain: String,
    k: usize,
}

/// A network of the goldens.
struct Trained {
    folder: &'static str,
    golden: Golden,
    schema: Schema,
    spec: Spec,
    classes: usize,
    rename: fn(usize) -> usize,
}

impl Trained {
    fn read(folder: &'static str) -> Self {
        let whole = format!("architectures/{folder}");
        let path = format!(
            "{}/tests/golden/{whole}/spec.json",
            env!("CARGO_MANIFEST_DIR")
        );
        let (schema, classes, rename): (Schema, usize, fn(usize) -> usize) = match folder {
            "cnn" => (Schema::image(1, 8, 8, 255.0), 3, |place| place),
            "resnet9" => (Schema::image(3, 16, 16, 255.0), 3, |place| place),
            // The adjacency is a layer of its own, after the pair split.
            _ => (Schema::pair(&Schema::graph(6, -1.0, 1.0)), 2, |place| {
                if place == 0 { 0 } else { place - 1 }
            }),
        };
        Self {
            folder,
            golden: Golden::read(&whole),
            schema,
            spec: serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap(),
            classes,
            rename,
        }
    }

    fn network(&self) -> Network {
        let activation = Activation::Softplus {
            beta: golden::beta(&format!("architectures/{}", self.folder)),
        };
        let model = match self.folder {
            "cnn" => ModelConfig::Cnn(CnnConfig {
                channels: [3, 4],
                hidden: vec![7, 6],
                activation,
            }),
            "resnet9" => ModelConfig::Resnet9(Resnet9Config {
                width: 2,
                activation,
            }),
            _ => ModelConfig::Siamese(SiameseConfig {
                embedding: siamese::Embedding::Gcn(GcnConfig {
                    hidden: 5,
                    embedding: 4,
                    activation,
                }),
                size: 1,
            }),
        };
        let shape: &InputShape = &self.schema.shape;
        let mut source = self.golden.weights(self.rename);
        let mut network = model
            .network(shape, self.schema.len(), self.classes, &mut source)
            .unwrap();
        network.track();
        let logits = network.logits(self.golden.batch(&network, "x"));
        assert_eq!(predicted(&logits).unwrap(), self.golden.predicted(""));
        network
    }

    fn batch<'n>(&self, network: &'n Network, explain: &'n CheckedExplain, k: usize) -> Batch<'n> {
        let x = self.golden.batch(network, "x");
        let labels = self.golden.labels();
        Batch {
            network,
            labels: one_hot(&labels, self.classes, network.dtype(), &x.device()),
            x,
            explain,
            k,
            reference: None,
            perturbed: (self.folder == "cnn").then(|| self.golden.batch(network, "x_adv")),
            seed: Seed::new(0),
            step: 0,
            done: 1.0,
            radius: 0.5,
        }
    }

    /// Compares a loss with a weighted sum of golden ones, in value and in every gradient that the goldens keep.
    fn compare(&self, network: &Network, goldens: &[(&str, f64)], loss: &Loss, what: &str) {
        let total: f64 = goldens
            .iter()
            .map(|(name, weight)| weight * self.spec.losses[*name])
            .sum();
        let expected = Stored {
            shape: vec![1],
            values: vec![total],
        };
        close(
            what,
            &loss.total.clone().reshape([1, 1]),
            &expected,
            TOLERANCE,
        );
        let gradients = loss.total.clone().backward();
        let mut compared = 0;
        for parameter in network.parameters() {
            let name = golden::renamed(&parameter.name, self.rename);
            let mut sum: Option<Stored> = None;
            for (golden, weight) in goldens {
                let Some(stored) = self.golden.gradient(&format!("{golden}/{name}")) else {
                    continue;
                };
                let sum = sum.get_or_insert_with(|| Stored {
                    shape: stored.shape.clone(),
                    values: vec![0.0; stored.values.len()],
                });
                for (sum, value) in sum.values.iter_mut().zip(&stored.values) {
                    *sum += weight * value;
                }
            }
            let Some(expected) = sum else { continue };
            let got = parameter.value.grad(&gradients);
            let got = got.unwrap_or_else(|| parameter.value.zeros_like());
            close(
                &format!("{what}: {}", parameter.name),
                &got,
                &expected,
                TOLERANCE,
            );
            compared += 1;
        }
        assert!(
            compared >= 6,
            "{what}: only {compared} gradients to compare"
        );
    }
}

fn objective(text: &str) -> ObjectiveConfig {
    let config: ObjectiveConfig = toml::from_str(text).unwrap();
    config.objective().check().unwrap();
    config
}

#[test]
fn adversarial_objectives_and_regularisers_on_a_convolutional_network_agree_with_pytorch() {
    let trained = Trained::read("cnn");
    let igr = |base: &str| {
        format!("kind = \"igr\"\nweight = 1.0\nsteps = 10\nbase = {{ kind = \"{base}\" }}")
    };
    let plain = |kind: &str| format!("kind = \"{kind}\"");
    let weighted = |kind: &str| format!("kind = \"{kind}\"\nweight = 0.7");
    let cases: Vec<(Vec<(&str, f64)>, String)> = vec![
        (vec![("ce", 1.0)], plain("vanilla")),
        (vec![("at", 1.0)], plain("pgd-at")),
        (vec![("trades", 1.0)], plain("trades")),
        (vec![("mart", 1.0)], plain("mart")),
        (vec![("at_igr", 1.0)], igr("pgd-at")),
        (vec![("trades_igr", 1.0)], igr("trades")),
        (vec![("mart_igr", 1.0)], igr("mart")),
        (
            vec![("ig_norm", 1.0)],
            "kind = \"ig-norm\"\nweight = 1.0".to_owned(),
        ),
        (
            vec![("ig_sum_norm", 1.0)],
            "kind = \"ig-sum-norm\"\nweight = 1.0".to_owned(),
        ),
        (
            vec![("at", 1.0), ("advaat_pcl_term", 0.7)],
            weighted("adv-aat"),
        ),
        (vec![("at", 1.0), ("art_term", 0.7)], weighted("art")),
        (vec![("ce", 1.0), ("ssr_lambda_term", 0.7)], weighted("ssr")),
        (
            vec![("ce", 1.0), ("cl_radius_term", -0.7)],
            format!(
                "{}\nexplain = {{ kind = \"grad\", reduce = \"absolute\" }}",
                weighted("cl")
            ),
        ),
    ];
    for (goldens, text) in cases {
        let network = trained.network();
        let objective = objective(&text);
        let explain = objective.explain(&trained.schema);
        let explain = explain.check(&trained.schema).unwrap();
        let batch = trained.batch(&network, &explain, trained.spec.k);
        let loss = objective.objective().loss(&batch).unwrap();
        trained.compare(&network, &goldens, &loss, &text);
    }
}

#[test]
fn r2et_on_a_residual_network_and_on_pairs_of_graphs_agrees_with_pytorch() {
    for folder in ["resnet9", "siamese_gcn"] {
        let trained = Trained::read(folder);
        for case in &trained.spec.cases {
            let network = trained.network();
            let objective = objective(&format!(
                "kind = \"r2et\"\ngap = \"difference\"\ngap_weight = {}\nhessian_weight = {}\nexplain = {}",
                trained.spec.gap_weight, trained.spec.hessian_weight, case.explain
            ));
            let explain = objective.explain(&trained.schema);
            let explain = explain.check(&trained.schema).unwrap();
            let batch = trained.batch(&network, &explain, case.k);
            let loss = objective.objective().loss(&batch).unwrap();
            let what = format!("{folder} {}", case.name);
            trained.compare(&network, &[(case.name.as_str(), 1.0)], &loss, &what);
        }
    }
}
