//! Every objective against `PyTorch`: the value of the loss and its gradient in every parameter, on fixed inputs and, where
//! one is searched for, a fixed perturbed input. `tests/golden/SPEC.md` defines every number.

mod every_objective;
mod golden;
mod weights;

use std::sync::LazyLock;

use every_objective::every_objective;
use golden::{Golden, Stored, close};
use thickset::Seed;
use thickset::attack::threat::Norm;
use thickset::data::{InputShape, Schema};
use thickset::explain::{CheckedExplain, ExplainConfig};
use thickset::metric::ranking::TopK;
use thickset::model::{Activation, Fresh, MlpConfig, ModelConfig};
use thickset::objective::max_thickness::thickness;
use thickset::objective::term::inner_attack::InnerAttack;
use thickset::objective::term::reading::{predicted, value};
use thickset::objective::{Batch, Loss, ObjectiveConfig};
use thickset_engine::kernel::cross_entropy;
use thickset_engine::{Network, Output, Tensor, one_hot};

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
    ModelConfig::Mlp(MlpConfig {
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

/// The absolute gradient of a table of ten numbers.
static EXPLAIN: LazyLock<CheckedExplain> = LazyLock::new(|| {
    let names: Vec<String> = (0..10).map(|feature| format!("x{feature}")).collect();
    let schema = Schema::table(&names);
    ExplainConfig::default().check(&schema).unwrap()
});

fn batch<'n>(network: &'n Network, golden: &Golden, perturbed: bool) -> Batch<'n> {
    let x = golden.batch(network, "x");
    let labels = one_hot(&golden.labels(), 3, network.dtype(), &x.device());
    Batch {
        network,
        x,
        labels,
        explain: &EXPLAIN,
        k: 3,
        reference: None,
        perturbed: perturbed.then(|| golden.batch(network, "x_adv")),
        seed: Seed::new(0),
        step: 0,
        done: 1.0,
        radius: 0.5,
    }
}

fn objective(text: &str) -> ObjectiveConfig {
    let config: ObjectiveConfig = toml::from_str(text).unwrap();
    config.objective().check().unwrap();
    config
}

/// Our objective, and the goldens whose weighted sum its loss is.
struct Case {
    goldens: Vec<(&'static str, f64)>,
    objective: String,
}

fn cases() -> Vec<Case> {
    // The goldens weigh the sum of gaps by 0.01 and the Hessian norm by 0.1; our weights are of the mean gap: 21 pairs of
    // k (n - k) with k = 3 and n = 10, or k.
    let r2et = |pairs: &str, count: f64, rest: &str| {
        format!(
            "kind = \"r2et\"\ngap = \"difference\"\npairs = \"{pairs}\"\ngap_weight = {}\n{rest}",
            0.01 * count
        )
    };
    let exact = "hessian_weight = 0.1";
    let total = |golden, objective: String| Case {
        goldens: vec![(golden, 1.0)],
        objective,
    };
    // What is minimised is the base plus the weight times the term, or minus where more is better.
    let sum = |base, term, sign: f64, objective: &str| Case {
        goldens: vec![(base, 1.0), (term, sign * 0.7)],
        objective: format!("weight = 0.7\n{objective}"),
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
        sum("ce", "est_h_hvp_term", 1.0, "kind = \"est-h\""),
        sum("ce", "exact_h_term", 1.0, "kind = \"exact-h\""),
        sum("ce", "ssr_lambda_term", 1.0, "kind = \"ssr\""),
        sum("ce", "cl_radius_term", -1.0, "kind = \"cl\""),
        total("ig_norm", "kind = \"ig-norm\"\nweight = 1.0".to_owned()),
        total(
            "ig_sum_norm",
            "kind = \"ig-sum-norm\"\nweight = 1.0".to_owned(),
        ),
        total("at", "kind = \"pgd-at\"".to_owned()),
        total("at", "kind = \"at\"".to_owned()),
        total("trades", "kind = \"trades\"".to_owned()),
        total("mart", "kind = \"mart\"".to_owned()),
        total("at_igr", igr("pgd-at")),
        total("trades_igr", igr("trades")),
        total("mart_igr", igr("mart")),
        sum(
            "at",
            "igr_term",
            1.0,
            "kind = \"igr\"\nbase = { kind = \"pgd-at\" }",
        ),
        sum("at", "advaat_pcl_term", 1.0, "kind = \"adv-aat\""),
        sum("at", "art_term", 1.0, "kind = \"art\""),
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

/// The weighted sum of golden numbers.
fn combined(goldens: &[(&str, f64)], of: impl Fn(&str) -> f64) -> f64 {
    goldens.iter().map(|(name, weight)| weight * of(name)).sum()
}

/// The weighted sum of golden gradients of one parameter.
fn combined_gradient(golden: &Golden, goldens: &[(&str, f64)], parameter: &str) -> Stored {
    let mut shape = Vec::new();
    let mut values = Vec::new();
    for (name, weight) in goldens {
        let stored = golden.gradient(&format!("{name}/{parameter}")).unwrap();
        values.resize(stored.values.len(), 0.0);
        for (sum, value) in values.iter_mut().zip(&stored.values) {
            *sum += weight * value;
        }
        shape.clone_from(&stored.shape);
    }
    Stored { shape, values }
}

#[test]
fn losses_and_their_parameter_gradients_agree_with_pytorch() {
    for folder in FOLDERS {
        let golden = Golden::read(folder);
        let losses = golden_losses(folder);
        for case in cases() {
            let what = format!("{folder} {:?} by {}", case.goldens, case.objective);
            let network = network(folder, &golden);
            let batch = batch(&network, &golden, true);
            let loss = objective(&case.objective).objective().loss(&batch).unwrap();
            let expected = Stored {
                shape: vec![1],
                values: vec![combined(&case.goldens, |name| {
                    losses[name].as_f64().unwrap()
                })],
            };
            let total = loss.total;
            close(&what, &total.clone().reshape([1, 1]), &expected, TOLERANCE);
            let gradients = total.backward();
            for parameter in network.parameters() {
                let expected = combined_gradient(&golden, &case.goldens, &parameter.name);
                let gradient = parameter
                    .value
                    .grad(&gradients)
                    .unwrap_or_else(|| parameter.value.zeros_like());
                let what = format!("{what}: {}", parameter.name);
                close(&what, &gradient, &expected, TOLERANCE);
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
            let got = value(&loss.total);
            let expected = combined(&case.goldens, |name| losses[name].as_f64().unwrap());
            assert!(
                (got - expected).abs() < 1e-3 * (1.0 + expected.abs()),
                "{folder} {:?}: {got} {expected}",
                case.goldens
            );
        }
    }
}

#[test]
fn weight_decay_adds_half_the_squares_and_a_gradient_of_weight_times_weight() {
    let golden = Golden::read("mlp_relu");
    let ce = golden_losses("mlp_relu")["ce"].as_f64().unwrap();
    let network = network("mlp_relu", &golden);
    let batch = batch(&network, &golden, false);
    let loss = objective("kind = \"weight-decay\"\nweight = 0.3")
        .objective()
        .loss(&batch);
    let loss = loss.unwrap();
    let gradients = parameter_gradients(&network, &loss);
    let mut squares = 0.0;
    for (parameter, gradient) in network.parameters().iter().zip(gradients) {
        let numbers = golden::values(&parameter.value);
        squares += numbers.iter().map(|number| number * number).sum::<f64>();
        let of_ce = &golden
            .gradient(&format!("ce/{}", parameter.name))
            .unwrap()
            .values;
        for ((got, number), of_ce) in gradient.iter().zip(&numbers).zip(of_ce) {
            let expected = of_ce + 0.3 * number;
            assert!(
                (got - expected).abs() < 1e-12,
                "{}: {got} {expected}",
                parameter.name
            );
        }
    }
    let expected = ce + 0.15 * squares;
    let got = value(&loss.total);
    assert!(
        (got - expected).abs() < 1e-12 * expected,
        "{got} {expected}"
    );
}

/// The sizes of the gradient of each row's predicted class at `x`, at other points.
fn importances(network: &Network, x: &Tensor<2>, points: Tensor<2>) -> Vec<f64> {
    let classes = predicted(&network.logits(x.clone())).unwrap();
    let classes = one_hot(&classes, 3, network.dtype(), &x.device());
    let pass = network.pass(points);
    let gradient = pass.input_gradient(Output::Probability, classes).value();
    let sizes = golden::values(&gradient).into_iter();
    sizes.map(f64::abs).collect()
}

#[test]
fn the_thickness_that_is_trained_is_the_mean_gap_of_every_pair_at_every_point() {
    let golden = Golden::read("mlp_softplus");
    let network = network("mlp_softplus", &golden);
    let batch = batch(&network, &golden, false);
    let (x, size) = (&batch.x, batch.x.dims());
    // Written out pair by pair, over the same draws.
    let at_x = importances(&network, x, x.clone());
    let mut draws = batch.draws("neighbours");
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in 0..2 {
        let normal = (0..size[0] * size[1]).map(|_| draws.normal() * 0.1);
        let shift = network.tensor(normal.collect(), size);
        for t in [0.1, 0.3, 0.5, 0.7, 0.9] {
            let there = importances(&network, x, x.clone() + shift.clone() * t);
            for (at_x, there) in at_x.chunks(10).zip(there.chunks(10)) {
                let salient = TopK::of(at_x, 3).unwrap();
                for i in salient.iter() {
                    for j in (0..10).filter(|j| !salient.contains(*j)) {
                        sum += there[i] - there[j];
                        count += 1.0;
                    }
                }
            }
        }
    }
    let thickness = sum / count;
    assert!(thickness > 0.01, "{thickness}");
    let ce = golden_losses("mlp_softplus")["ce"].as_f64().unwrap();
    for weight in [0.7, 1.4] {
        let config = objective(&format!(
            "kind = \"max-thickness\"\nweight = {weight}\ndraws = 2\ndeviation = 0.1"
        ));
        let got = value(&config.objective().loss(&batch).unwrap().total);
        let expected = ce - weight * thickness;
        assert!((got - expected).abs() < 1e-12, "{got} {expected}");
    }
}

#[test]
fn an_adaptive_term_is_the_given_share_of_the_class_loss_and_its_weight_a_constant() {
    let golden = Golden::read("mlp_softplus");
    let mut adaptive_ones = 0;
    for text in every_objective() {
        let plain = objective(&text);
        let info = plain.objective().info();
        if !info
            .defaults
            .iter()
            .any(|setting| setting.name == "adaptive")
        {
            continue;
        }
        adaptive_ones += 1;
        let network = network("mlp_softplus", &golden);
        let batch = batch(&network, &golden, true);
        let adaptive = objective(&format!("adaptive = true\n{text}"));
        let of = |config: &ObjectiveConfig| config.objective().loss(&batch).unwrap();
        // A graph is differentiated once, so the sum by hand has one of its own.
        let (plain, whole, mut by_hand) = (of(&plain), of(&adaptive), of(&adaptive));
        let class = value(&plain.terms[0].value);
        // What changes from the plain sum is the weight of each adaptive term; others may come in plain numbers.
        let mut sum = plain.total.clone();
        let mut followed = 0;
        for (before, after) in plain.terms.iter().zip(&by_hand.terms).skip(1) {
            let size = value(&after.value).abs();
            if after.adaptive {
                followed += 1;
                let expected = before.weight * (class + 1.0) / size;
                assert!(
                    (after.weight / expected - 1.0).abs() < 1e-9,
                    "{text}: {} {expected}",
                    after.weight
                );
                sum = sum + after.value.clone() * (after.weight - before.weight);
            }
        }
        assert!(followed > 0, "{text}");
        by_hand.total = sum;
        let (expected, got) = (
            parameter_gradients(&network, &by_hand),
            parameter_gradients(&network, &whole),
        );
        for (expected, got) in expected.iter().flatten().zip(got.iter().flatten()) {
            assert!(
                (expected - got).abs() < 1e-12 * (1.0 + expected.abs()),
                "{text}"
            );
        }
    }
    assert!(adaptive_ones >= 14, "{adaptive_ones}");
}

#[test]
fn an_inner_attack_goes_to_the_edge_of_its_ball_and_no_further_and_stays_in_its_range() {
    const RADIUS: f64 = 0.3;
    let golden = Golden::read("mlp_relu");
    let network = network("mlp_relu", &golden);
    let x = golden.batch(&network, "x");
    let labels = one_hot(&golden.labels(), 3, network.dtype(), &x.device());
    let search = |norm: Norm, range: Option<[f64; 2]>| {
        let attack = InnerAttack {
            norm,
            range,
            epsilon: RADIUS,
            step_size: Some(0.2),
            ..InnerAttack::default()
        };
        let mut draws = Seed::new(1).stream("test");
        let found = attack.perturb(&network, &x, &mut draws, |network, x| {
            Ok(cross_entropy(network.logits(x), labels.clone()))
        });
        golden::values(&found.unwrap())
    };
    let size = |norm: Norm, change: &mut dyn Iterator<Item = f64>| match norm {
        Norm::Linf => change.fold(0.0, |most: f64, c| most.max(c.abs())),
        Norm::L2 => change.map(|c| c * c).sum::<f64>().sqrt(),
    };
    let x = golden::values(&x);
    for norm in [Norm::Linf, Norm::L2] {
        for (found, x) in search(norm, None).chunks(10).zip(x.chunks(10)) {
            let size = size(norm, &mut found.iter().zip(x).map(|(a, b)| a - b));
            // Ten steps of 0.2 in one direction would leave the ball; the projection ends on its edge.
            assert!((size - RADIUS).abs() < 1e-9, "{norm:?}: {size}");
        }
        let [low, high] = [-0.2, 0.4];
        let found = search(norm, Some([low, high]));
        assert!(found.iter().all(|value| (low..=high).contains(value)));
        let at_bound = |value: &f64| [low, high].contains(value);
        assert!(found.iter().any(at_bound), "{norm:?}");
        for (found, x) in found.chunks(10).zip(x.chunks(10)) {
            // What begins outside of the range is brought in by more than the radius.
            let inside = found
                .iter()
                .zip(x)
                .filter(|(_, x)| (low..=high).contains(*x));
            let size = size(norm, &mut inside.map(|(a, b)| a - b));
            assert!(size <= RADIUS + 1e-12, "{norm:?}: {size}");
        }
    }
}

#[test]
fn every_loss_of_the_goldens_is_compared() {
    let compared: Vec<_> = cases()
        .into_iter()
        .flat_map(|case| case.goldens)
        .map(|(golden, _)| golden)
        .collect();
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
        .map(|parameter| {
            let gradient = parameter.value.grad(&gradients);
            golden::values(&gradient.unwrap_or_else(|| parameter.value.zeros_like()))
        })
        .collect()
}

#[test]
fn a_weight_of_zero_recovers_the_base_to_the_last_bit() {
    let golden = Golden::read("mlp_relu");
    let network = fresh();
    // What the search of `art` finds is its own, so it is compared on given rows alone.
    let given_only = [("kind = \"art\"\nweight = 0.0", "kind = \"pgd-at\"")];
    let everywhere = [
        (
            "kind = \"r2et\"\ngap_weight = 0.0\nhessian_weight = 0.0",
            "kind = \"vanilla\"",
        ),
        ("kind = \"est-h\"\nweight = 0.0", "kind = \"vanilla\""),
        ("kind = \"exact-h\"\nweight = 0.0", "kind = \"vanilla\""),
        ("kind = \"ssr\"\nweight = 0.0", "kind = \"vanilla\""),
        ("kind = \"cl\"\nweight = 0.0", "kind = \"vanilla\""),
        (
            "kind = \"distinct\"\nweight = 0.0\ndistinct_weight = 0.0",
            "kind = \"vanilla\"",
        ),
        ("kind = \"taught\"\nweight = 0.0", "kind = \"vanilla\""),
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
    ];
    for (perturbed, pairs) in [
        (false, &everywhere[..]),
        (true, &everywhere[..]),
        (true, &given_only[..]),
    ] {
        let batch = batch(&network, &golden, perturbed);
        for (with, base) in pairs {
            let of = |text: &str| objective(text).objective().loss(&batch).unwrap();
            let (left, right) = (of(with), of(base));
            assert_eq!(
                value(&left.total).to_bits(),
                value(&right.total).to_bits(),
                "{with}"
            );
            assert_eq!(
                parameter_gradients(&network, &left),
                parameter_gradients(&network, &right),
                "{with}"
            );
        }
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
fn every_objective_agrees_with_central_differences() {
    // The change of a weight; what is not smooth (rankings, signs, the class) does not change within it.
    const H: f64 = 1e-5;
    let golden = Golden::read("mlp_softplus");
    for text in every_objective() {
        let config = objective(&text);
        let mut changed = network("mlp_softplus", &golden);
        let loss_at = |network: &Network| {
            let batch = batch(network, &golden, true);
            config.objective().loss(&batch).unwrap()
        };
        let gradients = parameter_gradients(&changed, &loss_at(&changed));
        for (place, gradient) in gradients.iter().enumerate() {
            let entries = [
                0,
                gradient.len() / 3,
                2 * gradient.len() / 3,
                gradient.len() - 1,
            ];
            for entry in entries {
                let mut moved = |change: f64| {
                    weights::shift(&mut changed, place, entry, change);
                    let total = value(&loss_at(&changed).total);
                    weights::shift(&mut changed, place, entry, -change);
                    total
                };
                let expected = (moved(H) - moved(-H)) / (2.0 * H);
                assert!(
                    (gradient[entry] - expected).abs() < 1e-7 * (1.0 + expected.abs()),
                    "{text}parameter {place}, entry {entry}: {} {expected}",
                    gradient[entry]
                );
            }
        }
    }
}

#[test]
fn a_reference_model_decides_the_salient_set() {
    let golden = Golden::read("mlp_relu");
    let network = network("mlp_relu", &golden);
    let other = fresh();
    let config = objective("kind = \"r2et\"\ngap = \"difference\"\nhessian_weight = 0.0");
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
