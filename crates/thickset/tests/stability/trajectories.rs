//! Attacks step by step against `PyTorch`'s.

use thickset::Seed;
use thickset::attack::{AttackConfig, AttackKind, mse_attack};
use thickset::explain::{ExplainConfig, Points};
use thickset::metric::{cosine, kendall, precision_at_k};

use crate::configs::{ball, kind};
use crate::golden::{Golden, both, close};

fn trajectory(golden: &Golden, method: AttackKind, name: &str, scale: f64) {
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
    let rows = Points {
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
        let rows = Points {
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
        let method = AttackKind::MseAttack(mse_attack::MseAttackConfig { nudge: 0.01 });
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
        let rows = Points {
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
