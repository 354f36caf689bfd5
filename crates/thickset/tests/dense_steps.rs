//! Losses of dense layers that are computed at once equal those of the recorded tensors, in value and in every gradient, and
//! have the same bits for any number of threads.
//!
//! Rows that are tracked themselves are what the fast way does not do, so the same loss of such rows goes the other way.

use std::fmt::Write as _;

use thickset::Seed;
use thickset::data::{InputShape, Schema};
use thickset::explain::ExplainConfig;
use thickset::explain::reduce::ReductionConfig;
use thickset::model::{Fresh, MlpConfig, ModelConfig};
use thickset::objective::{Batch, ObjectiveConfig};
use thickset_engine::{Network, Tensor, one_hot};

const FEATURES: usize = 11;

/// Every objective that has such a way, with its settings.
const OBJECTIVES: [&str; 23] = [
    "kind = \"vanilla\"",
    "kind = \"weight-decay\"",
    "kind = \"softplus\"",
    "kind = \"r2et\"",
    "kind = \"r2et\"\npairs = \"closest\"",
    "kind = \"r2et\"\ngap = \"difference\"",
    "kind = \"r2et\"\ngap = \"difference\"\nhessian_weight = 0.0",
    "kind = \"r2et\"\ngap = \"difference\"\npairs = \"closest\"",
    "kind = \"r2et\"\ngap = \"difference\"\npairs = \"closest\"\nhessian_weight = 0.0",
    "kind = \"r2et\"\ngap = \"difference\"\npairs = \"mirrored\"\npair_count = 2",
    "kind = \"r2et\"\nhessian_weight = 0.0\npairs = \"boundary\"",
    "kind = \"est-h\"",
    "kind = \"exact-h\"",
    "kind = \"pgd-at\"",
    "kind = \"pgd-at\"\nattack = { norm = \"l2\", range = [-1.0, 1.0] }",
    "kind = \"trades\"",
    "kind = \"mart\"",
    "kind = \"mart\"\nbeta = 0.0",
    "kind = \"igr\"",
    "kind = \"igr\"\nbase = \"trades\"\nsteps = 3",
    "kind = \"igr\"\nbase = \"mart\"\nweight = 0.5",
    "kind = \"adv-aat\"",
    "kind = \"adv-aat\"\nattack = { norm = \"l2\", start = \"input\", steps = 3 }",
];

fn objective(text: &str) -> ObjectiveConfig {
    toml::from_str(text).unwrap()
}

fn network(objective: &ObjectiveConfig, hidden: &[usize], classes: usize, wide: bool) -> Network {
    let model = ModelConfig::Mlp(MlpConfig {
        hidden: hidden.to_vec(),
        ..MlpConfig::default()
    });
    let model = objective.objective().model(model);
    let seed = Seed::new(4);
    let mut source = if wide {
        Fresh::double(seed)
    } else {
        Fresh::new(seed)
    };
    let network = model.network(&InputShape::Table, FEATURES, classes, &mut source);
    let mut network = network.unwrap();
    network.track();
    network
}

/// The loss, its terms, and its gradient in every parameter.
struct Differentiated {
    values: Vec<f64>,
    gradients: Vec<Vec<f64>>,
}

fn differentiated(
    objective: &ObjectiveConfig,
    network: &Network,
    rows: usize,
    reduce: ReductionConfig,
    (reference, is_recorded): (Option<&Network>, bool),
) -> Differentiated {
    let names: Vec<String> = (0..FEATURES).map(|feature| format!("x{feature}")).collect();
    let explain = ExplainConfig {
        reduce,
        ..ExplainConfig::default()
    };
    let explain = explain.check(&Schema::table(&names)).unwrap();
    let mut stream = Seed::new(9).stream("rows");
    let values: Vec<f64> = (0..rows * FEATURES).map(|_| stream.normal()).collect();
    let labels: Vec<usize> = (0..rows).map(|_| stream.below(network.classes())).collect();
    let x = network.batch(&values);
    let batch = Batch {
        network,
        labels: one_hot(&labels, network.classes(), network.dtype(), &x.device()),
        x: if is_recorded {
            x.autodiff().require_grad()
        } else {
            x
        },
        explain: &explain,
        k: 3,
        reference,
        perturbed: None,
        seed: Seed::new(3),
        step: 0,
        done: 1.0,
        radius: 0.5,
    };
    let loss = objective.objective().loss(&batch).unwrap();
    let number = |tensor: &Tensor<1>| tensor.to_data().iter::<f64>().sum::<f64>();
    let mut values = vec![number(&loss.total)];
    values.extend(loss.terms.iter().map(|term| number(&term.value)));
    let gradients = loss.total.backward();
    let parameters = network.parameters();
    let of = |tensor: &Tensor<2>| tensor.grad(&gradients).unwrap().to_data();
    Differentiated {
        values,
        gradients: parameters
            .iter()
            .map(|parameter| of(&parameter.value).iter::<f64>().collect())
            .collect(),
    }
}

/// The largest difference of numbers, relative to the largest of them.
fn distance(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    let largest = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(1e-30, f64::max);
    let size = largest(&mut expected.iter().map(|it| it.abs()));
    largest(&mut got.iter().zip(expected).map(|(got, it)| (got - it).abs())) / size
}

fn compare(
    text: &str,
    hidden: &[usize],
    (classes, rows, wide): (usize, usize, bool),
    reduce: ReductionConfig,
) -> String {
    let objective = objective(text);
    let network = network(&objective, hidden, classes, wide);
    let mut wrong = String::new();
    let other = {
        let other = self::network(&objective, &[4], classes, wide);
        let mut other = other;
        other.untrack();
        other
    };
    for reference in [None, Some(&other)] {
        let of = |is_recorded| {
            differentiated(&objective, &network, rows, reduce, (reference, is_recorded))
        };
        let (got, expected) = (of(false), of(true));
        let tolerance = if wide { 1e-9 } else { 1e-3 };
        let lists = std::iter::once((&got.values, &expected.values));
        let lists = lists.chain(got.gradients.iter().zip(&expected.gradients));
        for (place, (got, expected)) in lists.enumerate() {
            let far = distance(got, expected);
            if far > tolerance {
                let _ = writeln!(
                    wrong,
                    "{text}: {hidden:?}, {classes} classes, {rows} rows, {reduce:?}: list {place} differs by {far:.1e}"
                );
            }
        }
    }
    wrong
}

#[test]
fn losses_and_gradients_are_those_of_the_recorded_tensors() {
    let mut wrong = String::new();
    for text in OBJECTIVES {
        for hidden in [&[9][..], &[12, 7], &[10, 9, 8]] {
            for classes in [2, 4] {
                for rows in [1, 37, 131] {
                    for wide in [true, false] {
                        let size = (classes, rows, wide);
                        wrong += &compare(text, hidden, size, ReductionConfig::Absolute);
                    }
                }
            }
        }
        wrong += &compare(text, &[12, 7], (2, 20, true), ReductionConfig::Signed);
        wrong += &compare(text, &[12, 7], (3, 20, true), ReductionConfig::Signed);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn bits_of_losses_and_gradients_do_not_depend_on_threads() {
    for text in OBJECTIVES {
        let objective = objective(text);
        // So large that threads share the rows.
        let network = network(&objective, &[128, 64], 2, false);
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            let found = pool.unwrap().install(|| {
                differentiated(
                    &objective,
                    &network,
                    501,
                    ReductionConfig::Absolute,
                    (None, false),
                )
            });
            let numbers = found.values.into_iter().chain(found.gradients.concat());
            numbers.map(f64::to_bits).collect::<Vec<_>>()
        };
        let one = of(1);
        assert!(one == of(2) && one == of(4), "{text}");
    }
}
