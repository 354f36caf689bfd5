//! What the reader calls the things that are explained.

use thickset::audit::Audit;
use thickset::audit::figure::Words;
use thickset::data::InputShape;

/// The words for one kind of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nouns {
    /// `row`, `image`.
    pub row: &'static str,
    /// More of them.
    pub rows: &'static str,
    /// What an explanation names.
    pub reason: &'static str,
    /// More of them.
    pub reasons: &'static str,
    /// What is ranked.
    pub features: &'static str,
}

impl Nouns {
    /// The words for what a figure means, of so many salient features.
    pub fn words(self, k: &str) -> Words<'_> {
        Words {
            k,
            row: self.row,
            rows: self.rows,
            reasons: self.reasons,
            features: self.features,
        }
    }

    /// The words for an audit.
    pub fn of(audit: &Audit) -> Self {
        let table = Self {
            row: "row",
            rows: "rows",
            reason: "reason",
            reasons: "reasons",
            features: "features",
        };
        if audit.settings.explain.explanation.is_of_units() {
            return Self {
                features: "units",
                ..table
            };
        }
        match audit.data.shape {
            InputShape::Table => table,
            InputShape::Image { .. } => Self {
                row: "image",
                rows: "images",
                reason: "salient pixel",
                reasons: "salient pixels",
                features: "pixels",
            },
            InputShape::Graph { .. } => Self {
                row: "graph",
                rows: "graphs",
                reason: "salient edge",
                reasons: "salient edges",
                features: "edges",
            },
            InputShape::Pair { .. } => Self {
                row: "pair",
                rows: "pairs",
                ..table
            },
        }
    }
}
