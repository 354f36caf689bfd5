//! From what the readers give to a dataset: filter, label, split, fit, encode.

use std::collections::BTreeMap;

use super::load::OpenOptions;
use super::pairs;
use super::recipe::{ImageRule, Recipe};
use super::split::Split;
use crate::data::dataset::Dataset;
use crate::data::encode::encoding::{self, Encoding, unseen_note};
use crate::data::encode::infer::{self, InferOptions};
use crate::data::read::inputs::Inputs;
use crate::data::read::table::{Table, Values};
use crate::data::schema::Schema;
use crate::{Error, Result};

/// Fewer rows cannot be split into three parts worth the name.
const LEAST_ROWS: usize = 10;

/// Leaves out rows that the recipe does not keep, and rows without a label; which rows stay, if not all do.
fn filter(
    table: &mut Table,
    recipe: &Recipe,
    is_test: &mut Vec<bool>,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<bool>>> {
    let rows = table.rows();
    let mut keep = vec![true; rows];
    for rule in &recipe.keeps {
        let values = &table.column(&rule.column)?.values;
        for (row, flag) in keep.iter_mut().enumerate() {
            *flag &= if rule.is_numeric() {
                values.number(row).is_some_and(|number| {
                    rule.at_least.is_none_or(|least| number >= least)
                        && rule.at_most.is_none_or(|most| number <= most)
                })
            } else {
                !values.is_missing(row)
                    && values
                        .text(row)
                        .is_none_or(|text| !rule.none_of.contains(&text))
            };
        }
    }
    let kept = keep.iter().filter(|&&flag| flag).count();
    if kept < rows {
        notes.push(format!(
            "left out {} rows by the recipe's filters",
            rows - kept
        ));
    }
    let target = &table.column(&recipe.target.column)?.values;
    let mut unlabelled = 0;
    for (row, flag) in keep.iter_mut().enumerate() {
        if *flag && target.is_missing(row) {
            *flag = false;
            unlabelled += 1;
        }
    }
    if unlabelled > 0 {
        notes.push(format!(
            "left out {unlabelled} rows without a value of `{}`",
            recipe.target.column
        ));
    }
    if !keep.contains(&false) {
        return Ok(None);
    }
    table.retain(&keep);
    let mut flags = keep.iter();
    is_test.retain(|_| *flags.next().unwrap_or(&true));
    Ok(Some(keep))
}

/// What the target and the filters of a recipe decide.
pub struct Labelled {
    pub labels: Vec<usize>,
    pub split: Split,
    pub notes: Vec<String>,
    /// The official test rows among those that stay.
    pub is_test: Vec<bool>,
    /// Which rows stay, if not all do.
    pub keep: Option<Vec<bool>>,
}

/// Leaves out the rows of a table that are not to stay, labels the others and splits them.
pub fn labelled(
    table: &mut Table,
    is_test: &[bool],
    recipe: &Recipe,
    options: &OpenOptions,
) -> Result<Labelled> {
    let mut is_test = is_test.to_vec();
    let mut notes = std::mem::take(&mut table.notes);
    let keep = filter(table, recipe, &mut is_test, &mut notes)?;
    let labels: Vec<usize> = encoding::labels(&recipe.target, table)?
        .into_iter()
        .flatten()
        .collect();
    check_labels(
        &table.path,
        &recipe.target.column,
        &labels,
        &recipe.target.classes[..],
        |class| &class.name,
    )?;
    let split = split(&labels, &is_test, options);
    Ok(Labelled {
        labels,
        split,
        notes,
        is_test,
        keep,
    })
}

/// From a table and its recipe to a dataset; `is_test` marks the official test rows, if there are some.
pub fn finish_table(
    name: &str,
    mut table: Table,
    is_test: &[bool],
    recipe: Recipe,
    options: &OpenOptions,
) -> Result<Dataset> {
    let Labelled {
        labels,
        split,
        notes,
        is_test,
        ..
    } = labelled(&mut table, is_test, &recipe, options)?;
    if let Some(image) = recipe.image {
        let values = image.values(&table, &recipe.target.column)?;
        let classes = recipe
            .target
            .classes
            .iter()
            .map(|class| class.name.clone())
            .collect();
        let inputs = Inputs {
            values,
            labels,
            schema: image.schema(),
        };
        let title = recipe.title.clone();
        let mut dataset = finish_inputs(
            name,
            &title,
            inputs,
            classes,
            Some((&is_test, &recipe)),
            options,
        )?;
        dataset.attack = recipe.attack;
        dataset.recipe = Some(recipe);
        dataset.notes = notes;
        return Ok(dataset);
    }
    let labelled = LabelledTable {
        table,
        labels,
        split,
    };
    encode_table(name, labelled, recipe, &options.infer, notes)
}

/// A table, the classes of its rows and their split.
pub struct LabelledTable {
    pub table: Table,
    pub labels: Vec<usize>,
    pub split: Split,
}

/// From a table whose labels are known to a dataset: fits the recipe's encoding to the training rows, inferring the features
/// where the recipe has none, and applies it.
pub fn encode_table(
    name: &str,
    labelled: LabelledTable,
    mut recipe: Recipe,
    infer: &InferOptions,
    mut notes: Vec<String>,
) -> Result<Dataset> {
    let LabelledTable {
        mut table,
        labels,
        split,
    } = labelled;
    if recipe.features.is_empty() {
        let target = recipe.target.column.clone();
        recipe.features = infer::features(&table, &target, &split.train, infer, &mut notes)?;
    }
    let encoding = Encoding::fit(&recipe, &table, &split.train)?;
    table.columns.retain(|column| {
        recipe
            .features
            .iter()
            .any(|rule| rule.column() == column.name)
    });
    let encoded = encoding.apply(table)?;
    for (column, rows) in &encoded.unseen {
        notes.push(unseen_note(column, *rows));
    }
    let mut dataset = Dataset {
        name: name.to_owned(),
        title: recipe.title.clone(),
        labels,
        classes: recipe
            .target
            .classes
            .iter()
            .map(|class| class.name.clone())
            .collect(),
        schema: encoding.schema(),
        split,
        encoding: Some(encoding),
        missing: encoded.missing,
        notes,
        attack: recipe.attack,
        recipe: Some(recipe),
        values: encoded.values,
        pairs: None,
        weights: None,
        given: Some(encoded.given),
    };
    dataset.learn_references();
    Ok(dataset)
}

/// Refuses fewer than ten rows or two classes.
pub fn check_labels<T>(
    path: &str,
    column: &str,
    labels: &[usize],
    classes: &[T],
    name: impl Fn(&T) -> &String,
) -> Result<()> {
    let Some(&first) = labels.first() else {
        return Err(Error::NoRows {
            path: path.to_owned(),
        });
    };
    if labels.len() < LEAST_ROWS {
        return Err(Error::TooFewRows {
            path: path.to_owned(),
            rows: labels.len(),
            least: LEAST_ROWS,
        });
    }
    if labels.iter().all(|&label| label == first) {
        let class = classes
            .get(first)
            .map(|class| name(class).clone())
            .unwrap_or_default();
        return Err(Error::OneClass {
            path: path.to_owned(),
            column: column.to_owned(),
            class,
        });
    }
    Ok(())
}

fn split(labels: &[usize], is_test: &[bool], options: &OpenOptions) -> Split {
    if is_test.contains(&true) && !options.random_test {
        Split::with_test(labels, is_test, options.seed)
    } else {
        Split::stratified(labels, options.seed)
    }
}

/// From images or graphs to a dataset, or to one of pairs if the recipe says so.
pub fn finish_inputs(
    name: &str,
    title: &str,
    inputs: Inputs,
    classes: Vec<String>,
    known: Option<(&[bool], &Recipe)>,
    options: &OpenOptions,
) -> Result<Dataset> {
    check_labels(name, "the labels", &inputs.labels, &classes, |class| class)?;
    let is_test = known.map_or(&[][..], |(is_test, _)| is_test);
    let split = split(&inputs.labels, is_test, options);
    let dataset = Dataset {
        name: name.to_owned(),
        title: title.to_owned(),
        recipe: None,
        labels: inputs.labels,
        classes,
        schema: inputs.schema,
        split,
        encoding: None,
        missing: BTreeMap::new(),
        notes: Vec::new(),
        attack: None,
        values: inputs.values,
        pairs: None,
        weights: None,
        given: None,
    };
    let recipe = known.map(|(_, recipe)| recipe);
    let recipe = recipe.or(options.recipe.as_ref());
    match recipe.and_then(|recipe| recipe.pairs.as_ref()) {
        Some(rule) => pairs::pair(dataset, rule, options.seed),
        None => Ok(dataset),
    }
}

/// A table's columns as the pixels of an image.
impl ImageRule {
    fn schema(self) -> Schema {
        Schema::image(self.channels, self.height, self.width, self.white)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "features are f32 by design"
    )]
    fn values(self, table: &Table, target: &str) -> Result<Vec<f32>> {
        let pixels: Vec<&Values> = table
            .columns
            .iter()
            .filter(|column| column.name != target)
            .map(|column| &column.values)
            .collect();
        let expected = self.channels * self.height * self.width;
        if pixels.len() != expected {
            return Err(Error::Malformed {
                path: table.path.clone(),
                line: None,
                problem: format!("expected {expected} pixel columns, got {}", pixels.len()),
            });
        }
        let mut values = Vec::with_capacity(table.rows() * expected);
        for row in 0..table.rows() {
            values.extend(
                pixels
                    .iter()
                    .map(|column| (column.number(row).unwrap_or(0.0) / self.white) as f32),
            );
        }
        Ok(values)
    }
}
