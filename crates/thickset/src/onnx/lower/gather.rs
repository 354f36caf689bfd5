//! Numbers picked by their places: constants, or the row of a table for each value of a category.

use std::rc::Rc;

use super::shape::{dims, inner_axis, places, steps};
use super::{Cells, Lowering, Value};
use crate::onnx::array::Array;
use crate::onnx::cell::{Cell, Key};
use crate::onnx::fold::check_made;
use crate::onnx::problem::{Result, WITHOUT_GRADIENT};
use crate::onnx::read::Node;

pub(super) fn gather(to: &mut Lowering<'_>, node: &Node) -> Result<Value> {
    let value = to.input(node, 0)?;
    let indices = to.input(node, 1)?;
    let from = dims(&value);
    let rank = from.len();
    let is_extractor = node.operator == "ArrayFeatureExtractor";
    let along = if is_extractor {
        -1
    } else {
        node.int("axis", 0)
    };
    let indices = match (&value, indices) {
        (_, Value::Constant(indices)) => indices,
        (Value::Constant(table), Value::Cells(cells)) if !is_extractor => {
            if along != 0 {
                return Err(node.unsupported("its indices are computed from the row", ""));
            }
            return embedding(to, node, table, &cells);
        }
        _ => {
            return Err(node.unsupported("its indices are computed from the row", WITHOUT_GRADIENT));
        }
    };
    let axis = inner_axis(node, &value, along, rank)?;
    let size = i64::try_from(from[axis]).unwrap_or(0);
    let chosen = indices.to_whole()?.into_iter().map(|index| {
        let counted = if index < 0 { index + size } else { index };
        let inside = usize::try_from(counted)
            .ok()
            .filter(|&index| index < from[axis]);
        inside.ok_or_else(|| node.broken(format!("index {index} of {size}")))
    });
    let chosen: Vec<usize> = chosen.collect::<Result<_>>()?;
    let middle = if is_extractor {
        vec![chosen.len()]
    } else {
        indices.dims.clone()
    };
    let mut sizes = from.clone();
    sizes.splice(axis..=axis, [chosen.len()]);
    let step = steps(&from);
    check_made(&sizes)?;
    let places = places(&sizes, |at| {
        let place =
            |(one, at): (usize, &usize)| step[one] * if one == axis { chosen[*at] } else { *at };
        at.iter().enumerate().map(place).sum()
    });
    let mut made = from;
    made.splice(axis..=axis, middle);
    to.pick(value, made, &places)
}

/// Numbers of a table by a column of whole numbers.
pub(super) fn embedding(
    to: &Lowering<'_>,
    node: &Node,
    table: &Array,
    cells: &Cells,
) -> Result<Value> {
    if table.dims.is_empty() {
        return Err(node.broken("its table has no rows"));
    }
    let (count, width) = (table.dims[0], table.dims[1..].iter().product::<usize>());
    check_made(&[cells.cells.len(), count, width])?;
    let keys: Rc<Vec<Key>> = Rc::new(
        (0..count)
            .map(|key| Key::Whole(i64::try_from(key).unwrap_or(0)))
            .collect(),
    );
    let values = table.to_floats()?;
    let mut made = Vec::new();
    for cell in &cells.cells {
        let column = match cell {
            Cell::Column(column) => *column,
            Cell::Lookup {
                column,
                keys,
                values: index,
                otherwise,
            } => {
                made.extend(composed(
                    node,
                    *column,
                    keys,
                    &index.iter().collect::<Vec<_>>(),
                    *otherwise,
                    &values,
                    (count, width),
                )?);
                continue;
            }
            cell => match indexed(to, cell, count) {
                Some(Indexed::AsItIs(column)) => column,
                Some(Indexed::Other(column, keys, index)) => {
                    let size = (count, width);
                    made.extend(composed(node, column, &keys, &index, -1.0, &values, size)?);
                    continue;
                }
                None => {
                    return Err(
                        node.unsupported("its indices are computed from the row", WITHOUT_GRADIENT)
                    );
                }
            },
        };
        made.extend((0..width).map(|at| Cell::Lookup {
            column,
            keys: Rc::clone(&keys),
            values: (0..count).map(|key| values[key * width + at]).collect(),
            otherwise: 0.0,
        }));
    }
    let mut dims = cells.dims.clone();
    dims.extend_from_slice(&table.dims[1..]);
    Ok(Value::Cells(Rc::new(Cells { cells: made, dims })))
}

/// How the values of a column become the places of a table.
enum Indexed {
    /// Each value is a place.
    AsItIs(usize),
    /// The values that have one, and their places.
    Other(usize, Rc<Vec<Key>>, Vec<f64>),
}

/// The places that an expression of a column of whole numbers gives: Keras adds the size of the table to negative ones, others count
/// from one. `None` if that is not what it is.
#[expect(clippy::cast_precision_loss, reason = "places are small whole numbers")]
fn indexed(to: &Lowering<'_>, cell: &Cell, count: usize) -> Option<Indexed> {
    let column = cell.column()?;
    let is_whole = to.columns.get(column)?.is_whole || cell.is_cut();
    if !is_whole {
        return None;
    }
    let place = |key: i64| {
        let at = cell.value(key as f64);
        (at.fract() == 0.0 && at >= 0.0 && at < count as f64).then_some(at)
    };
    let size = i64::try_from(count).ok()?;
    if (0..size).all(|key| place(key) == Some(key as f64)) {
        return Some(Indexed::AsItIs(column));
    }
    let found = (-size..=2 * size).filter_map(|key| Some((Key::Whole(key), place(key)?)));
    let (keys, index): (Vec<Key>, Vec<f64>) = found.unzip();
    (!keys.is_empty()).then(|| Indexed::Other(column, Rc::new(keys), index))
}

/// The rows of a table that a category's own numbers name.
pub(super) fn composed(
    node: &Node,
    column: usize,
    keys: &Rc<Vec<Key>>,
    index: &[f64],
    otherwise: f64,
    table: &[f64],
    (count, width): (usize, usize),
) -> Result<Vec<Cell>> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "checked to be a row"
    )]
    let row = |index: f64| {
        let is_row = index.fract() == 0.0 && index >= 0.0 && index < count as f64;
        if is_row {
            Ok(index as usize)
        } else {
            Err(node.broken(format!("index {index} of {count}")))
        }
    };
    let rows = index
        .iter()
        .map(|&index| row(index))
        .collect::<Result<Vec<_>>>()?;
    let unseen = row(otherwise).ok();
    let cell = |at: usize| Cell::Lookup {
        column,
        keys: Rc::clone(keys),
        values: rows.iter().map(|row| table[row * width + at]).collect(),
        otherwise: unseen.map_or(0.0, |row| table[row * width + at]),
    };
    Ok((0..width).map(cell).collect())
}
