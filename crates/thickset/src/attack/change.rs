//! What an attack changed, in the columns' own units.

use serde::{Deserialize, Serialize};

use crate::data::{Feature, FeatureKind, Given, Schema};

/// Share of a feature's range below which a move is rounding.
const LEAST: f64 = 1e-6;

/// Share of a unit that a whole number in single precision may be off.
const WHOLE: f64 = 1e-3;

/// One column, feature, pixel or edge that is not what it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The column where a whole category changed, else the feature.
    pub name: String,
    /// Before, in the column's own unit.
    pub from: Value,
    /// After.
    pub to: Value,
    /// The unit, if it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<String>,
    /// The length of the move in encoded units.
    pub moved: f64,
}

/// A value in a column's own unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number; of a category's feature, its share.
    Number(f64),
    /// A category.
    Category(String),
}

/// One column, feature, pixel or edge of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The column where it holds a whole category, else the feature.
    pub name: String,
    /// In the column's own unit.
    pub value: Value,
}

/// A row in its columns' own units.
///
/// # Panics
/// If the row has another number of features than the schema.
#[must_use]
pub fn decoded(schema: &Schema, row: &[f64]) -> Vec<Cell> {
    assert_eq!(row.len(), schema.len());
    let mut cells = Vec::new();
    let mut index = 0;
    while index < schema.len() {
        let end = group_end(schema, index);
        let (features, values) = (&schema.features[index..end], &row[index..end]);
        if let Some(name) = category(features, values) {
            cells.push(Cell {
                name: features[0].column.clone(),
                value: Value::Category(name),
            });
        } else {
            cells.extend(features.iter().zip(values).map(|(feature, value)| Cell {
                name: feature.name.clone(),
                value: own_unit(feature, *value),
            }));
        }
        index = end;
    }
    cells
}

/// The same with one cell for every category, whatever its features are, so that all rows have the same cells: a mixture is told by
/// the shares of its categories, and a category that is none of them is `none`.
///
/// # Panics
/// If the row has another number of features than the schema.
#[must_use]
pub fn decoded_whole(schema: &Schema, row: &[f64]) -> Vec<Cell> {
    assert_eq!(row.len(), schema.len());
    let mut cells = Vec::new();
    let mut index = 0;
    while index < schema.len() {
        let end = group_end(schema, index);
        let (features, values) = (&schema.features[index..end], &row[index..end]);
        if features[0].group.is_none() {
            cells.push(Cell {
                name: features[0].name.clone(),
                value: own_unit(&features[0], values[0]),
            });
        } else {
            let name = category(features, values).unwrap_or_else(|| {
                let parts = features
                    .iter()
                    .zip(values)
                    .filter(|(_, share)| **share > LEAST);
                let parts =
                    parts.map(|(one, share)| format!("{} {:.0}%", level(one), share * 100.0));
                let parts: Vec<String> = parts.collect();
                if parts.is_empty() {
                    "none".to_owned()
                } else {
                    parts.join(", ")
                }
            });
            cells.push(Cell {
                name: features[0].column.clone(),
                value: Value::Category(name),
            });
        }
        index = end;
    }
    cells
}

/// The category of a feature, without its column.
fn level(feature: &Feature) -> &str {
    let of_column = feature.name.strip_prefix(feature.column.as_str());
    let level = of_column.and_then(|rest| rest.strip_prefix('='));
    level.unwrap_or(&feature.name)
}

/// What is not as it was, the longest moves first.
///
/// # Panics
/// If a row has another number of features than the schema.
#[must_use]
pub fn changes(schema: &Schema, before: &[f64], after: &[f64]) -> Vec<Change> {
    assert_eq!((before.len(), after.len()), (schema.len(), schema.len()));
    let mut found = Vec::new();
    let mut index = 0;
    while index < schema.len() {
        let end = group_end(schema, index);
        let (from, to) = (&before[index..end], &after[index..end]);
        let features = &schema.features[index..end];
        if let (Some(was), Some(now)) = (category(features, from), category(features, to)) {
            if was != now {
                found.push(Change {
                    name: features[0].column.clone(),
                    from: Value::Category(was),
                    to: Value::Category(now),
                    unit: None,
                    moved: std::f64::consts::SQRT_2,
                });
            }
        } else {
            let singles = features.iter().zip(from.iter().zip(to));
            found.extend(singles.filter_map(|(feature, (from, to))| single(feature, *from, *to)));
        }
        index = end;
    }
    found.sort_by(|a, b| b.moved.total_cmp(&a.moved));
    found
}

/// Says what the row's table has, where something else stands for it in the encoded row: `given` are places of columns and values.
pub fn own_values(schema: &Schema, given: &[(usize, Given)], changes: &mut [Change]) {
    if given.is_empty() {
        return;
    }
    let columns = schema.by_column();
    for change in changes {
        let is_it = |name: &str, places: &[usize]| {
            let own = |place: &usize| schema.features[*place].name == change.name;
            name == change.name || places.iter().any(own)
        };
        let column = columns
            .iter()
            .position(|(name, places)| is_it(name, places));
        let given = given.iter().find(|(place, _)| Some(*place) == column);
        let from = match given.map(|(_, given)| given) {
            None => continue,
            // The share of one of a category's features has no text.
            Some(Given::Text(_)) if matches!(change.from, Value::Number(_)) => continue,
            Some(Given::Number(number)) => Value::Number(*number),
            Some(Given::Missing) => Value::Category("missing".to_owned()),
            Some(Given::Text(text)) => Value::Category(text.clone()),
            Some(Given::Unseen(text)) => Value::Category(match text {
                Some(text) => format!("{text} (not seen in training)"),
                None => "a value not seen in training".to_owned(),
            }),
        };
        change.from = from;
    }
}

/// One past the features that stand for the same category.
fn group_end(schema: &Schema, start: usize) -> usize {
    let group = schema.features[start].group;
    let same = schema.features[start..]
        .iter()
        .take_while(|feature| group.is_some() && feature.group == group);
    start + same.count().max(1)
}

/// The category that a one-hot code names, if it is one.
fn category(features: &[Feature], values: &[f64]) -> Option<String> {
    features[0].group?;
    let is_bit = |value: &f64| value.abs() < LEAST || (value - 1.0).abs() < LEAST;
    let mut on = values.iter().enumerate().filter(|(_, value)| **value > 0.5);
    let (first, second) = (on.next(), on.next());
    match (first, second) {
        _ if !values.iter().all(is_bit) => None,
        (Some((place, _)), None) => Some(level(&features[place]).to_owned()),
        _ => None,
    }
}

/// An encoded value in the column's own unit; of a category's feature, its share.
#[expect(
    clippy::cast_possible_truncation,
    reason = "features are f32 by design"
)]
fn own_unit(feature: &Feature, encoded: f64) -> Value {
    if let FeatureKind::Level { .. } | FeatureKind::Missing = feature.kind {
        return Value::Number(encoded);
    }
    let value = feature.offset + feature.factor * f64::from(encoded as f32);
    let is_whole = feature.integer && (value - value.round()).abs() < WHOLE;
    Value::Number(if is_whole { value.round() } else { value })
}

fn single(feature: &Feature, from: f64, to: f64) -> Option<Change> {
    let range = f64::from(feature.high - feature.low).abs().max(LEAST);
    let moved = (to - from).abs();
    if moved <= LEAST * range {
        return None;
    }
    Some(Change {
        name: feature.name.clone(),
        from: own_unit(feature, from),
        to: own_unit(feature, to),
        unit: feature.unit.clone(),
        moved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::InputShape;

    fn schema() -> Schema {
        let feature = |name: &str, column: &str, group: Option<usize>| Feature {
            name: name.to_owned(),
            column: column.to_owned(),
            unit: (name == "age").then(|| "years".to_owned()),
            kind: if group.is_some() {
                FeatureKind::Level { values: vec![] }
            } else {
                FeatureKind::Number
            },
            offset: 20.0,
            factor: 40.0,
            low: 0.0,
            high: 1.0,
            integer: name == "age",
            group,
            immutable: false,
        };
        Schema {
            shape: InputShape::Table,
            features: vec![
                feature("age", "age", None),
                feature("job=cook", "job", Some(0)),
                feature("job=nurse", "job", Some(0)),
                feature("town=A", "town", Some(1)),
                feature("town=B", "town", Some(1)),
            ],
            references: None,
        }
    }

    #[test]
    fn numbers_are_in_their_unit_and_categories_have_their_names() {
        let found = changes(
            &schema(),
            &[0.5, 1.0, 0.0, 0.0, 1.0],
            &[0.525, 0.0, 1.0, 0.0, 1.0],
        );
        let shown: Vec<_> = found
            .iter()
            .map(|change| {
                (
                    change.name.as_str(),
                    &change.from,
                    &change.to,
                    change.unit.as_deref(),
                )
            })
            .collect();
        let category = |name: &str| Value::Category(name.to_owned());
        assert_eq!(
            shown,
            [
                ("job", &category("cook"), &category("nurse"), None),
                (
                    "age",
                    &Value::Number(40.0),
                    &Value::Number(41.0),
                    Some("years")
                ),
            ]
        );
    }

    #[test]
    fn a_row_is_shown_column_by_column_and_a_mixture_feature_by_feature() {
        let whole = decoded_whole(&schema(), &[0.525, 0.0, 0.0, 0.25, 0.75]);
        let whole: Vec<&Value> = whole.iter().map(|cell| &cell.value).collect();
        assert_eq!(whole[0], &Value::Number(41.0));
        assert_eq!(whole[1], &Value::Category("none".to_owned()));
        assert_eq!(whole[2], &Value::Category("A 25%, B 75%".to_owned()));
        let cells = decoded(&schema(), &[0.525, 0.0, 1.0, 0.25, 0.75]);
        let shown: Vec<_> = cells
            .iter()
            .map(|cell| (cell.name.as_str(), &cell.value))
            .collect();
        assert_eq!(
            shown,
            [
                ("age", &Value::Number(41.0)),
                ("job", &Value::Category("nurse".to_owned())),
                ("town=A", &Value::Number(0.25)),
                ("town=B", &Value::Number(0.75)),
            ]
        );
    }

    #[test]
    fn a_mixture_of_categories_is_shown_feature_by_feature_and_rounding_is_no_change() {
        let found = changes(
            &schema(),
            &[0.5, 1.0, 0.0, 0.0, 1.0],
            &[0.500_000_1, 0.75, 0.125, 0.0, 1.0],
        );
        let shown: Vec<_> = found
            .iter()
            .map(|change| (change.name.as_str(), &change.to))
            .collect();
        assert_eq!(
            shown,
            [
                ("job=cook", &Value::Number(0.75)),
                ("job=nurse", &Value::Number(0.125)),
            ]
        );
    }

    #[test]
    fn a_change_begins_at_what_the_rows_table_has() {
        let mut found = changes(
            &schema(),
            &[0.5, 1.0, 0.0, 0.0, 1.0],
            &[0.525, 0.0, 1.0, 0.0, 1.0],
        );
        own_values(&schema(), &[(0, Given::Number(95.0))], &mut found);
        let from = |name: &str| {
            let change = found.iter().find(|change| change.name == name);
            change.unwrap().from.clone()
        };
        assert_eq!(from("age"), Value::Number(95.0));
        assert_eq!(from("job"), Value::Category("cook".to_owned()));
    }

    #[test]
    fn shares_are_shown_as_percentages_of_levels_that_count() {
        let cell = |row: &[f64]| match decoded_whole(&schema(), row).swap_remove(1).value {
            Value::Category(name) => name,
            Value::Number(number) => panic!("{number}"),
        };
        assert_eq!(cell(&[0.5, 0.6, 0.4, 0.0, 1.0]), "cook 60%, nurse 40%");
        assert_eq!(cell(&[0.5, 0.6, 1e-7, 0.0, 1.0]), "cook 60%");
        assert_eq!(cell(&[0.5, 1.0, 0.0, 0.0, 1.0]), "cook");
        // Two levels at once are no category.
        assert_eq!(cell(&[0.5, 1.0, 1.0, 0.0, 1.0]), "cook 100%, nurse 100%");
    }

    #[test]
    fn a_category_is_one_that_is_1_to_within_rounding() {
        let features = &schema().features[1..3];
        let of = |a: f64, b: f64| category(features, &[a, b]);
        assert_eq!(of(1.0, 0.0).as_deref(), Some("cook"));
        assert_eq!(of(5e-7, 1.0 - 5e-7).as_deref(), Some("nurse"));
        assert_eq!(of(-5e-7, 1.0 + 5e-7).as_deref(), Some("nurse"));
        for (a, b) in [
            (0.0, 0.0),
            (1.0, 1.0),
            (1.0, 2e-6),
            (1.0 - 2e-6, 0.0),
            (2.0, 0.0),
        ] {
            assert_eq!(of(a, b), None, "{a} {b}");
        }
        assert_eq!(category(&schema().features[..1], &[1.0]), None);
    }

    #[test]
    fn a_category_ends_where_the_next_begins() {
        let mut schema = schema();
        assert_eq!([0, 1, 3].map(|start| group_end(&schema, start)), [1, 3, 5]);
        schema.features[3].group = None;
        schema.features[4].group = None;
        assert_eq!([3, 4].map(|start| group_end(&schema, start)), [4, 5]);
    }

    #[test]
    fn a_value_is_shown_in_its_unit_and_whole_where_rounding_hides_it() {
        let mut feature = schema().features.swap_remove(0);
        // 20 + 40 z years.
        assert_eq!(own_unit(&feature, 0.5), Value::Number(40.0));
        assert_eq!(own_unit(&feature, 0.500_015), Value::Number(40.0));
        let Value::Number(between) = own_unit(&feature, 0.5125) else {
            panic!("a number")
        };
        assert!((between - 40.5).abs() < 1e-5, "{between}");
        feature.integer = false;
        let Value::Number(near) = own_unit(&feature, 0.500_015) else {
            panic!("a number")
        };
        assert!((near - 40.0006).abs() < 1e-5, "{near}");
        feature.kind = FeatureKind::Missing;
        assert_eq!(own_unit(&feature, 0.25), Value::Number(0.25));
    }

    #[test]
    fn moves_below_a_millionth_of_the_range_are_none() {
        let mut feature = schema().features.swap_remove(0);
        (feature.low, feature.high) = (-50.0, 50.0);
        assert_eq!(single(&feature, 0.5, 0.500_05), None);
        let change = single(&feature, 0.5, 0.25).unwrap();
        assert!((change.moved - 0.25).abs() < 1e-12);
        assert_eq!(
            (change.from, change.to),
            (Value::Number(40.0), Value::Number(30.0))
        );
        (feature.low, feature.high) = (0.0, 0.0);
        assert!(single(&feature, 0.5, 0.500_05).is_some());
        assert!(single(&feature, 0.5, 0.5).is_none());
    }

    #[test]
    fn the_largest_move_is_told_first_and_a_mixture_feature_by_feature() {
        let found = changes(
            &schema(),
            &[0.5, 1.0, 0.0, 1.0, 0.0],
            &[0.75, 0.5, 0.5, 0.0, 1.0],
        );
        let shown: Vec<(&str, f64)> = found
            .iter()
            .map(|one| (one.name.as_str(), one.moved))
            .collect();
        let root = std::f64::consts::SQRT_2;
        let expected = [
            ("town", root),
            ("job=cook", 0.5),
            ("job=nurse", 0.5),
            ("age", 0.25),
        ];
        assert_eq!(shown, expected);
    }
}
