//! Rows as the graph's own inputs have them, turned into rows of the model: for whoever holds arrays and no table's file.

use std::collections::BTreeMap;

use super::import::Imported;
use super::lower::{Image, Lowering};
use super::read::Graph;
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

/// Which columns each input has, and how an image is laid out.
#[derive(Clone, Debug)]
pub(super) struct InputLayout {
    /// The name of each input, and those of its columns.
    inputs: Vec<(String, Vec<String>)>,
    image: Option<Image>,
    white: f64,
}

impl InputLayout {
    pub(super) fn new(graph: &Graph, to: &Lowering<'_>, names: &[String], white: f64) -> Self {
        let columns = |input: usize| {
            let all = to.columns.iter().zip(names);
            all.filter(|(column, _)| column.input == input)
                .map(|(_, name)| name.clone())
                .collect()
        };
        let inputs = graph.inputs.iter().enumerate();
        Self {
            inputs: inputs
                .map(|(place, input)| (input.name.clone(), columns(place)))
                .collect(),
            image: to.image,
            white,
        }
    }
}

impl InputLayout {
    /// Of a file that we wrote.
    pub(super) fn ours(graph: &Graph, description: &crate::model::Description) -> Self {
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
                .map(|input| (input.name.clone(), columns(&input.name)))
                .collect(),
            image,
            white: 1.0,
        }
    }
}

impl Imported {
    /// The names of the graph's inputs, in order, each with the names of its columns (none for an image).
    #[must_use]
    pub fn inputs(&self) -> &[(String, Vec<String>)] {
        &self.layout.inputs
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
        let has_columns = layout.inputs.iter().any(|(_, columns)| !columns.is_empty());
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
        for ((_, columns), input) in layout.inputs.iter().zip(inputs) {
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
