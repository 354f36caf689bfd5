//! An audit of a network that reads digits of 8 x 8 pixels.

use thickset::Seed;
use thickset::attack::suite::SuiteConfig;
use thickset::attack::{Change, Value};
use thickset::audit::certificate::CertificateRecord;
use thickset::audit::figure::{RowFigures, explained, noise};
use thickset::audit::result::{
    AttackId, Audit, AuditSettings, DataRecord, ModelRecord, RowRecord, SCHEMA, SplitRecord,
    ThicknessSettings, WorstRow,
};
use thickset::data::{InputShape, Part};
use thickset::explain::ExplainConfig;
use thickset::metric::{comprehensiveness, dffot, sufficiency, thickness};
use thickset::model::{CnnConfig, ModelConfig};

use super::{as_f64, attacks, feature_counts, summary, top};

const K: usize = 8;
const SIDE: usize = 8;

/// A three, a seven and a zero in ink.
const SHAPES: [[&str; SIDE]; 3] = [
    [
        "..####..", ".#....#.", "......#.", "...###..", "......#.", "......#.", ".#....#.",
        "..####..",
    ],
    [
        ".######.", "......#.", ".....#..", "....##..", "..####..", "...#....", "...#....",
        "...#....",
    ],
    [
        "..####..", ".##..##.", ".#....#.", ".#....#.", ".#....#.", ".#....#.", ".##..##.",
        "..####..",
    ],
];

const CLASSES: [usize; 3] = [3, 7, 0];

fn ink(number: usize, stream: &mut thickset::Stream) -> Vec<f64> {
    let shape = &SHAPES[number % SHAPES.len()];
    shape
        .iter()
        .flat_map(|line| line.bytes())
        .map(|byte| {
            let level = if byte == b'#' { 0.85 } else { 0.04 };
            (level + 0.12 * stream.normal()).clamp(0.0, 1.0)
        })
        .collect()
}

/// The audit.
#[expect(clippy::too_many_lines, reason = "one made-up value, written out")]
pub fn digits() -> Audit {
    let mut rows = Vec::new();
    let mut worst = Vec::new();
    let mut mean = vec![0.0; SIDE * SIDE];
    for number in 0..60 {
        let mut stream = Seed::new(11).stream_at("digits", number as u64);
        let values = ink(number, &mut stream);
        let importance: Vec<f64> = values
            .iter()
            .map(|ink| (0.6 * ink + 0.2 * stream.normal()).abs())
            .collect();
        let attacked: Vec<f64> = importance
            .iter()
            .map(|value| (value + 0.14 * stream.normal()).abs())
            .collect();
        let attacked_values: Vec<f64> = values
            .iter()
            .map(|value| (value + 0.06 * stream.normal()).clamp(0.0, 1.0))
            .collect();
        mean.iter_mut()
            .zip(&importance)
            .for_each(|(mean, value)| *mean += value / 60.0);
        let (before, after) = (top(&importance, K), top(&attacked, K));
        let kept = before.iter().filter(|pixel| after.contains(pixel)).count();
        let class = CLASSES[number % CLASSES.len()];
        let precision = as_f64(kept) / as_f64(K);
        rows.push(RowRecord {
            row: number as u64 + 1,
            label: Some(class),
            class,
            probabilities: vec![0.1; 10],
            top: before,
            attacked_top: after,
            precision,
            attack: AttackId::new("mse-attack").unwrap(),
            first_change: (kept < K).then(|| 1 + stream.below(30)),
            figures: RowFigures::default()
                .with(&explained::FIGURE, 1.0)
                .with(&noise::FIGURE, 0.9)
                .with(&thickness::FIGURE, stream.uniform_in(0.8, 0.95))
                .with(&dffot::FIGURE, stream.uniform_in(0.05, 0.4))
                .with(&comprehensiveness::FIGURE, stream.uniform_in(0.1, 0.5))
                .with(&sufficiency::FIGURE, stream.uniform_in(0.0, 0.2)),
        });
        if worst.len() < 3 {
            let changes = values
                .iter()
                .zip(&attacked_values)
                .enumerate()
                .filter(|(_, (from, to))| from.total_cmp(to).is_ne());
            let changes = changes.map(|(pixel, (from, to))| Change {
                name: format!("pixel[{},{}]", pixel / SIDE, pixel % SIDE),
                from: Value::Number(*from),
                to: Value::Number(*to),
                unit: None,
                moved: (to - from).abs(),
            });
            worst.push(WorstRow {
                row: number as u64 + 1,
                class,
                precision,
                probability: 0.97,
                attacked_probability: 0.91,
                changes: changes.collect(),
                values,
                attacked_values,
                importance,
                attacked_importance: attacked,
            });
        }
    }
    let summary = summary(&rows, SIDE * SIDE, K, 0.994);
    let features = feature_counts(&rows, &mean);
    mean.sort_by(|a, b| b.total_cmp(a));
    Audit {
        reasons: None,
        theory: None,
        schema: SCHEMA,
        version: "0.1.0".to_owned(),
        instruction_set: Some("x86-64-fma".to_owned()),
        model: ModelRecord {
            name: "digits-cnn".to_owned(),
            file: "digits-cnn.safetensors".to_owned(),
            sha256: "9f".repeat(32),
            architecture: ModelConfig::Cnn(CnnConfig::default()),
            parameters: 54_410,
            classes: (0..10).map(|digit| digit.to_string()).collect(),
            objective: None,
        },
        data: DataRecord {
            name: "digits".to_owned(),
            sha256: "1e".repeat(32),
            split: Some(SplitRecord::default()),
            part: Some(Part::Test),
            rows: rows.len(),
            shape: InputShape::Image {
                channels: 1,
                height: SIDE,
                width: SIDE,
            },
            features: (0..SIDE * SIDE)
                .map(|pixel| format!("pixel[{},{}]", pixel / SIDE, pixel % SIDE))
                .collect(),
            has_labels: true,
        },
        settings: AuditSettings {
            decision: thickset::decision::DecisionConfig::default(),
            seed: Seed::new(0),
            k: K,
            explain: ExplainConfig::default(),
            suite: SuiteConfig::default(),
            thickness: ThicknessSettings {
                neighbours: 20,
                points: 10,
            },
            noise_draws: 20,
            worst: 3,
            donors: 64,
            certify: true,
            theory: 0,
        },
        linear: None,
        limit: None,
        certificate: Some(CertificateRecord {
            absent: Some(
                "certificates are of chains of dense layers with ReLU between them and a linear last layer, got a network with other layers"
                    .to_owned(),
            ),
            exact: 0,
        }),
        attacks: attacks(
            *summary.precision_at_k(),
            &[
                ("er-attack", None, false),
                ("mse-attack", None, false),
                ("mass-center", Some(10.0), true),
                ("random", None, false),
            ],
        ),
        features,
        magnitudes: mean,
        worst,
        gate: Vec::new(),
        training: Vec::new(),
        summary,
        rows_file: None,
        rows: rows.into_iter().collect(),
    }
}
