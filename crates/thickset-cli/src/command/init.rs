//! `thickset init`: a commented configuration for the user's data.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use thickset::Seed;
use thickset::config::{DataConfig, RunConfig, template};
use thickset::train::salient_features;
use thickset_engine::write_whole;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset init --data loans.csv --target default
  thickset init --data adult --out adult.toml")]
pub struct Arguments {
    /// A dataset's name, a CSV or Parquet file, or a folder of images or graphs
    #[arg(long, value_name = "NAME|FILE")]
    data: String,
    /// The column to predict [default: the last]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// The first row of a table is a row, not the names of the columns; they are called `column_1` and so on
    #[arg(long)]
    no_header: bool,
    /// The run's name [default: that of the data]
    #[arg(long)]
    name: Option<String>,
    /// The file to write
    #[arg(long, value_name = "TOML", default_value = "run.toml")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = DataConfig {
        source: arguments.data.clone(),
        target: arguments.target.clone(),
        header: arguments.no_header.then_some(false),
        ..DataConfig::default()
    };
    let dataset = data.open(Seed::new(0))?;
    let k = salient_features(None, &dataset)?;
    let name = arguments
        .name
        .clone()
        .unwrap_or_else(|| name_of(&arguments.data));
    let text = template(&name, &data, &dataset, k);
    // What is written must be something that `thickset train` takes.
    let path = arguments.out.display();
    RunConfig::parse(&text, &path.to_string())?.check()?;
    if arguments.out.exists() {
        bail!("`{path}` already exists; choose another file with --out");
    }
    write_whole(&arguments.out, |file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write `{path}`"))?;
    for note in &dataset.notes {
        eprintln!("note: {note}");
    }
    eprintln!(
        "wrote {path} for {} rows of {} features; next: thickset train {path}",
        dataset.rows(),
        dataset.features(),
    );
    Ok(())
}

/// The file's name without its endings, of letters that a run's name may have.
fn name_of(data: &str) -> String {
    let stem = std::path::Path::new(data)
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let stem = stem.split('.').next().unwrap_or_default();
    let name: String = stem
        .chars()
        .map(|letter| {
            if letter.is_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    if name.is_empty() {
        "run".to_owned()
    } else {
        name
    }
}
