//! Our models as ONNX files: opset 17, any number of rows, outputs `label` and `probabilities`, raw columns in.
//!
//! Weights keep the names that the network gives them, and the model's description stands in the file's metadata, so a file that
//! we wrote is read back exactly ([`super::ours`]).

mod compound;
mod encoder;
mod interface;
mod layers;
mod writer;

use prost::Message as _;
use thickset_engine::layer::Form;
use thickset_engine::{DType, Source};

use super::import::Imported;
use super::inputs::InputLayout;
use super::ours::{DESCRIPTION_KEY, GRAPH_KEY, INPUTS_KEY, graph_hash};
use super::proto::{
    Dimension, Entry, GraphProto, ModelProto, OperatorSet, Shape, TensorType, TypeProto,
    ValueInfoProto, element,
};
use crate::data::InputShape;
use crate::{Error, Model, Result};
use interface::Outputs;
use writer::Writer;

/// The versions of what is written: of the file's form, of the standard operators, of those of `ai.onnx.ml`.
const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;
const ML_OPSET: i64 = 3;

/// How a model is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Encoded features go in, in one matrix, instead of raw columns.
    pub encoded: bool,
}

impl Model {
    /// The bytes of an ONNX file.
    ///
    /// # Errors
    /// If a layer of the network has no form that can be written.
    pub fn to_onnx(&self, options: ExportOptions) -> Result<Vec<u8>> {
        self.written(options, None)
    }

    /// The bytes of an ONNX file that takes the place of the one that a model was read from: the same inputs, with their names, types
    /// and layout, and outputs of the same names. Where that file has logits or one number for two classes, the probabilities of all
    /// classes come out as `probabilities`.
    ///
    /// # Errors
    /// As for [`Model::to_onnx`], and if the model is of other columns than that one.
    pub fn to_onnx_like(&self, imported: &Imported) -> Result<Vec<u8>> {
        let (ours, theirs) = (&self.description, &imported.model.description);
        let is_same = match (&ours.encoding, &theirs.encoding) {
            (Some(ours), Some(theirs)) => ours.makes_the_same(theirs),
            (None, None) => true,
            _ => false,
        };
        if !is_same || ours.input != theirs.input || ours.features != theirs.features {
            return Err(Error::ModelInput {
                model: ours.model.kind(),
                expected: "a file of the same columns and scaling to take the place of",
                got: format!("one of {}, {} features", theirs.input, theirs.features),
            });
        }
        self.written(ExportOptions::default(), Some(&imported.layout))
    }

    /// Refuses a network that has a layer for which there are no operators, before anything is trained.
    pub(crate) fn check_written(&self) -> Result<()> {
        let forms = self.network.forms().unwrap_or_default();
        let is_coupled = |form: &Form| matches!(form, Form::StoppedCoupling { .. });
        if forms.iter().any(|(form, _)| is_coupled(form)) {
            return Err(Error::ModelContent {
                path: "the ONNX file".to_owned(),
                problem: "the probabilities of a support-vector machine of several classes come from an iteration that is not written; \
                          keep the file that the model came from"
                    .to_owned(),
            });
        }
        Ok(())
    }

    fn written(&self, options: ExportOptions, layout: Option<&InputLayout>) -> Result<Vec<u8>> {
        let refuse = |problem: &str| Error::ModelContent {
            path: "the ONNX file".to_owned(),
            problem: problem.to_owned(),
        };
        let forms = self
            .network
            .forms()
            .ok_or_else(|| refuse("a layer has no form that can be written"))?;
        self.check_written()?;
        if self.network.dtype() != DType::F32 {
            return Err(refuse("models of single precision are written"));
        }
        let mut writer = Writer::default();
        for (parameter, values) in self
            .network
            .parameters()
            .into_iter()
            .zip(self.network.parameter_values())
        {
            writer.weight(
                &parameter.name,
                &parameter.shape,
                values.iter::<f32>().collect(),
            );
        }
        let (inputs, features) = self.write_inputs(options, layout, &mut writer);
        let outputs = Outputs::new(&inputs, layout, &self.description.classes);
        let mut made: Vec<String> = Vec::with_capacity(forms.len());
        for (place, (form, reads)) in forms.iter().enumerate() {
            let inputs: Vec<String> = reads
                .iter()
                .map(|source| match source {
                    Source::Input => features.clone(),
                    Source::Layer(layer) => made[*layer].clone(),
                })
                .collect();
            let output = layers::write(
                &mut writer,
                place,
                form,
                &inputs,
                self.network.features_of(Source::Layer(place)),
                reads
                    .first()
                    .map_or(0, |source| self.network.features_of(*source)),
            );
            made.push(output);
        }
        let logits = made.last().cloned().unwrap_or(features);
        let label = self.write_outputs(&mut writer, &logits, &outputs);
        let (node, initializer) = writer.finish();
        let description = self.description_text();
        let graph = GraphProto {
            name: Some("thickset".to_owned()),
            input: inputs,
            output: vec![
                value(&outputs.label, label, &[]),
                value(
                    &outputs.probabilities,
                    element::FLOAT,
                    &[self.description.classes.len()],
                ),
            ],
            node,
            initializer,
        };
        let entry = |key: &str, value: String| Entry {
            key: Some(key.to_owned()),
            value: Some(value),
        };
        let set = |domain: &str, version: i64| OperatorSet {
            domain: Some(domain.to_owned()),
            version: Some(version),
        };
        let hash = graph_hash(&graph.node, &graph.initializer);
        let mut metadata_props = vec![entry(DESCRIPTION_KEY, description), entry(GRAPH_KEY, hash)];
        if let Some(layout) = layout {
            metadata_props.push(entry(INPUTS_KEY, layout.to_text()));
        }
        let model = ModelProto {
            ir_version: Some(IR_VERSION),
            producer_name: Some("thickset".to_owned()),
            producer_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            graph: Some(graph),
            opset_import: vec![set("", OPSET), set("ai.onnx.ml", ML_OPSET)],
            metadata_props,
            functions: Vec::new(),
        };
        Ok(model.encode_to_vec())
    }

    /// Writes probabilities and labels; gives the kind of element that labels are.
    fn write_outputs(&self, writer: &mut Writer, logits: &str, outputs: &Outputs) -> i32 {
        writer.named(
            "Softmax",
            &[logits],
            &outputs.probabilities,
            &[("axis", 1_i64.into())],
        );
        let best = writer.node(
            "ArgMax",
            &[&outputs.probabilities],
            &[("axis", 1_i64.into()), ("keepdims", 0_i64.into())],
        );
        let names = if outputs.whole_labels {
            let classes = self.description.classes.iter();
            let numbers: Vec<i64> = classes.filter_map(|class| class.parse().ok()).collect();
            writer.whole(&numbers)
        } else {
            writer.texts(&self.description.classes)
        };
        writer.named(
            "Gather",
            &[&names, &best],
            &outputs.label,
            &[("axis", 0_i64.into())],
        );
        if outputs.whole_labels {
            element::INT64
        } else {
            element::STRING
        }
    }

    /// Inputs, and the name of the matrix of features that comes of them.
    fn write_inputs(
        &self,
        options: ExportOptions,
        layout: Option<&InputLayout>,
        writer: &mut Writer,
    ) -> (Vec<ValueInfoProto>, String) {
        let features = self.description.features;
        if let Some(encoding) = self
            .description
            .encoding
            .as_ref()
            .filter(|_| !options.encoded)
        {
            let (inputs, columns) = interface::columns(writer, encoding, layout);
            return (inputs, encoder::write(writer, encoding, &columns));
        }
        if let InputShape::Image {
            channels,
            height,
            width,
        } = self.description.input
        {
            return interface::image(writer, [channels, height, width], layout);
        }
        (
            vec![value("input", element::FLOAT, &[features])],
            "input".to_owned(),
        )
    }
}

/// A value of any number of rows.
fn value(name: &str, element: i32, rest: &[usize]) -> ValueInfoProto {
    let rows = Dimension {
        dim_value: None,
        dim_param: Some("rows".to_owned()),
    };
    let rest = rest.iter().map(|&size| Dimension {
        dim_value: i64::try_from(size).ok(),
        dim_param: None,
    });
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto {
            tensor_type: Some(TensorType {
                elem_type: Some(element),
                shape: Some(Shape {
                    dim: std::iter::once(rows).chain(rest).collect(),
                }),
            }),
            sequence_type: None,
        }),
    }
}
