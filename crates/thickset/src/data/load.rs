//! From a name or a file to a dataset.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use super::csv::{self, ReadRule, Wanted};
use super::dataset::Dataset;
use super::encoding::{self, Encoding};
use super::infer::{self, InferOptions};
use super::known::{self, Known};
use super::recipe::{FeatureRule, FileRule, Format, Recipe, Role};
use super::schema::Schema;
use super::split::Split;
use super::table::{ColumnType, Table, Values};
use super::{
    cifar, correlation_pack, graph_folder, idx, image_folder, locate, nel, pairs, parquet, source,
};
use crate::{Error, Result, Seed};

/// Fewer rows cannot be split into three parts worth the name.
const LEAST_ROWS: usize = 10;

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
        }
    }
}

/// Inputs without a schema for tables: images and graphs as they come from their readers.
#[derive(Debug)]
pub(super) struct Inputs {
    /// Row-major, one input a row.
    pub values: Vec<f32>,
    /// The class of each input.
    pub labels: Vec<usize>,
    /// What the features are.
    pub schema: Schema,
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
    if path.is_dir() {
        let (inputs, classes) = if path.join(graph_folder::LABELS).is_file() {
            graph_folder::read(path)?
        } else {
            image_folder::read(path, options.image_size)?
        };
        return finish_inputs(
            what,
            "a folder of images or graphs",
            inputs,
            classes,
            None,
            options,
        );
    }
    if !path.is_file() {
        return Err(known::unknown(what));
    }
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
        let inputs = idx::join(images, labels, what)?;
        let classes = (0..=inputs.labels.iter().copied().max().unwrap_or(0))
            .map(|class| class.to_string())
            .collect();
        return finish_inputs(what, "IDX images", inputs, classes, None, options);
    }
    let table = match options.recipe.as_ref() {
        Some(recipe) => read_table(path, &recipe.read, &wanted(recipe))?,
        None => {
            let mut types: BTreeMap<String, ColumnType> = options
                .categories
                .iter()
                .map(|name| (name.clone(), ColumnType::Text))
                .collect();
            types.extend(
                options
                    .target
                    .iter()
                    .map(|name| (name.clone(), ColumnType::Text)),
            );
            let wanted = Wanted {
                only: None,
                types,
                last_is_text: options.target.is_none(),
            };
            read_table(path, &options.read, &wanted)?
        }
    };
    for name in &options.categories {
        table.column(name)?;
    }
    let recipe = match options.recipe.clone() {
        Some(recipe) => recipe,
        None => {
            let last = table
                .columns
                .last()
                .map(|column| column.name.clone())
                .unwrap_or_default();
            let target = infer::target(&table, options.target.as_ref().unwrap_or(&last))?;
            Recipe {
                name: path
                    .file_stem()
                    .map(|stem| stem.to_string_lossy().into_owned())
                    .unwrap_or_default(),
                title: format!("{what}, predicting `{}`", target.column),
                origin: None,
                format: Format::Table,
                read: options.read.clone(),
                target,
                files: Vec::new(),
                keeps: Vec::new(),
                features: Vec::new(),
                image: None,
                pairs: None,
                attack: None,
            }
        }
    };
    finish_table(what, table, &[], recipe, options)
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
fn wanted(recipe: &Recipe) -> Wanted {
    if recipe.image.is_some() || recipe.features.is_empty() {
        let types = BTreeMap::from([(recipe.target.column.clone(), ColumnType::Text)]);
        return Wanted {
            only: None,
            types,
            last_is_text: false,
        };
    }
    let mut types = BTreeMap::new();
    for keep in &recipe.keeps {
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
        last_is_text: false,
    }
}

/// Reads delimited text or Parquet, by the file's first bytes.
fn read_table(path: &Path, rule: &ReadRule, wanted: &Wanted) -> Result<Table> {
    if parquet::is_parquet(path)? {
        parquet::read(path, rule, wanted)
    } else {
        csv::read(path, rule, wanted)
    }
}

fn open_known(known: &Known, options: &OpenOptions) -> Result<Dataset> {
    let recipe = known.recipe()?;
    let folders = locate::folders(options.data_dir.as_deref());
    // The bytes of each file that is there, and a name for messages.
    let mut files: Vec<(&FileRule, Vec<u8>, String)> = Vec::new();
    let mut notes = Vec::new();
    for file in &recipe.files {
        if let Some(bytes) = known.bundled {
            let mut content = Vec::new();
            let mut reader = flate2::read::GzDecoder::new(bytes);
            std::io::Read::read_to_end(&mut reader, &mut content).map_err(|source| Error::Io {
                action: "read",
                path: file.path.clone(),
                source,
            })?;
            files.push((file, content, format!("{} (bundled)", file.path)));
        } else if let Some(path) = locate::find(&folders, &file.path) {
            let bytes = source::read_pinned(&path, file.sha256.as_deref())?;
            files.push((file, bytes, path.display().to_string()));
        } else if file.optional {
            notes.push(format!("`{}` is not there; read without it", file.path));
        } else {
            return Err(missing(&recipe, &file.path, &folders));
        }
    }
    if !files.iter().any(|(file, ..)| file.role == Role::Rows) {
        return Err(missing(&recipe, &recipe.files[0].path, &folders));
    }
    let mut dataset = match recipe.format {
        Format::Table => {
            let mut whole: Option<Table> = None;
            let mut is_test = Vec::new();
            for (file, bytes, path) in &files {
                let table =
                    csv::read_from(Cursor::new(bytes), path, &recipe.read, &wanted(&recipe))?;
                is_test.resize(is_test.len() + table.rows(), file.role == Role::Test);
                match &mut whole {
                    None => whole = Some(table),
                    Some(whole) => whole.append(&table)?,
                }
            }
            let table = whole.ok_or_else(|| missing(&recipe, &recipe.files[0].path, &folders))?;
            finish_table(known.name, table, &is_test, recipe, options)?
        }
        _ => {
            let mut whole: Option<Inputs> = None;
            let mut is_test = Vec::new();
            for (file, bytes, path) in &files {
                let inputs = read_inputs(&recipe, file, bytes, path, &folders)?;
                is_test.resize(is_test.len() + inputs.labels.len(), file.role == Role::Test);
                match &mut whole {
                    None => whole = Some(inputs),
                    Some(whole) => whole.append(inputs, path)?,
                }
            }
            let inputs = whole.ok_or_else(|| missing(&recipe, &recipe.files[0].path, &folders))?;
            let classes = recipe
                .target
                .classes
                .iter()
                .map(|class| class.name.clone())
                .collect();
            let title = recipe.title.clone();
            let mut dataset = finish_inputs(
                known.name,
                &title,
                inputs,
                classes,
                Some((&is_test, &recipe)),
                options,
            )?;
            dataset.attack = recipe.attack;
            dataset.recipe = Some(recipe);
            dataset
        }
    };
    dataset.notes.extend(notes);
    Ok(dataset)
}

fn read_inputs(
    recipe: &Recipe,
    file: &FileRule,
    bytes: &[u8],
    path: &str,
    folders: &[PathBuf],
) -> Result<Inputs> {
    let classes = recipe.target.classes.len();
    let inputs = match recipe.format {
        Format::Idx => {
            let name = file.labels.as_deref().unwrap_or_default();
            let at = locate::find(folders, name).ok_or_else(|| missing(recipe, name, folders))?;
            let labels = source::read_pinned(&at, file.labels_sha256.as_deref())?;
            idx::join(
                idx::images(bytes, path)?,
                idx::labels(&labels, &at.display().to_string())?,
                path,
            )?
        }
        Format::Cifar => cifar::read(bytes, path)?,
        Format::CorrelationPack => correlation_pack::read(bytes, path)?,
        Format::Nel => nel::read_zip(bytes, file.entry.as_deref().unwrap_or_default(), path)?,
        Format::Table => {
            return Err(Error::RecipeRule {
                name: recipe.name.clone(),
                problem: "a table is not read as images or graphs".to_owned(),
            });
        }
    };
    match inputs.labels.iter().find(|&&label| label >= classes) {
        None => Ok(inputs),
        Some(label) => Err(Error::UnknownClass {
            path: path.to_owned(),
            column: recipe.target.column.clone(),
            value: label.to_string(),
        }),
    }
}

impl Inputs {
    fn append(&mut self, other: Self, path: &str) -> Result<()> {
        if self.schema != other.schema {
            return Err(Error::Malformed {
                path: path.to_owned(),
                line: None,
                problem: "its inputs have another shape than those of the file before it"
                    .to_owned(),
            });
        }
        self.values.extend(other.values);
        self.labels.extend(other.labels);
        Ok(())
    }
}

fn missing(recipe: &Recipe, file: &str, folders: &[PathBuf]) -> Error {
    Error::MissingData {
        name: recipe.name.clone(),
        file: file.to_owned(),
        url: recipe
            .origin
            .as_ref()
            .map(|origin| origin.url.clone())
            .unwrap_or_default(),
        folders: folders
            .iter()
            .map(|folder| folder.display().to_string())
            .collect(),
    }
}

/// Leaves out rows that the recipe does not keep, and rows without a label.
fn filter(
    table: &mut Table,
    recipe: &Recipe,
    is_test: &mut Vec<bool>,
    notes: &mut Vec<String>,
) -> Result<()> {
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
                values
                    .text(row)
                    .is_some_and(|text| !rule.none_of.contains(&text))
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
    if keep.contains(&false) {
        table.retain(&keep);
        let mut flags = keep.iter();
        is_test.retain(|_| *flags.next().unwrap_or(&true));
    }
    Ok(())
}

fn finish_table(
    name: &str,
    mut table: Table,
    is_test: &[bool],
    mut recipe: Recipe,
    options: &OpenOptions,
) -> Result<Dataset> {
    let mut is_test = is_test.to_vec();
    let mut notes = std::mem::take(&mut table.notes);
    filter(&mut table, &recipe, &mut is_test, &mut notes)?;
    let labels: Vec<usize> = encoding::labels(&recipe.target, &table)?
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
    if recipe.features.is_empty() {
        let target = recipe.target.column.clone();
        recipe.features =
            infer::features(&table, &target, &split.train, &options.infer, &mut notes)?;
    }
    let encoding = Encoding::fit(&recipe, &table, &split.train)?;
    let missing = missing_values(&table, &recipe);
    table.columns.retain(|column| {
        recipe
            .features
            .iter()
            .any(|rule| rule.column() == column.name)
    });
    let encoded = encoding.apply(table)?;
    for (column, rows) in &encoded.unseen {
        notes.push(format!(
            "column `{column}` has values outside its groups in {rows} rows"
        ));
    }
    Ok(Dataset {
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
        missing,
        notes,
        attack: recipe.attack,
        recipe: Some(recipe),
        values: encoded.values,
        pairs: None,
    })
}

fn missing_values(table: &Table, recipe: &Recipe) -> BTreeMap<String, usize> {
    let mut missing = BTreeMap::new();
    for column in &table.columns {
        let used = recipe
            .features
            .iter()
            .any(|rule| rule.column() == column.name);
        let count = if used {
            (0..table.rows())
                .filter(|&row| column.values.is_missing(row))
                .count()
        } else {
            0
        };
        if count > 0 {
            missing.insert(column.name.clone(), count);
        }
    }
    missing
}

/// At least ten rows and two classes.
fn check_labels<T>(
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

fn finish_inputs(
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
    };
    match known.and_then(|(_, recipe)| recipe.pairs.as_ref()) {
        Some(rule) => pairs::pair(dataset, rule, options.seed),
        None => Ok(dataset),
    }
}

/// A table's columns as the pixels of an image.
impl super::recipe::ImageRule {
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
