//! A fitted encoding: what the training rows taught a recipe, to be stored with a model and applied to new rows.
//!
//! Numbers become `(clip(x) - offset) / factor`, computed in double precision; categories become 0 and 1. Nothing but
//! the training rows is looked at by [`Encoding::fit`], and [`Encoding::apply`] learns nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::cells::{self, Cells};
use super::feature_rule::{CategoryRule, FeatureRule, FlagRule};
use super::given::GivenValues;
use super::number_encoding::NumberEncoding;
use crate::data::read::read_rule::{ReadRule, Wanted};
use crate::data::read::table::{ColumnType, Table, Values};
use crate::data::schema::{Feature, FeatureKind, InputShape, Schema};
use crate::data::sets::recipe::{ClassRule, MissingColumn, Recipe, TargetRule};
use crate::{Error, Result};

/// From a table's columns to features and labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Encoding {
    /// How text is read.
    pub read: ReadRule,
    /// The target and its classes.
    pub target: TargetRule,
    /// What happens when a column is not there.
    #[serde(default)]
    pub missing_column: MissingColumn,
    /// One a feature rule, in order.
    pub columns: Vec<ColumnEncoding>,
}

/// How one column becomes features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ColumnEncoding {
    /// A number.
    Number(NumberEncoding),
    /// A column with two sides.
    Flag(FlagRule),
    /// A category.
    Category(CategoryRule),
}

/// A matrix and what was noticed while it was made.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Row-major, `[rows, features]`.
    pub values: Vec<f32>,
    /// Rows whose text no group or flag lists, by column.
    pub unseen: BTreeMap<String, usize>,
    /// Rows without a value, by column, where there are some; all rows for a column that is not there.
    pub missing: BTreeMap<String, usize>,
    /// What the features do not tell of the rows.
    pub given: GivenValues,
}

/// What a person should know of rows whose text no group or flag of a column lists.
pub(crate) fn unseen_note(column: &str, rows: usize) -> String {
    let rows = match rows {
        1 => "1 row has".to_owned(),
        rows => format!("{rows} rows have"),
    };
    format!("{rows} a `{column}` that is none of the model's categories")
}

impl Encoding {
    /// The ends that a feature's values are clipped to, in the column's own unit; none where they are not.
    pub(crate) fn clipped(&self, feature: &str) -> Option<(f64, f64)> {
        self.columns.iter().find_map(|column| match column {
            ColumnEncoding::Number(number) if number.clip && number.name == feature => {
                Some((number.low, number.high))
            }
            _ => None,
        })
    }

    /// Learns a recipe's encoding from the rows `train` of a table, and from no others.
    ///
    /// # Errors
    /// If the table lacks a column of the recipe, or a column's numbers are too far apart to be scaled.
    pub fn fit(recipe: &Recipe, table: &Table, train: &[usize]) -> Result<Self> {
        let mut columns = Vec::with_capacity(recipe.features.len());
        for rule in &recipe.features {
            let values = &table.column(rule.column())?.values;
            columns.push(match rule {
                FeatureRule::Number(rule) => {
                    ColumnEncoding::Number(NumberEncoding::fit(rule, values, train))
                }
                FeatureRule::Flag(rule) => ColumnEncoding::Flag(rule.clone()),
                FeatureRule::Category(rule) => ColumnEncoding::Category(rule.clone()),
            });
        }
        let (read, target) = (recipe.read.clone(), recipe.target.clone());
        let encoding = Self {
            read,
            target,
            missing_column: recipe.missing_column,
            columns,
        };
        encoding.check().map_err(|problem| Error::Malformed {
            path: table.path.clone(),
            line: None,
            problem,
        })?;
        Ok(encoding)
    }

    /// Whether rows can be encoded by it; to be asked of one that comes from a file.
    ///
    /// # Errors
    /// What was expected and what came.
    pub(crate) fn check(&self) -> std::result::Result<(), String> {
        for (column, form) in &self.read.forms {
            let refuse = |problem| format!("the form of `{column}`: {problem}");
            form.check().map_err(refuse)?;
        }
        let mut names = BTreeSet::from([self.target.column.as_str()]);
        for column in &self.columns {
            if !names.insert(column.name()) {
                return Err(format!(
                    "column `{}` must be encoded once, and not be the target",
                    column.name()
                ));
            }
            match column {
                ColumnEncoding::Number(number) => number.check()?,
                ColumnEncoding::Flag(rule) => rule.check()?,
                ColumnEncoding::Category(rule) => rule.check()?,
            }
        }
        Ok(())
    }

    /// What a reader must read to apply this; the target too if `with_target`.
    #[must_use]
    pub fn wanted(&self, with_target: bool) -> Wanted {
        let (mut types, mut levels) = (BTreeMap::new(), BTreeMap::new());
        for column in &self.columns {
            let (name, kind) = match column {
                ColumnEncoding::Number(number) => (&number.column, ColumnType::Number),
                ColumnEncoding::Flag(rule) => {
                    levels.insert(rule.column.clone(), rule.listed());
                    (&rule.column, ColumnType::Text)
                }
                ColumnEncoding::Category(rule) => {
                    levels.insert(rule.column.clone(), rule.listed());
                    (&rule.column, ColumnType::Text)
                }
            };
            types.insert(name.clone(), kind);
        }
        if with_target {
            types.insert(self.target.column.clone(), ColumnType::Text);
        }
        Wanted {
            only: Some(types.keys().cloned().collect::<BTreeSet<_>>()),
            types,
            levels,
            ..Wanted::default()
        }
    }

    /// The features this makes.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let mut features = Vec::new();
        let mut groups = 0;
        for column in &self.columns {
            match column {
                ColumnEncoding::Number(number) => number_features(number, &mut features),
                ColumnEncoding::Flag(rule) => {
                    let name = rule
                        .name
                        .clone()
                        .unwrap_or_else(|| format!("{}={}", rule.column, rule.on[0]));
                    features.push(binary(
                        name,
                        &rule.column,
                        level(rule.on.clone()),
                        None,
                        rule.immutable,
                    ));
                }
                ColumnEncoding::Category(rule) => {
                    for group in &rule.groups {
                        let name = format!("{}={}", rule.column, group.name);
                        let kind = level(group.members());
                        features.push(binary(
                            name,
                            &rule.column,
                            kind,
                            Some(groups),
                            rule.immutable,
                        ));
                    }
                    groups += 1;
                }
            }
        }
        Schema {
            shape: InputShape::Table,
            features,
            references: None,
        }
    }

    /// The matrix of a table's rows. Takes the table, to give its memory back column by column.
    ///
    /// # Errors
    /// If a column is missing, or a category is not in its list, where the encoding says to refuse those; if a number is
    /// beyond single precision when scaled.
    pub fn apply(&self, mut table: Table) -> Result<Encoded> {
        let rows = table.rows();
        let widths: Vec<usize> = self.columns.iter().map(ColumnEncoding::width).collect();
        let width: usize = widths.iter().sum();
        let mut values = vec![0.0_f32; rows * width];
        let (mut unseen, mut missing) = (BTreeMap::new(), BTreeMap::new());
        let mut given = GivenValues::default();
        let mut first = 0;
        // Before columns are given back one by one, so that the message lists all of them.
        if self.missing_column == MissingColumn::Error {
            for column in &self.columns {
                table.column(column.name())?;
            }
        }
        for (position, column) in self.columns.iter().enumerate() {
            let name = column.name();
            let found = table.columns.iter().position(|one| one.name == name);
            let source = found.map(|at| &table.columns[at].values);
            let mut cells = Cells {
                values: &mut values,
                width,
                first,
                given: &mut given,
                column: position,
            };
            let count = match column {
                ColumnEncoding::Number(number) => {
                    number.fill(source, rows, &mut cells, &table.path)?;
                    0
                }
                ColumnEncoding::Flag(rule) => cells::fill_flag(rule, source, rows, &mut cells),
                ColumnEncoding::Category(rule) => {
                    cells::fill_category(rule, source, rows, &mut cells, &table.path)?
                }
            };
            if count > 0 {
                unseen.insert(name.to_owned(), count);
            }
            let count = source.map_or(rows, Values::missing);
            if count > 0 {
                missing.insert(name.to_owned(), count);
            }
            first += widths[position];
            if let Some(at) = found {
                table.columns.remove(at);
            }
        }
        given.sort();
        Ok(Encoded {
            values,
            unseen,
            missing,
            given,
        })
    }

    /// The class of every row; `None` where the target is missing.
    ///
    /// # Errors
    /// If there is no target column, or a value belongs to no class.
    pub fn labels(&self, table: &Table) -> Result<Vec<Option<usize>>> {
        labels(&self.target, table)
    }
}

/// The class of every row; `None` where the target is missing.
pub(in crate::data) fn labels(target: &TargetRule, table: &Table) -> Result<Vec<Option<usize>>> {
    let values = &table.column(&target.column)?.values;
    let place_of = |is_it: &dyn Fn(&ClassRule) -> bool| target.classes.iter().position(is_it);
    let class_of = |value: &str| {
        place_of(&|class| class.holds(value))
            .or_else(|| place_of(&|class| class.holds_alike(value)))
            .ok_or_else(|| Error::UnknownClass {
                path: table.path.clone(),
                column: target.column.clone(),
                value: value.to_owned(),
            })
    };
    match values {
        Values::Text(texts) => {
            // Of the texts, only those that a row still has must be classes.
            let mut by_level = vec![None; texts.levels().len()];
            let mut class_at = |row| match (texts.code(row), texts.is_missing(row)) {
                (_, true) => Ok(None),
                (None, false) => Err(Error::TooManyClasses {
                    path: table.path.clone(),
                    column: target.column.clone(),
                    limit: target.classes.len(),
                }),
                (Some(code), false) => {
                    if by_level[code].is_none() {
                        by_level[code] = Some(class_of(&texts.levels()[code])?);
                    }
                    Ok(by_level[code])
                }
            };
            (0..values.len()).map(&mut class_at).collect()
        }
        Values::Number(_) => (0..values.len())
            .map(|row| values.text(row).map(|text| class_of(&text)).transpose())
            .collect(),
    }
}

impl ColumnEncoding {
    /// The column's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Number(number) => &number.column,
            Self::Flag(rule) => &rule.column,
            Self::Category(rule) => &rule.column,
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Number(number) => 1 + usize::from(number.indicator),
            Self::Flag(_) => 1,
            Self::Category(rule) => rule.groups.len(),
        }
    }
}

fn number_features(number: &NumberEncoding, features: &mut Vec<Feature>) {
    features.push(Feature {
        name: number.name.clone(),
        column: number.column.clone(),
        unit: number.unit.clone(),
        kind: FeatureKind::Number,
        offset: number.offset,
        factor: number.factor,
        low: number.encode(number.low),
        high: number.encode(number.high),
        integer: number.integer,
        group: None,
        immutable: number.immutable,
    });
    if number.indicator {
        let name = format!("{} is missing", number.name);
        features.push(binary(
            name,
            &number.column,
            FeatureKind::Missing,
            None,
            number.immutable,
        ));
    }
}

fn level(values: Vec<String>) -> FeatureKind {
    FeatureKind::Level { values }
}

fn binary(
    name: String,
    column: &str,
    kind: FeatureKind,
    group: Option<usize>,
    immutable: bool,
) -> Feature {
    Feature {
        name,
        column: column.to_owned(),
        unit: None,
        kind,
        offset: 0.0,
        factor: 1.0,
        low: 0.0,
        high: 1.0,
        integer: true,
        group,
        immutable,
    }
}
