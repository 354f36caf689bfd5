//! What a person cannot change, nothing moves, unless it is asked for.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::{AttackConfig, AttackKind, ThreatConfig};
use thickset::audit::figure::{Figure, noise};
use thickset::audit::result::RowRecord;
use thickset::audit::{
    Audit, AuditConfig, AuditTarget, Event, NamedModel, Outcome, RunOptions, run,
};
use thickset::data::{InputShape, Schema};
use thickset::explain::{ExplainConfig, Points};
use thickset::metric::thickness;
use thickset::model::{MlpConfig, Model, ModelConfig};
use thickset::{Rows, Seed};

use crate::golden::{Weights, table};

const FEATURES: usize = 5;
const K: usize = 3;

/// Feature 0 opens one gate below 0.2 and another above 0; the other features cannot reach a gate. Which of them are salient
/// is decided by the gates, so by the immutable feature alone.
fn model() -> Model {
    let tensors = BTreeMap::from(
        [
            (
                "layers.0.weight",
                vec![10.0, 0.04, 0.03, 0.02, 0.01, -10.0, 0.01, 0.02, 0.03, 0.04],
            ),
            ("layers.0.bias", vec![0.0, 2.0]),
            ("layers.2.weight", vec![1.0, 0.5, 0.0, 0.0]),
            ("layers.2.bias", vec![0.0, 0.0]),
        ]
        .map(|(name, values)| (name.to_owned(), values)),
    );
    let config = ModelConfig::Mlp(MlpConfig {
        hidden: vec![2],
        ..MlpConfig::default()
    });
    let classes = vec!["a".to_owned(), "b".to_owned()];
    let table = InputShape::Table;
    let network = config
        .network(&table, FEATURES, 2, &mut Weights(&tensors))
        .unwrap();
    let mut model = Model::fresh(config, table, FEATURES, classes, None, Seed::new(1)).unwrap();
    model.network = network;
    model
}

fn schema() -> Schema {
    let mut schema = table(FEATURES);
    schema.features[0].immutable = true;
    schema
}

const ROWS: [f32; 2 * FEATURES] = [0.1, 0.5, 0.5, 0.5, 0.5, 0.125, 0.2, 0.4, 0.6, 0.8];

fn suite(threat: ThreatConfig) -> SuiteConfig {
    SuiteConfig {
        effort: Effort::Quick,
        k: K,
        threat,
    }
}

fn audit(threat: ThreatConfig) -> Audit {
    let (model, schema) = (model(), schema());
    let config = AuditConfig {
        suite: suite(threat),
        ..AuditConfig::default()
    };
    let target = AuditTarget {
        model: NamedModel {
            model: &model,
            name: "a model".to_owned(),
            file: "model.safetensors".to_owned(),
            sha256: "0".repeat(64),
            objective: None,
            training: Vec::new(),
        },
        data: "data".to_owned(),
        rows: Rows::new(&ROWS, &schema).unwrap(),
    };
    let mut silent = |_: &Event<'_>| ControlFlow::Continue(());
    let plan = config.check(&schema).unwrap();
    match run(&plan, &target, &RunOptions::default(), &mut silent).unwrap() {
        Outcome::Done(audit) => *audit,
        Outcome::Stopped => panic!("nobody stopped it"),
    }
}

fn of(row: &RowRecord, figure: &Figure) -> f64 {
    figure.of_row(row).unwrap()
}

#[test]
fn noise_thickness_and_attacks_of_an_audit_leave_immutable_columns_alone() {
    let held = audit(ThreatConfig::default());
    for row in &held.rows {
        assert_eq!(
            (
                row.precision,
                of(&row, &noise::FIGURE),
                of(&row, &thickness::FIGURE)
            ),
            (1.0, 1.0, 1.0),
            "only the immutable column could change the explanation"
        );
    }
    let free = audit(ThreatConfig::papers());
    for row in &free.rows {
        assert!(row.precision < 1.0, "{}", row.precision);
        assert!(of(&row, &noise::FIGURE) < 1.0 && of(&row, &thickness::FIGURE) < 1.0);
    }
}

#[test]
fn no_attack_of_the_registry_moves_an_immutable_column() {
    let (model, schema, explain) = (model(), schema(), ExplainConfig::default());
    let x = ROWS.map(f64::from);
    let rows = Points {
        values: &x,
        ids: &[0, 1],
    };
    let stays = |what: &str, row: usize, point: &[f64]| {
        assert_eq!(point[0], x[row * FEATURES], "{what}");
    };
    let mut ran = 0;
    for method in AttackKind::all() {
        for (surrogate, restarts) in [(None, 1), (Some(3.0), 4)] {
            let config = AttackConfig {
                method: method.clone(),
                k: K,
                steps: 10,
                surrogate,
                restarts,
                ..AttackConfig::default()
            };
            // One is for images only.
            let Ok(attack) = config.check(&explain, &schema) else {
                assert_eq!(method.kind(), "mass-center");
                continue;
            };
            let found = attack.perturb(&model.network, rows, Seed::new(1)).unwrap();
            for (place, row) in found.iter().enumerate() {
                stays(method.kind(), place, &row.perturbed);
                stays(method.kind(), place, &row.last.point);
            }
            ran += 1;
        }
    }
    assert!(ran >= 12);
    for effort in [Effort::Quick, Effort::Standard, Effort::Thorough] {
        let config = SuiteConfig {
            effort,
            ..suite(ThreatConfig::default())
        };
        let suite = config.check(&explain, &schema).unwrap();
        let found = suite.perturb(&model.network, rows, Seed::new(1)).unwrap();
        for (place, row) in found.rows.iter().enumerate() {
            stays(effort.name(), place, &row.perturbed);
            stays(effort.name(), place, &row.last.point);
        }
    }
}

#[test]
fn a_set_is_named_or_stated_part_by_part_and_old_files_keep_what_they_say() {
    let read = |text: &str| serde_json::from_str::<ThreatConfig>(text).unwrap();
    assert!(ThreatConfig::default().immutable);
    assert_eq!(read("\"table\""), ThreatConfig::table());
    assert_eq!(read("\"papers\""), ThreatConfig::papers());
    assert_eq!(read("{}"), ThreatConfig::table());
    // As audits before this default wrote it.
    let old = r#"{"ball": {"norm": "l2", "radius": 0.5}, "box": false, "immutable": false, "integer": false,
        "one_hot": "free", "feature_budget": {}}"#;
    assert_eq!(read(old), ThreatConfig::papers());
    let suite: SuiteConfig = toml::from_str("threat = \"papers\"").unwrap();
    assert_eq!(suite.threat, ThreatConfig::papers());
    let problem = |text: &str| {
        let problem = serde_json::from_str::<ThreatConfig>(text).unwrap_err();
        problem.to_string()
    };
    assert!(
        problem("\"paper\"").starts_with("unknown variant `paper`, expected `table` or `papers`")
    );
    assert!(problem("{\"boks\": true}").starts_with("unknown field `boks`"));
}

#[test]
fn rows_of_which_nothing_can_move_are_refused() {
    let mut schema = schema();
    for feature in &mut schema.features {
        feature.immutable = true;
    }
    assert_eq!(
        ThreatConfig::default()
            .check(&schema)
            .unwrap_err()
            .to_string(),
        "every column is immutable, so no attack can move anything"
    );
    assert!(ThreatConfig::papers().check(&schema).is_ok());
}
