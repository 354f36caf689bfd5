//! Columns of categories: 0 and 1 for each value, or a number for it.

use std::rc::Rc;

use super::{Cells, Lowering, Value};
use crate::onnx::cell::{Cell, Key};
use crate::onnx::problem::{Result, WITHOUT_GRADIENT};
use crate::onnx::read::Node;

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

pub(super) fn one_hot(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
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

pub(super) fn label_encoder(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
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
