//! What was understood of a file, for people.

use std::fmt;

use thickset_engine::layer::Form;

use super::head::Head;
use crate::model::{GraphConfig, GraphLayer};

/// What was understood of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// The program that wrote it.
    pub producer: String,
    /// The version of its operators.
    pub opset: i64,
    /// The output that was taken.
    pub output: String,
    /// Outputs that were not.
    pub other_outputs: Vec<String>,
    /// How it becomes probabilities.
    pub head: Head,
    /// Names of the columns that the graph reads; empty for images.
    pub columns: Vec<String>,
    /// Columns of inputs that the prediction does not depend on.
    pub unread: Vec<String>,
    /// Whether a column of numbers comes without a scale in the graph, and none was given.
    pub wants_scale: bool,
    /// What else a person should know of it, in sentences.
    pub notes: Vec<String>,
    /// How many layers the network has.
    pub layers: usize,
}

impl fmt::Display for About {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let producer = if self.producer.is_empty() {
            "an unknown program"
        } else {
            &self.producer
        };
        writeln!(
            formatter,
            "written by {producer}, operators of version {}",
            self.opset
        )?;
        writeln!(formatter, "output `{}`: {}", self.output, self.head)?;
        if !self.other_outputs.is_empty() {
            writeln!(formatter, "not read: {}", self.other_outputs.join(", "))?;
        }
        if !self.unread.is_empty() {
            writeln!(
                formatter,
                "columns that the prediction does not depend on: {}",
                self.unread.join(", ")
            )?;
        }
        if self.wants_scale {
            writeln!(
                formatter,
                "columns of numbers come without a scale, so distances are in their own units; take it from data with --scale data"
            )?;
        }
        for note in &self.notes {
            writeln!(formatter, "{note}")?;
        }
        write!(formatter, "{} layers", self.layers)
    }
}

/// What a person should know of these layers.
pub(super) fn notes(graph: &GraphConfig) -> Vec<String> {
    let is_coupled = |layer: &GraphLayer| {
        matches!(
            layer.form,
            Form::PairwiseCoupling | Form::StoppedCoupling { .. }
        )
    };
    let coupled = "probabilities are those of libsvm's pairwise coupling, which stops early; gradients are those of the \
                   probabilities that it approaches, since the stopped ones jump";
    if graph.layers.iter().any(is_coupled) {
        vec![coupled.to_owned()]
    } else {
        Vec::new()
    }
}
