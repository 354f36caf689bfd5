//! A recipe for a table that nobody described: from the training rows, what each column is and how to encode it.

use super::feature_rule::{CategoryRule, FeatureRule, FlagRule, Group, NumberRule, Scale, Unseen};
use super::identifier;
use crate::data::read::table::{Column, Table, Texts, Values, parse_number};
use crate::data::sets::recipe::{ClassRule, MissingColumn, TargetRule};
use crate::{Error, Result};

/// More different labels than this are a quantity, not classes.
const MOST_CLASSES: usize = 100;

/// A category has at most this many features; the most frequent values win.
const MOST_GROUPS: usize = 30;

/// A value of less than this share of the training rows is rare, and joins the group of the others.
const RARE_SHARE: f64 = 0.01;

/// A text column with more different values than this share of the training rows names rows.
const IDENTIFIER_SHARE: f64 = 0.5;

/// With fewer rows than this, nothing is called an identifier.
const IDENTIFIER_ROWS: usize = 20;

/// So many rare values are listed, the most frequent; what is beyond is treated alike, and told as not seen.
const MOST_RARE: usize = 10_000;

/// The quantiles that numbers are clipped to.
const CLIP: [f64; 2] = [0.01, 0.99];

/// The name of the group of rare and unseen values, and of missing ones.
const OTHER: &str = "(other)";
const MISSING: &str = "(missing)";

/// What a user may decide about inference.
#[derive(Clone, Debug, Default)]
pub struct InferOptions {
    /// How numbers are scaled.
    pub scale: Scale,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Columns a person cannot change.
    pub immutable: Vec<String>,
    /// What happens when rows to be predicted lack a column.
    pub missing_column: MissingColumn,
    /// Uses every column of numbers, even one that is constant or numbers the rows.
    pub keep_numbers: bool,
}

/// The classes of a target column: its different values, numbers by size, then texts by letter.
///
/// # Errors
/// If there are fewer than two, or so many that it is a quantity.
pub fn target(table: &Table, column: &str) -> Result<TargetRule> {
    let values = &table.column(column)?.values;
    let mut different: Vec<String> = match values {
        Values::Text(texts) if texts.overflowed() => Vec::new(),
        Values::Text(texts) => texts.levels().to_vec(),
        Values::Number(_) => {
            let mut all: Vec<String> = (0..values.len())
                .filter_map(|row| values.text(row))
                .collect();
            all.sort_unstable();
            all.dedup();
            all
        }
    };
    let overflow = matches!(values, Values::Text(texts) if texts.overflowed());
    let path = table.path.clone();
    if overflow || different.len() > MOST_CLASSES {
        return Err(Error::TooManyClasses {
            path,
            column: column.to_owned(),
            limit: MOST_CLASSES,
        });
    }
    sort_labels(&mut different);
    match different.as_slice() {
        [] => Err(Error::NoRows { path }),
        [class] => Err(Error::OneClass {
            path,
            column: column.to_owned(),
            class: class.clone(),
        }),
        _ => {
            let class = |name| ClassRule {
                name,
                values: Vec::new(),
                at_least: None,
                below: None,
            };
            Ok(TargetRule {
                column: column.to_owned(),
                classes: different.into_iter().map(class).collect(),
            })
        }
    }
}

/// Numbers by size, then texts by letter.
fn sort_labels(labels: &mut [String]) {
    let number = |label: &String| parse_number(label);
    labels.sort_by(|a, b| {
        let (first, second) = (number(a), number(b));
        let by_size = first.unwrap_or(0.0).total_cmp(&second.unwrap_or(0.0));
        let by_kind = first.is_none().cmp(&second.is_none());
        by_kind.then(by_size).then_with(|| a.cmp(b))
    });
}

/// A rule for every column that is worth one, from the training rows; the reasons for leaving others out go to `notes`.
///
/// # Errors
/// If an option names a column that is not there, or nothing is left.
pub fn features(
    table: &Table,
    target: &str,
    train: &[usize],
    options: &InferOptions,
    notes: &mut Vec<String>,
) -> Result<Vec<FeatureRule>> {
    for name in options.drop.iter().chain(&options.immutable) {
        table.column(name)?;
    }
    let mut rules = Vec::new();
    for one in table.columns.iter().filter(|column| column.name != target) {
        rules.extend(column(table, one, train, options, notes));
    }
    if rules.is_empty() {
        return Err(Error::NoFeatures {
            path: table.path.clone(),
            column: target.to_owned(),
        });
    }
    Ok(rules)
}

/// The rule for one column of a table, if it is worth one.
pub fn column(
    table: &Table,
    column: &Column,
    train: &[usize],
    options: &InferOptions,
    notes: &mut Vec<String>,
) -> Option<FeatureRule> {
    if options.drop.contains(&column.name) {
        notes.push(format!("column `{}` is left out, as asked", column.name));
        return None;
    }
    let immutable = options.immutable.contains(&column.name);
    let rule = match &column.values {
        Values::Number(values) => {
            let unit = table.units.get(&column.name).cloned();
            number(column, values, train, options, (immutable, unit))
        }
        Values::Text(texts) => category(column, texts, train, immutable),
    };
    let left_out = |reason| format!("column `{}` {reason}; it is left out", column.name);
    rule.map_err(|reason| notes.push(left_out(reason))).ok()
}

fn number(
    column: &Column,
    values: &[f64],
    train: &[usize],
    options: &InferOptions,
    (immutable, unit): (bool, Option<String>),
) -> std::result::Result<FeatureRule, String> {
    let present: Vec<f64> = train
        .iter()
        .map(|&row| values[row])
        .filter(|value| !value.is_nan())
        .collect();
    let missing = present.len() < train.len();
    if !options.keep_numbers {
        check_number(&column.name, present, missing, unit.is_some())?;
    }
    Ok(FeatureRule::Number(NumberRule {
        column: column.name.clone(),
        name: None,
        unit,
        scale: options.scale,
        clip: Some(CLIP),
        range: None,
        indicator: Some(missing),
        immutable,
    }))
}

/// Why numbers of the training rows are nothing to learn from, if so.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
fn check_number(
    name: &str,
    present: Vec<f64>,
    missing: bool,
    has_unit: bool,
) -> std::result::Result<(), String> {
    let mut sorted = present;
    sorted.sort_unstable_by(f64::total_cmp);
    let (Some(&least), Some(&greatest)) = (sorted.first(), sorted.last()) else {
        return Err("has no value in any training row".to_owned());
    };
    if least.total_cmp(&greatest).is_eq() && !missing {
        return Err(format!("has the value {least} in every training row"));
    }
    let all_different = sorted.windows(2).all(|pair| pair[0] < pair[1]);
    let whole = sorted.iter().all(|value| value.fract() == 0.0);
    // A numbering of the rows: whole, never twice, and at most two of three numbers unused: the training rows are 70%
    // of the rows, so a gapless numbering uses seven of ten.
    let dense = greatest - least < 3.0 * sorted.len() as f64;
    if sorted.len() >= IDENTIFIER_ROWS && all_different && whole && !missing && dense {
        return Err("counts the rows, like a row identifier".to_owned());
    }
    // A date or a number with a unit measures something.
    if !has_unit && !missing && whole {
        identifier::check(name, &sorted)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
fn category(
    column: &Column,
    texts: &Texts,
    train: &[usize],
    immutable: bool,
) -> std::result::Result<FeatureRule, String> {
    if texts.overflowed() {
        return Err("has too many different texts to be a category".to_owned());
    }
    let mut counts = vec![0_usize; texts.levels().len()];
    let mut missing = 0;
    for &row in train {
        match texts.code(row) {
            Some(code) => counts[code] += 1,
            None => missing += 1,
        }
    }
    // Most frequent first, ties by name, so that the order of rows does not matter.
    let mut present: Vec<(usize, &String)> = counts
        .iter()
        .copied()
        .zip(texts.levels())
        .filter(|&(count, _)| count > 0)
        .collect();
    present.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let rows = train.len() as f64;
    match present.as_slice() {
        [] => return Err("has no value in any training row".to_owned()),
        [(_, only)] if missing == 0 => {
            return Err(format!("has the value `{only}` in every training row"));
        }
        _ => {}
    }
    if train.len() >= IDENTIFIER_ROWS && present.len() as f64 > IDENTIFIER_SHARE * rows {
        return Err(format!(
            "looks like a row identifier ({} distinct values in {} training rows)",
            present.len(),
            train.len()
        ));
    }
    if present.len() == 2 && missing == 0 {
        let mut both: Vec<String> = present.iter().map(|(_, name)| (*name).clone()).collect();
        both.sort();
        let on = both.split_off(1);
        return Ok(FeatureRule::Flag(FlagRule {
            column: column.name.clone(),
            name: None,
            on,
            off: both,
            immutable,
        }));
    }
    let frequent = present
        .iter()
        .take(MOST_GROUPS)
        .filter(|&&(count, _)| count as f64 >= RARE_SHARE * rows)
        .count();
    let has_other = frequent < present.len();
    let mut groups: Vec<Group> = present[..frequent]
        .iter()
        .map(|(_, name)| Group {
            name: (*name).clone(),
            values: Vec::new(),
        })
        .collect();
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    let unused = |name: &str| {
        // A file may have a category of that very name.
        let mut name = name.to_owned();
        while texts.levels().contains(&name) {
            name = format!("({name})");
        }
        name
    };
    if missing > 0 {
        groups.push(Group {
            name: unused(MISSING),
            values: vec![String::new()],
        });
    }
    let other = has_other.then(|| unused(OTHER));
    if let Some(name) = &other {
        // It takes what no other group lists; these were seen.
        let rare = present[frequent..].iter().take(MOST_RARE);
        groups.push(Group {
            name: name.clone(),
            values: rare.map(|(_, name)| (*name).clone()).collect(),
        });
    }
    Ok(FeatureRule::Category(CategoryRule {
        column: column.name.clone(),
        unseen: if has_other {
            Unseen::Other
        } else {
            Unseen::Zero
        },
        other,
        immutable,
        groups,
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn column(texts: &[Option<&str>]) -> Column {
        let mut values = Texts::default();
        for text in texts {
            values.push(*text);
        }
        Column {
            name: "a".to_owned(),
            values: Values::Text(values),
        }
    }

    #[test]
    fn labels_that_mix_numbers_and_texts_have_one_order() {
        // By letter alone "10" < "1a" < "9", by size 9 < 10: no order at all, which sorting may panic on.
        let texts: Vec<String> = (0..99)
            .map(|number| match number % 3 {
                0 => number.to_string(),
                1 => format!("{number}a"),
                _ => format!("{}", 1000 - number),
            })
            .collect();
        let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
        let table = Table {
            path: "a.csv".to_owned(),
            columns: vec![column(&texts)],
            notes: Vec::new(),
            forms: BTreeMap::new(),
            units: BTreeMap::new(),
            names: vec!["a".to_owned()],
        };
        let classes = target(&table, "a").unwrap().classes;
        assert_eq!(classes.len(), 99);
        assert_eq!(classes[0].name, "0");
        assert_eq!(classes[1].name, "3");
        assert_eq!(classes[98].name, "97a");
        let mut labels = ["1a", "10", "9", "b", "9.0"].map(str::to_owned);
        sort_labels(&mut labels);
        assert_eq!(labels, ["9", "9.0", "10", "1a", "b"]);
    }

    #[test]
    fn categories_of_the_user_do_not_collide_with_ours() {
        let mut rows = vec![Some("(missing)"); 200];
        rows.extend([Some("(other)"); 200]);
        rows.extend([Some("x"); 200]);
        rows.extend([None, Some("rare")]);
        let column = column(&rows);
        let Values::Text(texts) = &column.values else {
            panic!("texts")
        };
        let train: Vec<usize> = (0..rows.len()).collect();
        let Ok(FeatureRule::Category(rule)) = category(&column, texts, &train, false) else {
            panic!("a category")
        };
        let names: Vec<&str> = rule
            .groups
            .iter()
            .map(|group| group.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["(missing)", "(other)", "x", "((missing))", "((other))"]
        );
        assert_eq!(rule.other.as_deref(), Some("((other))"));
        assert_eq!(rule.groups[4].values, ["rare"]);
    }
}
