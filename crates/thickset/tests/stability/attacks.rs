//! Attacks against `PyTorch`'s trajectories, and by what every attack must do.

use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{
    AttackConfig, Attacked, ConstraintConfig, MethodConfig, ThreatConfig, moo, mse_attack, random,
};
use thickset::data::{InputShape, Schema};
use thickset::explain::{
    ExplainConfig, ExplanationConfig, Of, Per, Rows, grad, integrated_gradients,
    reduce::ReductionConfig, smooth_grad,
};
use thickset::metric::{cosine, kendall, precision_at_k};
use thickset::model::{Activation, Fresh, ModelConfig, cnn, gcn, siamese};
use thickset::{Error, Seed};
use thickset_engine::{Network, Output, one_hot};

use crate::golden::{Golden, both, close, table, values};
use crate::trained::{FEATURES, binary, rows};

fn ball(radius: f64) -> ThreatConfig {
    ThreatConfig {
        ball: BallConfig {
            norm: Norm::L2,
            radius,
        },
        ..ThreatConfig::default()
    }
}

fn kind(kind: &str) -> MethodConfig {
    serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).unwrap()
}

fn trajectory(golden: &Golden, method: MethodConfig, name: &str, scale: f64) {
    let config = AttackConfig {
        method,
        k: golden.k,
        threat: ball(golden.budget),
        steps: 20,
        step_size: Some(golden.step_size),
        ..AttackConfig::default()
    };
    let explain = ExplainConfig::default();
    let attack = config.check(&explain, &golden.schema()).unwrap();
    let rows = Rows {
        values: golden.values("x"),
        ids: &golden.ids(),
    };
    let (attacked, trace) = attack
        .perturb_traced(&golden.network, rows, Seed::new(0))
        .unwrap();
    golden.close(&format!("{name}_traj"), &trace.points.concat(), 1e-7);
    let flipped = golden.values(&format!("{name}_flipped"));
    let stopped: Vec<f64> = attacked
        .iter()
        .map(|row| f64::from(u8::from(row.last.stopped)))
        .collect();
    assert_eq!(stopped, flipped, "{} {name}", golden.name);
    // PyTorch goes on to evaluate a row that is frozen; ours looks where it would have gone.
    let expected = golden.values(&format!("{name}_objective"));
    let moving = (0..expected.len()).filter(|place| flipped[place % golden.rows] == 0.0);
    let (got, expected): (Vec<f64>, Vec<f64>) = moving
        .map(|place| (trace.values.concat()[place] * scale, expected[place]))
        .unzip();
    close(
        &format!("{} {name} objective", golden.name),
        &got,
        &expected,
        1e-7,
    );
    let first: Vec<f64> = attacked
        .iter()
        .map(|row| row.first_change.map_or(21.0, |step| step as f64))
        .collect();
    assert_eq!(
        first,
        golden.values(&format!("{name}_first")),
        "{} {name}",
        golden.name
    );

    let last: Vec<f64> = attacked
        .iter()
        .flat_map(|row| row.last.point.clone())
        .collect();
    let explained = |values: &[f64]| {
        let rows = Rows {
            values,
            ids: &golden.ids(),
        };
        let checked = explain.check(&golden.schema()).unwrap();
        checked
            .attribute(&golden.network, rows, Seed::new(0))
            .unwrap()
    };
    let (before, after) = (explained(golden.values("x")), explained(&last));
    let pairs = || {
        before
            .iter()
            .zip(&after)
            .map(|(a, b)| (&a.importance, &b.importance))
    };
    let precision: Vec<f64> = attacked.iter().map(|row| row.last.precision).collect();
    golden.close(&format!("{name}_p_at_k"), &precision, 1e-12);
    let measured: Vec<f64> = pairs()
        .map(|(a, b)| precision_at_k::score(a, b, golden.k).unwrap())
        .collect();
    assert_eq!(measured, precision);
    let cosines: Vec<f64> = pairs().map(|(a, b)| cosine::score(a, b).unwrap()).collect();
    golden.close(&format!("{name}_cosine"), &cosines, 1e-7);
    let taus: Vec<f64> = pairs()
        .map(|(a, b)| kendall::score(a, b).unwrap())
        .collect();
    golden.close(&format!("{name}_tau"), &taus, 1e-9);
}

#[test]
fn the_trajectory_of_er_attack_is_pytorchs() {
    for golden in both() {
        let n = golden.network.features();
        let pairs = (golden.k * (n - golden.k)) as f64;
        trajectory(&golden, kind("er-attack"), "er", pairs);
    }
}

#[test]
fn the_trajectory_of_mse_attack_is_pytorchs() {
    for golden in both() {
        let method = MethodConfig::MseAttack(mse_attack::Config { nudge: 0.01 });
        trajectory(&golden, method, "mse", 1.0);
    }
}

#[test]
fn gap_sums_are_pytorchs() {
    for golden in both() {
        let (n, k) = (golden.network.features(), golden.k);
        let config = AttackConfig {
            k,
            steps: 1,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&ExplainConfig::default(), &golden.schema())
            .unwrap();
        let rows = Rows {
            values: golden.values("x"),
            ids: &golden.ids(),
        };
        let (_, trace) = attack
            .perturb_traced(&golden.network, rows, Seed::new(0))
            .unwrap();
        let sums: Vec<f64> = trace.values[0]
            .iter()
            .map(|gap| gap * (k * (n - k)) as f64)
            .collect();
        golden.close("gap_sum_full", &sums, 1e-9);
    }
}

fn every_method() -> Vec<AttackConfig> {
    let mut all = Vec::new();
    for name in ["er-attack", "mse-attack", "target", "top-k", "random"] {
        for surrogate in [None, Some(8.0)] {
            all.push(AttackConfig {
                method: kind(name),
                k: 4,
                steps: 12,
                restarts: 2,
                surrogate,
                ..AttackConfig::default()
            });
        }
    }
    for constraint in [
        ConstraintConfig::None,
        ConstraintConfig::NoUpdate,
        ConstraintConfig::Gda { rate: 10.0 },
        ConstraintConfig::Hedge { rate: 10.0 },
        ConstraintConfig::Qp,
    ] {
        all.push(AttackConfig {
            constraint,
            k: 4,
            steps: 12,
            ..AttackConfig::default()
        });
    }
    all
}

#[test]
fn a_budget_of_zero_changes_nothing() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(20, 2);
    let ids: Vec<u64> = (0..20).collect();
    let x: Vec<f64> = x.iter().map(|value| f64::from(*value as f32)).collect();
    for config in every_method() {
        let config = AttackConfig {
            threat: ball(0.0),
            step_size: Some(0.1),
            ..config
        };
        let attack = config
            .check(&ExplainConfig::default(), &table(FEATURES))
            .unwrap();
        let batch = Rows {
            values: &x,
            ids: &ids,
        };
        for (row, x) in attack
            .perturb(&network, batch, Seed::new(1))
            .unwrap()
            .iter()
            .zip(x.chunks(FEATURES))
        {
            assert_eq!(
                (row.perturbed.as_slice(), row.last.point.as_slice()),
                (x, x)
            );
            assert!(row.held && row.first_change.is_none() && row.precision == 1.0);
        }
    }
}

#[test]
fn steps_are_counted_on_the_run_from_the_row_itself_alone() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(60, 12);
    let ids: Vec<u64> = (0..60).collect();
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let batch = Rows {
        values: &x,
        ids: &ids,
    };
    let perturb = |config: &AttackConfig| {
        let attack = config.check(&explain, &schema).unwrap();
        attack.perturb(&network, batch, Seed::new(1)).unwrap()
    };
    let steps = |rows: &[Attacked]| -> Vec<_> {
        rows.iter()
            .map(|row| (row.first_change, row.manipulation_epoch))
            .collect()
    };
    let suite = SuiteConfig {
        effort: Effort::Quick,
        k: 4,
        ..SuiteConfig::default()
    };
    let plain = AttackConfig {
        k: 4,
        steps: 30,
        ..AttackConfig::default()
    };
    let alone = perturb(&plain);
    let restarted = perturb(&AttackConfig {
        restarts: 4,
        ..plain.clone()
    });
    assert_eq!(suite.members(&explain, &schema)[0], plain);
    let suite = suite.check(&explain, &schema).unwrap();
    let suite = suite.perturb(&network, batch, Seed::new(1)).unwrap().rows;
    let mut worse = 0;
    for found in [&restarted, &suite] {
        assert_eq!(steps(found), steps(&alone));
        for (found, alone) in found.iter().zip(&alone) {
            assert_eq!(found.last, alone.last);
            worse += usize::from(found.precision < alone.precision);
        }
    }
    assert!(worse > 0, "random starts find something");
    for row in &alone {
        // For a table any change counts.
        assert_eq!(row.first_change, row.manipulation_epoch);
        assert_eq!(row.first_change.is_some(), row.precision < 1.0);
    }
    let random = AttackConfig {
        method: kind("random"),
        ..plain
    };
    assert!(
        steps(&perturb(&random))
            .iter()
            .all(|steps| *steps == (None, None))
    );
}

#[test]
fn of_an_image_a_few_exchanged_pixels_are_no_manipulation() {
    let shape = InputShape::Image {
        channels: 1,
        height: 8,
        width: 8,
    };
    let model = ModelConfig::Cnn(cnn::Config {
        channels: [4, 4],
        hidden: vec![8],
        activation: Activation::Softplus { beta: 3.0 },
    });
    let network = model
        .network(&shape, 64, 3, &mut Fresh::new(Seed::new(1)))
        .unwrap();
    let mut stream = Seed::new(2).stream("x");
    let x: Vec<f64> = (0..8 * 64).map(|_| stream.uniform()).collect();
    let batch = Rows {
        values: &x,
        ids: &[0, 1, 2, 3, 4, 5, 6, 7],
    };
    let config = AttackConfig {
        method: kind("mse-attack"),
        k: 10,
        threat: ball(3.0),
        steps: 20,
        ..AttackConfig::default()
    };
    let attack = config
        .check(&ExplainConfig::default(), &Schema::image(1, 8, 8, 255.0))
        .unwrap();
    let attacked = attack.perturb(&network, batch, Seed::new(1)).unwrap();
    let mut later = 0;
    for row in &attacked {
        assert_eq!(
            row.manipulation_epoch.is_some(),
            row.precision < 0.8,
            "{row:?}"
        );
        assert!(row.first_change.is_some() || row.manipulation_epoch.is_none());
        later += usize::from(row.manipulation_epoch > row.first_change);
    }
    assert!(later > 0, "{attacked:?}");
}

#[test]
fn batch_size_and_threads_change_no_bit_of_any_row() {
    let relu = binary(Activation::Relu);
    let (x, _) = rows(300, 3);
    let ids: Vec<u64> = (0..300).map(|id| 5 * id + 1).collect();
    let mut cases: Vec<(AttackConfig, ExplainConfig)> = every_method()
        .into_iter()
        .map(|config| (config, ExplainConfig::default()))
        .collect();
    let smooth = ExplanationConfig::SmoothGrad(smooth_grad::Config {
        draws: 11,
        variance: Some(0.01),
        ..smooth_grad::Config::default()
    });
    let path = ExplanationConfig::IntegratedGradients(integrated_gradients::Config {
        steps: 12,
        ..integrated_gradients::Config::default()
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
            let part = Rows {
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

fn part<'a>(x: &'a [f64], ids: &'a [u64], width: usize, range: std::ops::Range<usize>) -> Rows<'a> {
    Rows {
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
    let cnn = ModelConfig::Cnn(cnn::Config {
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
        constraint: ConstraintConfig::Qp,
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
    let settings = moo::Settings {
        surrogate: Some(8.0),
        iterations: 10,
        ..moo::Settings::default()
    };
    no_bit_changes("moo", 8, &[0..1, 5..8], |range| {
        let rows = part(&x, &ids, FEATURES, range);
        moo::perturb(&network, &explain, rows, 4, &settings, Seed::new(9)).unwrap()
    });
}

#[test]
fn a_divergence_is_weighed_against_the_sum_of_gaps() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(5, 6);
    let batch = Rows {
        values: &x,
        ids: &[0, 1, 2, 3, 4],
    };
    let followed = |constraint| {
        let config = AttackConfig {
            k: 4,
            steps: 1,
            constraint,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&ExplainConfig::default(), &table(FEATURES))
            .unwrap();
        let (_, trace) = attack
            .perturb_traced(&network, batch, Seed::new(0))
            .unwrap();
        trace.gradients[0].clone()
    };
    // At the row itself the divergence has no slope: what is left is half of the objective's, k(n-k) times the mean gap's.
    let (mean, weighed) = (
        followed(ConstraintConfig::None),
        followed(ConstraintConfig::NoUpdate),
    );
    let expected: Vec<f64> = mean.iter().map(|slope| 16.0 * slope).collect();
    close("weighed gradient", &weighed, &expected, 1e-4);
}

#[test]
fn what_is_reported_of_a_point_is_what_any_explanation_says_there() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(30, 13);
    let ids: Vec<u64> = (0..30).collect();
    let mut schema = table(FEATURES);
    for (index, feature) in schema.features.iter_mut().enumerate() {
        feature.column = format!("column {}", index / 2);
    }
    let explanation = |text: &str| text.parse::<ExplanationConfig>().unwrap();
    let config = |text: &str, reduce, per| ExplainConfig {
        explanation: explanation(text),
        reduce,
        per,
    };
    for explain in [
        config("grad-input", ReductionConfig::Absolute, Per::Feature),
        config("concept", ReductionConfig::Absolute, Per::Feature),
        config("grad", ReductionConfig::Signed, Per::Feature),
        config("grad", ReductionConfig::Absolute, Per::Column),
    ] {
        let attack = AttackConfig {
            method: kind("top-k"),
            k: 3,
            steps: 20,
            restarts: 2,
            ..AttackConfig::default()
        };
        let attack = attack.check(&explain, &schema).unwrap();
        let batch = |values| Rows { values, ids: &ids };
        let attacked = attack.perturb(&network, batch(&x), Seed::new(1)).unwrap();
        let points: Vec<f64> = attacked
            .iter()
            .flat_map(|row| row.perturbed.clone())
            .collect();
        let explainer = attack.explain();
        let before = explainer
            .attribute(&network, batch(&x), Seed::new(1))
            .unwrap();
        let classes: Vec<usize> = before.iter().map(|row| row.class).collect();
        let after = explainer
            .attribute_classes(&network, batch(&points), &classes, Seed::new(1))
            .unwrap();
        let mut changed = 0;
        for (row, (before, after)) in attacked.iter().zip(before.iter().zip(&after)) {
            let score = precision_at_k::score(&before.importance, &after.importance, 3).unwrap();
            assert!((row.precision - score).abs() < 1e-12, "{explain:?}");
            changed += usize::from(row.precision < 1.0);
        }
        assert!(changed > 0, "{explain:?}");
    }
}

#[test]
fn units_of_a_layer_can_be_raised_by_name() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(10, 14);
    let ids: Vec<u64> = (0..10).collect();
    let batch = Rows {
        values: &x,
        ids: &ids,
    };
    let explain = ExplainConfig {
        explanation: "concept".parse().unwrap(),
        ..ExplainConfig::default()
    };
    let config = |names: &str| AttackConfig {
        method: format!("{{ kind = \"target\", features = [{names}] }}")
            .parse()
            .unwrap(),
        k: 4,
        steps: 20,
        ..AttackConfig::default()
    };
    let check = |names: &str| config(names).check(&explain, &table(FEATURES));
    let attack = check("\"unit[2]\", \"unit[15]\"").unwrap();
    let (_, trace) = attack
        .perturb_traced(&network, batch, Seed::new(1))
        .unwrap();
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    assert!(sum(&trace.values[19]) < sum(&trace.values[0]));
    let beyond = check("\"unit[16]\"").unwrap();
    assert_eq!(
        beyond
            .perturb(&network, batch, Seed::new(1))
            .unwrap_err()
            .to_string(),
        "a unit to raise must be below 16, got 16"
    );
    assert_eq!(
        check("\"x1\"").unwrap_err().to_string(),
        "the input has no feature `x1`; did you mean `unit[0]`?"
    );
}

#[test]
fn on_a_binary_relu_network_er_attack_only_raises_confidence() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(50, 4);
    let ids: Vec<u64> = (0..50).collect();
    let config = AttackConfig {
        k: 4,
        steps: 1,
        ..AttackConfig::default()
    };
    let attack = config
        .check(&ExplainConfig::default(), &table(FEATURES))
        .unwrap();
    let batch = Rows {
        values: &x,
        ids: &ids,
    };
    let (attacked, trace) = attack
        .perturb_traced(&network, batch, Seed::new(0))
        .unwrap();
    let pass = network.pass(network.batch(&x));
    let classes: Vec<usize> = attacked.iter().map(|row| row.class).collect();
    let hot = one_hot(&classes, 2, network.dtype(), &pass.logits().device());
    let gradient = values(pass.input_gradient(Output::Probability, hot).value());
    let mut seen = 0;
    for (step, gradient) in trace.gradients[0]
        .chunks(FEATURES)
        .zip(gradient.chunks(FEATURES))
    {
        let downhill: Vec<f64> = step.iter().map(|slope| -slope).collect();
        if gradient.iter().all(|slope| slope.abs() < 1e-9) {
            continue;
        }
        let along = cosine::score(&downhill, gradient).unwrap();
        assert!(along > 0.999, "cosine {along}");
        seen += 1;
    }
    assert!(seen >= 45, "{seen} rows with a gradient");
}

#[test]
fn no_attack_but_the_unconstrained_reports_a_changed_prediction() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(60, 5);
    let ids: Vec<u64> = (0..60).collect();
    let batch = Rows {
        values: &x,
        ids: &ids,
    };
    let logits = values(network.logits(network.batch(&x)));
    let mut stopped = 0;
    for config in every_method() {
        let unconstrained = config.constraint == ConstraintConfig::None;
        let config = AttackConfig {
            threat: ball(1.0),
            ..config
        };
        let attack = config
            .check(&ExplainConfig::default(), &table(FEATURES))
            .unwrap();
        let attacked = attack.perturb(&network, batch, Seed::new(2)).unwrap();
        let points: Vec<f64> = attacked
            .iter()
            .flat_map(|row| row.perturbed.clone())
            .collect();
        let after = values(network.logits(network.batch(&points)));
        for ((row, before), after) in attacked.iter().zip(logits.chunks(2)).zip(after.chunks(2)) {
            assert_eq!(row.class, usize::from(before[1] > before[0]));
            let same = (before[1] > before[0]) == (after[1] > after[0]);
            assert_eq!(row.held, same);
            assert!(same || unconstrained, "{config:?}");
            stopped += usize::from(row.last.stopped);
        }
    }
    assert!(
        stopped > 0,
        "the budget is large enough to meet the boundary"
    );
}

#[test]
fn a_constraint_with_a_gradient_keeps_the_prediction_nearer() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(100, 6);
    let ids: Vec<u64> = (0..100).collect();
    let batch = Rows {
        values: &x,
        ids: &ids,
    };
    let before = values(network.probabilities(network.batch(&x)));
    let moved = |constraint| {
        let config = AttackConfig {
            method: kind("mse-attack"),
            k: 4,
            threat: ball(0.5),
            steps: 40,
            constraint,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&ExplainConfig::default(), &table(FEATURES))
            .unwrap();
        let attacked = attack.perturb(&network, batch, Seed::new(2)).unwrap();
        let points: Vec<f64> = attacked
            .iter()
            .flat_map(|row| row.last.point.clone())
            .collect();
        let after = values(network.probabilities(network.batch(&points)));
        let change = before.iter().zip(&after).map(|(a, b)| (a - b).abs());
        change.sum::<f64>() / 200.0
    };
    let free = moved(ConstraintConfig::None);
    for constraint in [
        ConstraintConfig::NoUpdate,
        ConstraintConfig::Gda { rate: 1.0 },
        ConstraintConfig::Hedge { rate: 1.0 },
        ConstraintConfig::Qp,
    ] {
        let held = moved(constraint);
        assert!(held < 0.9 * free, "{constraint:?}: {held} against {free}");
    }
}

/// Pairs of graphs of eight nodes.
fn graphs() -> (Network, Schema) {
    let graph = InputShape::Graph { nodes: 8 };
    let model = ModelConfig::Siamese(siamese::Config {
        embedding: siamese::Embedding::Gcn(gcn::Config {
            hidden: 8,
            embedding: 6,
            ..gcn::Config::default()
        }),
        size: 1,
    });
    let pair = InputShape::Pair {
        of: Box::new(graph),
    };
    let network = model
        .network(&pair, 56, 2, &mut Fresh::new(Seed::new(3)))
        .unwrap();
    (network, Schema::pair(&Schema::graph(8, -1.0, 1.0)))
}

#[test]
fn all_three_predictions_of_a_pair_are_kept() {
    let (network, schema) = graphs();
    let mut stream = Seed::new(4).stream("graphs");
    let x: Vec<f64> = (0..30 * 56).map(|_| stream.uniform_in(-1.0, 1.0)).collect();
    let ids: Vec<u64> = (0..30).collect();
    for constraint in [ConstraintConfig::EarlyStop, ConstraintConfig::Qp] {
        let config = AttackConfig {
            method: kind("mse-attack"),
            k: 10,
            threat: ball(2.0),
            steps: 10,
            constraint,
            ..AttackConfig::default()
        };
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let batch = Rows {
            values: &x,
            ids: &ids,
        };
        let attacked = attack.perturb(&network, batch, Seed::new(1)).unwrap();
        let class = |row: &[f64]| {
            let logits = values(network.logits(network.batch(row)));
            usize::from(logits[1] > logits[0])
        };
        for (row, x) in attacked.iter().zip(x.chunks(56)) {
            let (left, right) = row.perturbed.split_at(28);
            let views = [
                row.perturbed.clone(),
                [left, &x[28..]].concat(),
                [&x[..28], right].concat(),
            ];
            assert!(row.held && views.iter().all(|view| class(view) == row.class));
        }
        assert!(
            attacked.iter().any(|row| row.precision < 1.0),
            "{constraint:?}"
        );
    }
}

#[test]
fn the_centre_of_an_images_importances_is_moved() {
    let image = InputShape::Image {
        channels: 3,
        height: 8,
        width: 8,
    };
    let model = ModelConfig::Cnn(cnn::Config {
        channels: [4, 4],
        hidden: vec![8],
        activation: Activation::Softplus { beta: 3.0 },
    });
    let network = model
        .network(&image, 192, 3, &mut Fresh::new(Seed::new(1)))
        .unwrap();
    let schema = Schema::image(3, 8, 8, 255.0);
    let explain = ExplainConfig {
        reduce: ReductionConfig::ChannelSum,
        ..ExplainConfig::default()
    };
    let mut stream = Seed::new(2).stream("x");
    let x: Vec<f64> = (0..5 * 192).map(|_| stream.uniform()).collect();
    let config = AttackConfig {
        method: kind("mass-center"),
        threat: ball(2.0),
        steps: 20,
        ..AttackConfig::default()
    };
    let attack = config.check(&explain, &schema).unwrap();
    let batch = Rows {
        values: &x,
        ids: &[0, 1, 2, 3, 4],
    };
    let (_, trace) = attack
        .perturb_traced(&network, batch, Seed::new(1))
        .unwrap();
    for row in 0..5 {
        // The value is the negative distance of the centres.
        assert!(trace.values[0][row].abs() < 1e-4);
        assert!(trace.values[19][row] < -0.005, "{}", trace.values[19][row]);
    }
    let refused = config
        .check(&ExplainConfig::default(), &table(4))
        .unwrap_err();
    assert!(matches!(refused, Error::AttackInput { .. }), "{refused}");
}

#[test]
fn the_target_attack_raises_the_features_it_is_told_to() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(40, 8);
    let ids: Vec<u64> = (0..40).collect();
    let config = AttackConfig {
        method: serde_json::from_str(r#"{"kind": "target", "features": ["x10", "x11"]}"#).unwrap(),
        k: 4,
        steps: 30,
        ..AttackConfig::default()
    };
    let attack = config
        .check(&ExplainConfig::default(), &table(FEATURES))
        .unwrap();
    let batch = Rows {
        values: &x,
        ids: &ids,
    };
    let (_, trace) = attack
        .perturb_traced(&network, batch, Seed::new(1))
        .unwrap();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!(
        mean(&trace.values[29]) < mean(&trace.values[0]),
        "the negative sum falls"
    );
    let unknown = AttackConfig {
        method: serde_json::from_str(r#"{"kind": "target", "features": ["x100"]}"#).unwrap(),
        ..AttackConfig::default()
    };
    let message = unknown
        .check(&ExplainConfig::default(), &table(FEATURES))
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "the input has no feature `x100`; did you mean `x10`?"
    );
}

#[test]
fn settings_that_cannot_be_are_refused_with_a_sentence() {
    let refused = |config: AttackConfig| {
        config
            .check(&ExplainConfig::default(), &table(FEATURES))
            .unwrap_err()
            .to_string()
    };
    let base = AttackConfig::default;
    assert_eq!(
        refused(AttackConfig { steps: 0, ..base() }),
        "`attack.steps` must be in 1..=1000000, got 0"
    );
    assert_eq!(
        refused(AttackConfig {
            threat: ball(-1.0),
            ..base()
        }),
        "`ball.radius` must be finite and not negative, got -1"
    );
    assert_eq!(
        refused(AttackConfig {
            threat: ball(2e6),
            ..base()
        }),
        "`ball.radius` must be at most 1000000, got 2000000"
    );
    assert_eq!(
        refused(AttackConfig {
            method: kind("moo"),
            ..base()
        }),
        "attack `moo` takes a ball and settings of its own, got steps, a constraint and a threat set"
    );
    assert_eq!(
        refused(AttackConfig {
            surrogate: Some(f64::NAN),
            ..base()
        }),
        "`attack.surrogate` must be positive and finite, got NaN"
    );
    assert_eq!(
        refused(AttackConfig {
            method: MethodConfig::Random(random::Config {
                points: 0,
                ..random::Config::default()
            }),
            ..base()
        }),
        "`random.points` must be in 1..=1000000, got 0"
    );
    let network = binary(Activation::Relu);
    let (x, _) = rows(2, 1);
    let perturb = |k: usize, values: &[f64], ids: &[u64]| {
        let config = AttackConfig { k, ..base() };
        let attack = config
            .check(&ExplainConfig::default(), &table(FEATURES))
            .unwrap();
        let error = attack.perturb(&network, Rows { values, ids }, Seed::new(1));
        error.unwrap_err().to_string()
    };
    assert_eq!(perturb(12, &x, &[0, 1]), "k must lie in 1..=11, got 12");
    assert_eq!(
        perturb(4, &x[..23], &[0, 1]),
        "the model takes rows of 12 features, got 11"
    );
    let mut broken = x.clone();
    broken[3] = f64::INFINITY;
    assert_eq!(
        perturb(4, &broken, &[0, 1]),
        "the rows must be finite, got inf at index 3"
    );
    assert!(serde_json::from_str::<AttackConfig>(r#"{"stepsize": 1}"#).is_err());
}

#[test]
fn every_attack_constraint_and_part_of_a_threat_is_reachable_from_a_configuration() {
    use thickset::registry::{Family, family};
    for info in family(Family::Attack) {
        if info.id != "suite" {
            assert_eq!(kind(info.id).kind(), info.id);
        }
    }
    for info in family(Family::Constraint) {
        let config: ConstraintConfig =
            serde_json::from_str(&format!(r#"{{"kind": "{}"}}"#, info.id)).unwrap();
        assert_eq!(config.kind(), info.id);
    }
    let threat = serde_json::to_value(ThreatConfig::default()).unwrap();
    for info in family(Family::Threat) {
        assert!(
            threat.get(info.id.replace('-', "_")).is_some(),
            "{}",
            info.id
        );
    }
}

#[test]
fn explanations_of_a_logit_have_nothing_to_follow_on_a_relu_network_and_the_attack_stays() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(10, 11);
    let ids: Vec<u64> = (0..10).collect();
    let explain = ExplainConfig {
        explanation: ExplanationConfig::Grad(grad::Config { of: Of::Logit }),
        ..ExplainConfig::default()
    };
    let config = AttackConfig {
        k: 4,
        ..AttackConfig::default()
    };
    let attack = config.check(&explain, &table(FEATURES)).unwrap();
    let batch = Rows {
        values: &x,
        ids: &ids,
    };
    for row in attack.perturb(&network, batch, Seed::new(1)).unwrap() {
        assert!(row.precision == 1.0 && row.held);
    }
}
