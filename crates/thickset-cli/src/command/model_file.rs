//! The model that a command is about: a file of ours, or an ONNX file with what it does not say itself.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use thickset::Model;
use thickset::onnx::{self, OnnxOptions, ScaleChoice};
use thickset::train::OnnxSource;

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
    /// The unit of a column of numbers; repeatable
    #[arg(long, value_name = "COLUMN=UNIT", value_parser = unit)]
    unit: Vec<(String, String)>,
    /// A table's file of usual rows: how far columns reach, their scale and the typical row that others are compared with [default: the data, where they have at least 20 rows]
    #[arg(long, value_name = "FILE")]
    background: Option<PathBuf>,
}

fn unit(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((column, unit)) if !column.is_empty() && !unit.is_empty() => {
            Ok((column.to_owned(), unit.to_owned()))
        }
        _ => Err("expected a column and its unit, like amount=EUR".to_owned()),
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum ScaleName {
    Data,
    None,
}

impl ModelFileOptions {
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// What was given, as a retraining keeps it.
    pub fn write_to(&self, source: &mut OnnxSource) {
        if !self.columns.is_empty() {
            source.columns.clone_from(&self.columns);
        }
        if !self.classes.is_empty() {
            source.classes.clone_from(&self.classes);
        }
        if self.graph_output.is_some() {
            source.output.clone_from(&self.graph_output);
        }
        source.units.extend(self.unit.iter().cloned());
        if self.scale.is_some() {
            source.scale = self.scale();
        }
    }

    /// The options that were given, to be typed again.
    pub fn given(&self) -> Vec<(&'static str, String)> {
        let mut given = Vec::new();
        match self.scale {
            Some(ScaleName::Data) => given.push(("scale", "data".to_owned())),
            Some(ScaleName::None) => given.push(("scale", "none".to_owned())),
            None => {}
        }
        for (name, names) in [("columns", &self.columns), ("classes", &self.classes)] {
            if !names.is_empty() {
                given.push((name, names.join(",")));
            }
        }
        let units = self.unit.iter();
        given.extend(units.map(|(column, unit)| ("unit", format!("{column}={unit}"))));
        let single = [
            ("target", &self.target),
            ("graph-output", &self.graph_output),
        ];
        given.extend(
            single
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.clone()?))),
        );
        given
    }

    fn scale(&self) -> ScaleChoice {
        match self.scale {
            None => ScaleChoice::Unsaid,
            Some(ScaleName::Data) => ScaleChoice::FromData,
            Some(ScaleName::None) => ScaleChoice::AsItIs,
        }
    }

    pub fn onnx(&self) -> OnnxOptions {
        OnnxOptions {
            output: self.graph_output.clone(),
            columns: self.columns.clone(),
            classes: self.classes.clone(),
            target: self.target.clone(),
            units: self.unit.iter().cloned().collect(),
            ..OnnxOptions::default()
        }
    }

    /// Reads the model, for rows of these data.
    pub fn load(&self, file: &Path, data: &str) -> Result<Model> {
        if !onnx::is_onnx(file) {
            return Ok(Model::load(file)?);
        }
        let data = Some(Path::new(data)).filter(|data| data.is_file());
        let (mut imported, mut notes) =
            onnx::open_for_data(file, data, &self.onnx(), self.scale())?;
        notes.extend(imported.learn_background(self.background.as_deref().or(data), data)?);
        for note in notes {
            say!("note: {}", one_line(&note));
        }
        Ok(imported.model)
    }
}
