//! A file of reason codes to begin with, for the columns that a model reads.

use std::fmt::Write as _;

use super::codes::Codes;
use super::column_value::level;
use crate::data::{Feature, FeatureKind, Schema};

/// The most categories of a column that are listed one by one.
const MOST_LEVELS: usize = 24;

/// A commented file with a code and a sentence for every column: one above and one below for numbers, one for each category.
#[must_use]
pub fn template(schema: &Schema) -> String {
    let mut text = String::from(
        "# Reason codes for `thickset reasons --codes`. For each reason, the first entry that fits gives code and text.
#
# column    the column
# when      above or below what the value is compared with, other (another category), unseen (a category that the model
#           has not seen) or missing; any of them if left out
# values    for categories: the values it is for; any if left out
# at_least  for numbers: the least value; at_most: the greatest
# code      what you call the reason
# text      the sentence for the person; {value}, {reference} and {column} are filled in
#
# A reason without an entry has no code and a plain sentence.
",
    );
    for (number, (column, places)) in schema.by_column().into_iter().enumerate() {
        let code = format!("R{:02}", number + 1);
        let features: Vec<&Feature> = places
            .iter()
            .map(|&place| &schema.features[place])
            .collect();
        let mut entry = |condition: &str, suffix: &str, sentence: &str| {
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\n[[reason]]\ncolumn = {}\n{condition}code = {}\ntext = {}\n",
                quoted(column),
                quoted(&format!("{code}{suffix}")),
                quoted(sentence)
            );
        };
        let levels: Vec<&&Feature> = features
            .iter()
            .filter(|one| matches!(one.kind, FeatureKind::Level { .. }))
            .collect();
        if features.iter().any(|one| one.kind == FeatureKind::Missing) {
            entry("when = \"missing\"\n", "M", "{column} is missing.");
        }
        if levels.is_empty() {
            let above = "{column} is {value}, above the usual {reference}.";
            let below = "{column} is {value}, below the usual {reference}.";
            entry("when = \"above\"\n", "A", above);
            entry("when = \"below\"\n", "B", below);
            continue;
        }
        entry(
            "when = \"unseen\"\n",
            "U",
            "{column} is {value}, which is not among the known values.",
        );
        if levels.len() <= MOST_LEVELS && levels[0].group.is_some() {
            for (place, feature) in levels.iter().enumerate() {
                let value = level(feature);
                let condition = format!("values = [{}]\n", quoted(&value));
                let sentence = format!("{} is {}.", without_braces(column), without_braces(&value));
                entry(&condition, &format!("-{}", place + 1), &sentence);
            }
        }
        entry("", "", "{column} is {value}.");
    }
    debug_assert!(Codes::parse(&text, "template").is_ok());
    text
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn without_braces(text: &str) -> String {
    text.replace(['{', '}'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_reads_back_and_names_every_column() {
        let mut schema = Schema::table(&["age", "a \"b\" {c}", "job=cook", "job=nurse"]);
        for place in [2, 3] {
            schema.features[place].column = "job".to_owned();
            schema.features[place].kind = FeatureKind::Level { values: vec![] };
            schema.features[place].group = Some(0);
        }
        let text = template(&schema);
        let codes = Codes::parse(&text, "codes.toml").unwrap();
        codes.check(&schema).unwrap();
        let rules: Vec<(&str, &str)> = codes
            .rules
            .iter()
            .map(|rule| (rule.column.as_str(), rule.code.as_str()))
            .collect();
        assert_eq!(
            rules,
            [
                ("age", "R01A"),
                ("age", "R01B"),
                ("a \"b\" {c}", "R02A"),
                ("a \"b\" {c}", "R02B"),
                ("job", "R03U"),
                ("job", "R03-1"),
                ("job", "R03-2"),
                ("job", "R03"),
            ]
        );
    }
}
