//! Certificates of models as they are deployed, in `f32`.

use thickset_engine::{Chain, Network, Output};

use super::super::case::Deployed as _;
use super::super::deployed::DeployedChain;
use super::super::explained::{Explained, Ranked};
use super::super::{CertifyConfig, DenseNetwork, Status};
use crate::attack::ThreatConfig;
use crate::attack::suite::{Effort, SuiteConfig};
use crate::attack::threat::{BallConfig, Norm};
use crate::data::{InputShape, Schema};
use crate::explain::grad_input::GradInputConfig;
use crate::explain::{ExplainConfig, Points};
use crate::metric::ranking::{TopK, largest};
use crate::model::{Activation, MlpConfig, Model, ModelConfig};
use crate::{Error, Seed};

const FEATURES: usize = 10;
const K: usize = 3;

fn model(config: MlpConfig) -> Model {
    Model::fresh(
        ModelConfig::Mlp(config),
        InputShape::Table,
        FEATURES,
        vec!["no".to_owned(), "yes".to_owned()],
        None,
        Seed::new(4),
    )
    .unwrap()
}

fn schema() -> Schema {
    let names: Vec<String> = (0..FEATURES).map(|feature| format!("f{feature}")).collect();
    Schema::table(&names)
}

fn rows(count: usize) -> (Vec<f64>, Vec<u64>) {
    let mut stream = Seed::new(5).stream("rows");
    let values = (0..count * FEATURES).map(|_| f64::from(as_single(stream.uniform())));
    (values.collect(), (0..count as u64).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "the model takes f32")]
fn as_single(value: f64) -> f32 {
    value as f32
}

fn config(norm: Norm, radius: f64) -> CertifyConfig {
    CertifyConfig {
        k: K,
        threat: ThreatConfig {
            ball: BallConfig { norm, radius },
            ..ThreatConfig::default()
        },
        ..CertifyConfig::default()
    }
}

/// The class and the top-k set of the deployed model.
fn run(network: &Network, x: &[f64], class: Option<usize>) -> (usize, TopK) {
    let chain = Chain::new(network).unwrap();
    let mut tile = chain.tile();
    tile.run(x, Output::Probability, &[class.unwrap_or(0)]);
    let predicted = largest(tile.logits()).unwrap();
    tile.run(x, Output::Probability, &[class.unwrap_or(predicted)]);
    let importance: Vec<f64> = tile.gradient().iter().map(|value| value.abs()).collect();
    (predicted, TopK::of(&importance, K).unwrap())
}

#[test]
fn neither_random_points_nor_the_suite_break_a_certificate() {
    let model = model(MlpConfig::default());
    let (values, ids) = rows(12);
    let mut stream = Seed::new(6).stream("points");
    for norm in [Norm::L2, Norm::Linf] {
        let all = Points {
            values: &values,
            ids: &ids,
        };
        let certify = config(norm, 0.4)
            .check(&ExplainConfig::default(), &schema())
            .unwrap();
        let found = certify.radius(&model.network, all).unwrap();
        let mut settled = 0;
        for (row, found) in found.iter().enumerate() {
            let x = &values[row * FEATURES..][..FEATURES];
            let (class, top) = run(&model.network, x, None);
            if let Some(counterexample) = &found.counterexample {
                let (after, moved) = run(&model.network, &counterexample.point, Some(class));
                assert_eq!(after, class);
                assert!(top.overlap(&moved).unwrap() < K, "row {row}");
                assert!(counterexample.size >= found.certified);
            }
            settled += usize::from(found.status != Status::Unknown);
            for _ in 0..300 {
                let mut d: Vec<f64> = (0..FEATURES).map(|_| stream.normal()).collect();
                let ball = BallConfig { norm, radius: 1.0 };
                let size = ball.size(&[0.0; FEATURES], &d);
                for (d, x) in d.iter_mut().zip(x) {
                    *d = f64::from(as_single(x + *d * found.certified / size));
                }
                let is_inside = ball.size(x, &d) <= found.certified;
                let (after, moved) = run(&model.network, &d, Some(class));
                if is_inside && after == class {
                    assert_eq!(moved, top, "row {row}, {norm:?}");
                }
            }
            if found.certified > 0.0 {
                let suite = SuiteConfig {
                    effort: Effort::Quick,
                    k: K,
                    threat: config(norm, found.certified * 0.999).threat,
                };
                let suite = suite.check(&ExplainConfig::default(), &schema()).unwrap();
                let one = Points {
                    values: x,
                    ids: &ids[row..=row],
                };
                let attacked = suite.perturb(&model.network, one, Seed::new(1)).unwrap();
                assert!(attacked.rows[0].precision >= 1.0, "row {row}, {norm:?}");
            }
        }
        assert!(
            settled >= 10,
            "{settled} of 12 rows are settled in {norm:?}"
        );
    }
}

#[test]
fn products_with_the_input_are_those_that_are_handed_out() {
    let model = model(MlpConfig::default());
    let explain = ExplainConfig {
        explanation: GradInputConfig::default().into(),
        ..ExplainConfig::default()
    };
    let explain = explain.check(&schema()).unwrap();
    let dense = DenseNetwork::of(&model.network).unwrap();
    let chain = Chain::new(&model.network).unwrap();
    let (values, ids) = rows(6);
    for (x, id) in values.chunks(FEATURES).zip(&ids) {
        let at = Points {
            values: x,
            ids: std::slice::from_ref(id),
        };
        let found = explain.attribute(&model.network, at, Seed::new(0)).unwrap();
        let ranked = Ranked::Probability;
        let explained = Explained {
            times_input: true,
            absolute: true,
            ..Explained::new(&dense, ranked, found[0].class).unwrap()
        };
        let deployed = DeployedChain {
            chain: &chain,
            arithmetic: dense.arithmetic,
            ranked,
            explained: &explained,
        };
        let (class, importance) = deployed.run(x, found[0].class);
        assert_eq!(class, found[0].class);
        assert_eq!(importance, found[0].importance);
    }
}

#[test]
fn results_do_not_depend_on_the_rows_beside_or_on_threads() {
    let model = model(MlpConfig::default());
    let (values, ids) = rows(6);
    let certify = config(Norm::L2, 0.3)
        .check(&ExplainConfig::default(), &schema())
        .unwrap();
    let all = Points {
        values: &values,
        ids: &ids,
    };
    let together = certify.worst_case(&model.network, all).unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    for (row, expected) in together.iter().enumerate() {
        let one = Points {
            values: &values[row * FEATURES..][..FEATURES],
            ids: &ids[row..=row],
        };
        let alone = pool.install(|| certify.worst_case(&model.network, one).unwrap());
        assert_eq!(&alone[0], expected);
    }
}

#[test]
fn a_search_cut_short_says_what_it_knows() {
    let model = model(MlpConfig::default());
    let (values, ids) = rows(4);
    let all = Points {
        values: &values,
        ids: &ids,
    };
    let mut short = config(Norm::L2, 2.0);
    short.nodes = 3;
    let short = short.check(&ExplainConfig::default(), &schema()).unwrap();
    let long = config(Norm::L2, 2.0)
        .check(&ExplainConfig::default(), &schema())
        .unwrap();
    let (short, long) = (
        short.radius(&model.network, all).unwrap(),
        long.radius(&model.network, all).unwrap(),
    );
    for (short, long) in short.iter().zip(&long) {
        assert!(short.nodes <= 3);
        assert!(
            short.certified <= long.certified + 1e-9,
            "{short:?}, {long:?}"
        );
    }
}

#[test]
fn what_has_no_certificate_is_refused_by_name() {
    let smooth = model(MlpConfig {
        activation: Activation::Softplus { beta: 2.0 },
        ..MlpConfig::default()
    });
    let refused = DenseNetwork::of(&smooth.network).unwrap_err();
    assert!(matches!(refused, Error::CertifyInput { .. }), "{refused}");
    assert!(refused.to_string().ends_with("got a network with softplus"));
    let explain: ExplainConfig = ExplainConfig {
        explanation: "integrated-gradients".parse().unwrap(),
        ..ExplainConfig::default()
    };
    let refused = config(Norm::L2, 0.1)
        .check(&explain, &schema())
        .unwrap_err();
    assert!(
        refused.to_string().contains("`integrated-gradients`"),
        "{refused}"
    );
}

#[test]
fn gradients_times_their_inputs_are_certified_of_relus_and_two_classes_alone() {
    let explain = ExplainConfig {
        explanation: GradInputConfig::default().into(),
        ..ExplainConfig::default()
    };
    let checked = config(Norm::L2, 0.1).check(&explain, &schema()).unwrap();
    let relu = model(MlpConfig::default());
    assert!(checked.is_searched(&relu.network));
    assert!(checked.fits(&relu.network).is_ok());
    let soft = model(MlpConfig {
        activation: Activation::Softplus { beta: 2.0 },
        ..MlpConfig::default()
    });
    assert!(!checked.is_searched(&soft.network));
    assert!(matches!(
        checked.fits(&soft.network),
        Err(Error::CertifyInput { .. })
    ));
    let plain = config(Norm::L2, 0.1)
        .check(&ExplainConfig::default(), &schema())
        .unwrap();
    assert!(plain.fits(&soft.network).is_ok());
}

#[test]
fn limits_of_the_search_are_kept_within_what_can_be_asked() {
    let check = |nodes: usize| {
        let config = CertifyConfig {
            nodes,
            ..config(Norm::Linf, 0.25)
        };
        config.check(&ExplainConfig::default(), &schema())
    };
    for nodes in [0, 1_000_000_001] {
        assert!(
            matches!(check(nodes), Err(Error::OutOfRange { .. })),
            "{nodes}"
        );
    }
    for nodes in [1, 1_000_000_000] {
        let checked = check(nodes).unwrap();
        assert_eq!((checked.k(), checked.finds_points()), (K, true));
        assert!((checked.largest_radius() - 0.25).abs() < 1e-12);
    }
}
