//! Models against PyTorch: logits, input gradients, Hessian products and parameter gradients of
//! losses that contain them. `tests/golden/README.md` defines every number.

mod golden;

use golden::{Golden, close, values};
use thickset::Seed;
use thickset::data::InputShape;
use thickset::model::{
    Activation, CnnConfig, GcnConfig, MlpConfig, Model, ModelConfig, Resnet9Config, SiameseConfig,
    siamese,
};
use thickset_engine::{Gradients, Network, Output, Role, Tensor, one_hot};

/// What an architecture is called in the goldens, and how it is built.
struct Case {
    folder: &'static str,
    activation: &'static str,
    model: ModelConfig,
    input: InputShape,
    classes: usize,
    /// Goldens number the layers as PyTorch would; ours may have one that PyTorch computes inline.
    rename: fn(usize) -> usize,
}

fn cases() -> Vec<Case> {
    let activations = [
        ("relu", Activation::Relu),
        ("softplus", Activation::Softplus { beta: 2.0 }),
    ];
    let image = |channels, side| InputShape::Image {
        channels,
        height: side,
        width: side,
    };
    let mut cases = Vec::new();
    for (name, activation) in activations {
        cases.push(Case {
            folder: "cnn",
            activation: name,
            model: ModelConfig::Cnn(CnnConfig {
                channels: [3, 4],
                hidden: vec![7, 6],
                activation,
            }),
            input: image(1, 8),
            classes: 3,
            rename: |place| place,
        });
        cases.push(Case {
            folder: "resnet9",
            activation: name,
            model: ModelConfig::Resnet9(Resnet9Config {
                width: 2,
                activation,
            }),
            input: image(3, 16),
            classes: 3,
            rename: |place| place,
        });
        cases.push(Case {
            folder: "siamese_gcn",
            activation: name,
            model: ModelConfig::Siamese(SiameseConfig {
                embedding: siamese::Embedding::Gcn(GcnConfig {
                    hidden: 5,
                    embedding: 4,
                    activation,
                }),
                size: 1,
            }),
            input: InputShape::Pair {
                of: Box::new(InputShape::Graph { nodes: 6 }),
            },
            classes: 2,
            // The adjacency is a layer of its own, after the pair split.
            rename: |place| if place == 0 { 0 } else { place - 1 },
        });
    }
    cases
}

/// Goldens hold the gradients of weights of any size.
const ALL: usize = usize::MAX;

impl Case {
    /// The largest weight whose gradient the goldens hold. To keep the files small, ResNet-9 with softplus has that of
    /// `r2et` alone, for weights of at most 300 numbers.
    fn most_kept(&self, kind: &str) -> usize {
        match (self.folder, self.activation, kind) {
            ("resnet9", "softplus", "r2et") => 300,
            ("resnet9", "softplus", _) => 0,
            _ => ALL,
        }
    }

    fn network(&self, golden: &Golden) -> Network {
        let features = golden.inputs["x"].shape[1];
        let mut source = golden.weights(self.rename);
        self.model
            .network(&self.input, features, self.classes, &mut source)
            .unwrap()
    }
}

/// Every weight of the network has a gradient, and it is the golden one; statistics have none. Goldens hold those of
/// weights of at most `most` numbers.
fn weights_agree(
    network: &Network,
    gradients: &Gradients,
    golden: &Golden,
    prefix: &str,
    rename: fn(usize) -> usize,
    most: usize,
    tolerance: f64,
) {
    for parameter in network.parameters() {
        let name = format!("{prefix}/{}", golden::renamed(&parameter.name, rename));
        let expected = golden.gradient(&name);
        if parameter.role == Role::Statistic || parameter.len() > most {
            assert!(expected.is_none(), "{name}");
            continue;
        }
        let expected = expected.unwrap_or_else(|| panic!("no golden gradient {name}"));
        let gradient = parameter.value.grad(gradients);
        let gradient = gradient.unwrap_or_else(|| panic!("no gradient of {name}"));
        close(&name, &gradient, expected, tolerance);
    }
}

/// The three losses of the goldens, with everything they need from one pass.
#[expect(clippy::cast_precision_loss, reason = "numbers of features are small")]
fn loss(network: &Network, golden: &Golden, case: &str, kind: &str) -> Tensor<1> {
    let x = golden.batch(network, "x");
    let [rows, n] = x.dims();
    let pass = network.pass(x);
    let hot = |classes: &[usize]| {
        let logits = pass.logits();
        one_hot(
            classes,
            network.classes(),
            network.dtype(),
            &logits.device(),
        )
    };
    let labels = hot(&golden.labels());
    let log = thickset_engine::activation::log_softmax(pass.logits(), 1);
    let cross_entropy = -(log * labels).sum_dim(1);
    if kind == "ce" {
        return cross_entropy.mean();
    }
    let gradient = pass.input_gradient(Output::Probability, hot(&golden.predicted(case)));
    let value = gradient.value();
    if kind == "grad_penalty" {
        return (cross_entropy + value.powi_scalar(2).sum_dim(1)).mean();
    }
    let k = 5;
    let plain = values(&value);
    let mut weights = Vec::new();
    let mut direction = Vec::new();
    for row in plain.chunks(n) {
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| row[b].abs().total_cmp(&row[a].abs()).then(a.cmp(&b)));
        let mut of_row = vec![-(k as f64); n];
        order[..k].iter().for_each(|&i| of_row[i] = (n - k) as f64);
        weights.extend(of_row);
        let signs: Vec<f64> = row
            .iter()
            .map(|g| if *g == 0.0 { 0.0 } else { g.signum() })
            .collect();
        let norm = signs.iter().map(|s| s * s).sum::<f64>().sqrt();
        direction.extend(signs.iter().map(|s| s / norm));
    }
    let gap = (value.abs() * network.tensor(weights, [rows, n])).sum_dim(1);
    let product = gradient.hessian_product(network.tensor(direction, [rows, n]));
    let norm = (product.powi_scalar(2).sum_dim(1) + 1e-20).sqrt();
    (cross_entropy - gap * 0.01 + norm * 0.1).mean()
}

#[test]
fn outputs_and_input_derivatives_agree_with_pytorch_to_1e_8_in_f64() {
    for case in cases() {
        let golden = Golden::read(case.folder);
        let network = case.network(&golden);
        let expected = |name: &str| golden.expected(case.activation, name);
        let pass = network.pass(golden.batch(&network, "x"));
        let hot = |classes: &[usize]| {
            one_hot(
                classes,
                network.classes(),
                network.dtype(),
                &pass.logits().device(),
            )
        };
        let predicted = hot(&golden.predicted(case.activation));
        let what = format!("{} {}", case.folder, case.activation);
        close(&what, &pass.logits(), expected("logits"), 1e-8);
        close(&what, &pass.probabilities(), expected("probs"), 1e-8);
        close(&what, &pass.penultimate(), expected("penultimate"), 1e-8);
        let x = golden.batch(&network, "x");
        close(
            &what,
            &network.penultimate(x),
            expected("penultimate"),
            1e-8,
        );
        let probability = pass.input_gradient(Output::Probability, predicted.clone());
        close(&what, &probability.value(), expected("grad_p"), 1e-8);
        let logit = pass.input_gradient(Output::Logit, predicted);
        close(&what, &logit.value(), expected("grad_logit"), 1e-8);
        let loss = pass.input_gradient(Output::Loss, hot(&golden.labels()));
        close(&what, &loss.value(), expected("grad_loss"), 1e-8);
        let product = probability.hessian_product(golden.batch(&network, "v"));
        close(&what, &product, expected("hvp_v"), 1e-8);
        if case.folder != "resnet9" {
            let hessian = probability.hessian();
            let [rows, n, _] = hessian.dims();
            close(
                &what,
                &hessian.reshape([rows, n * n]),
                expected("hessian"),
                1e-8,
            );
        }
    }
}

#[test]
fn parameter_gradients_of_losses_with_input_gradients_agree_with_pytorch() {
    for case in cases() {
        let golden = Golden::read(case.folder);
        for kind in ["ce", "grad_penalty", "r2et"] {
            let mut network = case.network(&golden);
            network.track();
            let loss = loss(&network, &golden, case.activation, kind);
            let what = format!("{} {} {kind}", case.folder, case.activation);
            let expected = golden.expected(case.activation, &format!("loss_{kind}"));
            close(&what, &loss.clone().reshape([1, 1]), expected, 1e-8);
            let prefix = format!("{}/{kind}", case.activation);
            weights_agree(
                &network,
                &loss.backward(),
                &golden,
                &prefix,
                case.rename,
                case.most_kept(kind),
                1e-8,
            );
        }
    }
}

#[test]
fn the_gradient_penalty_is_differentiable_in_the_input() {
    for case in cases() {
        let golden = Golden::read(case.folder);
        let network = case.network(&golden);
        let x = golden.batch(&network, "x").autodiff().require_grad();
        let pass = network.pass(x.clone());
        let classes = golden.predicted(case.activation);
        let device = x.device().without_autodiff();
        let predicted = one_hot(&classes, network.classes(), network.dtype(), &device);
        let gradient = pass.input_gradient(Output::Probability, predicted).value();
        let gradients = gradient.powi_scalar(2).sum().backward();
        let expected = golden.expected(case.activation, "grad_penalty_input");
        close(case.folder, &x.grad(&gradients).unwrap(), expected, 1e-8);
    }
}

#[test]
fn f32_agrees_with_pytorch_to_1e_4() {
    for case in cases() {
        let golden = Golden::read(case.folder).single();
        let mut network = case.network(&golden);
        let what = format!("{} {} in f32", case.folder, case.activation);
        let predicted = golden.predicted(case.activation);
        {
            let pass = network.pass(golden.batch(&network, "x"));
            let device = pass.logits().device();
            let classes = one_hot(&predicted, network.classes(), network.dtype(), &device);
            let gradient = pass.input_gradient(Output::Probability, classes);
            let expected = |name: &str| golden.expected(case.activation, name);
            close(&what, &pass.logits(), expected("logits"), 1e-4);
            close(&what, &gradient.value(), expected("grad_p"), 1e-4);
            let product = gradient.hessian_product(golden.batch(&network, "v"));
            close(&what, &product, expected("hvp_v"), 1e-4);
        }
        network.track();
        let gradients = loss(&network, &golden, case.activation, "r2et").backward();
        let prefix = format!("{}/r2et", case.activation);
        weights_agree(
            &network,
            &gradients,
            &golden,
            &prefix,
            case.rename,
            case.most_kept("r2et"),
            1e-4,
        );
    }
}

#[test]
fn batch_statistics_and_their_running_means_agree_with_pytorch() {
    let golden = Golden::read("resnet9");
    let case = &cases()[1];
    let mut network = case.network(&golden);
    network.track();
    let (logits, statistics) = network.logits_fitting(golden.batch(&network, "x"));
    close("fitting", &logits, golden.expected("batch", "logits"), 1e-8);
    let device = logits.device().without_autodiff();
    let labels = one_hot(&golden.labels(), 3, network.dtype(), &device);
    let log = thickset_engine::activation::log_softmax(logits, 1);
    let gradients = (-(log * labels).sum_dim(1)).mean().backward();
    weights_agree(
        &network,
        &gradients,
        &golden,
        "batch/ce",
        case.rename,
        ALL,
        1e-8,
    );
    network.follow(&statistics);
    for parameter in network.parameters() {
        if parameter.name.contains("running") {
            let expected = golden.expected("batch", &parameter.name);
            close(&parameter.name, &parameter.value, expected, 1e-8);
        }
    }
}

/// The two MLPs of `SPEC.md`, whose tensors have no case prefix.
fn mlps() -> [Case; 2] {
    let softplus = Activation::Softplus {
        beta: golden::beta("mlp_softplus"),
    };
    [("mlp_relu", Activation::Relu), ("mlp_softplus", softplus)].map(|(folder, activation)| Case {
        folder,
        activation: "",
        model: ModelConfig::Mlp(MlpConfig {
            hidden: vec![8, 6],
            activation,
        }),
        input: InputShape::Table,
        classes: 3,
        rename: |place| place,
    })
}

#[test]
fn the_mlps_agree_with_their_goldens() {
    for case in mlps() {
        let folder = case.folder;
        let golden = Golden::read(folder);
        let network = case.network(&golden);
        let pass = network.pass(golden.batch(&network, "x"));
        let hot = |classes: &[usize]| one_hot(classes, 3, network.dtype(), &pass.logits().device());
        let expected = |name: &str| golden.expected("", name);
        let probability = pass.input_gradient(Output::Probability, hot(&golden.predicted("")));
        close(folder, &pass.logits(), expected("logits"), 1e-9);
        close(folder, &pass.probabilities(), expected("probs"), 1e-9);
        close(folder, &probability.value(), expected("grad_p"), 1e-9);
        let logit = pass.input_gradient(Output::Logit, hot(&golden.predicted("")));
        close(folder, &logit.value(), expected("grad_logit"), 1e-9);
        let loss = pass.input_gradient(Output::Loss, hot(&golden.labels()));
        close(folder, &loss.value(), expected("grad_loss"), 1e-9);
        let product = probability.hessian_product(golden.batch(&network, "v"));
        close(folder, &product, expected("hvp_v"), 1e-9);
        let [rows, n, _] = probability.hessian().dims();
        let hessian = probability.hessian().reshape([rows, n * n]);
        close(folder, &hessian, expected("hessian"), 1e-9);
        let jacobian = pass.logit_jacobian();
        let [rows, classes, n] = jacobian.dims();
        close(
            folder,
            &jacobian.reshape([rows, classes * n]),
            expected("logit_jacobian"),
            1e-9,
        );
    }
}

#[test]
fn the_mlps_in_f32_agree_with_their_goldens_to_1e_4() {
    for case in mlps() {
        let folder = case.folder;
        let golden = Golden::read(folder).single();
        let mut network = case.network(&golden);
        network.track();
        let expected = |name: &str| golden.expected("", name);
        let pass = network.pass(golden.batch(&network, "x"));
        let device = pass.logits().device().without_autodiff();
        let hot = |classes: &[usize]| one_hot(classes, 3, network.dtype(), &device);
        let probability = pass.input_gradient(Output::Probability, hot(&golden.predicted("")));
        close(folder, &pass.logits(), expected("logits"), 1e-4);
        close(folder, &probability.value(), expected("grad_p"), 1e-4);
        let product = probability.hessian_product(golden.batch(&network, "v"));
        close(folder, &product, expected("hvp_v"), 1e-4);

        let log = thickset_engine::activation::log_softmax(pass.logits(), 1);
        let gradients = (-(log * hot(&golden.labels())).sum_dim(1))
            .mean()
            .backward();
        weights_agree(&network, &gradients, &golden, "ce", case.rename, ALL, 1e-4);

        let pass = network.pass(golden.batch(&network, "x"));
        let probability = pass.input_gradient(Output::Probability, hot(&golden.predicted("")));
        let direction = network.batch(&expected("est_h_direction").values);
        let product = probability.hessian_product(direction);
        let norm = (product.powi_scalar(2).sum_dim(1) + 1e-20).sqrt();
        let gradients = norm.mean().backward();
        let name = "est_h_hvp_term";
        weights_agree(&network, &gradients, &golden, name, case.rename, ALL, 1e-4);
    }
}

#[test]
fn a_plain_safetensors_reader_finds_names_and_shapes_of_pytorch_and_the_description() {
    let model = ModelConfig::Cnn(CnnConfig {
        channels: [3, 4],
        hidden: vec![7],
        ..CnnConfig::default()
    });
    let image = InputShape::Image {
        channels: 1,
        height: 8,
        width: 8,
    };
    let classes = vec!["no".to_owned(), "yes".to_owned()];
    let model = Model::fresh(model, image, 64, classes, None, Seed::new(3)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut found: Vec<(String, Vec<usize>)> = file
        .iter()
        .map(|(name, view)| {
            assert_eq!(view.dtype(), safetensors::Dtype::F32);
            (name.to_owned(), view.shape().to_vec())
        })
        .collect();
    found.sort();
    let expected = [
        ("layers.0.bias", vec![3]),
        ("layers.0.weight", vec![3, 1, 3, 3]),
        ("layers.3.bias", vec![4]),
        ("layers.3.weight", vec![4, 3, 3, 3]),
        ("layers.6.bias", vec![7]),
        ("layers.6.weight", vec![7, 16]),
        ("layers.8.bias", vec![2]),
        ("layers.8.weight", vec![2, 7]),
    ];
    assert_eq!(
        found,
        expected.map(|(name, shape)| (name.to_owned(), shape))
    );
    // The numbers are the network's, in the order of the shape.
    let weight = network_parameter(&model.network, "layers.8.weight");
    let stored = file.tensor("layers.8.weight").unwrap();
    let stored = stored.data().as_chunks::<4>().0.iter();
    let stored: Vec<f64> = stored
        .map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
        .collect();
    assert_eq!(values(&weight), stored);
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let text = &header.metadata().as_ref().unwrap()["thickset"];
    let description: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(description["model"]["kind"], "cnn");
    assert_eq!(description["classes"], serde_json::json!(["no", "yes"]));
    assert_eq!(description["features"], 64);
}

fn network_parameter(network: &Network, name: &str) -> Tensor<2> {
    let parameters = network.parameters();
    let found = parameters.iter().find(|parameter| parameter.name == name);
    found.unwrap().value.clone()
}
