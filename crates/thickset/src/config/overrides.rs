//! `--set a.b=c`: single settings over those of a file.

use toml::{Table, Value};

use crate::{Error, Result};

/// Sets `a.b.c` to a value of TOML; what is no TOML value is a text, so that quotes can be left out.
///
/// # Errors
/// If there is no `=`, or as [`set`].
pub(super) fn apply(table: &mut Table, given: &str) -> Result<()> {
    apply_as(table, given, value)
}

/// The same, with the value as a text whatever it looks like.
pub(super) fn apply_text(table: &mut Table, given: &str) -> Result<()> {
    apply_as(table, given, |text| Value::String(text.to_owned()))
}

fn apply_as(table: &mut Table, given: &str, value: fn(&str) -> Value) -> Result<()> {
    let refuse = |problem: String| Error::Override {
        given: given.to_owned(),
        problem,
    };
    let Some((path, text)) = given.split_once('=') else {
        let problem = "expected a setting, `=` and a value, like train.epochs=50";
        return Err(refuse(problem.to_owned()));
    };
    set(table, path, value(text.trim())).map_err(refuse)
}

/// Sets `a.b.c` to a value. Another `kind` begins with its own defaults, so the settings of the old one go.
///
/// # Errors
/// In words, if a part of the name is empty, or a part on the way is no table.
pub(super) fn set(table: &mut Table, path: &str, value: Value) -> std::result::Result<(), String> {
    let parts: Vec<&str> = path.split('.').map(str::trim).collect();
    let Some((last, before)) = parts
        .split_last()
        .filter(|_| parts.iter().all(|part| !part.is_empty()))
    else {
        return Err("expected names with one `.` between them".to_owned());
    };
    let mut at = table;
    for part in before {
        let inner = at
            .entry((*part).to_owned())
            .or_insert_with(|| Value::Table(Table::new()));
        at = inner
            .as_table_mut()
            .ok_or_else(|| format!("`{part}` is a value, not a table"))?;
    }
    if *last == "kind" && at.get("kind") != Some(&value) {
        at.clear();
    }
    at.insert((*last).to_owned(), value);
    Ok(())
}

fn value(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>();
    parsed
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_texts_and_tables_are_set_where_they_belong() {
        let mut table: Table = "a = 1\n[b]\nc = 2\n".parse().unwrap();
        for given in [
            "a=3",
            "b.c=x y",
            "b.d.e=[1, 2]",
            "f={ kind = \"k\" }",
            "g=\"1\"",
        ] {
            apply(&mut table, given).unwrap();
        }
        let expected =
            "a = 3\nf = { kind = \"k\" }\ng = \"1\"\n[b]\nc = \"x y\"\nd = { e = [1, 2] }\n";
        assert_eq!(table, expected.parse::<Table>().unwrap());
    }

    #[test]
    fn another_kind_leaves_the_settings_of_the_old_one_behind() {
        let text = "[objective]\nkind = \"r2et\"\ngap_weight = 0.1\n";
        let mut table: Table = text.parse().unwrap();
        apply(&mut table, "objective.kind=r2et").unwrap();
        assert_eq!(table, text.parse::<Table>().unwrap());
        apply(&mut table, "objective.kind=trades").unwrap();
        apply(&mut table, "objective.beta=2.0").unwrap();
        let expected = "[objective]\nkind = \"trades\"\nbeta = 2.0\n";
        assert_eq!(table, expected.parse::<Table>().unwrap());
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        let mut table: Table = "a = 1\n".parse().unwrap();
        for given in ["a", "=1", "a..b=1", "a.b=1"] {
            assert!(apply(&mut table, given).is_err(), "{given}");
        }
    }
}
