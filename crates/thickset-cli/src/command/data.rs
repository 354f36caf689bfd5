//! `thickset data`: what datasets there are, what is in them, and their numbers in a file.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use thickset::Seed;
use thickset::data::{
    self, Dataset, FeatureKind, FeatureSummary, InferOptions, InputShape, KNOWN, Known,
    OpenOptions, ReadRule, Recipe, Scale, Summary,
};

use super::output;

/// Heights of a histogram's bars.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// More features than this are pixels or edges, and are shown together.
const MOST_LISTED: usize = 200;

/// The longest name that is shown whole.
const MOST_NAME: usize = 44;

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
        /// A data folder to look in before $THICKSET_DATA and the platform's data folder
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
    /// Write the encoded matrix with split and label to a file
    #[command(
        after_help = "Examples:\n  thickset data export adult --out adult.csv\n  \
                            thickset data export loans.parquet --target default --out loans-encoded.parquet"
    )]
    Export {
        #[command(flatten)]
        source: Source,
        /// The file to write: .csv or .parquet
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

#[derive(Args)]
struct Source {
    /// A dataset's name, a CSV, Parquet or IDX file, or a folder of images or graphs
    #[arg(value_name = "NAME|FILE")]
    what: String,
    /// A data folder to look in before $THICKSET_DATA and the platform's data folder
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// The column to predict [default: the last]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Encode the file by this recipe instead of inferring one
    #[arg(long, value_name = "TOML", conflicts_with_all = ["target", "delimiter", "missing", "category", "drop", "immutable", "scale"])]
    with: Option<PathBuf>,
    /// What separates fields; `\t` is a tab [default: inferred]
    #[arg(long, value_name = "CHARACTER", value_parser = parse_delimiter)]
    delimiter: Option<char>,
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
    /// Decides the split
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Split all rows at random, even where there is an official test set
    #[arg(long)]
    random_test: bool,
    /// Scale the images of a folder to this height and width
    #[arg(long, value_name = "HEIGHTxWIDTH", value_parser = parse_size)]
    image_size: Option<(usize, usize)>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ScaleName {
    MinMax,
    Standard,
}

fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (characters.next(), characters.next(), text) {
        (_, _, "\\t") => Ok('\t'),
        (Some(one), None, _) if one.is_ascii() => Ok(one),
        _ => Err("expected one ASCII character".to_owned()),
    }
}

fn parse_size(text: &str) -> Result<(usize, usize), String> {
    let side = |text: &str| text.parse().ok().filter(|side| (1..=4096).contains(side));
    text.split_once('x')
        .and_then(|(height, width)| Some((side(height)?, side(width)?)))
        .ok_or_else(|| "expected height and width from 1 to 4096, like 32x32".to_owned())
}

/// Runs the subcommand.
pub fn run(arguments: Arguments) -> Result<()> {
    match arguments.action {
        Action::List { data_dir, json } => list(data_dir, json),
        Action::Show {
            source,
            json,
            recipe,
        } => show(&source, json, recipe),
        Action::Export { source, out } => {
            let dataset = source.open()?;
            data::export(&dataset, &out)?;
            let (rows, features) = (dataset.rows(), dataset.features());
            eprintln!(
                "wrote {rows} rows of {features} features to {}",
                out.display()
            );
            Ok(())
        }
    }
}

impl Source {
    fn open(&self) -> Result<Dataset> {
        let recipe = match &self.with {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read `{}`", path.display()))?;
                Some(Recipe::parse(&text, &path.display().to_string())?)
            }
        };
        let mut read = ReadRule {
            delimiter: self.delimiter,
            ..ReadRule::default()
        };
        read.missing.extend(self.missing.iter().cloned());
        let infer = InferOptions {
            scale: match self.scale {
                ScaleName::MinMax => Scale::MinMax,
                ScaleName::Standard => Scale::Standard,
            },
            drop: self.drop.clone(),
            immutable: self.immutable.clone(),
        };
        let options = OpenOptions {
            data_dir: self.data_dir.clone(),
            seed: Seed::new(self.seed),
            random_test: self.random_test,
            recipe,
            target: self.target.clone(),
            read,
            categories: self.category.clone(),
            infer,
            image_size: self.image_size,
        };
        Ok(data::open(&self.what, &options)?)
    }
}

fn list(data_dir: Option<PathBuf>, json: bool) -> Result<()> {
    let folders = data::folders(data_dir.as_deref());
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
    eprintln!("\nlooked in {}", folders.join(", "));
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
        let Some(recipe) = dataset.recipe else {
            bail!("`{}` is not a table, so it has no recipe", source.what);
        };
        return output::print(&recipe.to_toml()?);
    }
    let summary = data::describe(&source.open()?);
    if json {
        output::print_json(&summary)
    } else {
        output::print(&render(&summary)?)
    }
}

fn render(summary: &Summary) -> Result<String> {
    let mut text = String::new();
    writeln!(text, "{}\n", summary.title)?;
    let [train, validation, test] = summary.split;
    writeln!(
        text,
        "rows      {} (train {train}, validation {validation}, test {test})",
        summary.rows
    )?;
    writeln!(
        text,
        "features  {}{}",
        summary.feature_count,
        shape(&summary.shape)
    )?;
    if let Some(attack) = summary.attack {
        writeln!(
            text,
            "attacks   k {}, l2 radius {}",
            attack.k, attack.epsilon
        )?;
    }
    writeln!(text, "\nclasses")?;
    let width = summary
        .classes
        .iter()
        .map(|class| class.name.chars().count())
        .max()
        .unwrap_or(0)
        .min(MOST_NAME);
    for class in &summary.classes {
        let share = 100.0 * class.rows as f64 / summary.rows.max(1) as f64;
        writeln!(
            text,
            "  {:<width$}  {:>7}  {share:5.1}%",
            shorten(&class.name),
            class.rows
        )?;
    }
    if summary.features.len() <= MOST_LISTED {
        render_features(summary, &mut text)?;
    } else {
        render_together(summary, &mut text)?;
    }
    if !summary.notes.is_empty() {
        writeln!(text, "\nnotes")?;
        for note in &summary.notes {
            writeln!(text, "  {note}")?;
        }
    }
    Ok(text)
}

fn shape(shape: &InputShape) -> String {
    match shape {
        InputShape::Table => String::new(),
        InputShape::Image {
            channels,
            height,
            width,
        } => {
            format!(": images, {channels} x {height} x {width}")
        }
        InputShape::Graph { nodes } => format!(": the node pairs of graphs with {nodes} nodes"),
        InputShape::Pair { of } => format!(", two inputs a row{}", self::shape(of)),
    }
}

fn render_features(summary: &Summary, text: &mut String) -> Result<()> {
    let width = summary
        .features
        .iter()
        .map(|feature| feature.name.chars().count())
        .max()
        .unwrap_or(0)
        .min(MOST_NAME);
    writeln!(
        text,
        "\n{:<width$}  {:<9} {:<22} {:>7}  histogram",
        "feature", "type", "range", "missing"
    )?;
    for feature in &summary.features {
        let range = match feature.kind {
            FeatureKind::Level { .. } | FeatureKind::Missing => {
                format!("1 in {:.1}%", 100.0 * feature.mean)
            }
            _ => {
                let unit = feature
                    .unit
                    .as_ref()
                    .map(|unit| format!(" {unit}"))
                    .unwrap_or_default();
                format!("{}..{}{unit}", number(feature.low), number(feature.high))
            }
        };
        let fixed = if feature.immutable { "  fixed" } else { "" };
        writeln!(
            text,
            "{:<width$}  {:<9} {range:<22} {:>7}  {}{fixed}",
            shorten(&feature.name),
            kind(feature),
            feature.missing,
            bars(&feature.histogram)
        )?;
    }
    Ok(())
}

/// Pixels and edges are alike, so that one line says what they are.
fn render_together(summary: &Summary, text: &mut String) -> Result<()> {
    let (mut low, mut high, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
    let mut histogram = [0_usize; 12];
    for feature in &summary.features {
        low = low.min(feature.low);
        high = high.max(feature.high);
        sum += feature.mean;
        // The means of the features; their own histograms have different ranges and do not add up.
    }
    let mean = sum / summary.features.len() as f64;
    let (least, greatest) = summary.features.iter().fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(low, high), feature| (low.min(feature.mean), high.max(feature.mean)),
    );
    for feature in &summary.features {
        let place = if greatest > least {
            (feature.mean - least) / (greatest - least)
        } else {
            0.0
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a bar's number"
        )]
        let bar = (place * 12.0) as usize;
        histogram[bar.min(11)] += 1;
    }
    let kind = summary.features.first().map(kind).unwrap_or_default();
    writeln!(text, "\nall {} {kind} features", summary.features.len())?;
    writeln!(text, "  range     {}..{}", number(low), number(high))?;
    writeln!(text, "  mean      {}", number(mean))?;
    writeln!(
        text,
        "  means of features from {} to {}  {}",
        number(least),
        number(greatest),
        bars(&histogram)
    )?;
    writeln!(text, "  (--json lists each)")?;
    Ok(())
}

fn kind(feature: &FeatureSummary) -> &'static str {
    match feature.kind {
        FeatureKind::Number if feature.integer => "integer",
        FeatureKind::Number => "number",
        FeatureKind::Level { .. } => "category",
        FeatureKind::Missing => "missing",
        FeatureKind::Pixel { .. } => "pixel",
        FeatureKind::Edge { .. } => "edge",
    }
}

/// Up to four significant digits; whole numbers whole.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value}");
    }
    let digits = value.abs().log10().floor();
    if (-4.0..6.0).contains(&digits) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 7"
        )]
        let decimals = (3.0 - digits).max(0.0) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text
        }
    } else {
        format!("{value:.3e}")
    }
}

fn bars(histogram: &[usize]) -> String {
    let most = histogram.iter().copied().max().unwrap_or(0).max(1);
    histogram
        .iter()
        .map(|&count| BARS[(count * (BARS.len() - 1)).div_ceil(most)])
        .collect()
}

fn shorten(name: &str) -> String {
    if name.chars().count() <= MOST_NAME {
        return name.to_owned();
    }
    let start: String = name.chars().take(MOST_NAME - 1).collect();
    format!("{start}…")
}
