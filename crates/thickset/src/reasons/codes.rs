//! Reason codes: which code and sentence belong to which column, value and direction.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::column_value::ColumnValue;
use crate::data::Schema;
use crate::registry::nearest;
use crate::{Error, Result};

/// How a row's value compares with the reference's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// A greater number.
    Above,
    /// A smaller number.
    Below,
    /// Another category.
    Other,
    /// The value is missing.
    Missing,
    /// A category that the model has not seen.
    Unseen,
}

impl When {
    /// How a value compares with another.
    pub(crate) fn of(value: &ColumnValue, reference: &ColumnValue) -> Self {
        match (value.number, reference.number) {
            _ if value.is_missing => Self::Missing,
            _ if value.is_unseen => Self::Unseen,
            (Some(own), Some(other)) if own < other => Self::Below,
            (Some(_), Some(_)) => Self::Above,
            _ => Self::Other,
        }
    }

    /// As a file spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::Below => "below",
            Self::Other => "other",
            Self::Missing => "missing",
            Self::Unseen => "unseen",
        }
    }
}

/// A file of reason codes. The first rule that fits a reason gives its code and sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codes {
    /// In order.
    #[serde(rename = "reason", default)]
    pub rules: Vec<ReasonRule>,
}

/// A code and a sentence, and what they are for. Conditions that are left out hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasonRule {
    /// The column.
    pub column: String,
    /// How the value compares with the reference.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub when: Option<When>,
    /// The values, for a column of categories.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub values: Vec<String>,
    /// The least number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_least: Option<f64>,
    /// The greatest number.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_most: Option<f64>,
    /// The code.
    pub code: String,
    /// The sentence; `{value}`, `{reference}` and `{column}` stand for what they say.
    pub text: String,
}

/// What a sentence may hold.
const PLACES: [&str; 3] = ["{value}", "{reference}", "{column}"];

/// The most bytes of a file of codes.
const MOST_BYTES: u64 = 16 << 20;

impl Codes {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or a rule is not one.
    pub fn read(path: &Path) -> Result<Self> {
        let text = thickset_engine::read_regular_text(path, MOST_BYTES)
            .map_err(|source| Error::io("read", path, source))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// The codes of a text; `path` is for messages.
    ///
    /// # Errors
    /// If the text is none.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        let refused = |problem: String| Error::Codes {
            path: path.to_owned(),
            problem,
        };
        let codes: Self = toml::from_str(text).map_err(|error| refused(error.to_string()))?;
        for rule in &codes.rules {
            let mut rest = rule.text.clone();
            for place in PLACES {
                rest = rest.replace(place, "");
            }
            if rest.contains(['{', '}']) {
                return Err(refused(format!(
                    "the text of `{}` must hold no other braces than those of {}, got `{}`",
                    rule.code,
                    PLACES.join(", "),
                    rule.text
                )));
            }
        }
        Ok(codes)
    }

    /// Refuses rules of columns that rows of this schema do not have.
    ///
    /// # Errors
    /// [`Error::UnknownFeature`].
    pub fn check(&self, schema: &Schema) -> Result<()> {
        let columns = schema.by_column();
        let known = || columns.iter().map(|(name, _)| *name);
        for rule in &self.rules {
            if !known().any(|name| name == rule.column) {
                return Err(Error::UnknownFeature {
                    what: "column",
                    name: rule.column.clone(),
                    nearest: nearest(&rule.column, known()),
                });
            }
        }
        Ok(())
    }

    /// The code and the sentence of a reason; none if no rule fits.
    pub(crate) fn of(
        &self,
        value: &ColumnValue,
        reference: &ColumnValue,
    ) -> Option<(String, String)> {
        let when = When::of(value, reference);
        let fits = |rule: &&ReasonRule| {
            let in_range = |number: f64| {
                rule.at_least.is_none_or(|least| number >= least)
                    && rule.at_most.is_none_or(|most| number <= most)
            };
            // A code may be for the group that a category belongs to.
            let names = |listed: &String| {
                *listed == value.text || Some(listed) == value.counted_as.as_ref()
            };
            let has_range = rule.at_least.is_some() || rule.at_most.is_some();
            rule.column == value.column
                && rule.when.is_none_or(|wanted| wanted == when)
                && (rule.values.is_empty() || rule.values.iter().any(names))
                && value.number.map_or(!has_range, in_range)
        };
        let rule = self.rules.iter().find(fits)?;
        let text = filled(&rule.text, value, reference);
        Some((rule.code.clone(), text))
    }
}

/// A sentence with its places filled in, in one pass: what a value says is not looked at again.
fn filled(text: &str, value: &ColumnValue, reference: &ColumnValue) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('{') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let place = PLACES.into_iter().find(|place| rest.starts_with(place));
        let Some(place) = place else { break };
        out.push_str(match place {
            "{value}" => &value.text,
            "{reference}" => &reference.text,
            _ => &value.column,
        });
        rest = &rest[place.len()..];
    }
    out.push_str(rest);
    out
}

/// The sentence of a reason that has no code.
pub(crate) fn plain_text(value: &ColumnValue, reference: &ColumnValue) -> String {
    let (column, own, other) = (&value.column, &value.text, &reference.text);
    match When::of(value, reference) {
        When::Missing => format!("{column} is missing (compared with {other})"),
        When::Above => format!("{column} is {own}, above {other}"),
        When::Below => format!("{column} is {own}, below {other}"),
        When::Other => format!("{column} is {own} (compared with {other})"),
        When::Unseen => {
            format!("{column} is {own}, which the model has not seen (compared with {other})")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(column: &str, text: &str, number: Option<f64>) -> ColumnValue {
        ColumnValue {
            column: column.to_owned(),
            text: text.to_owned(),
            number,
            is_missing: text == "missing",
            is_unseen: false,
            counted_as: None,
        }
    }

    const FILE: &str = "
[[reason]]
column = \"duration\"
when = \"above\"
at_least = 36
code = \"R2\"
text = \"A term of {value} is very long.\"

[[reason]]
column = \"duration\"
when = \"above\"
code = \"R1\"
text = \"A term of {value} is longer than {reference}.\"

[[reason]]
column = \"account\"
values = [\"none\", \"overdrawn\"]
code = \"A1\"
text = \"The account: {value}.\"
";

    #[test]
    fn the_first_rule_that_fits_gives_code_and_sentence() {
        let codes = Codes::parse(FILE, "codes.toml").unwrap();
        let usual = value("duration", "18 months", Some(18.0));
        let of = |months: f64, text: &str| codes.of(&value("duration", text, Some(months)), &usual);
        assert_eq!(of(48.0, "48 months").unwrap().0, "R2");
        let (code, text) = of(24.0, "24 months").unwrap();
        assert_eq!(code, "R1");
        assert_eq!(text, "A term of 24 months is longer than 18 months.");
        assert_eq!(of(6.0, "6 months"), None);
        let other = value("account", "full", None);
        let account = |text: &str| codes.of(&value("account", text, None), &other);
        assert_eq!(account("overdrawn").unwrap().1, "The account: overdrawn.");
        assert_eq!(account("closed"), None);
    }

    #[test]
    fn what_a_value_says_is_not_filled_in_again() {
        let text = filled(
            "{value}!",
            &value("a", "{reference}", None),
            &value("a", "x", None),
        );
        assert_eq!(text, "{reference}!");
    }

    #[test]
    fn rules_that_could_not_be_used_are_refused() {
        for (text, part) in [
            (
                "[[reason]]\ncolumn = \"a\"\ncode = \"1\"\ntext = \"{valu}\"",
                "{value}",
            ),
            ("[[reason]]\ncolumn = \"a\"\ncode = \"1\"", "text"),
            ("[[reasons]]\ncolumn = \"a\"", "reasons"),
        ] {
            let error = Codes::parse(text, "codes.toml").unwrap_err().to_string();
            assert!(
                error.contains("codes.toml") && error.contains(part),
                "{error}"
            );
        }
        let codes = Codes::parse(FILE, "codes.toml").unwrap();
        let error = codes
            .check(&Schema::table(&["durations", "account"]))
            .unwrap_err();
        assert!(error.to_string().contains("durations"), "{error}");
    }
}
