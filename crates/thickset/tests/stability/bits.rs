//! Neither the batch nor the threads change a bit of an attacked row.

use thickset::Seed;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{AttackConfig, ConstraintConfig, ThreatConfig, constraint, moo};
use thickset::data::{InputShape, Schema};
use thickset::explain::{
    ExplainConfig, ExplanationConfig, Per, Points, integrated_gradients, reduce::ReductionConfig,
    smooth_grad,
};
use thickset::model::{Activation, CnnConfig, Fresh, ModelConfig};

use crate::configs::{ball, every_method, graphs, kind};
use crate::golden::table;
use crate::trained::{FEATURES, binary, rows};

#[test]
fn batch_size_and_threads_change_no_bit_of_any_row() {
    let relu = binary(Activation::Relu);
    let (x, _) = rows(300, 3);
    let ids: Vec<u64> = (0..300).map(|id| 5 * id + 1).collect();
    let mut cases: Vec<(AttackConfig, ExplainConfig)> = every_method()
        .into_iter()
        .map(|config| (config, ExplainConfig::default()))
        .collect();
    let smooth = ExplanationConfig::SmoothGrad(smooth_grad::SmoothGradConfig {
        draws: 11,
        variance: Some(0.01),
        ..smooth_grad::SmoothGradConfig::default()
    });
    let path =
        ExplanationConfig::IntegratedGradients(integrated_gradients::IntegratedGradientsConfig {
            steps: 12,
            ..integrated_gradients::IntegratedGradientsConfig::default()
        });
    for explanation in [smooth, path] {
        let explain = ExplainConfig {
            explanation,
            reduce: ReductionConfig::NormalisedAbsolute,
            per: Per::Feature,
        };
        cases.push((every_method()[1].clone(), explain));
    }
    for (config, explain) in cases {
        let config = AttackConfig { steps: 6, ..config };
        let attack = config.check(&explain, &table(FEATURES)).unwrap();
        let run = |range: std::ops::Range<usize>| {
            let part = Points {
                values: &x[range.start * FEATURES..range.end * FEATURES],
                ids: &ids[range],
            };
            attack.perturb(&relu, part, Seed::new(9)).unwrap()
        };
        let with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| run(0..300))
        };
        let together = with_threads(1);
        assert!(with_threads(4) == together, "threads: {config:?}");
        for range in [0..1, 254..259, 299..300] {
            assert!(run(range.clone()) == together[range], "batch: {config:?}");
        }
    }
}

/// Runs all rows on one and on four threads, and some of them alone; all must agree to the bit.
fn no_bit_changes<T: PartialEq + Send>(
    what: &str,
    rows: usize,
    ranges: &[std::ops::Range<usize>],
    run: impl Fn(std::ops::Range<usize>) -> Vec<T> + Sync,
) {
    let with_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| run(0..rows))
    };
    let together = with_threads(1);
    assert!(with_threads(4) == together, "threads: {what}");
    for range in ranges {
        assert!(
            run(range.clone()) == together[range.clone()],
            "batch: {what}"
        );
    }
}

fn part<'a>(
    x: &'a [f64],
    ids: &'a [u64],
    width: usize,
    range: std::ops::Range<usize>,
) -> Points<'a> {
    Points {
        values: &x[range.start * width..range.end * width],
        ids: &ids[range],
    }
}

#[test]
fn batch_size_and_threads_change_no_bit_of_an_image_or_a_pair() {
    let ids: Vec<u64> = (0..300).map(|id| 5 * id + 1).collect();
    let mut stream = Seed::new(4).stream("x");
    let image = InputShape::Image {
        channels: 1,
        height: 8,
        width: 8,
    };
    let cnn = ModelConfig::Cnn(CnnConfig {
        channels: [4, 4],
        hidden: vec![8],
        activation: Activation::Relu,
    });
    let network = cnn
        .network(&image, 64, 3, &mut Fresh::new(Seed::new(1)))
        .unwrap();
    let x: Vec<f64> = (0..300 * 64).map(|_| stream.uniform()).collect();
    let config = AttackConfig {
        steps: 3,
        restarts: 2,
        threat: ThreatConfig {
            ball: BallConfig {
                norm: Norm::Linf,
                radius: 0.1,
            },
            ..ThreatConfig::default()
        },
        surrogate: Some(8.0),
        ..AttackConfig::default()
    };
    let schema = Schema::image(1, 8, 8, 255.0);
    let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
    no_bit_changes("image", 300, &[0..1, 254..259], |range| {
        let rows = part(&x, &ids, 64, range);
        attack.perturb(&network, rows, Seed::new(9)).unwrap()
    });

    let (network, schema) = graphs();
    let x: Vec<f64> = (0..270 * 56)
        .map(|_| stream.uniform_in(-1.0, 1.0))
        .collect();
    let config = AttackConfig {
        method: kind("mse-attack"),
        k: 10,
        threat: ball(2.0),
        steps: 3,
        constraint: ConstraintConfig::Qp(constraint::qp::QpConfig {}),
        ..AttackConfig::default()
    };
    let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
    no_bit_changes("pair", 270, &[0..1, 254..259], |range| {
        let rows = part(&x, &ids, 56, range);
        attack.perturb(&network, rows, Seed::new(9)).unwrap()
    });
}

#[test]
fn batch_size_and_threads_change_no_bit_of_the_suite_or_moo() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(40, 3);
    let ids: Vec<u64> = (0..40).map(|id| 3 * id).collect();
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let suite = SuiteConfig {
        effort: Effort::Quick,
        k: 4,
        ..SuiteConfig::default()
    };
    let suite = suite.check(&explain, &schema).unwrap();
    no_bit_changes("suite", 40, &[0..1, 20..23], |range| {
        let rows = part(&x, &ids, FEATURES, range);
        suite.perturb(&network, rows, Seed::new(9)).unwrap().rows
    });
    let explain = explain.check(&schema).unwrap();
    let settings = moo::MooConfig {
        surrogate: Some(8.0),
        iterations: 10,
        ..moo::MooConfig::default()
    };
    no_bit_changes("moo", 8, &[0..1, 5..8], |range| {
        let rows = part(&x, &ids, FEATURES, range);
        moo::perturb(&network, &explain, rows, 4, &settings, Seed::new(9)).unwrap()
    });
}
