//! `thickset model`: what a model file holds.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use thickset::model::{Description, Model};

use super::output::{one_line, print, print_json};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset model runs/loans/model.safetensors
  thickset model model.safetensors --json")]
pub struct Arguments {
    /// The model file
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Content<'m> {
    description: &'m Description,
    parameters: Vec<Tensor<'m>>,
}

#[derive(Serialize)]
struct Tensor<'m> {
    name: &'m str,
    shape: &'m [usize],
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let model = Model::load(&arguments.file)?;
    let parameters = model.network.parameters();
    let content = Content {
        description: &model.description,
        parameters: parameters
            .iter()
            .map(|parameter| Tensor {
                name: &parameter.name,
                shape: &parameter.shape,
            })
            .collect(),
    };
    if arguments.json {
        return print_json(&content);
    }
    let description = content.description;
    let count: usize = parameters.iter().map(|parameter| parameter.len()).sum();
    let mut text = format!(
        "model    {}\ninput    {}, {} features\nclasses  {}\nnumbers  {count}\n",
        description.model.kind(),
        description.input,
        description.features,
        one_line(&description.classes.join(", ")),
    );
    for tensor in &content.parameters {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<28} {:?}", one_line(tensor.name), tensor.shape);
    }
    print(&text)
}
