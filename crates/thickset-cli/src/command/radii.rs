//! `thickset attack --radii`: P@k by radius.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use thickset::attack::suite::{SuiteConfig, over_radii};
use thickset::explain::CheckedExplain;
use thickset::statistics::{self, Estimate};

use super::asked::Loaded;
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

pub fn run(
    loaded: &Loaded,
    explain: &CheckedExplain,
    config: &SuiteConfig,
    radii: &[f64],
    json: bool,
) -> Result<()> {
    let found = over_radii(
        config,
        radii,
        explain.config(),
        &loaded.schema,
        &loaded.model.network,
        loaded.rows(),
        loaded.seed,
    )?;
    let mut text = String::new();
    if !json {
        writeln!(
            text,
            "{:>8}  {:>7}  {:>16}  {:>9}",
            "radius",
            format!("P@{}", config.k),
            "95% interval",
            "unchanged"
        )?;
    }
    for (radius, rows) in found {
        let precision: Vec<f64> = rows.iter().map(|row| row.precision).collect();
        let whole: Vec<f64> = precision
            .iter()
            .map(|one| f64::from(u8::from(*one >= 1.0)))
            .collect();
        let point = Point {
            radius,
            k: config.k,
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
