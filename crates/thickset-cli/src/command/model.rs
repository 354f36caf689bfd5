//! `thickset model`: what a model file holds.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use thickset::model::binned::Direction;
use thickset::model::{Description, Model, ModelConfig, RowsConfig};
use thickset::onnx::{self, Agreement};

use super::model_file::ModelFileOptions;
use super::output::{one_line, print, print_json};

#[derive(Args)]
#[command(after_help = "Examples:
  thickset model runs/loans/model.safetensors
  thickset model model.safetensors --json
  thickset model model.onnx
  thickset model model.onnx --check rows.csv --expect probabilities.csv")]
pub struct Arguments {
    /// The model file, of ours or ONNX
    file: PathBuf,
    #[command(flatten)]
    options: ModelFileOptions,
    /// Rows whose probabilities are compared with those of --expect; a difference is refused
    #[arg(long, value_name = "FILE", requires = "expect")]
    check: Option<PathBuf>,
    /// The probabilities that the model's framework gives for the rows of --check, one column a class
    #[arg(long, value_name = "FILE", requires = "check")]
    expect: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Content<'m> {
    description: &'m Description,
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<Agreement>,
    parameters: Vec<Tensor<'m>>,
}

#[derive(Serialize)]
struct Tensor<'m> {
    name: &'m str,
    shape: &'m [usize],
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let (model, about) = read(arguments)?;
    let agreement = match (&arguments.check, &arguments.expect) {
        (Some(rows), Some(expected)) => Some(compared(&model, rows, expected)?),
        _ => None,
    };
    let parameters = model.network.parameters();
    let content = Content {
        description: &model.description,
        agreement,
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
    if let Some(monotone) = monotone(&model) {
        text += &monotone;
    }
    if let Some(about) = about {
        let lines = about
            .lines()
            .map(|line| format!("graph    {}\n", one_line(line)));
        text.extend(lines);
    }
    if let Some(agreement) = &content.agreement {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "agrees   on {} rows, largest difference of a probability {:.2e}",
            agreement.rows, agreement.largest
        );
    }
    for tensor in &content.parameters {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<28} {:?}", one_line(tensor.name), tensor.shape);
    }
    print(&text)
}

/// In which columns it is monotone, and whether its weights prove it.
fn monotone(model: &Model) -> Option<String> {
    let ModelConfig::Binned(config) = &model.description.model else {
        return None;
    };
    let is_proved = model.sign_rule()?.holds(&model.network, config);
    let last = model.classes().last()?;
    let mut text = String::new();
    for (column, direction) in &config.monotone {
        let way = match direction {
            Direction::Rising => "never falls",
            Direction::Falling => "never rises",
        };
        let proof = if is_proved {
            "proved by the signs of all weights"
        } else {
            "NOT so: a weight has the wrong sign"
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "monotone the score of {} {way} with {}; {proof}",
            one_line(last),
            one_line(column)
        );
    }
    Some(text)
}

/// The model, and what was understood of an ONNX file.
fn read(arguments: &Arguments) -> Result<(Model, Option<String>)> {
    let file = &arguments.file;
    if !onnx::is_onnx(file) {
        return Ok((Model::load(file)?, None));
    }
    let options = arguments.options.onnx();
    // Rows to check may name the columns of a matrix; nothing is measured, so nothing needs a scale.
    let data = arguments.check.as_deref();
    let scale = onnx::ScaleChoice::AsItIs;
    let (imported, notes) = onnx::open_for_data(file, data, &options, scale)?;
    for note in notes {
        say!("note: {}", one_line(&note));
    }
    let about = imported.about.to_string();
    Ok((imported.model, Some(about)))
}

fn compared(model: &Model, rows: &Path, expected: &Path) -> Result<Agreement> {
    let config = RowsConfig {
        data: rows.display().to_string(),
        ..RowsConfig::default()
    };
    let opened = model.open_rows(&config)?;
    let expected = onnx::read_probabilities(expected, opened.rows().len())?;
    let compared = model.compare_probabilities(&opened.rows(), &expected, onnx::TOLERANCE)?;
    Ok(compared.check()?)
}
