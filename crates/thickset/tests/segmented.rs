//! Segmented models, `distinct`, `taught` and R2ET's ranking loss against `PyTorch` in f64, and segmented models from training to certificate.
//! `tests/golden/segmented/make.py` says what is computed.

#[expect(dead_code, reason = "each test uses some of it")]
mod golden;

use golden::{Golden, close};
use thickset::attack::ThreatConfig;
use thickset::config::RunConfig;
use thickset::data::{InputShape, Schema};
use thickset::explain::{CheckedExplain, ExplainConfig};
use thickset::model::{
    Activation, AttackOptions, CertifyOptions, Gate, MlpConfig, ModelConfig, SegmentedConfig,
};
use thickset::objective::{Batch, Loss, ObjectiveConfig};
use thickset::train::Trained;
use thickset::{Dataset, Seed, train};
use thickset_engine::{Network, one_hot};

/// Relative to the largest entry; f64 against f64 with another order of sums.
const TOLERANCE: f64 = 1e-9;

const FEATURES: usize = 8;

const DISTINCT: &str =
    "{ kind = \"distinct\", explain = { kind = \"grad\", reduce = \"absolute\" } }";
const TAUGHT: &str = "{ kind = \"taught\", explain = { kind = \"grad\", reduce = \"absolute\" } }";

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

fn assert_alike(
    what: &str,
    golden: &Golden,
    network: &Network,
    loss: Loss,
    prefix: &str,
    name: &str,
) {
    let total = loss.total.clone().reshape([1, 1]);
    close(what, &total, golden.expected("", name), TOLERANCE);
    let gradients = loss.total.backward();
    for parameter in network.parameters() {
        let Some(expected) = golden.gradient(&format!("{prefix}{}", parameter.name)) else {
            assert!(parameter.name.contains("score"), "{}", parameter.name);
            continue;
        };
        let gradient = parameter.value.grad(&gradients).unwrap();
        close(
            &format!("{what}: {}", parameter.name),
            &gradient,
            expected,
            TOLERANCE,
        );
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
        close(
            case,
            &pass.logits(),
            golden.expected("", "logits"),
            TOLERANCE,
        );
        let explainer = batch.explainer(&pass).unwrap();
        let importance = explainer.at(&pass).value();
        close(
            case,
            &importance,
            golden.expected("", "importance"),
            TOLERANCE,
        );
        let objective: ObjectiveConfig = toml::from_str(
            "kind = \"distinct\"\ndecay = 0.01\nweight = 0.5\ndistinct_weight = 0.7\ndistinctness = 0.9",
        )
        .unwrap();
        let loss = objective.objective().loss(&batch).unwrap();
        for term in &loss.terms {
            let what = format!("{case}: {}", term.name);
            let expected = golden.expected("", &format!("term {}", term.name));
            close(
                &what,
                &term.value.clone().reshape([1, 1]),
                expected,
                TOLERANCE,
            );
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
            "kind = \"r2et\"\ngap_weight = 0.4\nhessian_weight = 0.0\nmargin = 0.3\nsoftness = 0.15",
        ),
    ] {
        let network = filled(&model, &golden, 2);
        let batch = batch(&network, &golden, &explain, reference);
        let objective: ObjectiveConfig = toml::from_str(text).unwrap();
        let loss = objective.objective().loss(&batch).unwrap();
        assert_alike(name, &golden, &network, loss, &format!("{name}/"), name);
    }
}

/// Two numbers and a column of three categories; in the second the first number counts the other way round.
fn rows_with_a_category() -> Dataset {
    let mut stream = Seed::new(1).stream("rows");
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for row in 0..600 {
        let (a, b, category) = (stream.uniform(), stream.uniform(), row % 3);
        let sign = if category == 1 { -1.0 } else { 1.0 };
        labels.push(usize::from(sign * (a - 0.5) + 0.3 * (b - 0.5) > 0.0));
        let hot = |wanted: usize| f32::from(u8::from(category == wanted));
        #[expect(clippy::cast_possible_truncation, reason = "rows are f32")]
        values.extend([a as f32, b as f32, hot(0), hot(1), hot(2)]);
    }
    let mut data = Dataset::from_rows(values, labels, &["a", "b", "c0", "c1", "c2"]).unwrap();
    for feature in &mut data.schema.features[2..] {
        feature.group = Some(0);
    }
    data
}

fn trained(data: &Dataset, model: &str, objective: &str) -> Trained {
    trained_with(data, 2, model, objective)
}

fn trained_with(data: &Dataset, k: usize, model: &str, objective: &str) -> Trained {
    let text = format!(
        "k = {k}\nexplain = {{ kind = \"grad\", reduce = \"absolute\" }}\n{model}\nobjective = {objective}\n[train]\nepochs = 60\nbatch = 64\nschedule = \"flat-then-linear\"\noptimizer = {{ kind = \"adam\", rate = 0.03 }}\n[selection]\ndistinctness_at_least = 0.1\n[probe]\nrows = 40\nepsilon = 0.5"
    );
    let run = RunConfig::parse(&text, "run.toml").unwrap();
    train(&run.check().unwrap(), data).unwrap()
}

#[test]
fn a_segmented_model_learns_what_a_linear_one_cannot_and_a_taught_network_learns_it_too() {
    let data = rows_with_a_category();
    let linear = trained(
        &data,
        "model = { kind = \"linear\" }",
        "{ kind = \"vanilla\" }",
    );
    let segmented = trained(&data, "", DISTINCT);
    let taught = trained(&data, "", TAUGHT);
    assert!(linear.best_auc < 0.85, "{}", linear.best_auc);
    assert!(segmented.selected.auc > 0.95, "{}", segmented.selected.auc);
    assert!(taught.selected.auc > 0.9, "{}", taught.selected.auc);
    // Below half the root of two no move leaves a segment.
    assert!((segmented.selected.precision_at_k - 1.0).abs() < 1e-12);
}

#[test]
fn a_teacher_ranks_what_its_network_ranks() {
    // As many features as there are columns: a teacher that ranked columns could not choose so many of them.
    let mut data = rows_with_a_category();
    for feature in &mut data.schema.features[2..] {
        "c".clone_into(&mut feature.column);
    }
    let taught = trained_with(&data, 3, "", TAUGHT);
    assert!(taught.selected.auc > 0.8, "{}", taught.selected.auc);
}

#[test]
fn no_attack_breaks_a_certificate_and_beyond_the_border_the_worst_case_is_exact() {
    let data = rows_with_a_category();
    let model = trained(&data, "", DISTINCT).model;
    let rows = data.test();
    let certify = |radius: f64| {
        let options = CertifyOptions {
            k: Some(2),
            radius: Some(radius),
            threat: ThreatConfig::papers(),
            ..CertifyOptions::default()
        };
        model.certify(&rows, &options).unwrap().rows
    };
    let near = certify(0.7);
    let clear = near
        .iter()
        .filter(|row| row.worst_case.kept_at_least == 2)
        .count();
    assert!(clear * 10 >= near.len() * 9, "{clear} of {}", near.len());
    let far = certify(0.9);
    for row in &far {
        assert!(row.worst_case.kept_at_least <= row.worst_case.kept_at_most);
        if let Some(found) = &row.radius.counterexample {
            assert!(found.size >= row.radius.certified);
            assert!(found.size > 0.7 && found.size < 0.9 + 1e-6);
        }
    }
    for radius in [0.7, 0.9] {
        let certificates = certify(radius);
        let options = AttackOptions {
            k: Some(2),
            radius: Some(radius),
            threat: Some(ThreatConfig::papers()),
            ..AttackOptions::default()
        };
        let attacked = model.attack(&rows, &options).unwrap();
        for (row, proved) in attacked.rows.iter().zip(&certificates) {
            let least = proved.worst_case.kept_at_least;
            assert!(row.found.precision * 2.0 + 1e-9 >= f64::from(u32::try_from(least).unwrap()));
        }
    }
}
