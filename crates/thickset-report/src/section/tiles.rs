//! The figures at a glance.

use thickset::audit::Audit;
use thickset::registry;
use thickset::statistics::Estimate;

use crate::number::{Style, interval, percent, score};
use crate::prose::Nouns;

/// One figure.
pub struct Tile {
    /// Its name.
    pub name: String,
    /// The number.
    pub value: String,
    /// Its 95% interval.
    pub interval: Option<String>,
    /// What it means, in a few words.
    pub meaning: String,
}

impl Tile {
    fn of(name: &str, estimate: &Estimate, style: Style, meaning: String) -> Self {
        Self {
            name: name.to_owned(),
            value: style(estimate.value),
            interval: interval(estimate.interval, style),
            meaning,
        }
    }

    fn single(name: &str, value: Option<f64>, style: Style, meaning: String) -> Option<Self> {
        value.map(|value| Self {
            name: name.to_owned(),
            value: style(value),
            interval: None,
            meaning,
        })
    }
}

/// The figures of an audit, the most important first.
pub fn of(audit: &Audit) -> Vec<Tile> {
    let nouns = Nouns::of(audit);
    let summary = &audit.summary;
    let k = audit.settings.k;
    let label =
        |id: &str| registry::find(id).map_or_else(|_| id.to_owned(), |info| info.label.to_owned());
    let precision = format!(
        "share of the {k} {} that stay at the worst point found",
        nouns.reasons
    );
    let unchanged = format!(
        "share of {} whose {k} {} nothing found could change",
        nouns.rows, nouns.reasons
    );
    let distinct = format!("0 if every {} gets the same {}", nouns.row, nouns.reasons);
    let tiles = [
        Some(Tile::of(
            &format!("P@{k} under attack"),
            &summary.precision_at_k,
            percent,
            precision,
        )),
        Some(Tile::of(
            "Noise floor",
            &summary.noise,
            percent,
            "the same under random noise of the same size".to_owned(),
        )),
        Tile::single("Unchanged", Some(summary.unchanged), percent, unchanged),
        Some(Tile::of(
            "Thickness",
            &summary.thickness,
            score,
            "chance that a top feature stays ahead of another, nearby".to_owned(),
        )),
        Tile::single(
            &label("distinctness"),
            summary.distinctness,
            score,
            distinct,
        ),
        summary.auc.as_ref().map(|auc| {
            Tile::of(
                "AUC",
                auc,
                score,
                format!("of the predictions, on these {}", nouns.rows),
            )
        }),
        Tile::single(
            "Accuracy",
            summary.accuracy,
            percent,
            format!("share of {} predicted as labelled", nouns.rows),
        ),
        Some(Tile::of(
            &label("dffot"),
            &summary.dffot,
            percent,
            format!(
                "share of {} to remove until the prediction flips; lower is more faithful",
                nouns.features
            ),
        )),
        Some(Tile::of(
            "Comprehensiveness",
            &summary.comprehensiveness,
            score,
            format!(
                "mean change of the probability when the most important {} are removed; higher is more faithful",
                nouns.features
            ),
        )),
        Some(Tile::of(
            "Sufficiency",
            &summary.sufficiency,
            score,
            format!(
                "mean change of the probability when only the most important {} are kept; lower is more faithful",
                nouns.features
            ),
        )),
    ];
    tiles.into_iter().flatten().collect()
}
