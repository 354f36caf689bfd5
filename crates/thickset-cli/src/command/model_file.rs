//! The model that a command is about: a file of ours, or an ONNX file with what it does not say itself.

use std::path::Path;

use anyhow::Result;
use clap::{Args, ValueEnum};
use thickset::Model;
use thickset::onnx::{self, OnnxOptions, ScaleChoice};

use super::output::one_line;

/// What an ONNX file does not say itself.
#[derive(Args)]
#[command(next_help_heading = "Options for ONNX files")]
pub struct ModelFileOptions {
    /// What scales columns of numbers that the graph does not scale: the data's means and deviations, or nothing
    #[arg(long, value_enum, value_name = "FROM")]
    scale: Option<ScaleName>,
    /// Names of the columns of the graph's input, in order [default: those of the data, if there are as many]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    columns: Vec<String>,
    /// Names of the classes, in order [default: those of the file]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    classes: Vec<String>,
    /// The column of the data that holds the classes
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// The output of the graph that holds scores or probabilities
    #[arg(long, value_name = "NAME")]
    graph_output: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum ScaleName {
    Data,
    None,
}

impl ModelFileOptions {
    pub fn onnx(&self) -> OnnxOptions {
        OnnxOptions {
            output: self.graph_output.clone(),
            columns: self.columns.clone(),
            classes: self.classes.clone(),
            target: self.target.clone(),
            ..OnnxOptions::default()
        }
    }

    /// Reads the model, for rows of these data.
    pub fn load(&self, file: &Path, data: &str) -> Result<Model> {
        if !onnx::is_onnx(file) {
            return Ok(Model::load(file)?);
        }
        let scale = match self.scale {
            None => ScaleChoice::Unsaid,
            Some(ScaleName::Data) => ScaleChoice::FromData,
            Some(ScaleName::None) => ScaleChoice::AsItIs,
        };
        let data = Some(Path::new(data)).filter(|data| data.is_file());
        let (imported, notes) = onnx::open_for_data(file, data, &self.onnx(), scale)?;
        for note in notes {
            say!("note: {}", one_line(&note));
        }
        Ok(imported.model)
    }
}
