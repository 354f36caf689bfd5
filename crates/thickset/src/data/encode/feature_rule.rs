//! How one column becomes features, as a recipe states it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// How one column becomes features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum FeatureRule {
    /// One scaled number, and an indicator where values are missing.
    Number(NumberRule),
    /// One feature: 1 for some values, 0 for the others.
    Flag(FlagRule),
    /// One feature a group of values.
    Category(CategoryRule),
}

impl FeatureRule {
    /// The column it reads.
    #[must_use]
    pub fn column(&self) -> &str {
        match self {
            Self::Number(rule) => &rule.column,
            Self::Flag(rule) => &rule.column,
            Self::Category(rule) => &rule.column,
        }
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// What was expected and what came.
    pub(in crate::data) fn check(&self) -> Result<(), String> {
        match self {
            Self::Number(rule) => rule.check(),
            Self::Flag(rule) => rule.check(),
            Self::Category(rule) => rule.check(),
        }
    }
}

/// How a number is scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// The training rows' least and greatest value (after clipping) become 0 and 1.
    #[default]
    MinMax,
    /// The training rows' mean and standard deviation (after clipping) become 0 and 1.
    Standard,
}

/// A number column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberRule {
    /// The column.
    pub column: String,
    /// The feature's name, if not the column's.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The unit of its values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unit: Option<String>,
    /// How it is scaled.
    #[serde(default)]
    pub scale: Scale,
    /// Values beyond these quantiles of the training rows are set to the quantiles.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clip: Option<[f64; 2]>,
    /// The least and greatest value that are possible; scales by them and learns nothing.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub range: Option<[f64; 2]>,
    /// Adds the feature "is missing"; if absent, it is added when training rows miss a value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub indicator: Option<bool>,
    /// A person cannot change it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub immutable: bool,
}

impl NumberRule {
    fn check(&self) -> Result<(), String> {
        let column = &self.column;
        if let Some([low, high]) = self.clip
            && !(0.0 <= low && low < high && high <= 1.0)
        {
            return Err(format!(
                "`clip` of `{column}` must be two ascending quantiles in 0..=1, got [{low}, {high}]"
            ));
        }
        if let Some([low, high]) = self.range
            && !(low < high && (high - low).is_finite())
        {
            return Err(format!(
                "`range` of `{column}` must be two ascending numbers, got [{low}, {high}]"
            ));
        }
        Ok(())
    }
}

/// A column with two sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlagRule {
    /// The column.
    pub column: String,
    /// The feature's name; if absent, the column and its first value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// The values that give 1; all others, and a missing one, give 0.
    pub on: Vec<String>,
    /// The values that are known to give 0; if there are some, any other value is reported as unseen.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub off: Vec<String>,
    /// A person cannot change it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub immutable: bool,
}

impl FlagRule {
    /// All values that it lists.
    pub(in crate::data) fn listed(&self) -> Vec<String> {
        [&self.on[..], &self.off[..]].concat()
    }

    pub(in crate::data) fn check(&self) -> Result<(), String> {
        let column = &self.column;
        if self.on.is_empty() {
            return Err(format!("the flag `{column}` lists no value in `on`"));
        }
        match self.on.iter().find(|value| self.off.contains(value)) {
            None => Ok(()),
            Some(value) => Err(format!(
                "the flag `{column}` lists `{value}` in both `on` and `off`"
            )),
        }
    }
}

/// A column of categories.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryRule {
    /// The column.
    pub column: String,
    /// What happens to a value that no group lists.
    #[serde(default)]
    pub unseen: Unseen,
    /// The group that takes such values, for `unseen = "other"`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub other: Option<String>,
    /// A person cannot change it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub immutable: bool,
    /// The groups, one feature each.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
}

impl CategoryRule {
    /// All values that its groups list.
    pub(in crate::data) fn listed(&self) -> Vec<String> {
        self.groups.iter().flat_map(Group::members).collect()
    }

    pub(in crate::data) fn check(&self) -> Result<(), String> {
        let column = &self.column;
        if self.groups.is_empty() {
            return Err(format!("the category `{column}` has no group"));
        }
        let mut names = BTreeSet::new();
        if let Some(group) = self.groups.iter().find(|group| !names.insert(&group.name)) {
            return Err(format!(
                "the category `{column}` has two groups of the name `{}`",
                group.name
            ));
        }
        let is_group = self
            .other
            .as_ref()
            .is_some_and(|other| names.contains(other));
        if (self.unseen == Unseen::Other) != self.other.is_some()
            || self.other.is_some() != is_group
        {
            return Err(format!(
                "the category `{column}` needs `unseen = \"other\"` and `other` = one of its groups, or neither"
            ));
        }
        Ok(())
    }
}

/// Values of a category that share a feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The name of the group.
    pub name: String,
    /// The values, if not just the name; the empty text is a missing value.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub values: Vec<String>,
}

impl Group {
    /// The values that it takes.
    #[must_use]
    pub fn members(&self) -> Vec<String> {
        if self.values.is_empty() {
            vec![self.name.clone()]
        } else {
            self.values.clone()
        }
    }
}

/// What happens to a category's value that no group lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unseen {
    /// All features of the column are 0.
    #[default]
    Zero,
    /// It belongs to the group `other`.
    Other,
    /// The row is refused.
    Error,
}
