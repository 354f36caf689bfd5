//! A recipe: how a dataset's files become a matrix, as a TOML file that a person can read, print and copy.
//!
//! The known datasets are recipes that come with the program; a user's own table gets one by inference
//! ([`crate::data::InferOptions`]), which can be printed, edited and given back.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::encode::feature_rule::FeatureRule;
use crate::data::read::read_rule::ReadRule;
use crate::data::read::table::{alike, parse_number};
use crate::data::schema::MOST_FEATURES;
use crate::{Error, Result, file};

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
    /// Graphs as a table of edge weights, their classes in another file.
    GraphTable,
    /// Images that a table lists.
    ImageIndex,
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
    /// The file of the labels, for IDX images and for tables of graphs.
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
            return parse_number(value).is_some_and(|number| {
                self.at_least.is_none_or(|least| number >= least)
                    && self.below.is_none_or(|end| number < end)
            });
        }
        self.listed().iter().any(|one| one == value)
    }

    /// The same for a value that a program may have spelled otherwise.
    pub(in crate::data) fn holds_alike(&self, value: &str) -> bool {
        let is_range = self.at_least.is_some() || self.below.is_some();
        !is_range && self.listed().iter().any(|one| alike(one, value))
    }

    fn listed(&self) -> &[String] {
        if self.values.is_empty() {
            std::slice::from_ref(&self.name)
        } else {
            &self.values
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

impl ImageRule {
    fn check(&self) -> std::result::Result<(), String> {
        let Self {
            channels,
            height,
            width,
            white,
        } = *self;
        if !(white.is_finite() && white > 0.0) {
            return Err(format!("`white` must be finite and positive, got {white}"));
        }
        let pixels = channels
            .checked_mul(height)
            .and_then(|pixels| pixels.checked_mul(width));
        if pixels.is_some_and(|pixels| (1..=MOST_FEATURES).contains(&pixels)) {
            Ok(())
        } else {
            Err(format!(
                "an image must have 1 to {MOST_FEATURES} pixels, got {channels} x {height} x {width}"
            ))
        }
    }
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
    /// Reads a recipe's file.
    ///
    /// # Errors
    /// If it cannot be read, and as [`Recipe::parse`].
    pub fn read(path: &Path) -> Result<Self> {
        Self::parse(&file::read_text(path)?, &path.display().to_string())
    }

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
        let failed = |error: toml::ser::Error| self.problem(error.to_string());
        let text = toml::to_string(self).map_err(failed)?;
        // A text of several lines is written on several lines, where it could pass for lines of the recipe.
        if !text.contains("\"\"\"") && !text.contains("'''") {
            return Ok(text);
        }
        let mut value = toml::Value::try_from(self).map_err(failed)?;
        // A letter that is written as an escape whatever stands around it, and that no text of the recipe has.
        let stands_in = ('\u{1}'..'\u{8}').find(|letter| !text.contains(&escape(*letter)));
        let letter = stands_in.ok_or_else(|| self.problem("its names hold control characters"))?;
        replace_line_ends(&mut value, letter);
        let text = toml::to_string(&value).map_err(failed)?;
        Ok(text.replace(&escape(letter), "\\n"))
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
        for (column, form) in &self.read.forms {
            form.check()
                .map_err(|problem| self.problem(format!("the form of `{column}`: {problem}")))?;
        }
        let mut columns = BTreeSet::new();
        for rule in &self.features {
            let column = rule.column();
            if column == self.target.column {
                return Err(self.problem(format!(
                    "`{column}` is the target and must not be a feature"
                )));
            }
            if !columns.insert(column) {
                return Err(self.problem(format!("`{column}` must be one feature, got two rules")));
            }
            rule.check().map_err(|problem| self.problem(problem))?;
        }
        match self.image.as_ref().map(ImageRule::check) {
            Some(Err(problem)) => Err(self.problem(problem)),
            _ => Ok(()),
        }
    }
}

/// A control character as TOML writes it.
fn escape(letter: char) -> String {
    format!("\\u{:04X}", u32::from(letter))
}

/// Puts a letter in the place of every end of a line, in texts and in names.
fn replace_line_ends(value: &mut toml::Value, letter: char) {
    let replaced = |text: &str| text.replace('\n', &letter.to_string());
    match value {
        toml::Value::String(text) => *text = replaced(text),
        toml::Value::Array(values) => {
            for value in values {
                replace_line_ends(value, letter);
            }
        }
        toml::Value::Table(table) => {
            let entries = std::mem::take(table);
            for (name, mut value) in entries {
                replace_line_ends(&mut value, letter);
                table.insert(replaced(&name), value);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "name = \"a\"\ntitle = \"\"\n[target]\ncolumn = \"y\"\nclass = [{ name = \"0\" }, { name = \"1\" }]\n";

    fn refusal(rest: &str) -> String {
        let refused = Recipe::parse(&format!("{START}{rest}"), "a.toml");
        refused.unwrap_err().to_string()
    }

    #[test]
    fn a_name_of_two_lines_is_written_on_one_and_comes_back() {
        for name in ["a\nb", "a\n\"b\"\\", "a\r\nb\u{1}", "\n\'\'\'\"\"\""] {
            let mut recipe = Recipe::parse(START, "a.toml").unwrap();
            recipe.target.classes[0].name = name.to_owned();
            recipe.title = name.to_owned();
            let text = recipe.to_toml().unwrap();
            assert!(
                text.lines()
                    .all(|line| line != "b" && !line.starts_with("b\"")),
                "{text}"
            );
            assert_eq!(Recipe::parse(&text, "a.toml").unwrap(), recipe, "{text}");
        }
    }

    #[test]
    fn a_recipe_that_contradicts_itself_says_where() {
        let number = "[[feature]]\nkind = \"number\"\ncolumn = \"x\"\n";
        let image = |white: &str| {
            format!("[image]\nchannels = 1\nheight = 2\nwidth = 2\nwhite = {white}\n")
        };
        for (rest, sentence) in [
            (number.repeat(2), "`x` must be one feature, got two rules"),
            (image("0.0"), "`white` must be finite and positive, got 0"),
            (image("nan"), "`white` must be finite and positive, got NaN"),
            (
                image("255.0").replace("height = 2", "height = 9223372036854775807"),
                "an image must have 1 to 1048576 pixels",
            ),
            (
                format!("{number}range = [-1e308, 1e308]\n"),
                "must be two ascending numbers",
            ),
            (
                "[[feature]]\nkind = \"flag\"\ncolumn = \"x\"\non = [\"a\"]\noff = [\"a\"]\n".to_owned(),
                "lists `a` in both `on` and `off`",
            ),
            (
                "[[feature]]\nkind = \"category\"\ncolumn = \"x\"\ngroup = [{ name = \"a\" }, { name = \"a\" }]\n".to_owned(),
                "two groups of the name `a`",
            ),
        ] {
            let refusal = refusal(&rest);
            assert!(refusal.contains(sentence), "`{sentence}` is not in: {refusal}");
        }
        assert!(Recipe::parse(&format!("{START}{}", image("16.0")), "a.toml").is_ok());
    }
}
