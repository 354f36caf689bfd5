//! The suite: never weaker than a member, and stronger than `ERAttack` where that one is blind.

use thickset::Seed;
use thickset::attack::suite::{Effort, SuiteConfig, SuiteRows, over_radii};
use thickset::attack::{AttackConfig, ThreatConfig};
use thickset::explain::{ExplainConfig, Points};
use thickset::model::Activation;

use crate::golden::table;
use crate::trained::{FEATURES, binary, rows};

fn config(effort: Effort, radius: f64) -> SuiteConfig {
    let mut threat = ThreatConfig::default();
    threat.ball.radius = radius;
    SuiteConfig {
        effort,
        k: 4,
        threat,
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

#[test]
fn the_suite_is_never_weaker_than_a_member_and_keeps_every_prediction() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(40, 21);
    let ids: Vec<u64> = (0..40).collect();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let config = config(Effort::Standard, 0.5);
    let suite = config.check(&explain, &schema).unwrap();
    let found = suite.perturb(&network, batch, Seed::new(1)).unwrap();
    let mut members = config.members(&explain, &schema);
    // In a region shares do not change: what follows its own direction on shares is left out.
    members.retain(|member| !member.shares || member.surrogate.is_some());
    assert_eq!(members.len(), found.members.len());
    for (member, score) in members.into_iter().zip(&found.members) {
        let alone = member.check(&explain, &schema).unwrap();
        let alone = alone.perturb(&network, batch, Seed::new(1)).unwrap();
        for ((alone, suite), score) in alone.iter().zip(&found.rows).zip(&score.precision) {
            assert!(suite.precision <= alone.precision);
            // A row of which nothing is left is not attacked any further.
            let is_run = score.is_none_or(|score| score.to_bits() == alone.precision.to_bits());
            assert!(is_run && suite.held && (score.is_some() || suite.precision <= 0.0));
        }
    }
}

#[test]
fn where_gate_search_ends_the_suite_has_found_the_worst_case_itself() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(30, 22);
    let ids: Vec<u64> = (0..30).collect();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let suite = config(Effort::Standard, 0.2);
    let suite = suite.check(&explain, &schema).unwrap();
    let found = suite.perturb(&network, batch, Seed::new(1)).unwrap();
    let certified = found.certified.unwrap();
    let mut exact = 0;
    for (row, certified) in found.rows.iter().zip(&certified) {
        let kept = 4 - row.lost(4);
        assert!(kept >= certified.kept_at_least);
        assert_eq!(kept, certified.kept_at_most);
        exact += usize::from(kept == certified.kept_at_least);
    }
    assert!(exact >= 15, "{exact} of 30");
    // Nothing is searched so on a smooth network, where refinement goes on from what was found.
    let smooth = binary(Activation::Softplus { beta: 2.0 });
    let found = suite.perturb(&smooth, batch, Seed::new(1)).unwrap();
    assert_eq!(found.certified, None);
    for member in &found.members {
        for (row, alone) in found.rows.iter().zip(&member.precision) {
            assert!(row.precision <= alone.unwrap());
        }
    }
}

#[test]
fn donors_are_one_more_member_that_leads_where_they_lie() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(6, 5);
    let (donors, _) = rows(20, 6);
    let ids: Vec<u64> = (0..6).collect();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let suite = config(Effort::Quick, 0.5).check(&explain, &schema).unwrap();
    let plain = suite.perturb(&network, batch, Seed::new(1)).unwrap();
    let with = suite.clone().with_donors(&donors).unwrap();
    let with = with.perturb(&network, batch, Seed::new(1)).unwrap();
    assert_eq!(with.members.len(), plain.members.len() + 1);
    assert_eq!(with.members.last().unwrap().attack, "donors");
    for (with, plain) in with.rows.iter().zip(&plain.rows) {
        assert!(with.precision <= plain.precision && with.held);
    }
    // Where a row is its own donor there is no way to go.
    let own = suite.clone().with_donors(&x[..FEATURES]).unwrap();
    let own = own
        .perturb(
            &network,
            Points {
                values: &x[..FEATURES],
                ids: &ids[..1],
            },
            Seed::new(1),
        )
        .unwrap();
    assert_eq!(own.members.last().unwrap().precision, [Some(1.0)]);
    assert!(suite.with_donors(&donors[..=FEATURES]).is_err());
}

#[test]
fn the_suite_strictly_beats_er_attack_on_a_binary_relu_network() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(100, 22);
    let ids: Vec<u64> = (0..100).collect();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let attack = AttackConfig {
        k: 4,
        ..AttackConfig::default()
    };
    let plain = attack.check(&explain, &schema).unwrap();
    let plain = plain.perturb(&network, batch, Seed::new(1)).unwrap();
    let plain = mean(plain.iter().map(|row| row.precision));
    for effort in [Effort::Quick, Effort::Standard] {
        let suite = config(effort, 0.5).check(&explain, &schema).unwrap();
        let suite = suite.perturb(&network, batch, Seed::new(1)).unwrap();
        for member in &suite.members {
            let found: Vec<f64> = member.precision.iter().flatten().copied().collect();
            let alone = mean(found.into_iter());
            println!(
                "{:12} {:?} {} {alone:.4}",
                member.attack, member.surrogate, member.shares
            );
        }
        let suite = mean(suite.rows.iter().map(|row| row.precision));
        println!("{effort:?} {suite:.4}, ERAttack {plain:.4}");
        assert!(suite < plain - 0.02, "{effort:?}: {suite} against {plain}");
    }
}

#[test]
fn following_shares_on_a_twin_sees_what_er_attack_is_blind_to() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(100, 22);
    let ids: Vec<u64> = (0..100).collect();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let score = |shares: bool, surrogate: Option<f64>| {
        let attack = AttackConfig {
            k: 4,
            shares,
            surrogate,
            ..AttackConfig::default()
        };
        let found = attack.check(&explain, &schema).unwrap();
        let found = found.perturb(&network, batch, Seed::new(1)).unwrap();
        mean(found.iter().map(|row| row.precision))
    };
    let (plain, twin, shares) = (
        score(false, None),
        score(false, Some(10.0)),
        score(true, Some(10.0)),
    );
    assert!(
        shares < plain.min(twin) - 0.1,
        "{plain}, twin {twin}, its shares {shares}"
    );
}

#[test]
fn a_larger_radius_never_scores_better_for_the_defender() {
    let network = binary(Activation::Relu);
    let (x, _) = rows(40, 23);
    let ids: Vec<u64> = (0..40).collect();
    let batch = Points {
        values: &x,
        ids: &ids,
    };
    let (explain, schema) = (ExplainConfig::default(), table(FEATURES));
    let radii = [0.4, 0.0, 0.1, 0.2, 0.8];
    let curve = over_radii(
        &config(Effort::Quick, 1.0),
        &radii,
        &explain,
        &schema,
        &SuiteRows {
            network: &network,
            rows: batch,
            donors: &[],
            seed: Seed::new(1),
        },
    )
    .unwrap();
    assert!(curve[0].1.iter().all(|row| row.precision == 1.0));
    for pair in curve.windows(2) {
        for (smaller, larger) in pair[0].1.iter().zip(&pair[1].1) {
            assert!(larger.precision <= smaller.precision);
        }
    }
    for (radius, found) in &curve {
        for (row, x) in found.iter().zip(x.chunks(FEATURES)) {
            let squares = row.perturbed.iter().zip(x).map(|(a, b)| (a - b).powi(2));
            assert!(squares.sum::<f64>().sqrt() <= radius + 1e-6);
        }
    }
    let score = |place: usize| mean(curve[place].1.iter().map(|row| row.precision));
    assert!(score(4) < score(1), "the curve falls");
}
