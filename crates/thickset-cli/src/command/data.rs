//! `thickset data`: what datasets there are, what is in them, and their numbers in a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use thickset::Seed;
use thickset::config::DataConfig;
use thickset::data::{self, Dataset, KNOWN, Known, MissingColumn, Recipe, Scale, TextEncoding};

use super::output::note;
use super::{data_view, output};

/// `thickset data`
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the datasets known by name, and whether their files are here
    #[command(
        after_help = "Examples:\n  thickset data list\n  thickset data list --data-dir ~/datasets --json"
    )]
    List {
        /// A data folder to look in before `$THICKSET_DATA` and the platform's data folder
        #[arg(long, value_name = "FOLDER")]
        data_dir: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show rows, classes and features of a dataset or of your own file
    #[command(
        after_help = "Examples:\n  thickset data show breast-cancer\n  thickset data show loans.csv --target default\n  \
                            thickset data show loans.csv --target default --recipe > loans.toml\n  \
                            thickset data show loans.csv --with loans.toml\n  thickset data show pictures/ --image-size 32x32 --json"
    )]
    Show {
        #[command(flatten)]
        source: Source,
        /// Print JSON
        #[arg(long, conflicts_with = "recipe")]
        json: bool,
        /// Print the recipe, known or inferred, to read, edit and give back by --with
        #[arg(long)]
        recipe: bool,
    },
    /// Write the encoded matrix with split and label to a file, or a known table as a plain CSV
    #[command(
        after_help = "Examples:\n  thickset data export german-credit --table --out loans.csv\n  \
                            thickset data export adult --out adult.csv\n  \
                            thickset data export loans.parquet --target default --out loans-encoded.parquet"
    )]
    Export {
        #[command(flatten)]
        source: Source,
        /// The file to write: .csv or .parquet
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
        /// The rows of a known table as somebody would have them in a CSV: categories by name, numbers as they are, no split
        #[arg(long)]
        table: bool,
    },
}

#[derive(Args)]
struct Source {
    /// A dataset's name, a CSV, Parquet or IDX file, or a folder of images or graphs
    #[arg(value_name = "NAME|FILE")]
    what: String,
    #[command(flatten)]
    reading: Reading,
    /// Decides the split
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// How data is read; the same for every command that infers what a file holds.
#[derive(Args)]
pub struct Reading {
    /// A data folder to look in before `$THICKSET_DATA` and the platform's data folder
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// The column to predict [default: the last]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Encode the file by this recipe instead of inferring one
    #[arg(long, value_name = "TOML", conflicts_with_all = ["target", "delimiter", "no_header", "text_encoding", "decimal", "day_first", "missing", "category", "drop", "immutable", "scale", "missing_column"])]
    with: Option<PathBuf>,
    /// What separates fields; `\t` is a tab [default: inferred]
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    delimiter: Option<char>,
    /// The first row is a row, not the names of the columns; they are called `column_1` and so on
    #[arg(long)]
    no_header: bool,
    /// How the bytes of a text file stand for letters [default: UTF-8, or UTF-16 as its first bytes tell]
    #[arg(long, value_enum, value_name = "ENCODING")]
    text_encoding: Option<EncodingName>,
    /// The decimal mark of numbers like 1,234 that could be read in two ways [default: as in the rest of the file]
    #[arg(long, value_name = "MARK", value_parser = parse_mark)]
    decimal: Option<char>,
    /// Dates like 03/04/2024 begin with the day [default: as in the rest of the file]
    #[arg(long)]
    day_first: bool,
    /// A text that stands for a missing value, beside the usual ones; repeatable
    #[arg(long, value_name = "TEXT")]
    missing: Vec<String>,
    /// Read this column as a category; repeatable
    #[arg(long, value_name = "COLUMN")]
    category: Vec<String>,
    /// Leave this column out; repeatable
    #[arg(long, value_name = "COLUMN")]
    drop: Vec<String>,
    /// A person cannot change this column, so attacks must not; repeatable
    #[arg(long, value_name = "COLUMN")]
    immutable: Vec<String>,
    /// How numbers are scaled
    #[arg(long, value_enum, default_value = "min-max")]
    scale: ScaleName,
    /// What happens when rows to be predicted lack a column
    #[arg(long, value_enum, default_value = "error")]
    missing_column: MissingColumnName,
    /// Split all rows at random, even where there is an official test set
    #[arg(long)]
    random_test: bool,
    /// Scale the images of a folder to this height and width
    #[arg(long, value_name = "HEIGHTxWIDTH", value_parser = parse_size)]
    image_size: Option<(usize, usize)>,
}

#[derive(Clone, Copy, ValueEnum)]
enum EncodingName {
    #[value(name = "utf-8")]
    Utf8,
    #[value(name = "utf-16le")]
    Utf16Le,
    #[value(name = "utf-16be")]
    Utf16Be,
    /// Western Europe; Latin-1 is a part of it
    #[value(name = "windows-1252", alias = "latin-1")]
    Windows1252,
}

#[derive(Clone, Copy, ValueEnum)]
enum ScaleName {
    MinMax,
    Standard,
}

#[derive(Clone, Copy, ValueEnum)]
enum MissingColumnName {
    /// The file is refused
    Error,
    /// All of its values count as missing
    Impute,
}

fn parse_mark(text: &str) -> Result<char, String> {
    match text {
        "." => Ok('.'),
        "," => Ok(','),
        _ => Err("expected `.` or `,`".to_owned()),
    }
}

fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (characters.next(), characters.next(), text) {
        (_, _, "\\t") => Ok('\t'),
        (Some(one), None, _) if one.is_ascii() => Ok(one),
        _ => Err("expected one ASCII character".to_owned()),
    }
}

pub(super) fn parse_size(text: &str) -> Result<(usize, usize), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=4096).contains(side));
    text.split_once('x')
        .and_then(|(height, width)| Some((side(height)?, side(width)?)))
        .ok_or_else(|| "expected height and width from 1 to 4096, like 32x32".to_owned())
}

/// Runs the subcommand.
pub fn run(arguments: Arguments) -> Result<()> {
    match arguments.action {
        Action::List { data_dir, json } => list(data_dir.as_deref(), json),
        Action::Show {
            source,
            json,
            recipe,
        } => show(&source, json, recipe),
        Action::Export {
            source,
            out,
            table: true,
        } => source.export_table(&out),
        Action::Export { source, out, .. } => {
            let dataset = source.open()?;
            tell(&dataset);
            data::export(&dataset, &out)?;
            let (rows, features) = (dataset.rows(), dataset.features());
            say!(
                "wrote {rows} rows of {features} features to {}",
                out.display()
            );
            Ok(())
        }
    }
}

impl Source {
    fn export_table(&self, out: &Path) -> Result<()> {
        let Some(known) = Known::find(&self.what) else {
            bail!(
                "--table writes a dataset that is known by name (see `thickset data list`); `{}` is none",
                self.what
            );
        };
        let rows = data::export_table(known, self.reading.data_dir.as_deref(), out)?;
        say!("wrote {rows} rows to {}", out.display());
        Ok(())
    }

    fn open(&self) -> Result<Dataset> {
        let config = self.reading.config(&self.what);
        Ok(config.open(Seed::new(self.seed))?)
    }
}

impl Reading {
    /// The same as a run's configuration says it.
    pub fn config(&self, source: &str) -> DataConfig {
        DataConfig {
            source: source.to_owned(),
            folder: self.data_dir.clone(),
            target: self.target.clone(),
            recipe: self.with.clone(),
            delimiter: self.delimiter,
            header: self.no_header.then_some(false),
            text_encoding: self.text_encoding.map(|encoding| match encoding {
                EncodingName::Utf8 => TextEncoding::Utf8,
                EncodingName::Utf16Le => TextEncoding::Utf16Le,
                EncodingName::Utf16Be => TextEncoding::Utf16Be,
                EncodingName::Windows1252 => TextEncoding::Windows1252,
            }),
            decimal: self.decimal,
            day_first: self.day_first.then_some(true),
            missing: self.missing.clone(),
            categories: self.category.clone(),
            drop: self.drop.clone(),
            immutable: self.immutable.clone(),
            scale: match self.scale {
                ScaleName::MinMax => Scale::MinMax,
                ScaleName::Standard => Scale::Standard,
            },
            missing_column: match self.missing_column {
                MissingColumnName::Error => MissingColumn::Error,
                MissingColumnName::Impute => MissingColumn::Impute,
            },
            random_test: self.random_test,
            image_size: self.image_size,
        }
    }
}

/// Tells what was left out or assumed.
fn tell(dataset: &Dataset) {
    dataset.notes.iter().for_each(|text| note(text));
}

fn list(data_dir: Option<&Path>, json: bool) -> Result<()> {
    let folders = data::folders(data_dir);
    let mut rows = Vec::new();
    for known in KNOWN {
        let recipe = known.recipe()?;
        rows.push((known, status(known, &recipe, &folders), recipe));
    }
    if json {
        let items: Vec<_> = rows
            .iter()
            .map(|(known, status, recipe)| {
                json!({
                    "name": known.name,
                    "title": recipe.title,
                    "status": status,
                    "url": recipe.origin.as_ref().map(|origin| &origin.url),
                    "licence": recipe.origin.as_ref().map(|origin| &origin.licence),
                    "files": recipe.files.iter().map(|file| json!({"path": file.path, "sha256": file.sha256})).collect::<Vec<_>>(),
                })
            })
            .collect();
        return output::print_json(&items);
    }
    let mut text = String::new();
    for (known, status, recipe) in rows {
        writeln!(text, "{:<18} {status:<8} {}", known.name, recipe.title)?;
    }
    output::print(&text)?;
    let folders: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    say!("\nlooked in {}", folders.join(", "));
    Ok(())
}

fn status(known: &Known, recipe: &Recipe, folders: &[PathBuf]) -> &'static str {
    if known.bundled.is_some() {
        return "bundled";
    }
    let is_here = |path: &String| data::find_file(folders, path).is_some();
    let needed = recipe.files.iter().filter(|file| !file.optional);
    let mut paths = needed.flat_map(|file| std::iter::once(&file.path).chain(&file.labels));
    let optional_ok = recipe.files.iter().all(|file| !file.optional)
        || recipe
            .files
            .iter()
            .any(|file| file.optional && is_here(&file.path));
    if paths.all(is_here) && optional_ok {
        "here"
    } else {
        "missing"
    }
}

fn show(source: &Source, json: bool, recipe: bool) -> Result<()> {
    if recipe {
        if let Some(known) = Known::find(&source.what) {
            return output::print(known.recipe);
        }
        let dataset = source.open()?;
        tell(&dataset);
        let Some(recipe) = dataset.recipe else {
            bail!("`{}` is not a table, so it has no recipe", source.what);
        };
        return output::print(&recipe.to_toml()?);
    }
    let summary = data::describe(&source.open()?);
    if json {
        output::print_json(&summary)
    } else {
        output::print(&data_view::render(&summary)?)
    }
}
