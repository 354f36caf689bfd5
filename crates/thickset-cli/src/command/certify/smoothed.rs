//! `thickset certify --smoothed`: what is certified of the explanation under noise.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;
use thickset::model::SmoothedOptions;
use thickset::statistics;

use super::super::model_rows::Loaded;
use super::super::output::print;
use super::Arguments;

/// What is known of one row's explanation under noise.
#[derive(Serialize)]
struct SmoothedLine<'a> {
    row: u64,
    k: usize,
    radius: f64,
    sigma: f64,
    draws: usize,
    confidence: f64,
    smoothed_top: Vec<&'a str>,
    smoothed_certified_radius: f64,
    smoothed_certified_p_at_k: f64,
}

/// Prints what is certified.
pub fn run(arguments: &Arguments, loaded: &Loaded) -> Result<()> {
    let options = SmoothedOptions {
        k: arguments.k,
        radius: arguments.threat.radius,
        threat: arguments.threat.config(),
        draws: Some(arguments.draws),
        sigma: Some(arguments.sigma),
        confidence: Some(arguments.confidence),
        explain: arguments.how.options(loaded.seed),
    };
    let certified = loaded.model.certify_smoothed(&loaded.rows(), &options)?;
    let config = &certified.config;
    let (k, radius) = (config.k, config.threat.ball.radius);
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of features stay far below 2^53"
    )]
    let share = |kept: usize| kept as f64 / k as f64;
    let rows = &certified.found.rows;
    let mut text = String::new();
    if !arguments.output.json {
        writeln!(
            text,
            "{:>7}  {:>11}  {:>15}",
            "row",
            "no change",
            format!("P@{k} in {radius}")
        )?;
    }
    for (place, row) in rows.iter().enumerate() {
        let line = SmoothedLine {
            row: loaded.number(place),
            k,
            radius,
            sigma: config.sigma,
            draws: config.draws,
            confidence: config.confidence,
            smoothed_top: row
                .top
                .iter()
                .map(|feature| certified.names[*feature].as_str())
                .collect(),
            smoothed_certified_radius: row.certified_radius,
            smoothed_certified_p_at_k: share(row.kept_at_least),
        };
        if arguments.output.json {
            writeln!(text, "{}", serde_json::to_string(&line)?)?;
        } else {
            writeln!(
                text,
                "{:>7}  {:>11.6}  {:>15.4}",
                line.row, line.smoothed_certified_radius, line.smoothed_certified_p_at_k
            )?;
        }
    }
    print(&text)?;
    let radii: Vec<f64> = rows.iter().map(|row| row.certified_radius).collect();
    let kept: Vec<f64> = rows.iter().map(|row| share(row.kept_at_least)).collect();
    let distinctness = certified.found.distinctness;
    say!(
        "of the smoothed explanation (noise of {}, {} draws, confidence {}): median certified radius {:.6}, mean certified P@{k} within \
         {radius} {:.4}; distinctness {}",
        config.sigma,
        config.draws,
        config.confidence,
        statistics::median::estimate(&radii)?.value,
        statistics::mean::estimate(&kept)?.value,
        distinctness.map_or_else(
            || "of one row is not known".to_owned(),
            |value| format!("{value:.4}")
        ),
    );
    say!(
        "this is not a certificate of the explanation itself, only of its average under that noise"
    );
    Ok(())
}
