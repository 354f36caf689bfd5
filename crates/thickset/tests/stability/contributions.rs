//! Contributions against a brute force in another language, and the sum that they promise.

use std::path::PathBuf;

use serde_json::Value;
use thickset::Seed;
use thickset::explain::contributions::ContributionsConfig;
use thickset::explain::reduce::ReductionConfig;
use thickset::explain::{ExplainConfig, Per, Points};

use crate::golden::{both, close};

/// Of the largest entry. The brute force takes 4,000 steps, so a kink may be off by one of them.
const NEAR: f64 = 2e-3;

#[test]
fn contributions_are_those_of_a_brute_force_and_add_up() {
    let path: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "tests",
        "golden",
        "contributions",
        "expected.json",
    ]
    .iter()
    .collect();
    let expected: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for golden in both() {
        let of = &expected[golden.name];
        let numbers = |value: &Value| -> Vec<f64> {
            let list = value.as_array().unwrap().iter();
            list.map(|one| one.as_f64().unwrap()).collect()
        };
        let config = ExplainConfig {
            explanation: ContributionsConfig {
                row: Some(numbers(&of["reference"])),
                points: 40,
                ..ContributionsConfig::default()
            }
            .into(),
            reduce: ReductionConfig::Signed,
            per: Per::Feature,
        };
        let explain = config.check(&golden.schema()).unwrap();
        let ids = golden.ids();
        let points = Points {
            values: golden.values("x"),
            ids: &ids,
        };
        let class = usize::try_from(of["class"].as_u64().unwrap()).unwrap();
        let classes = vec![class; golden.rows];
        let found = explain
            .attribute_classes(&golden.network, points, &classes, Seed::new(0))
            .unwrap();
        let rows = of["contributions"].as_array().unwrap();
        assert_eq!(found.len(), rows.len());
        for (row, found) in rows.iter().zip(&found) {
            close(golden.name, &found.importance, &numbers(row), NEAR);
        }
    }
}
