//! A fitted encoding: what the training rows taught a recipe, to be stored with a model and applied to new rows.
//!
//! Numbers become `(clip(x) - offset) / factor`, computed in double precision; categories become 0 and 1. Nothing but
//! the training rows is looked at by [`Encoding::fit`], and [`Encoding::apply`] learns nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::cells::{self, Cells};
use super::read_rule::{ReadRule, Wanted};
use super::recipe::{
    CategoryRule, FeatureRule, FlagRule, MissingColumn, NumberRule, Recipe, Scale, TargetRule,
};
use super::schema::{Feature, FeatureKind, InputShape, Schema};
use super::table::{ColumnType, Table, Values};
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

/// A number's scale, as learned.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts, named in the stored file"
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NumberEncoding {
    /// The column.
    pub column: String,
    /// The feature's name.
    pub name: String,
    /// The unit of its values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<String>,
    /// The least value of the training rows, after clipping.
    #[serde(with = "super::exact")]
    pub low: f64,
    /// The greatest.
    #[serde(with = "super::exact")]
    pub high: f64,
    /// Values beyond `low..=high` are set to the bounds.
    pub clip: bool,
    /// Encoded = (value - `offset`) / `factor`.
    #[serde(with = "super::exact")]
    pub offset: f64,
    /// See `offset`; positive.
    #[serde(with = "super::exact")]
    pub factor: f64,
    /// Stands in for a missing value: the training rows' median.
    #[serde(with = "super::exact")]
    pub impute: f64,
    /// Adds the feature "is missing".
    pub indicator: bool,
    /// All training values are whole numbers.
    pub integer: bool,
    /// A person cannot change it.
    pub immutable: bool,
}

/// A matrix and what was noticed while it was made.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// Row-major, `[rows, features]`.
    pub values: Vec<f32>,
    /// Rows whose category was in no group, by column.
    pub unseen: BTreeMap<String, usize>,
}

impl NumberEncoding {
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52 rows")]
    fn fit(rule: &NumberRule, values: &Values, train: &[usize]) -> Self {
        let mut numbers: Vec<f64> = train.iter().filter_map(|&row| values.number(row)).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        let missing = numbers.len() < train.len();
        let integer = numbers.iter().all(|value| value.fract() == 0.0);
        let impute = quantile(&numbers, 0.5);
        let (least, greatest) = (quantile(&numbers, 0.0), quantile(&numbers, 1.0));
        let mut bounds = match (rule.range, rule.clip) {
            (Some([low, high]), _) => (low, high),
            (None, Some([low, high])) => (quantile(&numbers, low), quantile(&numbers, high)),
            (None, None) => (least, greatest),
        };
        let mut clip = rule.range.is_some() || rule.clip.is_some();
        if bounds.0 >= bounds.1 {
            // All but a few values are the same: clipping would leave a constant, so nothing is clipped.
            bounds = (least, greatest);
            clip = false;
        }
        let (low, high) = bounds;
        let (offset, factor) = match rule.scale {
            Scale::MinMax => (low, high - low),
            Scale::Standard => {
                let count = numbers.len().max(1) as f64;
                let clipped = || numbers.iter().map(|value| value.clamp(low, high));
                let mean = clipped().sum::<f64>() / count;
                (
                    mean,
                    (clipped().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt(),
                )
            }
        };
        Self {
            column: rule.column.clone(),
            name: rule.name.clone().unwrap_or_else(|| rule.column.clone()),
            unit: rule.unit.clone(),
            low,
            high,
            clip,
            offset,
            factor: if factor > 0.0 && factor.is_finite() {
                factor
            } else {
                1.0
            },
            impute,
            indicator: rule.indicator.unwrap_or(missing),
            integer,
            immutable: rule.immutable,
        }
    }

    /// The encoded value of an original one.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are f32 by design"
    )]
    pub(super) fn encode(&self, value: f64) -> f32 {
        let value = if self.clip {
            value.clamp(self.low, self.high)
        } else {
            value
        };
        ((value - self.offset) / self.factor) as f32
    }
}

/// The q-quantile of ascending numbers, linear between neighbours; 0 for none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a position in a slice of far fewer than 2^52 numbers"
)]
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else {
        return 0.0;
    };
    let place = q * last as f64;
    let below = (place.floor() as usize).min(last);
    let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
    let t = place - below as f64;
    // From the nearer end, so that equal neighbours and the ends come out exactly.
    if t < 0.5 {
        a + (b - a) * t
    } else {
        b - (b - a) * (1.0 - t)
    }
}

impl Encoding {
    /// Learns a recipe's encoding from the rows `train` of a table, and from no others.
    ///
    /// # Errors
    /// If the table lacks a column of the recipe.
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
        Ok(Self {
            read,
            target,
            missing_column: recipe.missing_column,
            columns,
        })
    }

    /// What a reader must read to apply this; the target too if `with_target`.
    #[must_use]
    pub fn wanted(&self, with_target: bool) -> Wanted {
        let mut types = BTreeMap::new();
        for column in &self.columns {
            let (name, kind) = match column {
                ColumnEncoding::Number(number) => (&number.column, ColumnType::Number),
                ColumnEncoding::Flag(rule) => (&rule.column, ColumnType::Text),
                ColumnEncoding::Category(rule) => (&rule.column, ColumnType::Text),
            };
            types.insert(name.clone(), kind);
        }
        if with_target {
            types.insert(self.target.column.clone(), ColumnType::Text);
        }
        Wanted {
            only: Some(types.keys().cloned().collect::<BTreeSet<_>>()),
            types,
            last_is_text: false,
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
        }
    }

    /// The matrix of a table's rows. Takes the table, to give its memory back column by column.
    ///
    /// # Errors
    /// If a column is missing, or a category is not in its list, where the encoding says to refuse those.
    pub fn apply(&self, mut table: Table) -> Result<Encoded> {
        let rows = table.rows();
        let widths: Vec<usize> = self.columns.iter().map(ColumnEncoding::width).collect();
        let width: usize = widths.iter().sum();
        let mut values = vec![0.0_f32; rows * width];
        let mut unseen = BTreeMap::new();
        let mut first = 0;
        for (position, column) in self.columns.iter().enumerate() {
            let name = column.name();
            let found = table.columns.iter().position(|one| one.name == name);
            if found.is_none() && self.missing_column == MissingColumn::Error {
                return Err(table.unknown(name));
            }
            let source = found.map(|at| &table.columns[at].values);
            let mut cells = Cells {
                values: &mut values,
                width,
                first,
            };
            match column {
                ColumnEncoding::Number(number) => number.fill(source, rows, &mut cells),
                ColumnEncoding::Flag(rule) => cells::fill_flag(rule, source, rows, &mut cells),
                ColumnEncoding::Category(rule) => {
                    let count = cells::fill_category(rule, source, rows, &mut cells, &table.path)?;
                    if count > 0 {
                        unseen.insert(name.to_owned(), count);
                    }
                }
            }
            first += widths[position];
            let is_last_use = self.columns[position + 1..]
                .iter()
                .all(|later| later.name() != name);
            if let (Some(at), true) = (found, is_last_use) {
                table.columns.remove(at);
            }
        }
        Ok(Encoded { values, unseen })
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
pub(super) fn labels(target: &TargetRule, table: &Table) -> Result<Vec<Option<usize>>> {
    let values = &table.column(&target.column)?.values;
    let class_of = |value: &str| {
        target
            .classes
            .iter()
            .position(|class| class.holds(value))
            .ok_or_else(|| Error::UnknownClass {
                path: table.path.clone(),
                column: target.column.clone(),
                value: value.to_owned(),
            })
    };
    match values {
        Values::Text(texts) => {
            let by_level = texts
                .levels()
                .iter()
                .map(|level| class_of(level))
                .collect::<Result<Vec<_>>>()?;
            Ok((0..values.len())
                .map(|row| texts.code(row).map(|code| by_level[code]))
                .collect())
        }
        Values::Number(_) => (0..values.len())
            .map(|row| values.text(row).map(|text| class_of(&text)).transpose())
            .collect(),
    }
}

impl ColumnEncoding {
    fn name(&self) -> &str {
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

#[cfg(test)]
#[expect(
    clippy::float_cmp,
    reason = "the values are exact in binary, or must be equal to the bit"
)]
mod tests {
    use super::*;

    fn fit(rule: &NumberRule, values: Vec<f64>) -> NumberEncoding {
        let train: Vec<usize> = (0..values.len()).collect();
        NumberEncoding::fit(rule, &Values::Number(values), &train)
    }

    fn rule(scale: Scale, clip: Option<[f64; 2]>) -> NumberRule {
        NumberRule {
            column: "x".to_owned(),
            name: None,
            unit: None,
            scale,
            clip,
            range: None,
            indicator: None,
            immutable: false,
        }
    }

    #[test]
    fn quantiles_are_linear_between_neighbours() {
        let numbers = [1.0, 2.0, 4.0, 8.0];
        let found = [0.0, 0.5, 0.75, 1.0].map(|q| quantile(&numbers, q));
        assert!(
            found
                .iter()
                .zip([1.0, 3.0, 5.0, 8.0])
                .all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}"
        );
    }

    #[test]
    fn min_max_puts_the_training_range_on_zero_to_one() {
        let encoding = fit(&rule(Scale::MinMax, None), vec![10.0, 20.0, 30.0]);
        assert_eq!(
            [10.0, 25.0, 30.0, 40.0].map(|x| encoding.encode(x)),
            [0.0, 0.75, 1.0, 1.5]
        );
        assert!(encoding.integer && !encoding.indicator);
    }

    #[test]
    fn standard_gives_mean_zero_and_deviation_one() {
        let encoding = fit(&rule(Scale::Standard, None), vec![1.0, 3.0, f64::NAN]);
        assert_eq!(
            [1.0, 2.0, 3.0].map(|x| encoding.encode(x)),
            [-1.0, 0.0, 1.0]
        );
        assert!(encoding.indicator, "a training value is missing");
        assert_eq!(encoding.impute.to_bits(), 2.0_f64.to_bits());
    }

    #[test]
    fn clipping_sets_outliers_to_the_quantiles_but_never_makes_a_constant() {
        let encoding = fit(
            &rule(Scale::MinMax, Some([0.25, 0.75])),
            vec![0.0, 1.0, 2.0, 3.0, 100.0],
        );
        assert_eq!(
            [-5.0, 1.0, 2.0, 1000.0].map(|x| encoding.encode(x)),
            [0.0, 0.0, 0.5, 1.0]
        );
        let rare = fit(
            &rule(Scale::MinMax, Some([0.25, 0.75])),
            vec![0.0, 0.0, 0.0, 0.0, 5.0],
        );
        assert_eq!([0.0, 5.0].map(|x| rare.encode(x)), [0.0, 1.0]);
    }

    #[test]
    fn a_constant_column_does_not_divide_by_zero() {
        assert_eq!(
            fit(&rule(Scale::MinMax, None), vec![7.0, 7.0])
                .encode(7.0)
                .to_bits(),
            0.0_f32.to_bits()
        );
        assert!(
            fit(&rule(Scale::Standard, None), vec![f64::NAN])
                .encode(7.0)
                .is_finite()
        );
    }
}
