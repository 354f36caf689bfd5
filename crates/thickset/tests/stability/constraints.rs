//! Attacks that keep the prediction.

use thickset::Seed;
use thickset::attack::{AttackConfig, ConstraintConfig, constraint};
use thickset::data::Schema;
use thickset::explain::{ExplainConfig, Points};
use thickset::model::Activation;
use thickset_engine::Network;

use crate::configs::{ball, every_method, graphs, kind};
use crate::golden::{close, table, values};
use crate::trained::{FEATURES, binary, rows};

/// What the first step of `ERAttack` descends on.
fn first_slope(
    network: &Network,
    schema: &Schema,
    rows: Points<'_>,
    k: usize,
    constraint: ConstraintConfig,
) -> Vec<f64> {
    let config = AttackConfig {
        k,
        steps: 1,
        constraint,
        ..AttackConfig::default()
    };
    let attack = config.check(&ExplainConfig::default(), schema).unwrap();
    let traced = attack.perturb_traced(network, rows, Seed::new(0));
    traced.unwrap().1.gradients[0].clone()
}

#[test]
fn a_divergence_is_weighed_against_the_sum_of_gaps() {
    let network = binary(Activation::Softplus { beta: 5.0 });
    let (x, _) = rows(5, 6);
    let batch = Points {
        values: &x,
        ids: &[0, 1, 2, 3, 4],
    };
    let slope = |constraint| first_slope(&network, &table(FEATURES), batch, 4, constraint);
    // At the row itself the divergence has no slope: what is left is half of the objective's, k(n-k) times the mean gap's.
    let mean = slope(ConstraintConfig::None(constraint::none::NoneConfig {}));
    let expected: Vec<f64> = mean.iter().map(|slope| 16.0 * slope).collect();
    let weighed = slope(ConstraintConfig::NoUpdate(
        constraint::no_update::NoUpdateConfig {},
    ));
    close("weighed gradient", &weighed, &expected, 1e-4);
}

#[test]
fn of_a_pair_three_divergences_are_weighed() {
    let (network, schema) = graphs();
    let mut stream = Seed::new(4).stream("graphs");
    let x: Vec<f64> = (0..56).map(|_| stream.uniform_in(-1.0, 1.0)).collect();
    let batch = Points {
        values: &x,
        ids: &[0],
    };
    let slope = |constraint| first_slope(&network, &schema, batch, 10, constraint);
    // As above, but a quarter is left: the pair as a whole and each side have a divergence of their own.
    let mean = slope(ConstraintConfig::None(constraint::none::NoneConfig {}));
    let expected: Vec<f64> = mean.iter().map(|slope| 10.0 * 46.0 / 4.0 * slope).collect();
    let weighed = slope(ConstraintConfig::NoUpdate(
        constraint::no_update::NoUpdateConfig {},
    ));
    close("weighed gradient", &weighed, &expected, 1e-4);
}

#[test]
fn no_attack_but_the_unconstrained_reports_a_changed_prediction() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(60, 5);
    let ids: Vec<u64> = (0..60).collect();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let logits = values(network.logits(network.batch(&x)));
    let mut stopped = 0;
    for config in every_method() {
        let unconstrained =
            config.constraint == ConstraintConfig::None(constraint::none::NoneConfig {});
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
    let batch = Points {
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
    let free = moved(ConstraintConfig::None(constraint::none::NoneConfig {}));
    for constraint in [
        ConstraintConfig::NoUpdate(constraint::no_update::NoUpdateConfig {}),
        ConstraintConfig::Gda(constraint::gda::GdaConfig { rate: 1.0 }),
        ConstraintConfig::Hedge(constraint::hedge::HedgeConfig { rate: 1.0 }),
        ConstraintConfig::Qp(constraint::qp::QpConfig {}),
    ] {
        let held = moved(constraint);
        assert!(held < 0.9 * free, "{constraint:?}: {held} against {free}");
    }
}

#[test]
fn all_three_predictions_of_a_pair_are_kept() {
    let (network, schema) = graphs();
    let mut stream = Seed::new(4).stream("graphs");
    let x: Vec<f64> = (0..30 * 56).map(|_| stream.uniform_in(-1.0, 1.0)).collect();
    let ids: Vec<u64> = (0..30).collect();
    for constraint in [
        ConstraintConfig::EarlyStop(constraint::early_stop::EarlyStopConfig {}),
        ConstraintConfig::Qp(constraint::qp::QpConfig {}),
    ] {
        let config = AttackConfig {
            method: kind("mse-attack"),
            k: 10,
            threat: ball(2.0),
            steps: 10,
            constraint,
            ..AttackConfig::default()
        };
        let attack = config.check(&ExplainConfig::default(), &schema).unwrap();
        let batch = Points {
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
