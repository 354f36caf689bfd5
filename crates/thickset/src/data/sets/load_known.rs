//! Opening a dataset by its name: finding, checking and reading the files of its recipe.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use super::assemble::{finish_inputs, finish_table};
use super::known::Known;
use super::load::{OpenOptions, wanted};
use super::locate;
use super::recipe::{FileRule, Format, Recipe, Role};
use crate::data::dataset::Dataset;
use crate::data::read::graph_table::{self, NamedText};
use crate::data::read::inputs::Inputs;
use crate::data::read::table::Table;
use crate::data::read::{cifar, correlation_pack, csv, idx, image_index, nel, source};
use crate::{Error, Result};

/// A file of a recipe, its bytes and a name for messages.
type Read<'r> = (&'r FileRule, Vec<u8>, String);

/// The files of a known dataset that are there, and what to say of those that are not.
fn read_files<'r>(
    known: &Known,
    recipe: &'r Recipe,
    folders: &[PathBuf],
) -> Result<(Vec<Read<'r>>, Vec<String>)> {
    let mut files = Vec::new();
    let mut notes = Vec::new();
    for file in &recipe.files {
        if let Some(bytes) = known.bundled {
            let mut content = Vec::new();
            let mut reader = flate2::read::GzDecoder::new(bytes);
            std::io::Read::read_to_end(&mut reader, &mut content)
                .map_err(|source| Error::io("read", &file.path, source))?;
            files.push((file, content, format!("{} (bundled)", file.path)));
        } else if let Some(path) = locate::find(folders, &file.path) {
            let bytes = source::read_pinned(&path, file.sha256.as_deref())?;
            files.push((file, bytes, path.display().to_string()));
        } else if file.optional {
            notes.push(format!("`{}` is not there; read without it", file.path));
        } else {
            return Err(missing(recipe, &file.path, folders));
        }
    }
    if !files.iter().any(|(file, ..)| file.role == Role::Rows) {
        return Err(missing(recipe, &recipe.files[0].path, folders));
    }
    Ok((files, notes))
}

/// The rows of all files of a table, and which of them are test rows.
fn join_tables(
    recipe: &Recipe,
    files: &[Read<'_>],
    folders: &[PathBuf],
) -> Result<(Table, Vec<bool>)> {
    let mut whole: Option<Table> = None;
    let mut is_test = Vec::new();
    for (file, bytes, path) in files {
        let table = csv::read_from(Cursor::new(bytes), path, &recipe.read, &wanted(recipe))?;
        is_test.resize(is_test.len() + table.rows(), file.role == Role::Test);
        match &mut whole {
            None => whole = Some(table),
            Some(whole) => whole.append(&table)?,
        }
    }
    let table = whole.ok_or_else(|| missing(recipe, &recipe.files[0].path, folders))?;
    Ok((table, is_test))
}

/// The table of a known dataset as its files have it, before any encoding; `None` of images and graphs.
pub(super) fn read_known_table(known: &Known, data_dir: Option<&Path>) -> Result<Option<Table>> {
    let recipe = known.recipe()?;
    if recipe.format != Format::Table {
        return Ok(None);
    }
    let folders = locate::folders(data_dir);
    let (files, _) = read_files(known, &recipe, &folders)?;
    join_tables(&recipe, &files, &folders).map(|(table, _)| Some(table))
}

/// Opens a known dataset.
pub fn open_known(known: &Known, options: &OpenOptions) -> Result<Dataset> {
    let recipe = known.recipe()?;
    let folders = locate::folders(options.data_dir.as_deref());
    let (files, notes) = read_files(known, &recipe, &folders)?;
    let mut dataset = if recipe.format == Format::Table {
        let (table, is_test) = join_tables(&recipe, &files, &folders)?;
        drop(files);
        finish_table(known.name, table, &is_test, recipe, options)?
    } else {
        let mut whole: Option<Inputs> = None;
        let mut is_test = Vec::new();
        for (file, bytes, path) in &files {
            let inputs = if recipe.format == Format::ImageIndex {
                let classes = class_names(&recipe);
                let at = Path::new(path.as_str());
                let (inputs, listed) = image_index::read(bytes, at, &classes, options.image_size)?;
                is_test.extend(listed);
                inputs
            } else {
                let inputs = read_inputs(&recipe, file, bytes, path, &folders)?;
                is_test.resize(is_test.len() + inputs.labels.len(), file.role == Role::Test);
                inputs
            };
            match &mut whole {
                None => whole = Some(inputs),
                Some(whole) => whole.append(inputs, path)?,
            }
        }
        let inputs = whole.ok_or_else(|| missing(&recipe, &recipe.files[0].path, &folders))?;
        let classes = class_names(&recipe);
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
                &idx::images(bytes, path)?,
                idx::labels(&labels, &at.display().to_string())?,
                path,
            )?
        }
        Format::Cifar => cifar::read(bytes, path)?,
        Format::CorrelationPack => correlation_pack::read(bytes, path)?,
        Format::Nel => nel::read_zip(bytes, file.entry.as_deref().unwrap_or_default(), path)?,
        Format::GraphTable => {
            let name = file.labels.as_deref().unwrap_or_default();
            let at = locate::find(folders, name).ok_or_else(|| missing(recipe, name, folders))?;
            let labels = source::read_pinned(&at, file.labels_sha256.as_deref())?;
            let at = at.display().to_string();
            let (edges, labels) = (
                NamedText { bytes, path },
                NamedText {
                    bytes: &labels,
                    path: &at,
                },
            );
            graph_table::read(&edges, &labels, &class_names(recipe))?
        }
        Format::ImageIndex | Format::Table => {
            return Err(Error::RecipeRule {
                name: recipe.name.clone(),
                problem: "a table or an index is not read as images or graphs".to_owned(),
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

fn class_names(recipe: &Recipe) -> Vec<String> {
    let classes = recipe.target.classes.iter();
    classes.map(|class| class.name.clone()).collect()
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
