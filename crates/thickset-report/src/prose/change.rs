//! What an attack changed and what came of it, as a sentence: "Raising `balance` by 31 euros makes `age` replace `duration` as
//! first reason."

use thickset::attack::{Change, Value};

use super::{Nouns, Sentence};
use crate::number::{count, plain};

/// Changes that a sentence names.
const NAMED: usize = 3;

/// Changes that an audit lists at most; a list as long may have been cut.
const LISTED: usize = 50;

/// The top-k names, the most important first.
pub struct Reasons<'a> {
    /// At the row itself.
    pub before: &'a [String],
    /// At the worst point.
    pub after: &'a [String],
}

/// The sentence.
pub fn sentence(changes: &[Change], reasons: &Reasons<'_>, nouns: Nouns) -> Sentence {
    if changes.is_empty() {
        return Sentence::default().say(format!("No attack changed the {}.", nouns.reasons));
    }
    let (makes, leaves, replaces) = if changes.len() < 2 {
        (" makes ", " leaves ", " replaces ")
    } else {
        (" make ", " leave ", " replace ")
    };
    let cause = cause(changes).capitalised();
    let gone = missing(reasons.before, reasons.after);
    let new = missing(reasons.after, reasons.before);
    let of_all = format!("of the {} {}", count(reasons.before.len()), nouns.reasons);
    match (reasons.before.first(), reasons.after.first()) {
        (Some(was), Some(now)) if was != now => {
            let first = cause.say(makes).name(now).say(" replace ").name(was);
            let first = first.say(format!(" as first {}", nouns.reason));
            match gone.as_slice() {
                [] => first.say(format!(
                    "; the same {} {} stay.",
                    count(reasons.before.len()),
                    nouns.reasons
                )),
                [only] if only == &was => first.say("."),
                [only] => first
                    .say("; ")
                    .name(only)
                    .say(format!(" is no longer among the {}.", nouns.reasons)),
                more => first.say(format!("; {} {of_all} are new.", count(more.len()))),
            }
        }
        _ if gone.is_empty() || new.is_empty() => {
            cause.say(format!("{leaves}the {} as they were.", nouns.reasons))
        }
        _ if gone.len() <= NAMED => cause
            .say(makes)
            .list(
                new.iter()
                    .map(|name| Sentence::default().name(name))
                    .collect(),
            )
            .say(" replace ")
            .list(
                gone.iter()
                    .map(|name| Sentence::default().name(name))
                    .collect(),
            )
            .say(format!(" among the {}.", nouns.reasons)),
        _ => cause.say(format!("{replaces}{} {of_all}.", count(gone.len()))),
    }
}

/// Names of the first list that the second has not.
fn missing<'a>(first: &'a [String], second: &[String]) -> Vec<&'a String> {
    first.iter().filter(|name| !second.contains(name)).collect()
}

/// What was changed, up to [`NAMED`] changes in words.
fn cause(changes: &[Change]) -> Sentence {
    let mut causes: Vec<Sentence> = changes.iter().take(NAMED).map(described).collect();
    match changes.len().saturating_sub(NAMED) {
        0 => {}
        1 => causes.push(Sentence::default().say("1 smaller change")),
        more if changes.len() >= LISTED => {
            causes
                .push(Sentence::default().say(format!("{} or more smaller changes", count(more))));
        }
        more => causes.push(Sentence::default().say(format!("{} smaller changes", count(more)))),
    }
    Sentence::default().list(causes)
}

fn described(change: &Change) -> Sentence {
    match (&change.from, &change.to) {
        (Value::Number(from), Value::Number(to)) => {
            let verb = if to >= from { "raising " } else { "lowering " };
            let by = with_unit(&plain((to - from).abs()), change.unit.as_deref());
            Sentence::default()
                .say(verb)
                .name(&change.name)
                .say(format!(" by {by}"))
        }
        (from, to) => Sentence::default()
            .say("changing ")
            .name(&change.name)
            .say(format!(
                " from {} to {}",
                value(from, None),
                value(to, None)
            )),
    }
}

/// A value in its unit.
pub fn value(value: &Value, unit: Option<&str>) -> String {
    match value {
        Value::Number(number) => with_unit(&plain(*number), unit),
        Value::Category(name) => name.clone(),
    }
}

fn with_unit(number: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) if !unit.is_empty() => format!("{number} {unit}"),
        _ => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOUNS: Nouns = Nouns {
        row: "row",
        rows: "rows",
        reason: "reason",
        reasons: "reasons",
        features: "features",
    };

    fn number(name: &str, from: f64, to: f64, unit: Option<&str>) -> Change {
        Change {
            name: name.to_owned(),
            from: Value::Number(from),
            to: Value::Number(to),
            unit: unit.map(str::to_owned),
            moved: 0.1,
        }
    }

    fn said(changes: &[Change], before: &[&str], after: &[&str]) -> String {
        let owned = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let (before, after) = (owned(before), owned(after));
        let reasons = Reasons {
            before: &before,
            after: &after,
        };
        sentence(changes, &reasons, NOUNS).to_string()
    }

    #[test]
    fn one_change_and_a_new_first_reason() {
        let changes = [number("balance", 1204.0, 1235.0, Some("euros"))];
        assert_eq!(
            said(&changes, &["duration", "balance"], &["age", "balance"]),
            "Raising `balance` by 31 euros makes `age` replace `duration` as first reason."
        );
        assert_eq!(
            said(&changes, &["duration", "age"], &["age", "duration"]),
            "Raising `balance` by 31 euros makes `age` replace `duration` as first reason; the same 2 reasons stay."
        );
    }

    #[test]
    fn several_changes_and_a_category() {
        let job = Change {
            name: "job".to_owned(),
            from: Value::Category("cook".to_owned()),
            to: Value::Category("nurse".to_owned()),
            unit: None,
            moved: 1.4,
        };
        let changes = [
            job,
            number("age", 40.0, 38.0, Some("years")),
            number("rate", 0.5, 0.512, None),
            number("a", 0.0, 0.1, None),
            number("b", 0.0, 0.1, None),
        ];
        assert_eq!(
            said(&changes, &["x", "y", "z"], &["x", "v", "w"]),
            "Changing `job` from cook to nurse, lowering `age` by 2 years, raising `rate` by 0.012 and 2 smaller changes make `v` \
             and `w` replace `y` and `z` among the reasons."
        );
    }

    #[test]
    fn an_attack_that_changed_nothing_says_so() {
        let changes = [number("age", 40.0, 38.0, None)];
        assert_eq!(
            said(&changes, &["x"], &["x"]),
            "Lowering `age` by 2 leaves the reasons as they were."
        );
        assert_eq!(said(&[], &[], &[]), "No attack changed the reasons.");
    }
}
