//! A letter with the reasons of one decision, to be printed.

use askama::Template;
use thickset::reasons::{Reasons, RowReasons};

use crate::number::{counted, percent, plain};

/// The whole page.
#[derive(Template)]
#[template(path = "letter.html")]
pub struct Page {
    version: &'static str,
    row: u64,
    is_adverse: bool,
    adverse: String,
    /// `the main reason`, `the 4 main reasons`.
    heading: String,
    reasons: Vec<Shown>,
    /// What the values are compared with, in a sentence.
    compared: String,
    /// How far the reasons hold, in sentences.
    firmness: Vec<String>,
    /// What is for the file rather than for the person.
    records: Vec<(&'static str, String)>,
}

/// A reason as the page shows it.
struct Shown {
    text: String,
    code: Option<String>,
    value: String,
    reference: String,
    contribution: String,
    /// From where to where the value may lie with the same reasons.
    tolerance: Option<String>,
    /// Of the longest bar, in hundredths.
    width: String,
}

impl Page {
    /// The letter of one row.
    pub fn new(reasons: &Reasons, row: &RowReasons) -> Self {
        let longest = row.reasons.first().map_or(1.0, |one| one.contribution);
        let shown = |reason: &thickset::reasons::Reason| Shown {
            text: sentence(&reason.text),
            code: reason.code.clone(),
            value: reason.value.clone(),
            reference: reason.reference.clone(),
            contribution: format!("+{:.2}", reason.contribution),
            tolerance: reason.tolerance.clone(),
            width: format!("{:.1}", (100.0 * reason.contribution / longest).max(1.0)),
        };
        let count = row.reasons.len();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            row: row.row,
            is_adverse: row.is_adverse,
            adverse: reasons.adverse.clone(),
            heading: match count {
                1 => "The main reason".to_owned(),
                _ => format!("The {count} main reasons, the strongest first"),
            },
            reasons: row.reasons.iter().map(shown).collect(),
            compared: compared(&reasons.reference),
            firmness: firmness(reasons, row),
            records: records(reasons, row),
        }
    }
}

/// A text that begins like a sentence and ends like one.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters
        .next()
        .map(|one| one.to_uppercase().collect())
        .unwrap_or_default();
    let text = format!("{first}{}", letters.as_str());
    if text.ends_with(['.', '!', '?']) {
        text
    } else {
        format!("{text}.")
    }
}

fn compared(reference: &str) -> String {
    match reference.strip_prefix("mean-of-class:") {
        Some(class) => format!("Each value was compared with the average of the cases with the outcome “{class}”."),
        None if reference == "median" => {
            "Each value was compared with that of a typical case: the middle value of all numbers, and the most frequent category.".to_owned()
        }
        None => format!("Each value was compared with that of a reference case ({reference})."),
    }
}

fn firmness(reasons: &Reasons, row: &RowReasons) -> Vec<String> {
    let mut said = Vec::new();
    if let (Some(change), Some(holds)) = (&reasons.change, row.holds) {
        said.push(if holds >= 1.0 {
            format!("We tested whether other reasons would have come out had the data been slightly different. Under {change}, they stayed the same.")
        } else if holds > 0.0 {
            format!(
                "We tested whether other reasons would have come out had the data been slightly different. Up to {} of this change they stayed the same: {change}.",
                percent(holds)
            )
        } else {
            format!("These reasons are close to others: under {change}, even for an eighth of it, some of them would be replaced.")
        });
        let weak: Vec<&str> = row
            .reasons
            .iter()
            .filter(|one| one.holds.is_some_and(|held| held < 1.0))
            .map(|one| one.column.as_str())
            .collect();
        if !weak.is_empty() && holds < 1.0 {
            said.push(format!(
                "{} would be the first to be replaced: {}.",
                counted(weak.len(), "reason", "reasons"),
                weak.join(", ")
            ));
        }
    }
    said
}

fn records(reasons: &Reasons, row: &RowReasons) -> Vec<(&'static str, String)> {
    let mut records = vec![(
        "probability",
        format!("{} of “{}”", percent(row.probability), reasons.adverse),
    )];
    if let Some(cutoff) = reasons.cutoff {
        records.push(("cut-off", percent(cutoff)));
    }
    records.push((
        "score",
        format!(
            "{:.3}, that of the compared case {:.3}; all columns together contribute {:+.3}",
            row.score, row.reference_score, row.sum
        ),
    ));
    if let Some(radius) = row.certified.filter(|radius| *radius > 0.0) {
        let proved = format!(
            "no change below {} in the model's scaled units leads to other reasons",
            plain(radius)
        );
        records.push(("proved", proved));
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_becomes_a_sentence() {
        assert_eq!(sentence("age is 3, above 2"), "Age is 3, above 2.");
        assert_eq!(sentence("Is it?"), "Is it?");
        assert_eq!(sentence(""), ".");
    }
}
