//! Columns of categories: 0 and 1 for each value, or a number for it.

use std::rc::Rc;

use super::{Cells, Lowering, Value};
use crate::onnx::array::{Array, Data};
use crate::onnx::cell::{Cell, Key};
use crate::onnx::fold::MOST_MADE;
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

/// The values of a column that an encoder knows, with the texts that count as others.
struct Listed {
    column: usize,
    keys: Rc<Vec<Key>>,
    /// Behind the encoder's own keys: which of them each text counts as.
    aliases: Vec<usize>,
}

impl Listed {
    /// A number for each of the encoder's keys.
    fn cell(&self, mut values: Vec<f64>, otherwise: f64) -> Cell {
        for &place in &self.aliases {
            values.push(values[place]);
        }
        Cell::Lookup {
            column: self.column,
            keys: Rc::clone(&self.keys),
            values: values.into_iter().collect(),
            otherwise,
        }
    }
}

fn listed(node: &Node, cell: &Cell, own: &Rc<Vec<Key>>) -> Result<Listed> {
    let (column, replaced) = category(node, cell)?;
    let mut keys = own.to_vec();
    let mut aliases = Vec::new();
    for (from, with) in replaced {
        let place = keys.iter().position(|key| *key == Key::Text(with.clone()));
        let is_listed = keys.contains(&Key::Text(from.clone()));
        if let Some(place) = place.filter(|_| !is_listed) {
            keys.push(Key::Alias {
                from: from.clone(),
                of: with.clone(),
            });
            aliases.push(place);
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
            aliases.push(place);
        }
    }
    let keys = if aliases.is_empty() {
        Rc::clone(own)
    } else {
        Rc::new(keys)
    };
    Ok(Listed {
        column,
        keys,
        aliases,
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
    let keys = Rc::new(keys(node, "cats_strings", "cats_int64s"));
    if keys.is_empty() {
        return Err(node.broken("it lists no category"));
    }
    let numbers = cells.cells.len().saturating_mul(keys.len());
    if numbers.saturating_mul(keys.len()) > MOST_MADE {
        return Err(node.unsupported(
            format!("it encodes {} categories", keys.len()),
            "join rare values into one (`OneHotEncoder(min_frequency=…)`)",
        ));
    }
    let mut made = Vec::new();
    for cell in &cells.cells {
        let listed = listed(node, cell, &keys)?;
        for place in 0..keys.len() {
            let mut values = vec![0.0; keys.len()];
            values[place] = 1.0;
            made.push(listed.cell(values, 0.0));
        }
    }
    let mut dims = cells.dims.clone();
    dims.push(keys.len());
    Ok(Value::Cells(Rc::new(Cells { cells: made, dims })))
}

/// `OneHot` of columns of whole numbers: each is a category whose values count from zero.
pub(super) fn one_hot_of_places(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let (Some(depth), Some(values)) = (to.constant(node, 1)?, to.constant(node, 2)?) else {
        return Err(node.broken("its inputs are missing"));
    };
    let Value::Cells(cells) = to.input(node, 0)? else {
        return Err(node.unsupported("a step function has no gradient", WITHOUT_GRADIENT));
    };
    let (depth, values) = (depth.to_whole()?, values.to_floats()?);
    let ([depth], [off, on]) = (&depth[..], &values[..]) else {
        return Err(node.broken("it takes one depth and two values"));
    };
    let depth = usize::try_from(*depth).unwrap_or(0);
    let numbers = cells.cells.len().saturating_mul(depth);
    if depth == 0 || numbers.saturating_mul(depth) > MOST_MADE {
        return Err(node.broken(format!("a depth of {depth}")));
    }
    let last = i64::try_from(cells.dims.len()).unwrap_or(0);
    if !matches!(node.int("axis", -1), axis if axis == -1 || axis == last) {
        return Err(node.unsupported("its axis is not the last", ""));
    }
    // One row of a table a category, with ones on its diagonal.
    let mut table = vec![*off; depth * depth];
    for place in 0..depth {
        table[place * depth + place] = *on;
    }
    let table = Array::floats(vec![depth, depth], table);
    super::gather::embedding(to, node, &table, &cells)
}

pub(super) fn label_encoder(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    if let Value::Constant(array) = &value {
        return text_of_constant(node, array);
    }
    let Value::Cells(cells) = value else {
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
    let keys = Rc::new(keys);
    let made = cells.cells.iter().map(|cell| {
        let listed = listed(node, cell, &keys)?;
        Ok(listed.cell(values.clone(), otherwise))
    });
    Ok(Value::Cells(Rc::new(Cells {
        cells: made.collect::<Result<_>>()?,
        dims: cells.dims.clone(),
    })))
}

/// The texts of constant whole numbers, as scikit-learn's imputer of texts writes what stands in for a missing one.
fn text_of_constant(node: &Node, array: &Array) -> Result<Value> {
    let (keys, texts) = (
        node.ints("keys_int64s").unwrap_or_default(),
        node.texts("values_strings"),
    );
    if keys.len() != texts.len() || !matches!(array.data, Data::Whole(_)) {
        return Err(node.unsupported("it encodes a constant", ""));
    }
    let otherwise = node.text("default_string").unwrap_or_default();
    let text = |number: i64| {
        let place = keys.iter().position(|&key| key == number);
        place.map_or_else(|| otherwise.clone(), |place| texts[place].clone())
    };
    Ok(Value::Constant(Rc::new(Array {
        dims: array.dims.clone(),
        data: Data::Text(array.to_whole()?.into_iter().map(text).collect()),
    })))
}
