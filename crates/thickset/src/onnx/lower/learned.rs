//! Operators of `ai.onnx.ml`, which scikit-learn's models are made of: scalers, what stands in for missing values, linear models.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::arithmetic::binary;
use super::category::{label_encoder, one_hot, one_hot_of_places};
use super::support_vectors::support_vectors;
use super::{Cells, Lowering, Made, Value};
use crate::onnx::array::Array;
use crate::onnx::cell::Cell;
use crate::onnx::problem::Result;
use crate::onnx::read::Node;

/// Whether its first output is the label that it predicts.
pub(super) fn is_classifier(node: &Node) -> bool {
    matches!(node.operator.as_str(), "LinearClassifier" | "SVMClassifier")
}

/// Values for all outputs; of a classifier the label, which may not be read, and the scores.
pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Vec<Value>>> {
    let one = |value: Value| Ok(Some(vec![value]));
    match node.operator.as_str() {
        "Scaler" => one(scaler(to, node)?),
        "Imputer" => one(imputer(to, node)?),
        "OneHotEncoder" => one(one_hot(to, node)?),
        "OneHot" => one(one_hot_of_places(to, node)?),
        "LabelEncoder" => one(label_encoder(to, node)?),
        "LinearClassifier" | "LinearRegressor" => {
            let scores = Value::Tensor(linear(to, node)?);
            Ok(Some(if node.operator == "LinearRegressor" {
                vec![scores]
            } else {
                vec![label(), scores]
            }))
        }
        "SVMClassifier" => {
            let scores = Value::Tensor(support_vectors(to, node)?);
            Ok(Some(vec![label(), scores]))
        }
        _ => Ok(None),
    }
}

/// Stands at the place of a label.
fn label() -> Value {
    Value::Constant(Rc::new(Array::whole(vec![0], Vec::new())))
}

fn scaler(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let (offset, scale) = (node.floats("offset"), node.floats("scale"));
    let value = to.input(node, 0)?;
    let constant = |values: Vec<f64>| {
        let dims = if values.len() == 1 {
            vec![]
        } else {
            vec![1, values.len()]
        };
        Value::Constant(Rc::new(Array::floats(dims, values)))
    };
    let shifted = if offset.is_empty() {
        value
    } else {
        binary(to, node, "Sub", value, constant(offset))?
    };
    if scale.is_empty() {
        return Ok(shifted);
    }
    binary(to, node, "Mul", shifted, constant(scale))
}

fn imputer(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let Value::Cells(cells) = &value else {
        let made = to.made(node, value)?;
        return Err(node.unsupported(
            format!(
                "it fills in {} numbers that several columns made",
                made.features()
            ),
            "fill in missing values before columns are mixed",
        ));
    };
    let texts = node.texts("imputed_value_strings");
    if !texts.is_empty() {
        let missing = node.text("replaced_value_string").unwrap_or_default();
        let filled = cells
            .cells
            .iter()
            .enumerate()
            .map(|(place, cell)| match cell {
                Cell::Text { column, replaced } => {
                    let mut replaced = replaced.clone();
                    let with = texts
                        .get(place)
                        .or_else(|| texts.first())
                        .cloned()
                        .unwrap_or_default();
                    // A missing text of a table's file is the empty one.
                    for missing in [missing.clone(), String::new()] {
                        if !replaced.iter().any(|(known, _)| *known == missing) {
                            replaced.push((missing, with.clone()));
                        }
                    }
                    Ok(Cell::Text {
                        column: *column,
                        replaced,
                    })
                }
                _ => Err(node.broken("texts stand in for numbers")),
            });
        return Ok(Value::Cells(Rc::new(Cells {
            cells: filled.collect::<Result<_>>()?,
            dims: cells.dims.clone(),
        })));
    }
    #[expect(clippy::cast_precision_loss, reason = "whole numbers of a column")]
    let (values, missing): (Vec<f64>, f64) = match node.ints("imputed_value_int64s") {
        Some(values) => (
            values.iter().map(|&value| value as f64).collect(),
            node.int("replaced_value_int64", 0) as f64,
        ),
        None => (
            node.floats("imputed_value_floats"),
            node.float("replaced_value_float", 0.0),
        ),
    };
    if values.is_empty() || (values.len() != 1 && values.len() != cells.cells.len()) {
        return Err(node.broken(format!(
            "{} values for {} columns",
            values.len(),
            cells.cells.len()
        )));
    }
    let filled = cells
        .cells
        .iter()
        .enumerate()
        .map(|(place, cell)| Cell::Replace {
            of: Rc::new(cell.clone()),
            missing,
            with: if values.len() == 1 {
                values[0]
            } else {
                values[place]
            },
        });
    Ok(Value::Cells(Rc::new(Cells {
        cells: filled.collect(),
        dims: cells.dims.clone(),
    })))
}

fn linear(to: &mut Lowering<'_>, node: &Node) -> Result<Made> {
    let made = to.tensor(node, 0)?;
    let inputs = made.dims.last().copied().unwrap_or(1);
    let weight = node.floats("coefficients");
    if weight.is_empty() || !weight.len().is_multiple_of(inputs) {
        return Err(node.broken(format!(
            "{} coefficients for {inputs} numbers",
            weight.len()
        )));
    }
    let rows = weight.len() / inputs;
    let mut bias = node.floats("intercepts");
    if bias.is_empty() {
        bias = vec![0.0; rows];
    }
    if bias.len() != rows {
        return Err(node.broken(format!(
            "{} intercepts for {rows} rows of coefficients",
            bias.len()
        )));
    }
    let scores = to.dense(&made, weight, bias)?;
    let post = node
        .text("post_transform")
        .unwrap_or_else(|| "NONE".to_owned());
    let classes = node
        .ints("classlabels_ints")
        .map_or(0, |labels| labels.len())
        .max(node.texts("classlabels_strings").len());
    if rows == 1 && classes == 2 && node.operator == "LinearClassifier" {
        return match post.as_str() {
            "LOGISTIC" => complement(to, &scores),
            // As onnxruntime has it.
            "NONE" | "SOFTMAX" | "SOFTMAX_ZERO" => {
                let first = to.affine(&scores, &[-1.0], &[1.0], None)?;
                to.add(Form::Concatenate, &[&first, &scores], vec![1, 2])
            }
            _ => Err(node.unsupported(format!("one score for two classes with `{post}`"), "")),
        };
    }
    match post.as_str() {
        "NONE" => Ok(scores),
        "LOGISTIC" => to.apply(Form::Sigmoid, &scores),
        "SOFTMAX" => {
            let axis = thickset_engine::layer::Axis::all(scores.features())
                .map_err(|error| node.broken(error))?;
            let logs = to.apply(Form::LogSoftmax { axis }, &scores)?;
            to.apply(Form::Exp, &logs)
        }
        other => Err(node.unsupported(format!("`post_transform` of `{other}`"), "")),
    }
}

/// The probabilities of two classes from one logit of the second.
pub(super) fn complement(to: &mut Lowering<'_>, logit: &Made) -> Result<Made> {
    let second = to.apply(Form::Sigmoid, logit)?;
    let first = to.affine(&second, &[-1.0], &[1.0], None)?;
    to.add(Form::Concatenate, &[&first, &second], vec![1, 2])
}
