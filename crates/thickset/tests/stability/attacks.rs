//! What every attack must do.

use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm};
use thickset::attack::{
    AttackConfig, Attacked, ConstraintConfig, MethodConfig, ThreatConfig, random,
};
use thickset::data::{InputShape, Schema};
use thickset::explain::{
    ExplainConfig, ExplanationConfig, Of, Per, Rows, grad, reduce::ReductionConfig,
};
use thickset::metric::{cosine, precision_at_k};
use thickset::model::{Activation, Fresh, ModelConfig, cnn, gcn, siamese};
use thickset::{Error, Seed};
use thickset_engine::{Network, Output, one_hot};

use crate::golden::{table, values};
use crate::trained::{FEATURES, binary, rows};

pub fn ball(radius: f64) -> ThreatConfig {
    ThreatConfig {
        ball: BallConfig {
            norm: Norm::L2,
            radius,
        },
        ..ThreatConfig::default()
    }
}

pub fn kind(kind: &str) -> MethodConfig {
    serde_json::from_str(&format!(r#"{{"kind": "{kind}"}}"#)).unwrap()
}

/// Every attack and every constraint, briefly.
pub fn every_method() -> Vec<AttackConfig> {
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

/// Pairs of graphs of eight nodes.
pub fn graphs() -> (Network, Schema) {
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
