//! Every objective against `PyTorch`: the value of the loss and its gradient in every parameter, on fixed inputs and, where
//! one is searched for, a fixed perturbed input. `tests/golden/SPEC.md` defines every number.

mod golden;

use golden::{Golden, Stored, close};
use thickset::Seed;
use thickset::data::InputShape;
use thickset::model::{Activation, Fresh, ModelConfig, mlp};
use thickset::objective::max_thickness::thickness;
use thickset::objective::term::inner_attack::{InnerAttack, Norm};
use thickset::objective::term::reading::{predicted, value};
use thickset::objective::{Batch, Loss, ObjectiveConfig};
use thickset_engine::kernel::cross_entropy;
use thickset_engine::{Network, Tensor, one_hot};

/// Relative to the largest entry; f64 against f64 with another order of sums.
const TOLERANCE: f64 = 1e-9;
const FOLDERS: [&str; 2] = ["mlp_relu", "mlp_softplus"];

fn model(folder: &str) -> ModelConfig {
    let activation = match folder {
        "mlp_relu" => Activation::Relu,
        _ => Activation::Softplus {
            beta: golden::beta(folder),
        },
    };
    ModelConfig::Mlp(mlp::Config {
        hidden: vec![8, 6],
        activation,
    })
}

fn network(folder: &str, golden: &Golden) -> Network {
    let mut source = golden.weights(|place| place);
    let mut network = model(folder)
        .network(&InputShape::Table, 10, 3, &mut source)
        .unwrap();
    network.track();
    network
}

fn batch<'n>(network: &'n Network, golden: &Golden, perturbed: bool) -> Batch<'n> {
    let x = golden.batch(network, "x");
    let labels = one_hot(&golden.labels(), 3, network.dtype(), &x.device());
    Batch {
        network,
        x,
        labels,
        k: 3,
        reference: None,
        perturbed: perturbed.then(|| golden.batch(network, "x_adv")),
        seed: Seed::new(0),
        step: 0,
    }
}

fn objective(text: &str) -> ObjectiveConfig {
    let config: ObjectiveConfig = toml::from_str(text).unwrap();
    config.objective().check().unwrap();
    config
}

/// A golden loss, our objective, and which part of its loss the golden is.
struct Case {
    golden: &'static str,
    objective: String,
    part: Part,
}

enum Part {
    Total,
    /// The first regulariser's bare value.
    Term,
}

fn cases() -> Vec<Case> {
    // The goldens weigh the sum of gaps by 0.01 and the Hessian norm by 0.1; our weights are of the mean gap: 21 pairs of
    // k (n - k) with k = 3 and n = 10, or k.
    let r2et = |pairs: &str, count: f64, rest: &str| {
        format!(
            "kind = \"r2et\"\npairs = \"{pairs}\"\ngap_weight = {}\n{rest}",
            0.01 * count
        )
    };
    let exact = "hessian_weight = 0.1";
    let total = |golden, objective: String| Case {
        golden,
        objective,
        part: Part::Total,
    };
    let term = |golden, objective: &str| Case {
        golden,
        objective: objective.to_owned(),
        part: Part::Term,
    };
    let igr = |base: &str| {
        format!("kind = \"igr\"\nweight = 1.0\nsteps = 10\nbase = {{ kind = \"{base}\" }}")
    };
    vec![
        total("ce", "kind = \"vanilla\"".to_owned()),
        total(
            "r2et_fd",
            r2et(
                "all",
                21.0,
                "hessian_weight = 0.1\nhessian = \"finite-difference\"\nstep = 0.001",
            ),
        ),
        total("r2et_hvp", r2et("all", 21.0, exact)),
        total("r2et_mm_hvp", r2et("mirrored", 3.0, exact)),
        total("r2et_mmin_hvp", r2et("closest", 3.0, exact)),
        total("r2et_no_h", r2et("all", 21.0, "hessian_weight = 0.0")),
        total(
            "r2et_mm_no_h",
            r2et("mirrored", 3.0, "hessian_weight = 0.0"),
        ),
        term("est_h_hvp_term", "kind = \"est-h\""),
        term("exact_h_term", "kind = \"exact-h\""),
        term("ssr_lambda_term", "kind = \"ssr\""),
        term("cl_radius_term", "kind = \"cl\""),
        total("ig_norm", "kind = \"ig-norm\"".to_owned()),
        total("ig_sum_norm", "kind = \"ig-sum-norm\"".to_owned()),
        total("at", "kind = \"pgd-at\"".to_owned()),
        total("at", "kind = \"at\"".to_owned()),
        total("trades", "kind = \"trades\"".to_owned()),
        total("mart", "kind = \"mart\"".to_owned()),
        total("at_igr", igr("pgd-at")),
        total("trades_igr", igr("trades")),
        total("mart_igr", igr("mart")),
        term("igr_term", &igr("pgd-at")),
        term("advaat_pcl_term", "kind = \"adv-aat\""),
        term("art_term", "kind = \"art\""),
    ]
}

fn golden_losses(folder: &str) -> serde_json::Value {
    let path = format!(
        "{}/tests/golden/{folder}/spec.json",
        env!("CARGO_MANIFEST_DIR")
    );
    serde_json::from_str::<serde_json::Value>(&std::fs::read_to_string(path).unwrap()).unwrap()["losses"]
        .take()
}

#[test]
fn losses_and_their_parameter_gradients_agree_with_pytorch() {
    for folder in FOLDERS {
        let golden = Golden::read(folder);
        let losses = golden_losses(folder);
        for case in cases() {
            let what = format!("{folder} {} by {}", case.golden, case.objective);
            let network = network(folder, &golden);
            let batch = batch(&network, &golden, true);
            let loss = objective(&case.objective).objective().loss(&batch).unwrap();
            let number = match case.part {
                Part::Total => loss.total,
                Part::Term => loss.terms[1].value.clone(),
            };
            let expected = Stored {
                shape: vec![1],
                values: vec![losses[case.golden].as_f64().unwrap()],
            };
            close(&what, &number.clone().reshape([1, 1]), &expected, TOLERANCE);
            let gradients = number.backward();
            for parameter in network.parameters() {
                let name = format!("{}/{}", case.golden, parameter.name);
                let expected = golden.gradient(&name).unwrap();
                let gradient = parameter
                    .value
                    .grad(&gradients)
                    .unwrap_or_else(|| parameter.value.zeros_like());
                close(&format!("{what}: {name}"), &gradient, expected, TOLERANCE);
            }
        }
    }
}

#[test]
fn losses_in_f32_agree_with_pytorch_to_1e_3() {
    for folder in FOLDERS {
        let golden = Golden::read(folder).single();
        let losses = golden_losses(folder);
        for case in cases() {
            let network = network(folder, &golden);
            let batch = batch(&network, &golden, true);
            let pass = network.pass(batch.x.clone());
            assert_eq!(predicted(&pass.logits()).unwrap(), golden.predicted(""));
            let loss = objective(&case.objective).objective().loss(&batch).unwrap();
            let got = match case.part {
                Part::Total => value(&loss.total),
                Part::Term => value(&loss.terms[1].value),
            };
            let expected = losses[case.golden].as_f64().unwrap();
            assert!(
                (got - expected).abs() < 1e-3 * (1.0 + expected.abs()),
                "{folder} {}: {got} {expected}",
                case.golden
            );
        }
    }
}

#[test]
fn an_inner_attack_stays_in_its_ball_and_its_range() {
    let golden = Golden::read("mlp_relu");
    let network = network("mlp_relu", &golden);
    let x = golden.batch(&network, "x");
    let labels = one_hot(&golden.labels(), 3, network.dtype(), &x.device());
    for (norm, range) in [
        (Norm::Linf, None),
        (Norm::L2, None),
        (Norm::L2, Some([-0.2, 0.4])),
    ] {
        let attack = InnerAttack {
            norm,
            range,
            epsilon: 0.3,
            step_size: Some(0.2),
            ..InnerAttack::default()
        };
        let mut draws = Seed::new(1).stream("test");
        let found = attack
            .perturb(&network, &x, &mut draws, |network, x| {
                Ok(cross_entropy(network.logits(x), labels.clone()))
            })
            .unwrap();
        let (found, x) = (golden::values(&found), golden::values(&x));
        if let Some([low, high]) = range {
            assert!(found.iter().all(|value| (low..=high).contains(value)));
            continue;
        }
        for (found, x) in found.chunks(10).zip(x.chunks(10)) {
            let change = found.iter().zip(x).map(|(a, b)| a - b);
            let size = match norm {
                Norm::Linf => change.fold(0.0, |most: f64, c| most.max(c.abs())),
                Norm::L2 => change.map(|c| c * c).sum::<f64>().sqrt(),
            };
            assert!((0.1..=0.3 + 1e-12).contains(&size), "{norm:?}: {size}");
        }
    }
}

#[test]
fn every_loss_of_the_goldens_is_compared() {
    let compared: Vec<_> = cases().iter().map(|case| case.golden).collect();
    let losses = golden_losses(FOLDERS[0]);
    for name in losses.as_object().unwrap().keys() {
        assert!(compared.contains(&name.as_str()), "{name}");
    }
}

#[test]
fn the_mean_gap_over_a_neighbourhood_is_the_goldens_thickness() {
    for folder in FOLDERS {
        let golden = Golden::read(folder);
        let network = network(folder, &golden);
        let batch = batch(&network, &golden, false);
        let all = &golden.inputs["thick_x"].values;
        let neighbours: Vec<Tensor<2>> = all
            .chunks(all.len() / 2)
            .map(|values| network.batch(values))
            .collect();
        let got = value(&thickness(&batch, &neighbours, 10).unwrap());
        let rows = &golden.expected("", "thickness_gap").values;
        let expected = rows.iter().sum::<f64>() / f64::from(u32::try_from(rows.len()).unwrap());
        assert!(
            (got - expected).abs() <= TOLERANCE * expected.abs(),
            "{folder}: {got} {expected}"
        );
    }
}

fn fresh() -> Network {
    let mut network = model("mlp_relu")
        .network(&InputShape::Table, 10, 3, &mut Fresh::double(Seed::new(3)))
        .unwrap();
    network.track();
    network
}

fn parameter_gradients(network: &Network, loss: &Loss) -> Vec<Vec<f64>> {
    let gradients = loss.total.clone().backward();
    let parameters = network.parameters().into_iter();
    parameters
        .map(|parameter| golden::values(&parameter.value.grad(&gradients).unwrap()))
        .collect()
}

#[test]
fn a_weight_of_zero_recovers_the_base_to_the_last_bit() {
    let golden = Golden::read("mlp_relu");
    let network = fresh();
    let batch = batch(&network, &golden, false);
    for (with, base) in [
        (
            "kind = \"r2et\"\ngap_weight = 0.0\nhessian_weight = 0.0",
            "kind = \"vanilla\"",
        ),
        ("kind = \"est-h\"\nweight = 0.0", "kind = \"vanilla\""),
        ("kind = \"exact-h\"\nweight = 0.0", "kind = \"vanilla\""),
        ("kind = \"ssr\"\nweight = 0.0", "kind = \"vanilla\""),
        ("kind = \"cl\"\nweight = 0.0", "kind = \"vanilla\""),
        (
            "kind = \"max-thickness\"\nweight = 0.0",
            "kind = \"vanilla\"",
        ),
        (
            "kind = \"weight-decay\"\nweight = 0.0",
            "kind = \"vanilla\"",
        ),
        ("kind = \"ig-norm\"\nweight = 0.0", "kind = \"vanilla\""),
        ("kind = \"trades\"\nbeta = 0.0", "kind = \"vanilla\""),
        ("kind = \"ig-sum-norm\"\nweight = 0.0", "kind = \"pgd-at\""),
        ("kind = \"adv-aat\"\nweight = 0.0", "kind = \"pgd-at\""),
        (
            "kind = \"igr\"\nweight = 0.0\nbase = { kind = \"pgd-at\" }",
            "kind = \"pgd-at\"",
        ),
        (
            "kind = \"igr\"\nweight = 0.0\nbase = { kind = \"trades\" }",
            "kind = \"trades\"",
        ),
        (
            "kind = \"igr\"\nweight = 0.0\nbase = { kind = \"mart\" }",
            "kind = \"mart\"",
        ),
    ] {
        let of = |text: &str| objective(text).objective().loss(&batch).unwrap();
        let (with, base) = (of(with), of(base));
        assert_eq!(value(&with.total).to_bits(), value(&base.total).to_bits());
        assert_eq!(
            parameter_gradients(&network, &with),
            parameter_gradients(&network, &base)
        );
    }
}

#[test]
fn what_an_inner_attack_finds_is_worse_than_the_input_and_the_same_twice() {
    let golden = Golden::read("mlp_softplus");
    let network = network("mlp_softplus", &golden);
    let of = |text: &str, perturbed: Option<Tensor<2>>| {
        let mut batch = batch(&network, &golden, false);
        batch.perturbed = perturbed;
        value(&objective(text).objective().loss(&batch).unwrap().total)
    };
    let x = golden.batch(&network, "x");
    for text in [
        "kind = \"pgd-at\"",
        "kind = \"pgd-at\"\nattack = { norm = \"l2\", epsilon = 0.3, steps = 5, start = \"uniform\" }",
        "kind = \"trades\"",
        "kind = \"mart\"",
        "kind = \"ig-norm\"",
        "kind = \"ig-sum-norm\"",
        "kind = \"adv-aat\"",
    ] {
        let (clean, attacked) = (of(text, Some(x.clone())), of(text, None));
        assert!(attacked > clean, "{text}: {attacked} {clean}");
        assert_eq!(attacked.to_bits(), of(text, None).to_bits(), "{text}");
    }
}

#[test]
fn objectives_without_a_golden_gradient_agree_with_central_differences() {
    let golden = Golden::read("mlp_softplus");
    for text in [
        "kind = \"weight-decay\"\nweight = 0.3",
        "kind = \"softplus\"",
        "kind = \"max-thickness\"\nweight = 0.7",
    ] {
        let config = objective(text);
        let at = |change: f64, name: &str, place: usize| {
            let mut network = network("mlp_softplus", &golden);
            for parameter in network.parameters_mut() {
                if parameter.name == name {
                    let mut numbers = golden::values(&parameter.value);
                    numbers[place] += change;
                    let size = parameter.value.dims();
                    let data = thickset_engine::TensorData::new(numbers, size);
                    let device = thickset_engine::Device::flex();
                    parameter.value =
                        Tensor::from_data(data, (&device, thickset_engine::DType::F64));
                }
            }
            network.track();
            let loss = config
                .objective()
                .loss(&batch(&network, &golden, false))
                .unwrap();
            (value(&loss.total), parameter_gradients(&network, &loss))
        };
        let network = network("mlp_softplus", &golden);
        let (_, gradients) = at(0.0, "", 0);
        for (parameter, gradient) in network.parameters().iter().zip(&gradients) {
            let place = gradient.len() / 2;
            let h = 1e-5;
            let (more, _) = at(h, &parameter.name, place);
            let (less, _) = at(-h, &parameter.name, place);
            let expected = (more - less) / (2.0 * h);
            assert!(
                (gradient[place] - expected).abs() < 1e-7 * (1.0 + expected.abs()),
                "{text} {}: {} {expected}",
                parameter.name,
                gradient[place]
            );
        }
    }
}

#[test]
fn a_reference_model_decides_the_salient_set() {
    let golden = Golden::read("mlp_relu");
    let network = network("mlp_relu", &golden);
    let other = fresh();
    let config = objective("kind = \"r2et\"\nhessian_weight = 0.0");
    let gap = |reference| {
        let mut batch = batch(&network, &golden, false);
        batch.reference = reference;
        let loss = config.objective().loss(&batch).unwrap();
        value(&loss.terms[1].value)
    };
    assert_eq!(gap(None).to_bits(), gap(Some(&network)).to_bits());
    // No set has a larger mean gap than the model's own.
    assert!(gap(Some(&other)) < gap(None));
}
