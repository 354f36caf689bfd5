//! No attack leaves its threat set.

use std::collections::BTreeMap;

use proptest::prelude::*;
use thickset::Seed;
use thickset::attack::suite::{Effort, SuiteConfig};
use thickset::attack::threat::{BallConfig, Norm, OneHot};
use thickset::attack::{AttackConfig, ConstraintConfig, ThreatConfig, constraint};
use thickset::data::{Feature, FeatureKind, InputShape, Schema};
use thickset::explain::{ExplainConfig, Points};
use thickset::model::{Fresh, MlpConfig, ModelConfig};

use crate::golden::table;

/// Two numbers (one whole), an immutable number, a flag, a category of three, a missing mark, and two more numbers.
fn schema() -> Schema {
    let mut schema = table(10);
    for feature in &mut schema.features {
        feature.low = 0.0;
        feature.high = 1.0;
    }
    let level = |feature: &mut Feature, group| {
        feature.kind = FeatureKind::Level {
            values: vec![feature.name.clone()],
        };
        feature.group = group;
    };
    schema.features[1].integer = true;
    schema.features[1].offset = 18.0;
    schema.features[1].factor = 50.0;
    schema.features[2].immutable = true;
    level(&mut schema.features[3], None);
    for feature in &mut schema.features[4..7] {
        level(feature, Some(0));
        "job".clone_into(&mut feature.column);
    }
    schema.features[7].kind = FeatureKind::Missing;
    schema
}

/// A row of that table.
fn row(numbers: &[f64; 5], age: u8, flag: bool, job: usize) -> Vec<f64> {
    let mut row = [0.0; 10];
    row[0] = numbers[0];
    row[1] = (f64::from(age) - 18.0) / 50.0;
    row[2] = numbers[1];
    row[3] = f64::from(u8::from(flag));
    if job < 3 {
        row[4 + job] = 1.0;
    }
    row[8] = numbers[2];
    row[9] = numbers[3];
    row.iter().map(|value| f64::from(*value as f32)).collect()
}

const TOLERANCE: f64 = 2e-6;

fn check(threat: &ThreatConfig, x: &[f64], point: &[f64], what: &str) {
    let moves: Vec<f64> = x.iter().zip(point).map(|(x, z)| z - x).collect();
    let size = match threat.ball.norm {
        Norm::L2 => moves
            .iter()
            .map(|change| change * change)
            .sum::<f64>()
            .sqrt(),
        Norm::Linf => moves
            .iter()
            .fold(0.0, |most: f64, change| most.max(change.abs())),
    };
    assert!(
        size <= threat.ball.radius + TOLERANCE,
        "{what}: moved {size}"
    );
    if threat.r#box {
        assert!(
            point
                .iter()
                .all(|value| (-TOLERANCE..=1.0 + TOLERANCE).contains(value)),
            "{what}: {point:?}"
        );
    }
    if threat.immutable {
        assert_eq!(x[2], point[2], "{what}");
    }
    if threat.integer {
        let age = 18.0 + 50.0 * point[1];
        assert!((age - age.round()).abs() < 1e-3, "{what}: age {age}");
    }
    if let Some(budget) = threat.feature_budget.get("x1") {
        assert!(50.0 * moves[1].abs() <= budget + 1e-4, "{what}");
    }
    if threat.one_hot != OneHot::Free {
        let group = |row: &[f64]| row[4..7].iter().sum::<f64>();
        assert!(
            (group(point) - group(x)).abs() < TOLERANCE,
            "{what}: {point:?}"
        );
        assert!(
            point[3..7]
                .iter()
                .all(|share| (-TOLERANCE..=1.0 + TOLERANCE).contains(share))
        );
        assert_eq!(x[7], point[7], "{what}");
    }
    if threat.one_hot == OneHot::Whole {
        assert!(
            point[3..7]
                .iter()
                .all(|share| *share == 0.0 || *share == 1.0),
            "{what}: {point:?}"
        );
    }
}

fn threats() -> impl Strategy<Value = ThreatConfig> {
    let norm = prop_oneof![Just(Norm::L2), Just(Norm::Linf)];
    let one_hot = prop_oneof![
        Just(OneHot::Free),
        Just(OneHot::Simplex),
        Just(OneHot::Whole)
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (
        norm,
        0.0..2.5_f64,
        one_hot,
        flags,
        prop::option::of(0.0..9.0_f64),
    )
        .prop_map(
            |(norm, radius, one_hot, (r#box, immutable, integer), budget)| ThreatConfig {
                ball: BallConfig { norm, radius },
                r#box,
                immutable,
                integer,
                one_hot,
                feature_budget: budget
                    .map(|budget| BTreeMap::from([("x1".to_owned(), budget)]))
                    .unwrap_or_default(),
                ..ThreatConfig::papers()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn no_attack_leaves_its_threat_set(
        threat in threats(),
        rows in prop::collection::vec((prop::array::uniform5(0.0..1.0_f64), 18..=68_u8, any::<bool>(), 0..4_usize), 1..4),
        seed in any::<u64>(),
    ) {
        let schema = schema();
        let network = ModelConfig::Mlp(MlpConfig { hidden: vec![8], ..MlpConfig::default() })
            .network(&InputShape::Table, 10, 2, &mut Fresh::new(Seed::new(seed)))
            .unwrap();
        let rows: Vec<Vec<f64>> = rows.iter().map(|(numbers, age, flag, job)| row(numbers, *age, *flag, *job)).collect();
        let x = rows.concat();
        let ids: Vec<u64> = (0..rows.len() as u64).collect();
        for (method, constraint) in [
            ("er-attack", ConstraintConfig::EarlyStop(constraint::early_stop::EarlyStopConfig {})),
            ("er-attack", ConstraintConfig::Qp(constraint::qp::QpConfig {})),
            ("mse-attack", ConstraintConfig::Gda(constraint::gda::GdaConfig { rate: 1.0 })),
            ("top-k", ConstraintConfig::EarlyStop(constraint::early_stop::EarlyStopConfig {})),
            ("target", ConstraintConfig::None(constraint::none::NoneConfig {})),
            ("random", ConstraintConfig::EarlyStop(constraint::early_stop::EarlyStopConfig {})),
        ] {
            for surrogate in [None, Some(3.0)] {
                let config = AttackConfig {
                    method: serde_json::from_str(&format!(r#"{{"kind": "{method}"}}"#)).unwrap(),
                    k: 3,
                    threat: threat.clone(),
                    steps: 5,
                    step_size: Some(0.4),
                    restarts: 2,
                    surrogate,
                    constraint,
                    ..AttackConfig::default()
                };
                let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
                let attacked = attack
                    .perturb(&network, Points { values: &x, ids: &ids }, Seed::new(seed))
                    .unwrap();
                for (attacked, x) in attacked.iter().zip(&rows) {
                    check(&threat, x, &attacked.perturbed, method);
                    check(&threat, x, &attacked.last.point, method);
                }
            }
        }
    }
}

/// The suite and images cost more, so they have fewer cases.
#[test]
fn neither_the_suite_nor_an_attack_on_an_image_leaves_its_threat_set() {
    let schema = schema();
    let network = ModelConfig::Mlp(MlpConfig {
        hidden: vec![8],
        ..MlpConfig::default()
    })
    .network(&InputShape::Table, 10, 2, &mut Fresh::new(Seed::new(5)))
    .unwrap();
    let rows = [
        row(&[0.3, 0.4, 0.5, 0.6, 0.7], 40, true, 1),
        // One that breaks the box, the simplex and the whole numbers already.
        vec![1.5, 0.333, -0.25, 0.0, 0.5, 0.25, 0.0, 0.0, 1.25, 0.5],
    ];
    let explain = ExplainConfig::default();
    for one_hot in [OneHot::Free, OneHot::Simplex, OneHot::Whole] {
        for (norm, radius) in [(Norm::L2, 1.6), (Norm::Linf, 0.3)] {
            let threat = ThreatConfig {
                ball: BallConfig { norm, radius },
                r#box: true,
                immutable: true,
                integer: true,
                one_hot,
                ..ThreatConfig::default()
            };
            let suite = SuiteConfig {
                effort: Effort::Quick,
                k: 3,
                threat: threat.clone(),
            };
            let batch = Points {
                values: &rows.concat(),
                ids: &[0, 1],
            };
            let suite = suite.check(&explain, &schema).unwrap();
            let found = suite.perturb(&network, batch, Seed::new(1)).unwrap().rows;
            check(&threat, &rows[0], &found[0].perturbed, "suite");
            check(&threat, &rows[0], &found[0].last.point, "suite");
            for point in [&found[1].perturbed, &found[1].last.point] {
                let ball = ThreatConfig {
                    ball: threat.ball,
                    immutable: true,
                    ..ThreatConfig::default()
                };
                check(&ball, &rows[1], point, "broken row");
                // A bound that the row breaks is widened to the row.
                for (x, z) in rows[1].iter().zip(point) {
                    let (low, high) = (x.min(0.0) - TOLERANCE, x.max(1.0) + TOLERANCE);
                    assert!((low..=high).contains(z), "{x} became {z}");
                }
            }
        }
    }

    let image = InputShape::Image {
        channels: 1,
        height: 8,
        width: 8,
    };
    let network = ModelConfig::Mlp(MlpConfig::default())
        .network(&image, 64, 3, &mut Fresh::new(Seed::new(5)))
        .unwrap();
    let mut stream = Seed::new(6).stream("pixels");
    let x: Vec<f64> = (0..64)
        .map(|_| f64::from(stream.uniform() as f32))
        .collect();
    for method in ["mass-center", "top-k"] {
        let threat = ThreatConfig {
            ball: BallConfig {
                norm: Norm::Linf,
                radius: 0.4,
            },
            r#box: true,
            ..ThreatConfig::papers()
        };
        let config = AttackConfig {
            method: serde_json::from_str(&format!(r#"{{"kind": "{method}"}}"#)).unwrap(),
            threat: threat.clone(),
            steps: 5,
            restarts: 2,
            ..AttackConfig::default()
        };
        let attack = config
            .check(&explain, &Schema::image(1, 8, 8, 255.0))
            .unwrap();
        let batch = Points {
            values: &x,
            ids: &[0],
        };
        let found = attack.perturb(&network, batch, Seed::new(1)).unwrap();
        check(&threat, &x, &found[0].perturbed, method);
        check(&threat, &x, &found[0].last.point, method);
    }
}

#[test]
fn a_search_reaches_whole_numbers_and_other_categories_where_the_ball_allows_them() {
    let schema = schema();
    let network = ModelConfig::Mlp(MlpConfig {
        hidden: vec![8],
        ..MlpConfig::default()
    })
    .network(&InputShape::Table, 10, 2, &mut Fresh::new(Seed::new(5)))
    .unwrap();
    let x: Vec<f64> = (0..40)
        .flat_map(|index| {
            row(
                &[0.3, 0.4, 0.5, 0.6, 0.7],
                20 + index,
                index % 2 == 0,
                usize::from(index % 3),
            )
        })
        .collect();
    let ids: Vec<u64> = (0..40).collect();
    let threat = ThreatConfig {
        ball: BallConfig {
            norm: Norm::L2,
            radius: 2.5,
        },
        r#box: true,
        integer: true,
        one_hot: OneHot::Whole,
        ..ThreatConfig::default()
    };
    let config = AttackConfig {
        method: serde_json::from_str(r#"{"kind": "random", "points": 30}"#).unwrap(),
        k: 3,
        threat,
        ..AttackConfig::default()
    };
    let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
    let attacked = attack
        .perturb(
            &network,
            Points {
                values: &x,
                ids: &ids,
            },
            Seed::new(1),
        )
        .unwrap();
    let moved = |feature: usize| {
        let rows = attacked.iter().zip(x.chunks(10));
        rows.filter(|(row, x)| row.last.point[feature] != x[feature])
            .count()
    };
    assert!(moved(1) > 20, "ages: {}", moved(1));
    assert!(moved(3) > 3, "flags: {}", moved(3));
    assert!(moved(4) + moved(5) + moved(6) > 5, "jobs: {}", moved(4));
}

#[test]
fn a_budget_of_a_column_that_is_not_there_is_refused() {
    let config = ThreatConfig {
        feature_budget: BTreeMap::from([("x11".to_owned(), 1.0)]),
        ..ThreatConfig::default()
    };
    assert_eq!(
        config.check(&schema()).unwrap_err().to_string(),
        "the input has no column `x11`; did you mean `x1`?"
    );
}
