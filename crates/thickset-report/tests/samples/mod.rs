//! Made-up results to draw pages from: drawn from named streams, so the same at every run, and consistent in themselves.

pub mod bench;
mod digits;
mod table;

pub use digits::digits;
pub use table::{Table, credit};

use std::collections::BTreeMap;

use thickset::Seed;
use thickset::audit::figure::{Summary, explained, noise, unchanged};
use thickset::audit::result::{AttackScore, FeatureCount, RowRecord};
use thickset::metric::{
    accuracy, auc, comprehensiveness, dffot, distinctness, sufficiency, thickness,
};
use thickset::statistics::{Estimate, Interval, mean};
use thickset::train::EpochRecord;

/// Features in falling order.
pub fn order(importance: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..importance.len()).collect();
    order.sort_by(|&a, &b| importance[b].total_cmp(&importance[a]).then(a.cmp(&b)));
    order
}

pub fn top(importance: &[f64], k: usize) -> Vec<usize> {
    order(importance).into_iter().take(k).collect()
}

pub fn estimate(value: f64, half: f64, count: usize) -> Estimate {
    let (low, high) = (value - half, (value + half).min(1.0));
    Estimate {
        value,
        interval: Some(Interval { low, high }),
        count,
    }
}

fn of(rows: &[RowRecord], value: impl Fn(&RowRecord) -> f64) -> Estimate {
    mean::estimate(&rows.iter().map(value).collect::<Vec<_>>()).unwrap()
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn as_f64(count: usize) -> f64 {
    count as f64
}

/// The figures that follow from the rows.
pub fn summary(rows: &[RowRecord], features: usize, k: usize, area: f64) -> Summary {
    let mut with = vec![0_usize; features];
    for row in rows {
        row.top.iter().for_each(|&feature| with[feature] += 1);
    }
    let shared: usize = with
        .iter()
        .map(|count| count * count.saturating_sub(1))
        .sum();
    let pairs = rows.len() * rows.len().saturating_sub(1);
    let right = rows
        .iter()
        .filter(|row| row.label == Some(row.class))
        .count();
    let whole = rows.iter().filter(|row| row.precision >= 1.0).count();
    let share = |part: usize| Some((as_f64(part) / as_f64(rows.len())).into());
    let mut summary = Summary::new(of(rows, |row| row.precision));
    let means = [
        &noise::FIGURE,
        &thickness::FIGURE,
        &dffot::FIGURE,
        &comprehensiveness::FIGURE,
        &sufficiency::FIGURE,
    ];
    for figure in means {
        let mean = of(rows, |row| figure.of_row(row).unwrap());
        summary.set(figure, Some(mean.into()));
    }
    let distinct = (pairs > 0).then(|| 1.0 - as_f64(shared) / as_f64(pairs * k));
    summary.set(&unchanged::FIGURE, share(whole));
    summary.set(&explained::FIGURE, share(rows.len()));
    summary.set(&distinctness::FIGURE, distinct.map(Into::into));
    summary.set(&auc::FIGURE, Some(estimate(area, 0.021, rows.len()).into()));
    summary.set(&accuracy::FIGURE, share(right));
    summary
}

/// How often each feature is a reason, leaves and enters.
pub fn feature_counts(rows: &[RowRecord], importance: &[f64]) -> Vec<FeatureCount> {
    let count = |is: &dyn Fn(&RowRecord) -> bool| rows.iter().filter(|row| is(row)).count();
    (0..importance.len())
        .map(|feature| FeatureCount {
            in_top: count(&|row| row.top.contains(&feature)),
            left: count(&|row| row.top.contains(&feature) && !row.attacked_top.contains(&feature)),
            entered: count(&|row| {
                !row.top.contains(&feature) && row.attacked_top.contains(&feature)
            }),
            importance: importance[feature],
        })
        .collect()
}

/// The suite's members, none of them stronger than all.
pub fn attacks(worst: Estimate, methods: &[(&str, Option<f64>, bool)]) -> Vec<AttackScore> {
    let attack = |(place, (id, surrogate, shares)): (usize, &(&str, Option<f64>, bool))| {
        let gap = 1.0 - worst.value;
        let share = [0.25, 0.35, 0.82, 0.74, 0.9, 0.66, 0.4, 0.3][place % 8];
        AttackScore {
            attack: (*id).to_owned(),
            surrogate: *surrogate,
            shares: *shares,
            precision_at_k: estimate(1.0 - share * gap, 0.018, worst.count),
        }
    };
    methods.iter().enumerate().map(attack).collect()
}

pub fn training(seed: Seed, epochs: usize) -> Vec<EpochRecord> {
    let mut stream = seed.stream("training");
    (1..=epochs)
        .map(|epoch| {
            let done = as_f64(epoch) / as_f64(epochs);
            let mut wobble = |size: f64| size * stream.normal();
            let terms = [
                ("classification", 0.62 - 0.22 * done.sqrt() + wobble(0.004)),
                ("gap", 0.004 + 0.021 * done + wobble(0.0008)),
                ("hessian", 1.9 - 1.2 * done + wobble(0.05)),
            ];
            EpochRecord {
                epoch,
                step: 40 * epoch as u64,
                loss: 0.61 - 0.2 * done.sqrt() + wobble(0.004),
                terms: terms
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), *value))
                    .collect::<BTreeMap<_, _>>(),
                weights: BTreeMap::new(),
                auc: Some(0.70 + 0.16 * done.sqrt() + wobble(0.004)),
                accuracy: 0.66 + 0.12 * done.sqrt() + wobble(0.006),
                precision_at_k: Some(0.71 + 0.17 * done + wobble(0.01)),
                agreement: None,
            }
        })
        .collect()
}
