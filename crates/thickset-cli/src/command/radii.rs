//! `thickset attack --radii`: P@k by radius.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use thickset::model::AttackOptions;
use thickset::statistics::{self, Estimate};

use super::model_rows::Loaded;
use super::output::print;

/// What the suite found within one radius; a larger one keeps what smaller ones found.
#[derive(Serialize)]
struct Point {
    radius: f64,
    k: usize,
    precision_at_k: Estimate,
    /// Share of rows whose top-k set nothing changed.
    unchanged: f64,
    /// P@k of each row.
    precision: Vec<f64>,
}

pub fn run(loaded: &Loaded, options: &AttackOptions, radii: &[f64], json: bool) -> Result<()> {
    let curve = loaded
        .model
        .attack_over_radii(&loaded.rows(), options, radii)?;
    let k = curve.k;
    let mut text = String::new();
    if !json {
        writeln!(
            text,
            "{:>8}  {:>7}  {:>16}  {:>9}",
            "radius",
            format!("P@{k}"),
            "95% interval",
            "unchanged"
        )?;
    }
    for (radius, rows) in curve.radii {
        let precision: Vec<f64> = rows.iter().map(|row| row.precision).collect();
        let whole: Vec<f64> = precision
            .iter()
            .map(|one| f64::from(u8::from(*one >= 1.0)))
            .collect();
        let point = Point {
            radius,
            k,
            precision_at_k: statistics::mean::estimate(&precision)?.of_share(),
            unchanged: statistics::mean::estimate(&whole)?.of_share().value,
            precision,
        };
        if json {
            writeln!(text, "{}", serde_json::to_string(&point)?)?;
            continue;
        }
        let interval = point.precision_at_k.interval;
        let interval = interval.map_or_else(String::new, |interval| {
            format!("{:.4} to {:.4}", interval.low, interval.high)
        });
        writeln!(
            text,
            "{radius:>8}  {:>7.4}  {interval:>16}  {:>9.4}",
            point.precision_at_k.value, point.unchanged
        )?;
    }
    print(&text)
}
