//! Tries to break what is certified of a model's rows: random points and attacks within each certified radius, and within the whole
//! budget. Prints what it tried and fails if a certificate is broken.
//!
//! `cargo run --release -p thickset --example break_certificates -- model.safetensors adult 200 5000`

use std::path::Path;

use thickset::attack::ThreatConfig;
use thickset::attack::suite::Effort;
use thickset::model::{AttackOptions, CertifyOptions, ExplainOptions, RowsConfig};
use thickset::{Model, Rows, Seed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, data, rows, points] = &arguments[..] else {
        return Err("expected a model file, a dataset, rows, and points for each".into());
    };
    let (count, points): (usize, usize) = (rows.parse()?, points.parse()?);
    let model = Model::load(Path::new(model))?;
    let opened = model.open_rows(&RowsConfig {
        data: data.clone(),
        ..RowsConfig::default()
    })?;
    let opened = opened.first(count)?;
    let rows = opened.rows();
    let certified = model.certify(
        &rows,
        &CertifyOptions {
            threat: ThreatConfig::papers(),
            ..CertifyOptions::default()
        },
    )?;
    let (k, radius) = (certified.k, certified.radius);
    let reasons = model.explain(&rows, &ExplainOptions::default())?;
    let width = rows.schema().len();
    let (mut tried, mut broken) = (0, 0);
    for (place, row) in certified.rows.iter().enumerate() {
        let mut x = vec![0.0_f32; width];
        rows.copy(place, &mut x);
        let mut stream = Seed::new(1).stream_at("break", rows.id(place));
        let before = top(&reasons.rows[place].importance, k);
        let class = reasons.rows[place].class;
        // Half of the points just inside the certified radius, half within the whole budget.
        let mut moved = Vec::with_capacity(points * width);
        for number in 0..points {
            let most = if number % 2 == 0 {
                row.radius.certified * 0.999_999
            } else {
                radius
            };
            let direction: Vec<f64> = (0..width).map(|_| stream.normal()).collect();
            let size = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
            let length = most * stream.uniform().powf(0.1) * (1.0 - 1e-6);
            #[expect(clippy::cast_possible_truncation, reason = "models take f32")]
            moved.extend(
                x.iter()
                    .zip(&direction)
                    .map(|(x, d)| (f64::from(*x) + length * d / size) as f32),
            );
        }
        let schema = rows.schema().clone();
        let there = Rows::new(&moved, &schema)?;
        let found = model.explain(&there, &ExplainOptions::default())?;
        for (number, found) in found.rows.iter().enumerate() {
            if found.class != class {
                continue;
            }
            tried += 1;
            let after = top(&found.importance, k);
            let kept = before.iter().filter(|one| after.contains(one)).count();
            let least = if number % 2 == 0 {
                k
            } else {
                row.worst_case.kept_at_least
            };
            broken += usize::from(kept < least);
        }
    }
    let attacks = AttackOptions {
        effort: Some(Effort::Standard),
        threat: Some(ThreatConfig::papers()),
        ..AttackOptions::default()
    };
    let attacked = model.attack(&rows, &attacks)?;
    for (row, certified) in attacked.rows.iter().zip(&certified.rows) {
        tried += 1;
        let lost = row.found.lost(k);
        broken += usize::from(k - lost < certified.worst_case.kept_at_least);
    }
    println!("{tried} points tried, {broken} certificates broken");
    if broken > 0 {
        return Err("a certificate is broken".into());
    }
    Ok(())
}

/// The first k of the importances, ties to the lower index.
fn top(importance: &[f64], k: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..importance.len()).collect();
    order.sort_by(|&a, &b| importance[b].total_cmp(&importance[a]).then(a.cmp(&b)));
    order.truncate(k);
    order
}
