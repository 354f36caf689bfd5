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
            return embedding(node, table, &cells);
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
pub(super) fn embedding(node: &Node, table: &Array, cells: &Cells) -> Result<Value> {
    if node.int("axis", 0) != 0 || table.dims.is_empty() {
        return Err(node.unsupported("its indices are computed from the row", ""));
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
            Cell::Unary(operator, of)
                if &**operator == "ToWhole" && matches!(**of, Cell::Column(_)) =>
            {
                of.column().unwrap_or(0)
            }
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
                    index,
                    *otherwise,
                    &values,
                    (count, width),
                )?);
                continue;
            }
            _ => {
                return Err(
                    node.unsupported("its indices are computed from the row", WITHOUT_GRADIENT)
                );
            }
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
