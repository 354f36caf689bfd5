//! What tests attack with, and which settings there are.

use thickset::Seed;
use thickset::attack::threat::{Amount, BallConfig, Norm};
use thickset::attack::{
    AttackConfig, AttackKind, ConstraintConfig, ThreatConfig, constraint, random,
};
use thickset::data::{InputShape, Schema};
use thickset::explain::{ExplainConfig, Points};
use thickset::model::{Activation, Fresh, GcnConfig, ModelConfig, SiameseConfig, siamese};
use thickset_engine::Network;

use crate::golden::table;
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

pub fn kind(kind: &str) -> AttackKind {
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
        ConstraintConfig::None(constraint::none::NoneConfig {}),
        ConstraintConfig::NoUpdate(constraint::no_update::NoUpdateConfig {}),
        ConstraintConfig::Gda(constraint::gda::GdaConfig { rate: 10.0 }),
        ConstraintConfig::Hedge(constraint::hedge::HedgeConfig { rate: 10.0 }),
        ConstraintConfig::Qp(constraint::qp::QpConfig {}),
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
    let model = ModelConfig::Siamese(SiameseConfig {
        embedding: siamese::Embedding::Gcn(GcnConfig {
            hidden: 8,
            embedding: 6,
            ..GcnConfig::default()
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
            threat: ThreatConfig {
                r#box: true,
                ..ball(0.5)
            },
            ..base()
        }),
        "attack `moo` takes an l2 ball, with or without immutable columns, as threat set, got one with other limits"
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
            method: AttackKind::Random(random::RandomConfig {
                points: 0,
                ..random::RandomConfig::default()
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
        let error = attack.perturb(&network, Points { values, ids }, Seed::new(1));
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
        // These two are no kind of attack: one is made of all, one needs rows that are handed to it.
        if !["suite", "donors", "every-point", "refine"].contains(&info.id) {
            assert_eq!(kind(info.id).kind(), info.id);
        }
    }
    for info in family(Family::Constraint) {
        let config: ConstraintConfig =
            serde_json::from_str(&format!(r#"{{"kind": "{}"}}"#, info.id)).unwrap();
        assert_eq!(config.kind(), info.id);
    }
    let named = || [("x1".to_owned(), Amount::Free)].into();
    let threat = ThreatConfig {
        only: named(),
        error: named(),
        ..ThreatConfig::default()
    };
    let threat = serde_json::to_value(threat).unwrap();
    for info in family(Family::Threat) {
        assert!(
            threat.get(info.id.replace('-', "_")).is_some(),
            "{}",
            info.id
        );
    }
}
