//! The encoding of raw columns as operators: one input a column, numbers in `float32` (NaN where missing), texts as strings.

use super::writer::{Setting, Writer};
use crate::data::{CategoryRule, ColumnEncoding, Encoding, NumberEncoding, Unseen};
use crate::onnx::proto::element;

/// The matrix of features by its name, made of the columns by theirs, in the order of the encoding.
pub(super) fn write(writer: &mut Writer, encoding: &Encoding, columns: &[String]) -> String {
    let mut parts = Vec::new();
    for (column, name) in encoding.columns.iter().zip(columns) {
        match column {
            ColumnEncoding::Number(number) => write_number(writer, number, name, &mut parts),
            ColumnEncoding::Flag(rule) => {
                let hot = one_hot(writer, name, &rule.on, true);
                let axes = writer.whole(&[1]);
                parts.push(writer.node("ReduceSum", &[&hot, &axes], &[("keepdims", 1_i64.into())]));
            }
            ColumnEncoding::Category(rule) => parts.push(write_category(writer, rule, name)),
        }
    }
    let names: Vec<&str> = parts.iter().map(String::as_str).collect();
    writer.node("Concat", &names, &[("axis", 1_i64.into())])
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what stands in is written in single precision"
)]
fn write_number(
    writer: &mut Writer,
    number: &NumberEncoding,
    column: &str,
    parts: &mut Vec<String>,
) {
    let stands_in = Setting::Floats(vec![number.impute as f32]);
    let settings = [
        ("imputed_value_floats", stands_in),
        ("replaced_value_float", f64::NAN.into()),
    ];
    let mut value = if number.required {
        column.to_owned()
    } else {
        writer.node("Imputer", &[column], &settings)
    };
    if number.clip {
        let (low, high) = (writer.number(number.low), writer.number(number.high));
        value = writer.node("Clip", &[&value, &low, &high], &[]);
    }
    let (offset, factor) = (writer.number(number.offset), writer.number(number.factor));
    let centred = writer.node("Sub", &[&value, &offset], &[]);
    parts.push(writer.node("Div", &[&centred, &factor], &[]));
    if number.indicator {
        let missing = writer.node("IsNaN", &[column], &[]);
        parts.push(writer.node(
            "Cast",
            &[&missing],
            &[("to", i64::from(element::FLOAT).into())],
        ));
    }
}

/// 0 and 1 for each of the values, `[rows, values]`.
fn one_hot(writer: &mut Writer, column: &str, values: &[String], allows_others: bool) -> String {
    let settings = [
        ("cats_strings", Setting::Texts(values.to_vec())),
        ("zeros", i64::from(allows_others).into()),
    ];
    let hot = writer.node("OneHotEncoder", &[column], &settings);
    writer.reshape(&hot, &[values.len()])
}

fn write_category(writer: &mut Writer, rule: &CategoryRule, column: &str) -> String {
    let members: Vec<(usize, String)> = rule
        .groups
        .iter()
        .enumerate()
        .flat_map(|(place, group)| group.members().into_iter().map(move |value| (place, value)))
        .collect();
    let values: Vec<String> = members.iter().map(|(_, value)| value.clone()).collect();
    let hot = one_hot(writer, column, &values, rule.unseen != Unseen::Error);
    let groups = rule.groups.len();
    let mut features = hot.clone();
    if members.len() != groups {
        // Values of one group share a feature.
        let mut matrix = vec![0.0; members.len() * groups];
        for (at, (place, _)) in members.iter().enumerate() {
            matrix[at * groups + place] = 1.0;
        }
        let matrix = writer.floats(&[members.len(), groups], matrix);
        features = writer.node("MatMul", &[&hot, &matrix], &[]);
    }
    let other = rule
        .groups
        .iter()
        .position(|group| Some(&group.name) == rule.other.as_ref());
    let Some(other) = other.filter(|_| rule.unseen == Unseen::Other) else {
        return features;
    };
    // What no group lists belongs to this one: 1 minus what the listed ones have.
    let axes = writer.whole(&[1]);
    let listed = writer.node("ReduceSum", &[&hot, &axes], &[("keepdims", 1_i64.into())]);
    let one = writer.number(1.0);
    let rest = writer.node("Sub", &[&one, &listed], &[]);
    let mut row = vec![0.0; groups];
    row[other] = 1.0;
    let row = writer.floats(&[1, groups], row);
    let rest = writer.node("MatMul", &[&rest, &row], &[]);
    writer.node("Add", &[&features, &rest], &[])
}
