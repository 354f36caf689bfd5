//! The figures at a glance.

use thickset::audit::Audit;
use thickset::audit::figure::FIGURES;

use crate::number::{interval, style};
use crate::prose::Nouns;

/// Figures that say little to those who do not know the papers.
const SPECIAL: [&str; 5] = [
    "comprehensiveness",
    "dffot",
    "kendall",
    "sufficiency",
    "thickness",
];

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

/// The figures that an audit has, in the order of their table: those for every reader, or those for specialists.
pub fn of(audit: &Audit, for_specialists: bool) -> Vec<Tile> {
    let k = audit.settings.k.to_string();
    let nouns = Nouns::of(audit);
    let chosen = FIGURES
        .iter()
        .filter(|figure| SPECIAL.contains(&figure.id) == for_specialists);
    let tiles = chosen.filter_map(|figure| {
        let found = audit.summary.get(figure)?;
        let style = style(figure.unit);
        Some(Tile {
            name: figure.title.replace("{k}", &k),
            value: style(found.value()),
            interval: interval(found.interval(), style),
            meaning: format!(
                "{}; {} is better",
                figure.described(&nouns.words(&k)),
                figure.direction.name()
            ),
        })
    });
    tiles.collect()
}
