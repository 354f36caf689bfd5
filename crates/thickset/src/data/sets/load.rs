//! From a name or a file to a dataset.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::assemble::{finish_inputs, finish_table};
use super::known::{self, Known};
use super::large_table::{LARGE, LargeTable};
use super::load_known::open_known;
use super::recipe::{Format, Recipe};
use super::table_files;
use crate::data::dataset::Dataset;
use crate::data::encode::encoding::{Encoded, Encoding};
use crate::data::encode::feature_rule::FeatureRule;
use crate::data::encode::infer::{self, InferOptions};
use crate::data::read::read_rule::{ReadRule, Wanted};
use crate::data::read::table::{Column, ColumnType, Table};
use crate::data::read::table_reader::read_all;
use crate::data::read::{graph_folder, idx, image_folder, source};
use crate::{Result, Seed};

/// How a dataset is opened.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// A data folder to look in first.
    pub data_dir: Option<PathBuf>,
    /// Decides the split and the draw of pairs.
    pub seed: Seed,
    /// Splits all rows at random, even where there is an official test set.
    pub random_test: bool,
    /// Encodes the user's file by this recipe, instead of inferring one.
    pub recipe: Option<Recipe>,
    /// The target of the user's table; the last column if absent.
    pub target: Option<String>,
    /// How the user's text is read.
    pub read: ReadRule,
    /// Columns to read as categories though they look like numbers.
    pub categories: Vec<String>,
    /// What inference may be told.
    pub infer: InferOptions,
    /// Height and width that the images of a folder are scaled to; if absent, all must have the same.
    pub image_size: Option<(usize, usize)>,
    /// Tables of more bytes than this are not held beside the matrix that is made of them: slower, and the same.
    pub large: u64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            data_dir: None,
            seed: Seed::new(0),
            random_test: false,
            recipe: None,
            target: None,
            read: ReadRule::default(),
            categories: Vec::new(),
            infer: InferOptions::default(),
            image_size: None,
            large: LARGE,
        }
    }
}

/// Opens a dataset by its name, or a file or folder by its path.
///
/// # Errors
/// For whatever is missing or wrong, with file and line where there are some.
pub fn open(what: &str, options: &OpenOptions) -> Result<Dataset> {
    if let Some(known) = Known::find(what) {
        return open_known(known, options);
    }
    let path = Path::new(what);
    let tables = table_files::find(what)?;
    if path.is_dir() && tables.is_none() {
        let is_graphs = path.join(graph_folder::LABELS).is_file();
        let (inputs, classes) = if is_graphs {
            graph_folder::read(path)?
        } else {
            image_folder::read(path, options.image_size)?
        };
        let title = "a folder of images or graphs";
        let mut dataset = finish_inputs(what, title, inputs, classes, None, options)?;
        if is_graphs {
            graph_folder::learn_range(&mut dataset);
        }
        return Ok(dataset);
    }
    let Some(tables) = tables else {
        return Err(known::unknown(what));
    };
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    if name.contains("-idx3-") {
        let labels = path.with_file_name(labels_name(path));
        let (images, labels_bytes) = (source::read(path)?, source::read(&labels)?);
        let (images, labels) = (
            idx::images(&images, what)?,
            idx::labels(&labels_bytes, &labels.display().to_string())?,
        );
        let inputs = idx::join(&images, labels, what)?;
        let classes = (0..=inputs.labels.iter().copied().max().unwrap_or(0))
            .map(|class| class.to_string())
            .collect();
        return finish_inputs(what, "IDX images", inputs, classes, None, options);
    }
    let (rule, wanted) = match &options.recipe {
        Some(recipe) => (&recipe.read, wanted(recipe)),
        None => (&options.read, wanted_of_stranger(options)),
    };
    let is_image = options
        .recipe
        .as_ref()
        .is_some_and(|recipe| recipe.image.is_some());
    if !is_image && is_large(&tables, options.large) {
        let large = LargeTable::read(&tables, rule, &wanted)?;
        let recipe = recipe_for(what, large.table(), options)?;
        return large.finish(what, recipe, options);
    }
    let table = read_all(&tables, rule, &wanted)?;
    let recipe = recipe_for(what, &table, options)?;
    finish_table(what, table, &[], recipe, options)
}

/// Whether files are too large to be held beside the matrix made of them.
fn is_large(files: &[PathBuf], most: u64) -> bool {
    let size = |path: &PathBuf| {
        let bytes = path.metadata().map_or(0, |found| found.len());
        let is_packed = path
            .extension()
            .is_some_and(|ending| ending == "gz" || ending == "parquet");
        // Texts pack to a fifth or so.
        if is_packed { 5 * bytes } else { bytes }
    };
    files.iter().map(size).sum::<u64>() > most
}

/// What is read of a table that nobody described.
fn wanted_of_stranger(options: &OpenOptions) -> Wanted {
    let texts = options.categories.iter().chain(&options.target);
    Wanted {
        only: None,
        types: texts.map(|name| (name.clone(), ColumnType::Text)).collect(),
        last_is_text: options.target.is_none(),
        ..Wanted::default()
    }
}

/// The recipe that was given, or one for a table that nobody described, still without its features.
fn recipe_for(what: &str, table: &Table, options: &OpenOptions) -> Result<Recipe> {
    for name in &options.categories {
        table.column(name)?;
    }
    if let Some(recipe) = options.recipe.clone() {
        return Ok(recipe);
    }
    // Programs that end every line with a comma add a last column without a value.
    let is_empty = |column: &&Column| {
        !column.values.is_empty() && column.values.missing() == column.values.len()
    };
    let last = table.columns.iter().rev().find(|column| !is_empty(column));
    let last = last.map(|column| column.name.clone()).unwrap_or_default();
    let target = infer::target(table, options.target.as_ref().unwrap_or(&last))?;
    Ok(Recipe {
        name: Path::new(what)
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default(),
        title: format!("{what}, predicting `{}`", target.column),
        origin: None,
        format: Format::Table,
        missing_column: options.infer.missing_column,
        read: ReadRule {
            forms: table.forms.clone(),
            ..options.read.clone()
        },
        target,
        files: Vec::new(),
        keeps: Vec::new(),
        features: Vec::new(),
        image: None,
        pairs: None,
        attack: None,
    })
}

/// A table's file as it is, delimited text or Parquet by its first bytes.
///
/// # Errors
/// For whatever is missing or wrong, with file and line where there are some.
pub fn read_table(path: &Path, rule: &ReadRule, wanted: &Wanted) -> Result<Table> {
    read_all(&[path.to_owned()], rule, wanted)
}

/// The rows of a table's file by an encoding that was fitted before, in the order of the file; the target is not needed.
///
/// # Errors
/// For whatever is missing or wrong, with file and line where there are some.
pub fn read_encoded(path: &Path, encoding: &Encoding) -> Result<Encoded> {
    let files = [path.to_owned()];
    encoding.apply(read_all(&files, &encoding.read, &encoding.wanted(false))?)
}

/// The same with the class of every row; none of a row whose target is missing, and of all if the file has no target.
///
/// # Errors
/// As for [`read_encoded`], and if a target belongs to none of the classes.
pub fn read_labelled(path: &Path, encoding: &Encoding) -> Result<(Encoded, Vec<Option<usize>>)> {
    let files = [path.to_owned()];
    let table = read_all(&files, &encoding.read, &encoding.wanted(true))?;
    let target = &encoding.target.column;
    let labels = if table.columns.iter().any(|column| column.name == *target) {
        encoding.labels(&table)?
    } else {
        vec![None; table.rows()]
    };
    Ok((encoding.apply(table)?, labels))
}

/// `train-labels-idx1-ubyte` beside `train-images-idx3-ubyte`.
fn labels_name(images: &Path) -> String {
    let name = images
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    name.replace("images", "labels").replace("idx3", "idx1")
}

/// What a recipe needs of a table.
pub(in crate::data) fn wanted(recipe: &Recipe) -> Wanted {
    if recipe.image.is_some() || recipe.features.is_empty() {
        let types = BTreeMap::from([(recipe.target.column.clone(), ColumnType::Text)]);
        return Wanted {
            types,
            ..Wanted::default()
        };
    }
    let (mut types, mut levels) = (BTreeMap::new(), BTreeMap::<_, Vec<String>>::new());
    for keep in &recipe.keeps {
        let kept: &mut Vec<String> = levels.entry(keep.column.clone()).or_default();
        kept.extend(keep.none_of.iter().cloned());
        types.insert(
            keep.column.clone(),
            if keep.is_numeric() {
                ColumnType::Number
            } else {
                ColumnType::Text
            },
        );
    }
    for feature in &recipe.features {
        let number = matches!(feature, FeatureRule::Number(_));
        let listed = match feature {
            FeatureRule::Number(_) => Vec::new(),
            FeatureRule::Flag(rule) => rule.listed(),
            FeatureRule::Category(rule) => rule.listed(),
        };
        let column = feature.column().to_owned();
        levels.entry(column).or_default().extend(listed);
        types.insert(
            feature.column().to_owned(),
            if number {
                ColumnType::Number
            } else {
                ColumnType::Text
            },
        );
    }
    types.insert(recipe.target.column.clone(), ColumnType::Text);
    Wanted {
        only: Some(types.keys().cloned().collect()),
        types,
        levels,
        ..Wanted::default()
    }
}
