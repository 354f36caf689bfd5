//! The value of a column, as a person knows it.

use serde::{Deserialize, Serialize};

use crate::data::{ColumnEncoding, Encoding, Feature, FeatureKind, NumberEncoding, Schema};

/// A column of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnValue {
    /// The column.
    pub column: String,
    /// The value with its unit, as text.
    pub text: String,
    /// The value, where it is a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
    /// Whether it is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_missing: bool,
}

/// What stands for a value that is not there.
const MISSING: &str = "missing";

/// A feature of zeros and ones counts as on above this; the mean of a class lies between.
const ON: f64 = 0.5;

/// The columns of an encoded row. With the encoding, the other side of a flag has its own name.
pub(crate) fn column_values(
    schema: &Schema,
    encoding: Option<&Encoding>,
    row: &[f64],
) -> Vec<ColumnValue> {
    let columns = schema.by_column().into_iter();
    columns
        .map(|(name, places)| {
            let features: Vec<(&Feature, f64)> = places
                .iter()
                .map(|&place| (&schema.features[place], row[place]))
                .collect();
            of_column(name, &features, encoding)
        })
        .collect()
}

fn of_column(name: &str, features: &[(&Feature, f64)], encoding: Option<&Encoding>) -> ColumnValue {
    let value = |text: String, number: Option<f64>, is_missing: bool| ColumnValue {
        column: name.to_owned(),
        text,
        number,
        is_missing,
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
        let shown = shown(number);
        let mut text = match &feature.unit {
            Some(unit) => format!("{shown} {unit}"),
            None => shown,
        };
        text.push_str(beyond(feature, number, encoding));
        return value(text, Some(number), false);
    }
    let on: Vec<(&Feature, f64)> = features
        .iter()
        .filter(|(_, value)| *value > 0.0)
        .map(|(feature, value)| (*feature, *value))
        .collect();
    let text = match (&on[..], features) {
        ([(feature, share)], _) if *share > ON => level(feature),
        ([], [(flag, _)]) => other_side(flag, encoding),
        ([], _) => "another value".to_owned(),
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
        return value.clone();
    }
    let of_column = feature.name.strip_prefix(feature.column.as_str());
    let level = of_column.and_then(|rest| rest.strip_prefix('='));
    level.unwrap_or(&feature.name).to_owned()
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
        Some([off]) => off.clone(),
        _ => format!("not {}", level(flag)),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "features are f32 by design"
)]
fn own_number(feature: &Feature, encoded: f64) -> f64 {
    feature.offset + feature.factor * f64::from(encoded as f32)
}

/// Digits of a number that is not whole; more come of rounding in single precision.
const DIGITS: i32 = 6;

/// A number as people write it: whole where it is but for rounding, else with six digits.
pub(crate) fn shown(number: f64) -> String {
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
        let values = column_values(&schema(), None, row).into_iter();
        values.map(|value| value.text).collect()
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
