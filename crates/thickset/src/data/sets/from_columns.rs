//! Datasets made of columns that are in memory already: numbers and texts, with missing values, as a data frame has them.

use std::collections::{BTreeMap, BTreeSet};

use super::assemble::{LabelledTable, check_labels, encode_table};
use super::recipe::{ClassRule, Format, Recipe, TargetRule};
use super::split::Split;
use crate::data::dataset::Dataset;
use crate::data::encode::infer::InferOptions;
use crate::data::read::read_rule::ReadRule;
use crate::data::read::table::{Column, Table};
use crate::{Error, Result, Seed};

/// How columns in memory become a dataset.
#[derive(Clone, Debug)]
pub struct ColumnsConfig {
    /// What errors and results call the rows.
    pub name: String,
    /// What is predicted, for messages and files; no column has this name.
    pub target: String,
    /// Decides the split.
    pub seed: Seed,
    /// The share of each class's rows that chooses among epochs. The rest trains, and none is kept back to test. With 70/15/15 as
    /// for files where absent.
    pub validation: Option<f64>,
    /// What inference may be told.
    pub infer: InferOptions,
}

impl Default for ColumnsConfig {
    fn default() -> Self {
        Self {
            name: "rows".to_owned(),
            target: "target".to_owned(),
            seed: Seed::new(0),
            validation: None,
            infer: InferOptions::default(),
        }
    }
}

impl Dataset {
    /// A table of columns, encoded as a file's would be: numbers scaled, categories one-hot, missing values handled, all of it
    /// learned from the training rows. `labels` are places in `classes`.
    ///
    /// ```
    /// use thickset::data::{Column, ColumnsConfig, Dataset, Texts, Values};
    ///
    /// let mut job = Texts::default();
    /// (0..40).for_each(|row| job.push(["clerk", "nurse", "cook"].get(row % 4).copied()));
    /// let columns = vec![
    ///     Column { name: "age".to_owned(), values: Values::Number((0..40).map(|row| f64::from(20 + row * row % 37)).collect()) },
    ///     Column { name: "job".to_owned(), values: Values::Text(job) },
    /// ];
    /// let labels = (0..40).map(|row| usize::from(row >= 20)).collect();
    /// let classes = ["no", "yes"].map(str::to_owned).to_vec();
    /// let dataset = Dataset::from_columns(columns, labels, classes, &ColumnsConfig::default())?;
    /// let names: Vec<&str> = dataset.schema.features.iter().map(|feature| feature.name.as_str()).collect();
    /// assert_eq!(names, ["age", "job=clerk", "job=cook", "job=nurse", "job=(missing)"]);
    /// # Ok::<(), thickset::Error>(())
    /// ```
    ///
    /// # Errors
    /// If lengths do not fit together, names repeat, a number is infinite, a label is of no class, there are fewer than ten rows or two
    /// classes, or no column is worth learning from.
    pub fn from_columns(
        columns: Vec<Column>,
        labels: Vec<usize>,
        classes: Vec<String>,
        config: &ColumnsConfig,
    ) -> Result<Self> {
        let table = table(&config.name, columns)?;
        if table.rows() != labels.len() {
            return Err(Error::LengthMismatch {
                what: "the labels of the rows",
                expected: table.rows(),
                got: labels.len(),
            });
        }
        let names = table.columns.iter().map(|column| &column.name);
        different(
            "the columns and the target",
            names.chain(std::iter::once(&config.target)),
        )?;
        different("the classes", classes.iter())?;
        if let Some(&got) = labels.iter().find(|label| **label >= classes.len()) {
            return Err(Error::IndexOutOfRange {
                what: "a label",
                bound: classes.len(),
                got,
            });
        }
        check_labels(&config.name, &config.target, &labels, &classes, |class| {
            class
        })?;
        let split = match config.validation {
            Some(share) => Split::without_test(&labels, share, config.seed),
            None => Split::stratified(&labels, config.seed),
        };
        let class = |name: String| ClassRule {
            name,
            values: Vec::new(),
            at_least: None,
            below: None,
        };
        let recipe = Recipe {
            name: config.name.clone(),
            title: format!("{}, predicting `{}`", config.name, config.target),
            origin: None,
            format: Format::Table,
            missing_column: config.infer.missing_column,
            read: ReadRule::default(),
            target: TargetRule {
                column: config.target.clone(),
                classes: classes.into_iter().map(class).collect(),
            },
            files: Vec::new(),
            keeps: Vec::new(),
            features: Vec::new(),
            image: None,
            pairs: None,
            attack: None,
        };
        let labelled = LabelledTable {
            table,
            labels,
            split,
        };
        encode_table(&config.name, labelled, recipe, &config.infer, Vec::new())
    }
}

/// Columns of one length and of different names as a table.
pub(crate) fn table(name: &str, columns: Vec<Column>) -> Result<Table> {
    different("the columns", columns.iter().map(|column| &column.name))?;
    let table = Table {
        path: name.to_owned(),
        names: columns.iter().map(|column| column.name.clone()).collect(),
        columns,
        notes: Vec::new(),
        forms: BTreeMap::new(),
        units: BTreeMap::new(),
    };
    let rows = table.rows();
    for column in &table.columns {
        if column.values.len() != rows {
            return Err(Error::LengthMismatch {
                what: "every column",
                expected: rows,
                got: column.values.len(),
            });
        }
        let infinite = (0..rows).find_map(|row| {
            let number = column.values.number(row)?;
            number.is_infinite().then_some((row, number))
        });
        if let Some((row, number)) = infinite {
            return Err(Error::Malformed {
                path: name.to_owned(),
                line: None,
                problem: format!(
                    "row {} of column `{}` must be a finite number or missing, got {number}",
                    row + 1,
                    column.name
                ),
            });
        }
    }
    Ok(table)
}

fn different<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(Error::DuplicateName {
                what,
                name: name.clone(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Part;
    use crate::data::read::table::Values;

    fn numbers(name: &str, values: Vec<f64>) -> Column {
        Column {
            name: name.to_owned(),
            values: Values::Number(values),
        }
    }

    fn classes() -> Vec<String> {
        ["no", "yes"].map(str::to_owned).to_vec()
    }

    fn labels(rows: usize) -> Vec<usize> {
        (0..rows).map(|row| row % 2).collect()
    }

    fn made(columns: Vec<Column>, config: &ColumnsConfig) -> Result<Dataset> {
        let rows = columns[0].values.len();
        Dataset::from_columns(columns, labels(rows), classes(), config)
    }

    #[test]
    fn a_number_of_the_rows_is_left_out_unless_numbers_are_kept() {
        let columns = || {
            vec![
                numbers("id", (0..60).map(f64::from).collect()),
                numbers("x", (0..60).map(|row| f64::from(row * 7 % 11)).collect()),
            ]
        };
        let mut config = ColumnsConfig::default();
        let inferred = made(columns(), &config).unwrap();
        assert_eq!(inferred.features(), 1);
        assert!(inferred.notes[0].contains("column `id` counts the rows"));
        config.infer.keep_numbers = true;
        config.validation = Some(0.25);
        let kept = made(columns(), &config).unwrap();
        assert_eq!(kept.features(), 2);
        assert!(kept.part(Part::Test).is_empty());
        assert_eq!(kept.part(Part::Validation).len(), 16);
    }

    #[test]
    fn what_cannot_be_a_table_is_refused() {
        let refusal = |columns: Vec<Column>| {
            let made = made(columns, &ColumnsConfig::default());
            made.unwrap_err().to_string()
        };
        let some = |count: usize| vec![1.0; count];
        for (columns, sentence) in [
            (
                vec![numbers("a", some(12)), numbers("a", some(12))],
                "the columns must have different names, got `a` twice",
            ),
            (
                vec![numbers("a", some(12)), numbers("b", some(11))],
                "every column must have length 12, got 11",
            ),
            (
                vec![numbers("a", [some(11), vec![f64::INFINITY]].concat())],
                "row 12 of column `a` must be a finite number or missing, got inf",
            ),
            (
                vec![numbers("a", some(9))],
                "9 usable rows, expected at least 10",
            ),
        ] {
            let refused = refusal(columns);
            assert!(refused.contains(sentence), "{refused}");
        }
    }
}
