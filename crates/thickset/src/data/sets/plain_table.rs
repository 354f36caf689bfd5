//! Writing a known table as a person would have it: one column a feature, categories and classes by their names, numbers as they are.
//!
//! Known tables come with codes (`A11`) and without a header; this is the CSV that somebody who owned the rows would begin with.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use thickset_engine::write_whole;

use super::known::Known;
use super::load_known::read_known_table;
use super::recipe::{Recipe, TargetRule};
use crate::data::encode::feature_rule::FeatureRule;
use crate::data::read::table::{Table, Values};
use crate::data::sets::export::inert;
use crate::{Error, Result};

/// Writes the rows of a known table to a CSV file, the target last. The file appears whole or not at all.
///
/// # Errors
/// If it is no table, its files are not there, or the file cannot be written.
pub fn export_table(known: &Known, data_dir: Option<&Path>, path: &Path) -> Result<usize> {
    let name = path.display().to_string();
    let Some(table) = read_known_table(known, data_dir)? else {
        return Err(Error::Malformed {
            path: known.name.to_owned(),
            line: None,
            problem: "expected a table; these are images or graphs".to_owned(),
        });
    };
    let recipe = known.recipe()?;
    write_whole(path, |file| write(&recipe, &table, file))
        .map_err(|source| Error::io("write", &name, source))?;
    Ok(table.rows())
}

fn write(recipe: &Recipe, table: &Table, file: &mut File) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    let values = |name: &str| {
        let column = table.columns.iter().find(|column| column.name == name);
        column.map(|column| &column.values)
    };
    let target = &recipe.target;
    let mut columns: Vec<(&str, Option<&FeatureRule>, &Values)> = recipe
        .features
        .iter()
        .filter_map(|rule| Some((header(rule), Some(rule), values(rule.column())?)))
        .collect();
    if recipe.features.is_empty() {
        // Every column is a feature then, and none has a rule.
        let others = table.columns.iter().filter(|one| one.name != target.column);
        columns = others.map(|one| (&*one.name, None, &one.values)).collect();
    }
    let header = columns.iter().map(|(header, _, _)| *header);
    writer.write_record(header.chain([target.column.as_str()]).map(inert))?;
    for row in 0..table.rows() {
        for (_, rule, values) in &columns {
            writer.write_field(inert(&cell(*rule, values, row)))?;
        }
        let class = values(&target.column).map(|values| class(target, values, row));
        writer.write_field(inert(&class.unwrap_or_default()))?;
        writer.write_record(None::<&[u8]>)?;
    }
    writer
        .into_inner()
        .map_err(|error| io::Error::other(error.to_string()))?
        .flush()
}

fn header(rule: &FeatureRule) -> &str {
    match rule {
        FeatureRule::Number(rule) => rule.name.as_deref().unwrap_or(&rule.column),
        FeatureRule::Flag(rule) => rule.name.as_deref().unwrap_or(&rule.column),
        FeatureRule::Category(rule) => &rule.column,
    }
}

/// A missing value is an empty text.
fn cell(rule: Option<&FeatureRule>, values: &Values, row: usize) -> String {
    let Some(text) = values.text(row) else {
        return String::new();
    };
    match rule {
        None | Some(FeatureRule::Number(_)) => text,
        Some(FeatureRule::Flag(rule)) => {
            if rule.on.contains(&text) { "yes" } else { "no" }.to_owned()
        }
        Some(FeatureRule::Category(rule)) => {
            let group = rule
                .groups
                .iter()
                .find(|group| group.members().contains(&text));
            group.map_or(text, |group| group.name.clone())
        }
    }
}

fn class(target: &TargetRule, values: &Values, row: usize) -> String {
    let text = values.text(row).unwrap_or_default();
    let class = target.classes.iter().find(|class| class.holds(&text));
    class.map_or(text, |class| class.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn german_credit_is_told_in_words() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loans.csv");
        let known = Known::find("german-credit").unwrap();
        assert_eq!(export_table(known, None, &path).unwrap(), 1000);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        assert!(
            lines
                .next()
                .unwrap()
                .starts_with("status,duration,history,purpose,amount,")
        );
        // A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1
        assert_eq!(
            lines.next().unwrap(),
            "below 0 DM,6,critical account or other credits elsewhere,radio or television,1169,unknown or none,7 years and more,4,\
             \"male, single\",none,4,real estate,67,none,own,2,skilled or official,1,yes,yes,good"
        );
        assert_eq!(text.lines().count(), 1001);
    }

    #[test]
    fn a_table_whose_columns_are_inferred_has_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cells.csv");
        let known = Known::find("breast-cancer").unwrap();
        assert_eq!(export_table(known, None, &path).unwrap(), 569);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(header.len(), 31);
        assert_eq!((header[0], header[30]), ("mean radius", "diagnosis"));
        let first: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!((first[0], first[30]), ("17.99", "malignant"));
    }

    #[test]
    fn pictures_are_no_table() {
        let known = Known::find("mnist").unwrap();
        let error = export_table(known, None, Path::new("never.csv")).unwrap_err();
        assert!(error.to_string().contains("expected a table"), "{error}");
    }
}
