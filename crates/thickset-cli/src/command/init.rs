//! `thickset init`: a commented configuration for the user's data.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use thickset::Seed;
use thickset::config::{RunConfig, template};
use thickset::train::salient_reasons;
use thickset_engine::write_whole;

use super::data::Reading;
use super::output::{note, shell_word};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset init --data loans.csv --target default
  thickset init --data loans.csv --target default --missing unknown --immutable age --drop customer
  thickset init --data adult --out adult.toml")]
pub struct Arguments {
    /// A dataset's name, a CSV or Parquet file, or a folder of images or graphs
    #[arg(long, value_name = "NAME|FILE")]
    data: String,
    #[command(flatten)]
    reading: Reading,
    /// Decides the split, the fresh weights and every draw of the run
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The run's name [default: that of the data]
    #[arg(long)]
    name: Option<String>,
    /// The file to write
    #[arg(long, value_name = "TOML", default_value = "run.toml")]
    out: PathBuf,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.reading.config(&arguments.data);
    let seed = Seed::new(arguments.seed);
    let dataset = data.open(seed)?;
    let k = salient_reasons(&dataset)?;
    let name = arguments
        .name
        .clone()
        .unwrap_or_else(|| name_of(&arguments.data));
    let text = template(&name, seed, &data, &dataset, k);
    // What is written must be something that `thickset train` takes.
    let path = arguments.out.display().to_string();
    RunConfig::parse(&text, &path)?.check()?;
    if arguments.out.exists() {
        bail!("`{path}` already exists; choose another file with --out");
    }
    write_whole(&arguments.out, |file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write `{path}`"))?;
    dataset.notes.iter().for_each(|text| note(text));
    let next = shell_word(&path).unwrap_or_else(|| "with that file".to_owned());
    say!(
        "wrote {path} for {} rows of {} features; next: thickset train {next}",
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
