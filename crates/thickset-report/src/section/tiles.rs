//! The figures at a glance.

use thickset::audit::Audit;
use thickset::audit::figure::FIGURES;

use crate::number::{interval, style};
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

/// The figures that an audit has, in the order of their table.
pub fn of(audit: &Audit) -> Vec<Tile> {
    let k = audit.settings.k.to_string();
    let nouns = Nouns::of(audit);
    let tiles = FIGURES.iter().filter_map(|figure| {
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
