//! Operators of `ai.onnx.ml`, which scikit-learn's models are made of: scalers, encoders, linear models and support vectors.

use std::rc::Rc;

use thickset_engine::layer::Form;

use super::arithmetic::binary;
use super::support_vectors::support_vectors;
use super::{Cells, Lowering, Made, Value};
use crate::onnx::array::Array;
use crate::onnx::cell::{Cell, Key};
use crate::onnx::problem::{Result, WITHOUT_GRADIENT};
use crate::onnx::read::Node;

/// Values for all outputs; of a classifier the label, which nothing reads, and the scores.
pub(super) fn lower(to: &mut Lowering<'_>, node: &Node) -> Result<Option<Vec<Value>>> {
    let one = |value: Value| Ok(Some(vec![value]));
    match node.operator.as_str() {
        "Scaler" => one(scaler(to, node)?),
        "Imputer" => one(imputer(to, node)?),
        "OneHotEncoder" => one(one_hot(to, node)?),
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

/// What a label is to us: nothing that probabilities depend on.
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
    let filled = cells.cells.iter().enumerate().map(|(place, cell)| {
        // What stands in for the logarithm of nothing, and the like: such a number is refused here.
        if !missing.is_finite()
            && matches!(cell, Cell::Unary(..) | Cell::Binary(..))
            && cell.line().is_none()
        {
            return cell.clone();
        }
        Cell::Replace {
            of: Rc::new(cell.clone()),
            missing,
            with: if values.len() == 1 {
                values[0]
            } else {
                values[place]
            },
        }
    });
    Ok(Value::Cells(Rc::new(Cells {
        cells: filled.collect(),
        dims: cells.dims.clone(),
    })))
}

/// The column of a cell that categories are made of, and the texts that count as others.
fn category<'c>(node: &Node, cell: &'c Cell) -> Result<(usize, &'c [(String, String)])> {
    match cell {
        Cell::Text { column, replaced } => Ok((*column, replaced)),
        Cell::Column(column) => Ok((*column, &[])),
        Cell::Unary(operator, of) if &**operator == "ToWhole" => category(node, of),
        Cell::Replace { of, missing, .. } if missing.is_nan() => category(node, of),
        _ => Err(node.unsupported(
            "it encodes numbers that were computed from a column",
            WITHOUT_GRADIENT,
        )),
    }
}

/// A number for each key, with the texts that count as others.
fn lookup(node: &Node, cell: &Cell, keys: &[Key], values: &[f64], otherwise: f64) -> Result<Cell> {
    let (column, replaced) = category(node, cell)?;
    let mut keys = keys.to_vec();
    let mut values = values.to_vec();
    for (from, with) in replaced {
        let place = keys.iter().position(|key| *key == Key::Text(with.clone()));
        let is_listed = keys.contains(&Key::Text(from.clone()));
        if let Some(place) = place.filter(|_| !is_listed) {
            keys.push(Key::Alias {
                from: from.clone(),
                of: with.clone(),
            });
            values.push(values[place]);
        }
    }
    if let Cell::Replace { with, .. } = cell {
        // A missing number counts as the one that stands in for it; a table's file has the empty text there.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "categories are small whole numbers"
        )]
        let place = keys.iter().position(|key| *key == Key::Whole(*with as i64));
        if let Some(place) = place {
            keys.push(Key::Alias {
                from: String::new(),
                of: keys[place].text(),
            });
            values.push(values[place]);
        }
    }
    Ok(Cell::Lookup {
        column,
        keys: Rc::new(keys),
        values,
        otherwise,
    })
}

fn keys(node: &Node, texts: &str, numbers: &str) -> Vec<Key> {
    let listed = node.texts(texts);
    if !listed.is_empty() {
        return listed.into_iter().map(Key::Text).collect();
    }
    let listed = node.ints(numbers).unwrap_or_default();
    listed.into_iter().map(Key::Whole).collect()
}

fn one_hot(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let Value::Cells(cells) = to.input(node, 0)? else {
        return Err(node.unsupported(
            "it encodes numbers that several columns made",
            WITHOUT_GRADIENT,
        ));
    };
    let keys = keys(node, "cats_strings", "cats_int64s");
    if keys.is_empty() {
        return Err(node.broken("it lists no category"));
    }
    let mut made = Vec::new();
    for cell in &cells.cells {
        for place in 0..keys.len() {
            let mut values = vec![0.0; keys.len()];
            values[place] = 1.0;
            made.push(lookup(node, cell, &keys, &values, 0.0)?);
        }
    }
    let mut dims = cells.dims.clone();
    dims.push(keys.len());
    Ok(Value::Cells(Rc::new(Cells { cells: made, dims })))
}

fn label_encoder(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let Value::Cells(cells) = to.input(node, 0)? else {
        return Err(node.unsupported(
            "it encodes numbers that several columns made",
            WITHOUT_GRADIENT,
        ));
    };
    let mut keys = keys(node, "keys_strings", "keys_int64s");
    if keys.is_empty() && node.has("keys_floats") {
        let whole = |key: f64| {
            #[expect(clippy::cast_possible_truncation, reason = "checked to be whole")]
            if key.fract() == 0.0 {
                Ok(Key::Whole(key as i64))
            } else {
                Err(node.unsupported(format!("a category called {key}"), ""))
            }
        };
        keys = node
            .floats("keys_floats")
            .into_iter()
            .map(whole)
            .collect::<Result<_>>()?;
    }
    if keys.is_empty() {
        // The form of version 1: a list of texts, numbered.
        keys = node
            .texts("classes_strings")
            .into_iter()
            .map(Key::Text)
            .collect();
    }
    #[expect(clippy::cast_precision_loss, reason = "categories are small numbers")]
    let (values, otherwise): (Vec<f64>, f64) = if node.has("values_floats") {
        (
            node.floats("values_floats"),
            node.float("default_float", 0.0),
        )
    } else if let Some(values) = node.ints("values_int64s") {
        (
            values.iter().map(|&value| value as f64).collect(),
            node.int("default_int64", -1) as f64,
        )
    } else if node.has("classes_strings") {
        (
            (0..keys.len()).map(|key| key as f64).collect(),
            node.int("default_int64", -1) as f64,
        )
    } else {
        return Err(node.unsupported(
            "it makes texts of categories",
            "encode the column with a OneHotEncoder or an OrdinalEncoder",
        ));
    };
    if keys.is_empty() || keys.len() != values.len() {
        return Err(node.broken(format!(
            "{} categories and {} values",
            keys.len(),
            values.len()
        )));
    }
    let made = cells
        .cells
        .iter()
        .map(|cell| lookup(node, cell, &keys, &values, otherwise));
    Ok(Value::Cells(Rc::new(Cells {
        cells: made.collect::<Result<_>>()?,
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
