//! What every attack must do.

use thickset::Seed;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::{AttackConfig, Attacked};
use thickset::explain::{
    ExplainConfig, ExplanationConfig, Of, Per, Points, grad, reduce::ReductionConfig,
};
use thickset::metric::{cosine, precision_at_k};
use thickset::model::Activation;
use thickset_engine::{Output, one_hot};

use crate::configs::{ball, every_method, kind};
use crate::golden::{table, values};
use crate::trained::{FEATURES, binary, rows};

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
        let batch = Points {
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
    let batch = Points {
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
        config("grad", ReductionConfig::Absolute, Per::Feature),
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
        let batch = |values| Points { values, ids: &ids };
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
    let batch = Points {
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
    let batch = Points {
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
    let batch = Points {
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
fn explanations_of_a_logit_have_nothing_to_follow_on_a_relu_network_and_the_attack_stays() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(10, 11);
    let ids: Vec<u64> = (0..10).collect();
    let explain = ExplainConfig {
        explanation: ExplanationConfig::Grad(grad::GradConfig { of: Of::Logit }),
        ..ExplainConfig::default()
    };
    let config = AttackConfig {
        k: 4,
        ..AttackConfig::default()
    };
    let attack = config.check(&explain, &table(FEATURES)).unwrap();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    for row in attack.perturb(&network, batch, Seed::new(1)).unwrap() {
        assert!(row.precision == 1.0 && row.held);
    }
}
