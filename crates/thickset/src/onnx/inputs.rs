//! Rows as the graph's own inputs have them, turned into rows of the model: for whoever holds arrays and no table's file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::head::Head;
use super::import::Imported;
use super::lower::{Image, Lowering};
use super::ours::INPUTS_KEY;
use super::proto::element;
use super::read::{Graph, Input};
use crate::data::{Column, Table, Texts, Values};
use crate::{Error, Result};

/// One input of the graph for some rows, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum RawInput {
    /// Numbers; NaN is a missing one.
    Numbers(Vec<f64>),
    /// Texts.
    Texts(Vec<String>),
}

/// Which columns each input has, how an image is laid out, and what the outputs are called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct InputLayout {
    pub(super) inputs: Vec<GraphInput>,
    pub(super) image: Option<Image>,
    /// What white is in the graph's own pixels.
    pub(super) white: f64,
    /// The output of labels and the type of its elements.
    pub(super) label: Option<(String, i32)>,
    /// The output that holds the probabilities of all classes, if one does.
    pub(super) probabilities: Option<String>,
}

/// One input of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct GraphInput {
    pub(super) name: String,
    pub(super) element: i32,
    /// The sizes behind the rows.
    pub(super) sizes: Vec<usize>,
    /// Names of its columns; none of an image.
    pub(super) columns: Vec<String>,
}

impl GraphInput {
    fn new(input: &Input, columns: Vec<String>) -> Self {
        let sizes = input.dims.iter().flatten().skip(1);
        Self {
            name: input.name.clone(),
            element: input.element,
            sizes: sizes.copied().flatten().collect(),
            columns,
        }
    }
}

impl InputLayout {
    pub(super) fn new(
        graph: &Graph,
        to: &Lowering<'_>,
        names: &[String],
        white: f64,
        (output, head): (&str, Head),
    ) -> Self {
        let columns = |input: usize| {
            let all = to.columns.iter().zip(names);
            all.filter(|(column, _)| column.input == input)
                .map(|(_, name)| name.clone())
                .collect()
        };
        let inputs = graph.inputs.iter().enumerate();
        let labels = graph.outputs.iter().find_map(|other| {
            let kind = other.element?;
            let is_label = matches!(kind, element::INT64 | element::STRING);
            (is_label && other.name != output).then(|| (other.name.clone(), kind))
        });
        let of_all_classes = matches!(
            head,
            Head::Softmax | Head::Complement | Head::OppositeSigmoids | Head::Probabilities
        );
        Self {
            inputs: inputs
                .map(|(place, input)| GraphInput::new(input, columns(place)))
                .collect(),
            image: to.image,
            white,
            label: labels,
            probabilities: of_all_classes.then(|| output.to_owned()),
        }
    }

    /// Of a file that we wrote.
    pub(super) fn ours(graph: &Graph, description: &crate::model::Description) -> Self {
        if let Some(layout) = graph.metadata.get(INPUTS_KEY)
            && let Ok(layout) = serde_json::from_str(layout)
        {
            return layout;
        }
        let has_columns = graph.inputs.iter().any(|input| input.name != "input");
        let columns = |name: &String| {
            if has_columns {
                vec![name.clone()]
            } else {
                Vec::new()
            }
        };
        let image = match description.input {
            crate::data::InputShape::Image {
                channels,
                height,
                width,
            } => Some(Image {
                channels,
                height,
                width,
                channels_last: false,
            }),
            _ => None,
        };
        Self {
            inputs: graph
                .inputs
                .iter()
                .map(|input| GraphInput::new(input, columns(&input.name)))
                .collect(),
            image,
            white: 1.0,
            label: None,
            probabilities: None,
        }
    }

    /// As it stands in the metadata.
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a layout is plain data")
    }
}

impl Imported {
    /// The names of the graph's inputs, in order, each with the names of its columns (none for an image).
    #[must_use]
    pub fn inputs(&self) -> Vec<(String, Vec<String>)> {
        let inputs = self.layout.inputs.iter();
        inputs
            .map(|input| (input.name.clone(), input.columns.clone()))
            .collect()
    }

    /// Rows of the model, made of one array an input in the order of [`Imported::inputs`].
    ///
    /// # Errors
    /// If arrays are missing or do not have the same number of rows, or a value cannot be encoded.
    pub fn encode(&self, inputs: &[RawInput]) -> Result<Vec<f32>> {
        let layout = &self.layout;
        let expected = layout.inputs.len();
        if inputs.len() != expected {
            return Err(Error::LengthMismatch {
                what: "the inputs of the graph",
                expected,
                got: inputs.len(),
            });
        }
        let has_columns = layout.inputs.iter().any(|input| !input.columns.is_empty());
        let encoding = self
            .model
            .description
            .encoding
            .as_ref()
            .filter(|_| has_columns);
        let Some(encoding) = encoding else {
            return self.plain_rows(&inputs[0]);
        };
        let mut table = Table {
            path: "the arrays".to_owned(),
            notes: Vec::new(),
            forms: BTreeMap::new(),
            units: BTreeMap::new(),
            names: Vec::new(),
            columns: Vec::new(),
        };
        let mut rows = None;
        for (declared, input) in layout.inputs.iter().zip(inputs) {
            let columns = &declared.columns;
            let width = columns.len().max(1);
            let length = match input {
                RawInput::Numbers(values) => values.len(),
                RawInput::Texts(values) => values.len(),
            };
            let own = length / width;
            let all = *rows.get_or_insert(own);
            if length != all * width {
                return Err(Error::LengthMismatch {
                    what: "the values of an input",
                    expected: all * width,
                    got: length,
                });
            }
            for (place, name) in columns.iter().enumerate() {
                let values = match input {
                    RawInput::Numbers(values) => {
                        Values::Number(values.iter().skip(place).step_by(width).copied().collect())
                    }
                    RawInput::Texts(values) => {
                        let mut texts = Texts::default();
                        for text in values.iter().skip(place).step_by(width) {
                            texts.push((!text.is_empty()).then_some(text.as_str()));
                        }
                        Values::Text(texts)
                    }
                };
                table.names.push(name.clone());
                table.columns.push(Column {
                    name: name.clone(),
                    values,
                });
            }
        }
        Ok(encoding.apply(table)?.values)
    }

    /// Numbers as they are; images channel by channel, in 0 to 1.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "pixels are single precision"
    )]
    fn plain_rows(&self, input: &RawInput) -> Result<Vec<f32>> {
        let RawInput::Numbers(values) = input else {
            return Err(Error::LengthMismatch {
                what: "the numbers of a row",
                expected: self.model.description.features,
                got: 0,
            });
        };
        let features = self.model.description.features;
        if values.len() % features != 0 {
            return Err(Error::LengthMismatch {
                what: "the numbers of the rows",
                expected: values.len().div_ceil(features) * features,
                got: values.len(),
            });
        }
        let place = |at: usize| match self.layout.image {
            Some(image) if image.channels_last => {
                let pixels = image.height * image.width;
                (at % pixels) * image.channels + at / pixels
            }
            _ => at,
        };
        let row = |row: &[f64]| {
            (0..features)
                .map(|at| (row[place(at)] / self.layout.white) as f32)
                .collect::<Vec<_>>()
        };
        Ok(values.chunks(features).flat_map(row).collect())
    }
}
