//! The words that a figure's meaning is told in: a row may be an image, and a feature a pixel.

/// What stands for the names in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words<'a> {
    /// The number of salient features.
    pub k: &'a str,
    /// One row.
    pub row: &'a str,
    /// More of them.
    pub rows: &'a str,
    /// The salient features.
    pub reasons: &'a str,
    /// What an explanation ranks.
    pub features: &'a str,
}

impl Words<'_> {
    /// The words for a table, whatever k is.
    pub const TABLE: Words<'static> = Words {
        k: "k",
        row: "row",
        rows: "rows",
        reasons: "reasons",
        features: "features",
    };

    /// A text with its names replaced.
    pub(super) fn fill(&self, text: &str) -> String {
        [
            ("{k}", self.k),
            ("{row}", self.row),
            ("{rows}", self.rows),
            ("{reasons}", self.reasons),
            ("{features}", self.features),
        ]
        .iter()
        .fold(text.to_owned(), |text, (name, word)| {
            text.replace(name, word)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_by_words() {
        let words = Words {
            k: "5",
            rows: "images",
            ..Words::TABLE
        };
        assert_eq!(
            words.fill("{k} {reasons} of all {rows}"),
            "5 reasons of all images"
        );
    }
}
