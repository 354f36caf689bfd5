//! `thickset export`: a model as a file that other programs run.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use thickset::Model;
use thickset::onnx::ExportOptions;
use thickset_engine::write_whole;

#[derive(Args)]
#[command(after_help = "Examples:
  thickset export --model runs/loans/model.safetensors --to onnx --out loans.onnx
  thickset export --model runs/loans/model.safetensors --encoded --out loans-encoded.onnx

The file takes any number of rows, one input a column (numbers as float32, NaN where missing; texts as strings), and gives `label` and `probabilities`. It is read back exactly.")]
pub struct Arguments {
    /// The model file
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Onnx)]
    to: Format,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Take encoded features in one matrix instead of raw columns
    #[arg(long)]
    encoded: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Onnx,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let model = Model::load(&arguments.model)?;
    let options = ExportOptions {
        encoded: arguments.encoded,
    };
    let bytes = match arguments.to {
        Format::Onnx => model.to_onnx(options)?,
    };
    let out = &arguments.out;
    write_whole(out, |file| file.write_all(&bytes))
        .with_context(|| format!("cannot write `{}`", out.display()))?;
    say!("wrote {}", out.display());
    Ok(())
}
