//! A recipe: how a dataset's files become a matrix, as a TOML file that a person can read, print and copy.
//!
//! The known datasets are recipes that come with the program; a user's own table gets one by inference
//! ([`super::infer`]), which can be printed, edited and given back.

use serde::{Deserialize, Serialize};

use super::feature_rule::{FeatureRule, Unseen};
use super::read_rule::ReadRule;
use crate::{Error, Result};

/// How a dataset's files become rows, labels and features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The name it is asked for by.
    pub name: String,
    /// One line: what the rows are and what is predicted.
    pub title: String,
    /// Where it comes from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<Origin>,
    /// What its files are.
    #[serde(default)]
    pub format: Format,
    /// What happens when rows to be predicted lack a column.
    #[serde(default)]
    pub missing_column: MissingColumn,
    /// How text is read.
    #[serde(default)]
    pub read: ReadRule,
    /// What is predicted.
    pub target: TargetRule,
    /// The files, relative to the data folder; none for a recipe that is given with its file.
    #[serde(rename = "file", skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<FileRule>,
    /// Rows that do not satisfy all of these are left out.
    #[serde(rename = "keep", skip_serializing_if = "Vec::is_empty", default)]
    pub keeps: Vec<KeepRule>,
    /// The features of a table, in order.
    #[serde(rename = "feature", skip_serializing_if = "Vec::is_empty", default)]
    pub features: Vec<FeatureRule>,
    /// The columns beside the target are the pixels of an image.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub image: Option<ImageRule>,
    /// Turns single inputs into pairs for a Siamese network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pairs: Option<PairRule>,
    /// What attacks use unless told otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attack: Option<AttackDefaults>,
}

/// Where a dataset comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// A page to get it from.
    pub url: String,
    /// Its licence, as far as we know it.
    pub licence: String,
}

/// What happens when a file to be encoded lacks a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MissingColumn {
    /// The file is refused.
    #[default]
    Error,
    /// All of its values count as missing.
    Impute,
}

/// The layout of a dataset's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Delimited text or Parquet, by the file's name.
    #[default]
    Table,
    /// MNIST's images and labels.
    Idx,
    /// CIFAR's binary batches.
    Cifar,
    /// The pack of ABIDE correlation matrices.
    CorrelationPack,
    /// Graphs as text, in a zip file.
    Nel,
}

/// What a file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Rows that are split at random.
    #[default]
    Rows,
    /// The official test rows.
    Test,
}

/// A file of a known dataset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRule {
    /// Relative to the data folder; `.gz` may be present or not.
    pub path: String,
    /// Hash of the decompressed content, in lower-case hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256: Option<String>,
    /// Random split or official test set.
    #[serde(default)]
    pub role: Role,
    /// The IDX file of the labels, for a file of images.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub labels: Option<String>,
    /// Its hash.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub labels_sha256: Option<String>,
    /// The entry of a zip file.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<String>,
    /// The dataset is usable without it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub optional: bool,
}

/// What is predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetRule {
    /// The column, or for images and graphs a word for the label.
    pub column: String,
    /// The classes, in order.
    #[serde(rename = "class")]
    pub classes: Vec<ClassRule>,
}

/// A class and the values of the target that belong to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassRule {
    /// The class's name.
    pub name: String,
    /// The values, as texts; if absent, the name itself.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub values: Vec<String>,
    /// Numbers from here on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_least: Option<f64>,
    /// Numbers below this.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub below: Option<f64>,
}

impl ClassRule {
    /// Whether a value of the target belongs to this class.
    #[must_use]
    pub fn holds(&self, value: &str) -> bool {
        if self.at_least.is_some() || self.below.is_some() {
            return super::table::parse_number(value).is_some_and(|number| {
                self.at_least.is_none_or(|least| number >= least)
                    && self.below.is_none_or(|end| number < end)
            });
        }
        if self.values.is_empty() {
            self.name == value
        } else {
            self.values.iter().any(|one| one == value)
        }
    }
}

/// A condition on a column; a row with a missing value there does not satisfy it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepRule {
    /// The column.
    pub column: String,
    /// Numbers from here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_least: Option<f64>,
    /// Numbers up to here.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_most: Option<f64>,
    /// None of these texts.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub none_of: Vec<String>,
}

impl KeepRule {
    /// Whether it compares numbers.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        self.at_least.is_some() || self.at_most.is_some()
    }
}

/// A table whose columns are pixels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageRule {
    /// 1 or 3.
    pub channels: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
    /// The greatest value, which becomes 1; the least is 0.
    pub white: f64,
}

/// How pairs are made of single inputs; the label is whether both have the same class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRule {
    /// Only inputs of these classes, by name; all if absent.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<String>,
    /// Pairs drawn at random for training, validation and test, half of them of one class, each from its own part:
    /// training pairs from training inputs, validation and test pairs from test inputs. If absent, every two training
    /// inputs are a training pair, and every validation (test) input is paired with every training input.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drawn: Option<[usize; 3]>,
}

/// What attacks use unless told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttackDefaults {
    /// Size of the salient set.
    pub k: usize,
    /// Radius of the l2 ball, in encoded units.
    pub epsilon: f64,
}

impl Recipe {
    /// Reads a recipe; `path` is for messages.
    ///
    /// # Errors
    /// If the text is not a recipe, with line and column, or contradicts itself.
    pub fn parse(text: &str, path: &str) -> Result<Self> {
        let recipe: Self = toml::from_str(text).map_err(|source| Error::Recipe {
            path: path.to_owned(),
            source,
        })?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The recipe as TOML.
    ///
    /// # Errors
    /// Never for a recipe made by this program.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string(self).map_err(|error| self.problem(error.to_string()))
    }

    fn problem(&self, problem: impl Into<String>) -> Error {
        Error::RecipeRule {
            name: self.name.clone(),
            problem: problem.into(),
        }
    }

    fn check(&self) -> Result<()> {
        if self.target.classes.len() < 2 {
            return Err(self.problem(format!(
                "expected at least two classes, got {}",
                self.target.classes.len()
            )));
        }
        for rule in &self.features {
            let column = rule.column();
            if column == self.target.column {
                return Err(self.problem(format!(
                    "`{column}` is the target and must not be a feature"
                )));
            }
            match rule {
                FeatureRule::Number(rule) => {
                    if let Some([low, high]) = rule.clip
                        && !(0.0 <= low && low < high && high <= 1.0)
                    {
                        return Err(self.problem(format!(
                            "`clip` of `{column}` must be two ascending quantiles in 0..=1, got [{low}, {high}]"
                        )));
                    }
                    if let Some([low, high]) = rule.range
                        && !(low.is_finite() && high.is_finite() && low < high)
                    {
                        return Err(self.problem(format!(
                            "`range` of `{column}` must be two ascending numbers, got [{low}, {high}]"
                        )));
                    }
                }
                FeatureRule::Flag(rule) if rule.on.is_empty() => {
                    return Err(self.problem(format!("the flag `{column}` lists no value in `on`")));
                }
                FeatureRule::Flag(_) => {}
                FeatureRule::Category(rule) => {
                    let names = rule
                        .groups
                        .iter()
                        .any(|group| Some(&group.name) == rule.other.as_ref());
                    if rule.groups.is_empty() {
                        return Err(self.problem(format!("the category `{column}` has no group")));
                    }
                    if (rule.unseen == Unseen::Other) != rule.other.is_some()
                        || rule.other.is_some() != names
                    {
                        return Err(self.problem(format!(
                            "the category `{column}` needs `unseen = \"other\"` and `other` = one of its groups, or neither"
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}
