//! An audit of a network that scores loans.

use thickset::Seed;
use thickset::attack::suite::SuiteConfig;
use thickset::attack::{Change, Value};
use thickset::audit::certificate::CertificateRecord;
use thickset::audit::figure::{
    Figure, RowFigures, Summary, certified, certified_p_at_k, certified_radius, changed_radius,
    explained, noise, noise_radius,
};
use thickset::audit::limit::LimitRecord;
use thickset::audit::result::{
    AttackId, Audit, AuditSettings, DataRecord, ModelRecord, Requirement, RowRecord, SCHEMA,
    SplitRecord, ThicknessSettings, WorstRow,
};
use thickset::data::{InputShape, Part};
use thickset::explain::ExplainConfig;
use thickset::metric::{
    accuracy, auc, comprehensiveness, dffot, distinctness, sufficiency, thickness,
};
use thickset::model::{MlpConfig, ModelConfig};
use thickset::statistics::{mean, median};

use super::{as_f64, attacks, estimate, feature_counts, summary, top, training};

/// What is wanted of the sample.
pub struct Table {
    pub name: &'static str,
    pub rows: usize,
    /// How far an attack moves importances.
    pub shake: f64,
    pub auc: f64,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            name: "vanilla",
            rows: 200,
            shake: 0.21,
            auc: 0.861,
        }
    }
}

const K: usize = 5;

/// Name, unit, the value at 0 and the value at 1 of the encoding, importance.
const FEATURES: [(&str, &str, f64, f64, f64); 12] = [
    ("balance", "euros", -800.0, 6200.0, 0.80),
    ("duration", "months", 4.0, 72.0, 0.95),
    ("age", "years", 19.0, 75.0, 0.62),
    ("amount", "euros", 250.0, 18_400.0, 0.71),
    ("employment", "years", 0.0, 24.0, 0.55),
    ("installment rate", "%", 1.0, 40.0, 0.50),
    ("other debts", "euros", 0.0, 12_000.0, 0.47),
    ("housing=own", "", 0.0, 1.0, 0.35),
    ("housing=rent", "", 0.0, 1.0, 0.30),
    ("purpose=car", "", 0.0, 1.0, 0.24),
    ("purpose=education", "", 0.0, 1.0, 0.17),
    ("savings", "euros", 0.0, 9000.0, 0.42),
];

/// One case in the making.
struct Case {
    row: RowRecord,
    values: Vec<f64>,
    attacked_values: Vec<f64>,
    importance: Vec<f64>,
    attacked: Vec<f64>,
}

fn case(number: usize, want: &Table) -> Case {
    let mut stream = Seed::new(7).stream_at("credit", number as u64);
    let values: Vec<f64> = FEATURES
        .iter()
        .map(|(_, unit, ..)| {
            let value = stream.uniform();
            if unit.is_empty() {
                value.round()
            } else {
                value
            }
        })
        .collect();
    let importance: Vec<f64> = FEATURES
        .iter()
        .map(|feature| (feature.4 + 0.16 * stream.normal()).max(0.01))
        .collect();
    let shake = want.shake * stream.uniform_in(0.1, 1.6);
    let attacked: Vec<f64> = importance
        .iter()
        .map(|value| (value + shake * stream.normal()).max(0.005))
        .collect();
    let attacked_values: Vec<f64> = values
        .iter()
        .zip(&FEATURES)
        .map(|(value, (_, unit, ..))| {
            if unit.is_empty() {
                *value
            } else {
                value + 0.09 * stream.normal()
            }
        })
        .collect();
    let (before, after) = (top(&importance, K), top(&attacked, K));
    let kept = before
        .iter()
        .filter(|feature| after.contains(feature))
        .count();
    let precision = as_f64(kept) / as_f64(K);
    let probability = 0.5 + 0.48 * stream.uniform();
    let class = usize::from(stream.uniform() > 0.7);
    let label = if stream.uniform() < 0.79 {
        class
    } else {
        1 - class
    };
    let finder = ["mse-attack", "er-attack", "target", "random"][stream.below(4)];
    let steps = (22.0 * (1.0 - shake / 0.4).max(0.03) * stream.uniform_in(0.4, 1.4)).ceil();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small step"
    )]
    let first_change = (kept < K).then_some(steps.max(1.0) as usize);
    // One reason in five rows is neither proved nor attacked.
    let open = if number.is_multiple_of(5) { 0.2 } else { 0.0 };
    let proved = (precision - open).max(0.0);
    Case {
        row: RowRecord {
            row: number as u64 + 1,
            label: Some(label),
            class,
            probabilities: if class == 0 {
                vec![probability, 1.0 - probability]
            } else {
                vec![1.0 - probability, probability]
            },
            top: before,
            attacked_top: after,
            precision,
            attack: AttackId::new(finder).unwrap(),
            first_change,
            figures: RowFigures::default()
                .with(&explained::FIGURE, 1.0)
                .with(
                    &noise::FIGURE,
                    (1.0 - 0.25 * (1.0 - precision) * stream.uniform()).clamp(0.0, 1.0),
                )
                .with(
                    &thickness::FIGURE,
                    (1.0 - 0.35 * shake - 0.02 * stream.uniform()).clamp(0.0, 1.0),
                )
                .with(&dffot::FIGURE, stream.uniform_in(0.1, 0.6))
                .with(&comprehensiveness::FIGURE, stream.uniform_in(0.1, 0.5))
                .with(&sufficiency::FIGURE, stream.uniform_in(0.0, 0.2))
                .with(&certified_p_at_k::FIGURE, proved)
                .with(&certified_radius::FIGURE, 0.4 * proved * proved)
                .with(&changed_radius::FIGURE, 0.5 * precision * precision)
                .with(&noise_radius::FIGURE, (10.0 * precision).floor() / 20.0),
        },
        values,
        attacked_values,
        importance,
        attacked,
    }
}

fn worst(case: &Case) -> WorstRow {
    let mut changes: Vec<Change> = case
        .values
        .iter()
        .zip(&case.attacked_values)
        .zip(&FEATURES)
        .filter(|((from, to), _)| from.total_cmp(to).is_ne())
        .map(|((from, to), (name, unit, zero, one, _))| Change {
            name: (*name).to_owned(),
            from: Value::Number((zero + (one - zero) * from).round()),
            to: Value::Number((zero + (one - zero) * to).round()),
            unit: Some((*unit).to_owned()),
            moved: (to - from).abs(),
        })
        .filter(|change| change.from != change.to)
        .collect();
    changes.sort_by(|a, b| b.moved.total_cmp(&a.moved));
    // Some rows need one change only, as the real ones do.
    changes.truncate(1 + case.row.top[0] % 4);
    WorstRow {
        row: case.row.row,
        class: case.row.class,
        precision: case.row.precision,
        probability: case.row.probabilities[case.row.class],
        attacked_probability: case.row.probabilities[case.row.class] - 0.03,
        values: case.values.clone(),
        attacked_values: case.attacked_values.clone(),
        importance: case.importance.clone(),
        attacked_importance: case.attacked.clone(),
        changes,
    }
}

fn linear(rows: usize) -> Summary {
    let mut linear = Summary::new(estimate(1.0, 0.0, rows));
    linear.set(&auc::FIGURE, Some(estimate(0.802, 0.024, rows).into()));
    linear.set(&accuracy::FIGURE, Some(0.745.into()));
    linear.set(&distinctness::FIGURE, Some(0.0.into()));
    linear
}

/// The audit.
#[expect(clippy::too_many_lines, reason = "one field after the other")]
pub fn credit(want: &Table) -> Audit {
    let cases: Vec<Case> = (0..want.rows).map(|number| case(number, want)).collect();
    let mut by_precision: Vec<&Case> = cases.iter().collect();
    by_precision.sort_by(|a, b| a.row.precision.total_cmp(&b.row.precision));
    let rows: Vec<RowRecord> = cases.iter().map(|case| case.row.clone()).collect();
    let importance: Vec<f64> = FEATURES.iter().map(|feature| feature.4).collect();
    let mut magnitudes = importance.clone();
    magnitudes.sort_by(|a, b| b.total_cmp(a));
    let mut summary = summary(&rows, FEATURES.len(), K, want.auc);
    let values = |figure: &Figure| -> Vec<f64> {
        let values = rows.iter().map(|row| figure.of_row(row).unwrap());
        values.collect()
    };
    let proved = mean::estimate(&values(&certified_p_at_k::FIGURE)).unwrap();
    summary.set(&certified_p_at_k::FIGURE, Some(proved.into()));
    let whole = mean::estimate(&values(&certified::FIGURE)).unwrap().value;
    summary.set(&certified::FIGURE, Some(whole.into()));
    for figure in [
        &certified_radius::FIGURE,
        &changed_radius::FIGURE,
        &noise_radius::FIGURE,
    ] {
        let median = median::estimate(&values(figure)).unwrap();
        summary.set(figure, Some(median.into()));
    }
    Audit {
        reasons: None,
        theory: None,
        schema: SCHEMA,
        version: "0.1.0".to_owned(),
        instruction_set: Some("x86-64-fma".to_owned()),
        model: ModelRecord {
            name: want.name.to_owned(),
            file: format!("{}.safetensors", want.name),
            sha256: "5f2c8e9b1d7a40c36e8b0f9d2a4c6e8f1b3d5f7a9c0e2b4d6f8a1c3e5b7d9f0a".to_owned(),
            architecture: ModelConfig::Mlp(MlpConfig::default()),
            parameters: 2978,
            classes: vec!["repaid".to_owned(), "default".to_owned()],
            objective: Some(
                if want.name == "vanilla" {
                    "vanilla"
                } else {
                    "r2et"
                }
                .to_owned(),
            ),
        },
        data: DataRecord {
            name: "loans.csv".to_owned(),
            sha256: "0a9f8e7d6c5b4a39281706f5e4d3c2b1a0f9e8d7c6b5a493827160f5e4d3c2b1".to_owned(),
            split: Some(SplitRecord::default()),
            part: Some(Part::Test),
            rows: want.rows,
            shape: InputShape::Table,
            features: FEATURES
                .iter()
                .map(|feature| feature.0.to_owned())
                .collect(),
            has_labels: true,
        },
        settings: AuditSettings {
            decision: thickset::decision::DecisionConfig::default(),
            seed: Seed::new(0),
            k: K,
            explain: ExplainConfig::default(),
            suite: SuiteConfig {
                k: K,
                ..SuiteConfig::default()
            },
            thickness: ThicknessSettings {
                neighbours: 20,
                points: 10,
            },
            noise_draws: 20,
            worst: 12,
            donors: 64,
            certify: true,
            theory: 0,
        },
        linear: Some(linear(want.rows)),
        limit: Some(LimitRecord {
            mean: 0.985,
            near: 0.12,
            rows: want.rows.min(256),
        }),
        certificate: Some(CertificateRecord {
            absent: None,
            exact: want.rows - want.rows.div_ceil(5),
        }),
        attacks: attacks(
            *summary.precision_at_k(),
            &[
                ("er-attack", None, false),
                ("mse-attack", None, false),
                ("er-attack", None, true),
                ("mse-attack", None, true),
                ("er-attack", Some(10.0), true),
                ("mse-attack", Some(10.0), true),
                ("target", Some(10.0), true),
                ("random", None, false),
            ],
        ),
        features: feature_counts(&rows, &importance),
        magnitudes,
        worst: by_precision
            .iter()
            .take(12)
            .map(|case| worst(case))
            .collect(),
        gate: vec![
            Requirement {
                text: "p_at_k>=0.7".to_owned(),
                value: Some(summary.precision_at_k().value),
                holds: summary.precision_at_k().value >= 0.7,
            },
            Requirement {
                text: "auc>=0.85".to_owned(),
                value: Some(want.auc),
                holds: want.auc >= 0.85,
            },
        ],
        training: training(Seed::new(3), 30),
        summary,
        rows_file: None,
        rows: rows.into_iter().collect(),
    }
}
