//! The value of a column, as a person knows it.

use serde::{Deserialize, Serialize};

use crate::data::{
    ColumnEncoding, Encoding, Feature, FeatureKind, Given, NumberEncoding, NumberForm, Schema,
};

/// A column of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnValue {
    /// The column.
    pub column: String,
    /// The row's own value with its unit, as text: what its table has, also where something else stands for it in the model.
    pub text: String,
    /// The value, where it is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// Whether it is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
    /// Whether it is a category that the model has not seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unseen: bool,
    /// What stands for it in the model, where that is another text: a group of categories, the greatest number that is told apart,
    /// the median for a missing one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_as: Option<String>,
}

impl ColumnValue {
    /// The value that the model tells apart, by which rows are grouped.
    pub(crate) fn group(&self) -> &str {
        match &self.counted_as {
            _ if self.is_missing => MISSING,
            _ if self.is_unseen => UNSEEN,
            Some(group) => group,
            None => &self.text,
        }
    }

    /// The value in a sentence.
    #[must_use]
    pub fn in_words(&self) -> String {
        if self.is_unseen {
            format!("{}, which the model has not seen", self.text)
        } else {
            self.text.clone()
        }
    }
}

/// What stands for a value that is not there.
pub(crate) const MISSING: &str = "missing";

/// All categories that a model has not seen.
const UNSEEN: &str = "not seen in training";

/// A category that the model has not seen, of too many to be kept.
const UNKNOWN: &str = "another value";

/// A feature of zeros and ones counts as on above this; the mean of a class lies between.
const ON: f64 = 0.5;

/// The columns of an encoded row, with what its table says where the features do not tell it; `given` is none where that is not
/// known. With the encoding, the other side of a flag has its own name.
pub(crate) fn column_values(
    schema: &Schema,
    encoding: Option<&Encoding>,
    row: &[f64],
    given: Option<&[(usize, Given)]>,
) -> Vec<ColumnValue> {
    let columns = schema.by_column().into_iter().enumerate();
    columns
        .map(|(column, (name, places))| {
            let features: Vec<(&Feature, f64)> = places
                .iter()
                .map(|&place| (&schema.features[place], row[place]))
                .collect();
            // What a bound stands for is told where it is not known.
            let bounds = encoding.filter(|_| given.is_none());
            let counted = of_column(name, &features, encoding, bounds);
            let own = given.unwrap_or_default().iter();
            let own = own.into_iter().find(|(place, _)| *place == column);
            match own {
                Some((_, own)) => given_value(own, &features, encoding, counted),
                None => counted,
            }
        })
        .collect()
}

/// The value that a table has, given what stands for it in the model.
fn given_value(
    given: &Given,
    features: &[(&Feature, f64)],
    encoding: Option<&Encoding>,
    counted: ColumnValue,
) -> ColumnValue {
    let (text, number) = match given {
        Given::Missing => (MISSING.to_owned(), None),
        Given::Number(number) => {
            let feature = features.first().map(|(feature, _)| *feature);
            let text = feature.map_or_else(String::new, |one| number_text(one, *number, encoding));
            (text, Some(*number))
        }
        // The recipe's name of a group may say more than the value; that of all the rest says nothing.
        Given::Text(text) if !counted.text.starts_with('(') => {
            (format!("{text} ({})", counted.text), None)
        }
        Given::Text(text) | Given::Unseen(Some(text)) => (text.clone(), None),
        Given::Unseen(None) => (UNKNOWN.to_owned(), None),
    };
    ColumnValue {
        counted_as: Some(counted.text).filter(|counted| *counted != text && *counted != UNKNOWN),
        column: counted.column,
        text,
        number,
        is_missing: *given == Given::Missing,
        is_unseen: matches!(given, Given::Unseen(_)),
    }
}

/// A number with its unit; a date or a time as such.
pub(crate) fn number_text(feature: &Feature, number: f64, encoding: Option<&Encoding>) -> String {
    let form = encoding.and_then(|encoding| encoding.read.forms.get(&feature.column));
    if let Some(text) = form.and_then(|form: &NumberForm| form.written(number)) {
        return text;
    }
    let shown = shown(number);
    match &feature.unit {
        Some(unit) => format!("{shown} {unit}"),
        None => shown,
    }
}

fn of_column(
    name: &str,
    features: &[(&Feature, f64)],
    encoding: Option<&Encoding>,
    bounds: Option<&Encoding>,
) -> ColumnValue {
    let value = |text: String, number: Option<f64>, is_missing: bool| ColumnValue {
        column: name.to_owned(),
        text,
        number,
        is_missing,
        is_unseen: false,
        counted_as: None,
    };
    let is_missing = features
        .iter()
        .any(|(feature, value)| feature.kind == FeatureKind::Missing && *value > ON);
    if is_missing {
        return value(MISSING.to_owned(), None, true);
    }
    let number = features
        .iter()
        .find(|(one, _)| !matches!(one.kind, FeatureKind::Missing | FeatureKind::Level { .. }));
    if let Some((feature, encoded)) = number {
        let number = own_number(feature, *encoded);
        let mut text = number_text(feature, number, encoding);
        text.push_str(beyond(feature, number, bounds));
        return value(text, Some(number), false);
    }
    let on: Vec<(&Feature, f64)> = features
        .iter()
        .filter(|(_, value)| *value > 0.0)
        .map(|(feature, value)| (*feature, *value))
        .collect();
    if let [(feature, share)] = &on[..]
        && *share > ON
        && matches!(&feature.kind, FeatureKind::Level { values } if values[..] == [""])
    {
        let mut missing = value(MISSING.to_owned(), None, true);
        missing.counted_as = Some(level(feature));
        return missing;
    }
    let text = match (&on[..], features) {
        ([(feature, share)], _) if *share > ON => level(feature),
        ([], [(flag, _)]) => other_side(flag, encoding),
        ([], _) => UNKNOWN.to_owned(),
        // The mean of a class is a mixture.
        (several, _) => several
            .iter()
            .map(|(feature, share)| format!("{} {:.0}%", level(feature), share * 100.0))
            .collect::<Vec<_>>()
            .join(", "),
    };
    value(text, None, false)
}

/// What is said of a number at a bound that the encoding sets greater or smaller ones to: it may be that or more.
fn beyond(feature: &Feature, number: f64, encoding: Option<&Encoding>) -> &'static str {
    let columns = encoding.map_or(&[][..], |encoding| &encoding.columns);
    let rule = columns.iter().find_map(|column| match column {
        ColumnEncoding::Number(rule) if rule.column == feature.column => Some(rule),
        _ => None,
    });
    // Of a few grades or a count the bound is most often the value itself.
    let is_fine = |rule: &&NumberEncoding| !rule.integer || rule.high - rule.low > GRADES;
    let Some(rule) = rule.filter(|rule| rule.clip).filter(is_fine) else {
        return "";
    };
    let near = (rule.high - rule.low).abs() * NEAR_BOUND;
    if (number - rule.high).abs() <= near {
        " or more"
    } else if rule.low != 0.0 && (number - rule.low).abs() <= near {
        " or less"
    } else {
        ""
    }
}

/// Whole numbers of so short a range are grades or counts.
const GRADES: f64 = 10.0;

/// Share of the range that a bound may be off in single precision.
const NEAR_BOUND: f64 = 1e-6;

/// The category of a feature, without its column.
pub(super) fn level(feature: &Feature) -> String {
    if let FeatureKind::Level { values } = &feature.kind
        && let ([value], None) = (&values[..], feature.group)
    {
        return if is_named(feature) { YES } else { value }.to_owned();
    }
    let of_column = feature.name.strip_prefix(feature.column.as_str());
    let level = of_column.and_then(|rest| rest.strip_prefix('='));
    level.unwrap_or(&feature.name).to_owned()
}

/// What a flag of a name of its own is.
const YES: &str = "yes";
const NO: &str = "no";

/// Whether a recipe gives a flag a name, like `has a telephone`, so that its values are codes which say nothing.
fn is_named(flag: &Feature) -> bool {
    let of_column = flag.name.strip_prefix(flag.column.as_str());
    !of_column.is_some_and(|rest| rest.starts_with('='))
}

/// What a flag is when it is off.
fn other_side(flag: &Feature, encoding: Option<&Encoding>) -> String {
    let columns = encoding.map(|encoding| encoding.columns.iter());
    let rule = columns.and_then(|mut columns| {
        columns.find_map(|column| match column {
            ColumnEncoding::Flag(rule) if rule.column == flag.column => Some(rule),
            _ => None,
        })
    });
    match rule.map(|rule| &rule.off[..]) {
        _ if is_named(flag) => NO.to_owned(),
        Some([off]) => off.clone(),
        _ => format!("not {}", level(flag)),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "features are f32 by design"
)]
fn own_number(feature: &Feature, encoded: f64) -> f64 {
    let number = feature.offset + feature.factor * f64::from(encoded as f32);
    let is_whole = feature.integer && (number - number.round()).abs() <= WHOLE;
    if is_whole { number.round() } else { number }
}

/// How far a whole number may be off in single precision. The mean of a class is further.
const WHOLE: f64 = 1e-3;

/// Digits of a number that is not whole; more come of rounding in single precision.
const DIGITS: i32 = 6;

/// Amounts below this have two decimals that double precision tells apart.
const MOST_CENTS: f64 = 1e15;

/// A number as people write it: an amount to the cent; else whole where it is but for rounding, or with six digits.
pub(crate) fn shown(number: f64) -> String {
    let cents = number.abs() * 100.0;
    if cents < MOST_CENTS && (cents - cents.round()).abs() <= cents * f64::EPSILON {
        let text = format!("{number:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if text == "-0" { "0" } else { text }.to_owned();
    }
    let size = number.abs().max(f64::MIN_POSITIVE).log10().floor();
    #[expect(clippy::cast_possible_truncation, reason = "a power of ten")]
    let places = DIGITS - 1 - size as i32;
    let places = usize::try_from(places.clamp(0, 12)).unwrap_or(0);
    let text = format!("{number:.places$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        let mut schema = Schema::table(&[
            "age",
            "income",
            "income is missing",
            "job=cook",
            "job=nurse",
            "own=yes",
        ]);
        let features = &mut schema.features;
        features[0].unit = Some("years".to_owned());
        features[0].offset = 40.0;
        features[0].factor = 10.0;
        features[2].column = "income".to_owned();
        features[2].kind = FeatureKind::Missing;
        for place in [3, 4] {
            features[place].column = "job".to_owned();
            features[place].kind = FeatureKind::Level { values: vec![] };
            features[place].group = Some(0);
        }
        features[5].column = "own".to_owned();
        features[5].kind = FeatureKind::Level {
            values: vec!["yes".to_owned()],
        };
        schema
    }

    fn texts(row: &[f64]) -> Vec<String> {
        let values = column_values(&schema(), None, row, None).into_iter();
        values.map(|value| value.text).collect()
    }

    #[test]
    fn what_the_table_says_is_told_instead_of_what_stands_for_it() {
        let row = [0.35, 1250.5, 0.0, 0.0, 1.0, 1.0];
        let given = [
            (0, Given::Number(99.0)),
            (1, Given::Missing),
            (2, Given::Unseen(Some("west".to_owned()))),
            (3, Given::Text("certainly".to_owned())),
        ];
        let values = column_values(&schema(), None, &row, Some(&given));
        let texts: Vec<&str> = values.iter().map(|value| value.text.as_str()).collect();
        assert_eq!(texts, ["99 years", "missing", "west", "certainly (yes)"]);
        assert_eq!(values[0].number, Some(99.0));
        assert!(values[1].is_missing && values[1].number.is_none());
        assert!(values[2].is_unseen);
        assert_eq!(values[2].in_words(), "west, which the model has not seen");
        let groups: Vec<&str> = values.iter().map(ColumnValue::group).collect();
        assert_eq!(
            groups,
            ["43.5 years", "missing", "not seen in training", "yes"]
        );
    }

    #[test]
    fn values_are_what_the_person_has() {
        assert_eq!(
            texts(&[0.35, 1250.5, 0.0, 0.0, 1.0, 1.0]),
            ["43.5 years", "1250.5", "nurse", "yes"]
        );
        assert_eq!(
            texts(&[-1.0, 3.0, 1.0, 0.0, 0.0, 0.0]),
            ["30 years", "missing", "another value", "not yes"]
        );
    }

    #[test]
    fn the_mean_of_a_class_is_a_mixture() {
        assert_eq!(
            texts(&[0.0, 1.0, 0.2, 0.25, 0.75, 0.7])[2],
            "cook 25%, nurse 75%"
        );
    }

    #[test]
    fn numbers_are_written_without_the_noise_of_single_precision() {
        for (number, text) in [
            (48.000_001, "48"),
            (0.1 + 0.2, "0.3"),
            (-0.000_000_1, "-0.0000001"),
            (1_234_567.0, "1234567"),
            (0.0, "0"),
        ] {
            assert_eq!(shown(number), text);
        }
    }
}
