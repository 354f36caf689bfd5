//! Nodes and constants of a graph as they are written, each with a name of its own.

#![expect(clippy::cast_possible_wrap, reason = "sizes are far below 2^63")]

use crate::onnx::proto::{AttributeProto, NodeProto, TensorProto, attribute, element};

/// A value of an attribute.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    Int(i64),
    Float(f64),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Texts(Vec<String>),
}

impl From<i64> for Setting {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Setting {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<Vec<i64>> for Setting {
    fn from(values: Vec<i64>) -> Self {
        Self::Ints(values)
    }
}

/// Operators that are not of the standard domain.
const LEARNED: [&str; 2] = ["Imputer", "OneHotEncoder"];

/// A graph that grows.
#[derive(Default)]
pub(super) struct Writer {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
}

impl Writer {
    pub(super) fn finish(self) -> (Vec<NodeProto>, Vec<TensorProto>) {
        (self.nodes, self.constants)
    }

    /// A node with one output, whose name comes back.
    pub(super) fn node(
        &mut self,
        operator: &str,
        inputs: &[&str],
        settings: &[(&str, Setting)],
    ) -> String {
        let output = format!("{}_{}", operator.to_lowercase(), self.nodes.len());
        self.named(operator, inputs, &output, settings);
        output
    }

    /// A node whose output has this name.
    pub(super) fn named(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        settings: &[(&str, Setting)],
    ) {
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: if operator == "TopK" {
                // Values are read, their places are not.
                vec![output.to_owned(), format!("{output}_places")]
            } else {
                vec![output.to_owned()]
            },
            name: Some(format!("node_{}", self.nodes.len())),
            op_type: Some(operator.to_owned()),
            attribute: settings
                .iter()
                .map(|(name, setting)| written(name, setting))
                .collect(),
            domain: Some(
                if LEARNED.contains(&operator) {
                    "ai.onnx.ml"
                } else {
                    ""
                }
                .to_owned(),
            ),
        });
    }

    /// A weight under its own name.
    pub(super) fn weight(&mut self, name: &str, shape: &[usize], values: Vec<f32>) {
        let mut bytes = Vec::with_capacity(values.len() * 4);
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        self.constants.push(TensorProto {
            dims: shape.iter().map(|&size| size as i64).collect(),
            data_type: Some(element::FLOAT),
            name: Some(name.to_owned()),
            raw_data: Some(bytes),
            ..TensorProto::default()
        });
    }

    fn constant_name(&self) -> String {
        format!("constant_{}", self.constants.len())
    }

    pub(super) fn floats(&mut self, shape: &[usize], values: Vec<f32>) -> String {
        let name = self.constant_name();
        self.weight(&name, shape, values);
        name
    }

    /// One number, of no axis.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "written in single precision"
    )]
    pub(super) fn number(&mut self, value: f64) -> String {
        self.floats(&[], vec![value as f32])
    }

    pub(super) fn whole(&mut self, values: &[i64]) -> String {
        let name = self.constant_name();
        self.constants.push(TensorProto {
            dims: vec![values.len() as i64],
            data_type: Some(element::INT64),
            name: Some(name.clone()),
            raw_data: Some(
                values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect(),
            ),
            ..TensorProto::default()
        });
        name
    }

    /// One whole number, of no axis.
    pub(super) fn whole_number(&mut self, value: i64) -> String {
        let name = self.whole(&[value]);
        if let Some(constant) = self.constants.last_mut() {
            constant.dims.clear();
        }
        name
    }

    pub(super) fn texts(&mut self, values: &[String]) -> String {
        let name = self.constant_name();
        self.constants.push(TensorProto {
            dims: vec![values.len() as i64],
            data_type: Some(element::STRING),
            name: Some(name.clone()),
            string_data: values
                .iter()
                .map(|value| value.clone().into_bytes())
                .collect(),
            ..TensorProto::default()
        });
        name
    }

    /// As many rows as there are, each of these sizes.
    pub(super) fn reshape(&mut self, input: &str, sizes: &[usize]) -> String {
        let mut shape = vec![-1];
        shape.extend(sizes.iter().map(|&size| size as i64));
        let shape = self.whole(&shape);
        self.node("Reshape", &[input, &shape], &[])
    }

    /// A constant with other sizes.
    pub(super) fn resized(&mut self, name: &str, sizes: &[usize]) -> String {
        let shape: Vec<i64> = sizes.iter().map(|&size| size as i64).collect();
        let shape = self.whole(&shape);
        self.node("Reshape", &[name, &shape], &[])
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "attributes are single precision"
)]
fn written(name: &str, setting: &Setting) -> AttributeProto {
    let mut proto = AttributeProto {
        name: Some(name.to_owned()),
        ..AttributeProto::default()
    };
    proto.r#type = Some(match setting {
        Setting::Int(value) => {
            proto.i = Some(*value);
            attribute::INT
        }
        Setting::Float(value) => {
            proto.f = Some(*value as f32);
            attribute::FLOAT
        }
        Setting::Ints(values) => {
            proto.ints.clone_from(values);
            attribute::INTS
        }
        Setting::Floats(values) => {
            proto.floats.clone_from(values);
            attribute::FLOATS
        }
        Setting::Texts(values) => {
            proto.strings = values
                .iter()
                .map(|value| value.clone().into_bytes())
                .collect();
            attribute::STRINGS
        }
    });
    proto
}
