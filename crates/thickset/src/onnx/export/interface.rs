//! What goes in and comes out under which names: one input a column, one matrix, or just as the file had it that a model was read from.

use super::value;
use super::writer::Writer;
use crate::data::{ColumnEncoding, Encoding};
use crate::onnx::inputs::{GraphInput, InputLayout};
use crate::onnx::proto::{ValueInfoProto, element};

/// Names of outputs, and the type of the label's.
pub(super) struct Outputs {
    pub(super) label: String,
    pub(super) probabilities: String,
    /// Whether labels are whole numbers, as those of the file that the model was read from; else texts.
    pub(super) whole_labels: bool,
}

impl Outputs {
    /// `label` and `probabilities`, or the names of the file before; never the name of an input.
    pub(super) fn new(
        inputs: &[ValueInfoProto],
        layout: Option<&InputLayout>,
        classes: &[String],
    ) -> Self {
        let is_taken = |name: &str| {
            inputs
                .iter()
                .any(|input| input.name.as_deref() == Some(name))
        };
        let free = |mut name: String| {
            while is_taken(&name) {
                name.push('_');
            }
            name
        };
        let label = layout.and_then(|layout| layout.label.as_ref());
        let probabilities = layout.and_then(|layout| layout.probabilities.clone());
        let is_whole = |class: &String| class.parse::<i64>().is_ok();
        Self {
            label: free(label.map_or("label", |(name, _)| name).to_owned()),
            probabilities: free(probabilities.unwrap_or_else(|| "probabilities".to_owned())),
            whole_labels: label.is_some_and(|(_, kind)| *kind == element::INT64)
                && classes.iter().all(is_whole),
        }
    }
}

/// The inputs of a table, and for each column of the encoding the name of its values, `[rows, 1]`.
pub(super) fn columns(
    writer: &mut Writer,
    encoding: &Encoding,
    layout: Option<&InputLayout>,
) -> (Vec<ValueInfoProto>, Vec<String>) {
    let kind = |column: &ColumnEncoding| match column {
        ColumnEncoding::Number(_) => element::FLOAT,
        _ => element::STRING,
    };
    let Some(layout) = layout else {
        let columns = encoding.columns.iter();
        let inputs = columns.map(|column| value(column.name(), kind(column), &[1]));
        let names = encoding
            .columns
            .iter()
            .map(|column| column.name().to_owned());
        return (inputs.collect(), names.collect());
    };
    let inputs = layout
        .inputs
        .iter()
        .map(|input| value(&input.name, input.element, &input.sizes));
    let inputs = inputs.collect();
    let names = encoding
        .columns
        .iter()
        .map(|column| single(writer, &layout.inputs, column, kind(column)));
    (inputs, names.collect())
}

/// One column of the inputs, in the type that its encoding reads.
fn single(
    writer: &mut Writer,
    inputs: &[GraphInput],
    column: &ColumnEncoding,
    wanted: i32,
) -> String {
    let found = inputs.iter().find_map(|input| {
        let place = input
            .columns
            .iter()
            .position(|name| name == column.name())?;
        Some((input, place))
    });
    // Every column of an encoding was read from an input.
    let Some((input, place)) = found else {
        return column.name().to_owned();
    };
    let mut name = input.name.clone();
    if input.sizes.len() != 1 {
        name = writer.reshape(&name, &[input.columns.len()]);
    }
    if input.columns.len() > 1 {
        #[expect(clippy::cast_possible_wrap, reason = "columns are few")]
        let place = writer.whole(&[place as i64]);
        name = writer.node("Gather", &[&name, &place], &[("axis", 1_i64.into())]);
    }
    if input.element != wanted {
        name = writer.node("Cast", &[&name], &[("to", i64::from(wanted).into())]);
    }
    name
}

/// The input of an image, and the name of its pixels channel by channel in 0 to 1, `[rows, features]`.
pub(super) fn image(
    writer: &mut Writer,
    shape: [usize; 3],
    layout: Option<&InputLayout>,
) -> (Vec<ValueInfoProto>, String) {
    let features = shape.iter().product();
    let Some((layout, input)) = layout.and_then(|layout| Some((layout, layout.inputs.first()?)))
    else {
        let input = value("input", element::FLOAT, &shape);
        return (vec![input], writer.reshape("input", &[features]));
    };
    let declared = value(&input.name, input.element, &input.sizes);
    let mut name = input.name.clone();
    if input.element != element::FLOAT {
        let to = i64::from(element::FLOAT).into();
        name = writer.node("Cast", &[&name], &[("to", to)]);
    }
    if layout.image.is_some_and(|image| image.channels_last) {
        let order = vec![0_i64, 3, 1, 2].into();
        name = writer.node("Transpose", &[&name], &[("perm", order)]);
    }
    let mut rows = writer.reshape(&name, &[features]);
    if layout.white > 1.0 {
        let white = writer.number(layout.white);
        rows = writer.node("Div", &[&rows, &white], &[]);
    }
    (vec![declared], rows)
}
