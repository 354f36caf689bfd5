//! What `thickset data show` prints.

use std::fmt::Write as _;

use anyhow::Result;
use thickset::data::{FeatureKind, FeatureSummary, InputShape, Summary};

use super::output::one_line;

/// Heights of a histogram's bars.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// More features than this are pixels or edges, and are shown together.
const MOST_LISTED: usize = 200;

/// Bars of the histogram of many features' means.
const STEPS: usize = 12;

/// The longest name that is shown whole.
const MOST_NAME: usize = 44;

/// The summary of a dataset for a terminal.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
pub fn render(summary: &Summary) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "{}\n", one_line(&summary.title))?;
    let [train, validation, held_out] = summary.split;
    writeln!(
        text,
        "rows      {} (train {train}, validation {validation}, test {held_out})",
        summary.rows
    )?;
    writeln!(
        text,
        "features  {}{}",
        summary.feature_count,
        shape(&summary.shape)
    )?;
    if let Some(attack) = summary.attack {
        writeln!(
            text,
            "attacks   k {}, l2 radius {}",
            attack.k, attack.epsilon
        )?;
    }
    writeln!(text, "\nclasses")?;
    let width = summary
        .classes
        .iter()
        .map(|class| class.name.chars().count())
        .max()
        .unwrap_or(0)
        .min(MOST_NAME);
    for class in &summary.classes {
        let share = 100.0 * class.rows as f64 / summary.rows.max(1) as f64;
        writeln!(
            text,
            "  {:<width$}  {:>7}  {share:5.1}%",
            shorten(&class.name),
            class.rows
        )?;
    }
    if summary.features.len() <= MOST_LISTED {
        render_features(summary, &mut text)?;
    } else {
        render_together(summary, &mut text)?;
    }
    if !summary.notes.is_empty() {
        writeln!(text, "\nnotes")?;
        for note in &summary.notes {
            writeln!(text, "  {}", one_line(note))?;
        }
    }
    Ok(text)
}

fn shape(shape: &InputShape) -> String {
    match shape {
        InputShape::Table => String::new(),
        InputShape::Image {
            channels,
            height,
            width,
        } => {
            format!(": images, {channels} x {height} x {width}")
        }
        InputShape::Graph { nodes } => format!(": the node pairs of graphs with {nodes} nodes"),
        InputShape::Pair { of } => format!(", two inputs a row{}", self::shape(of)),
    }
}

fn render_features(summary: &Summary, text: &mut String) -> Result<()> {
    let width = summary
        .features
        .iter()
        .map(|feature| feature.name.chars().count())
        .max()
        .unwrap_or(0)
        .min(MOST_NAME);
    writeln!(
        text,
        "\n{:<width$}  {:<9} {:<22} {:>7}  histogram",
        "feature", "type", "range", "missing"
    )?;
    for feature in &summary.features {
        let range = match feature.kind {
            FeatureKind::Level { .. } | FeatureKind::Missing => {
                format!("1 in {:.1}%", 100.0 * feature.mean)
            }
            _ => {
                let unit = feature
                    .unit
                    .as_ref()
                    .map(|unit| format!(" {unit}"))
                    .unwrap_or_default();
                format!("{}..{}{unit}", number(feature.low), number(feature.high))
            }
        };
        let fixed = if feature.immutable { "  fixed" } else { "" };
        writeln!(
            text,
            "{:<width$}  {:<9} {range:<22} {:>7}  {}{fixed}",
            shorten(&feature.name),
            kind(feature),
            feature.missing,
            bars(&feature.histogram)
        )?;
    }
    Ok(())
}

/// Pixels and edges are alike, so that a few lines say what they are.
#[expect(
    clippy::cast_precision_loss,
    reason = "far fewer than 2^52 features and rows"
)]
fn render_together(summary: &Summary, text: &mut String) -> Result<()> {
    let (mut low, mut high, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    for feature in &summary.features {
        low = low.min(feature.low);
        high = high.max(feature.high);
        sum += feature.mean;
    }
    let means: Vec<f64> = summary
        .features
        .iter()
        .map(|feature| feature.mean)
        .collect();
    let kind = summary.features.first().map(kind).unwrap_or_default();
    writeln!(
        text,
        "\nall {} {kind} features (--json lists each)",
        means.len()
    )?;
    writeln!(text, "  range     {}..{}", number(low), number(high))?;
    writeln!(text, "  mean      {}", number(sum / means.len() as f64))?;
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (from, to) = (number(least), number(greatest));
    writeln!(
        text,
        "  means     {from}..{to}  {}",
        bars(&spread(&means, least, greatest))
    )?;
    Ok(())
}

/// How many of the values lie in each of equal steps from `low` to `high`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a step's number"
)]
fn spread(values: &[f64], low: f64, high: f64) -> [usize; STEPS] {
    let mut counts = [0; STEPS];
    for value in values {
        let place = if high > low {
            (value - low) / (high - low) * 12.0
        } else {
            0.0
        };
        counts[(place as usize).min(STEPS - 1)] += 1;
    }
    counts
}

fn kind(feature: &FeatureSummary) -> &'static str {
    match feature.kind {
        FeatureKind::Number if feature.integer => "integer",
        FeatureKind::Number => "number",
        FeatureKind::Level { .. } => "category",
        FeatureKind::Missing => "missing",
        FeatureKind::Pixel { .. } => "pixel",
        FeatureKind::Edge { .. } => "edge",
    }
}

/// Up to four significant digits; whole numbers whole.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value}");
    }
    let digits = value.abs().log10().floor();
    if (-4.0..6.0).contains(&digits) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 7"
        )]
        let decimals = (3.0 - digits).max(0.0) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    } else {
        format!("{value:.3e}")
    }
}

fn bars(histogram: &[usize]) -> String {
    let most = histogram.iter().copied().max().unwrap_or(0).max(1);
    histogram
        .iter()
        .map(|&count| BARS[(count * (BARS.len() - 1)).div_ceil(most)])
        .collect()
}

fn shorten(name: &str) -> String {
    let name = one_line(name);
    if name.chars().count() <= MOST_NAME {
        return name.into_owned();
    }
    let start: String = name.chars().take(MOST_NAME - 1).collect();
    format!("{start}…")
}
